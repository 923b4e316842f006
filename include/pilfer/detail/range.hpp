// Lazy splitting of index ranges, shared by the loops.
#pragma once

#include <concepts>
#include <cstdint>
#include <iterator>
#include <optional>
#include <type_traits>
#include <utility>

#include <pilfer/detail/runtime.hpp>
#include <pilfer/join.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

/// A clock for measuring pieces of work: cheap, unordered, only differences of one thread count.
[[nodiscard]] PILFER_API std::uint64_t cheap_ticks() noexcept;
/// About 4 us in cheap_ticks(): long against the look at the tripwire and the clock (about 30 ns), short
/// against a wake-up (5 us and more).
[[nodiscard]] PILFER_API std::uint64_t piece_ticks() noexcept;

/// Does anybody want work from this worker? One load. Lets those pass first that wait for the worker.
[[nodiscard]] PILFER_ALWAYS_INLINE bool work_wanted(worker* w) noexcept {
    using trip = tripwire<std_atom>;
    if (w->deque.trip().has(trip::summon)) [[unlikely]] {
        attend(w);
        w = this_worker();
    }
    return w->deque.trip().has(trip::wanted | trip::expose);
}

template <class I>
using distance_t = std::uint64_t;

template <class I>
[[nodiscard]] inline std::uint64_t range_size(I first, I last) noexcept {
    if constexpr (std::integral<I>) {
        // Also right for the full range of the type: the difference is taken modulo 2^64.
        return static_cast<std::uint64_t>(last) - static_cast<std::uint64_t>(first);
    } else {
        return static_cast<std::uint64_t>(last - first);
    }
}
template <class I>
[[nodiscard]] inline I advanced(I first, std::uint64_t by) noexcept {
    if constexpr (std::integral<I>) {
        return static_cast<I>(static_cast<std::uint64_t>(first) + by);
    } else {
        return first + static_cast<std::iter_difference_t<I>>(by);
    }
}
template <class I>
[[nodiscard]] PILFER_ALWAYS_INLINE decltype(auto) element(I at) {
    if constexpr (std::integral<I>) {
        return at;
    } else {
        return *at;
    }
}

/// How many iterations to run between two looks: doubles while a piece stays under piece_ticks().
class piece_size {
public:
    [[nodiscard]] std::uint64_t next(std::uint64_t left) const noexcept {
        return m_size < left ? m_size : left;
    }
    void start() noexcept { m_started = cheap_ticks(); }
    void done() noexcept {
        const std::uint64_t took = cheap_ticks() - m_started;
        if (took < m_piece / 2 && m_size < largest) {
            m_size *= 2;
        } else if (took > m_piece * 2 && m_size > 1) {
            m_size /= 2;
        }
    }

private:
    // No real iteration reaches it, 2^20 of them take longer than a piece should. Where the clock stands
    // still it keeps a loop that never looks up from being deaf for ever.
    static constexpr std::uint64_t largest = std::uint64_t{1} << 20;
    std::uint64_t m_size = 1;
    std::uint64_t m_started = 0;
    std::uint64_t m_piece = piece_ticks();
};

template <class I, class Body>
void run_range(I first, I last, Body& body, common_report report) {
    piece_size piece;
    while (first != last) {
        const std::uint64_t left = detail::range_size(first, last);
        if (left > 1 && detail::work_wanted(this_worker())) {
            const I middle = detail::advanced(first, left / 2);
            auto lower = [&] { detail::run_range(first, middle, body, report); };
            auto upper = [&] { detail::run_range(middle, last, body, report); };
            (void)detail::join_two(this_worker(), lower, upper, report);
            return;
        }
        const I stop = detail::advanced(first, piece.next(left));
        piece.start();
        // A position of its own: `first` is captured above, and would live in memory throughout.
        for (I at = first; at != stop; ++at) {
            body(detail::element(at));
        }
        first = stop;
        piece.done();
    }
}

template <class I, class T, class Map, class Combine>
[[nodiscard]] T reduce_range(I first, I last, T sum, Map& map, Combine& combine, common_report report) {
    piece_size piece;
    while (first != last) {
        const std::uint64_t left = detail::range_size(first, last);
        if (left > 1 && detail::work_wanted(this_worker())) {
            const I middle = detail::advanced(first, left / 2);
            auto lower = [&]() -> T {
                return detail::reduce_range(first, middle, std::move(sum), map, combine, report);
            };
            auto upper = [&]() -> T {
                T start = map(detail::element(middle));
                return detail::reduce_range(detail::advanced(middle, 1), last, std::move(start), map, combine,
                                            report);
            };
            auto halves = detail::join_two(this_worker(), lower, upper, report);
            // NOLINTNEXTLINE(bugprone-use-after-move): each takes another element
            return combine(std::get<0>(std::move(halves)), std::get<1>(std::move(halves)));
        }
        const I stop = detail::advanced(first, piece.next(left));
        piece.start();
        for (I at = first; at != stop; ++at) { // see run_range
            sum = combine(std::move(sum), map(detail::element(at)));
        }
        first = stop;
        piece.done();
    }
    return sum;
}

} // namespace detail
} // namespace v0
} // namespace pilfer
