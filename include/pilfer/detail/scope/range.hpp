// Lazy splitting of index ranges, shared by the loops.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <iterator>
#include <type_traits>
#include <utility>

#include <pilfer/detail/base/test_point.hpp>
#include <pilfer/detail/base/ticks.hpp>
#include <pilfer/detail/task/runtime.hpp>
#include <pilfer/join.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

/// How much of a range goes to a worker that asks: the upper half of it. Only a scan decides otherwise.
[[nodiscard]] constexpr std::uint64_t given_away(std::uint64_t left) noexcept { return left - left / 2; }

/// True if a part of the range should be announced. Called if the signal word asks for something.
///
/// Older announcements go first: as a rule these are parts of an outer loop, which are larger. A worker
/// that was woken for one of them, and has not come yet, is no reason to cut this range once more.
[[nodiscard]] PILFER_NOINLINE inline bool split_wanted_cold(worker* w) {
    using trip = signal_word<std_atom>;
    if (w->deque.signal().has(trip::stop)) {
        detail::leave_if_stopped();
    }
    if (w->deque.signal().has(trip::yield_request) || w->deque.thief().has_any()) {
        attend(w);
        w = this_worker();
    }
    return w->deque.signal().has(trip::wanted | trip::expose) &&
           (w->recording || !w->deque.thief().has_any());
}

template <class I>
[[nodiscard]] inline std::uint64_t range_size(I first, I last) noexcept(std::integral<I>) {
    if constexpr (std::integral<I>) {
        // Also right for the full range of the type: the difference is taken modulo 2^64.
        return static_cast<std::uint64_t>(last) - static_cast<std::uint64_t>(first);
    } else {
        return static_cast<std::uint64_t>(last - first);
    }
}
template <class I>
[[nodiscard]] inline I advanced(I first, std::uint64_t by) noexcept(std::integral<I>) {
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

/// How many iterations to run between two looks: as many as take about piece_ticks().
class piece_size {
public:
    [[nodiscard]] std::uint64_t next(std::uint64_t left) const noexcept {
        return m_size < left ? m_size : left;
    }
    /// True if a single iteration is longer than a piece, or if nothing is known of the iterations yet.
    /// Then a range is split before any worker asks. The next look may be far away, and announcing costs
    /// nothing beside such an iteration.
    [[nodiscard]] bool splits_unasked() const noexcept {
#if defined(PILFER_TEST)
        if (m_fixed) {
            return m_splits < fixed_splits;
        }
#endif
        return m_long;
    }
#if defined(PILFER_TEST)
    /// True if no worker that asks gets a part. Then the first parts are all.
    [[nodiscard]] bool is_fixed() const noexcept { return m_fixed; }
#endif
    /// The piece size for the lower half of a range that was split. This half runs a piece before it
    /// splits unasked again. Otherwise one iteration that was interrupted, and so looked long, would cut
    /// the whole rest into single iterations.
    [[nodiscard]] piece_size of_lower() const noexcept {
        piece_size part = *this;
        part.m_long = false;
#if defined(PILFER_TEST)
        ++part.m_splits;
#endif
        return part;
    }
    /// The piece size for the upper half of a range that was split. A thief takes this half as a rule, and
    /// it may split unasked once more at once. So one interrupted iteration costs log2 n splits. If
    /// nothing is known of the iterations, one split is enough.
    [[nodiscard]] piece_size of_upper() const noexcept {
        piece_size part = *this;
        part.m_long = m_long && m_known;
#if defined(PILFER_TEST)
        ++part.m_splits;
#endif
        return part;
    }
    void start() noexcept { m_started = cheap_ticks(); }
    /// Called when a piece has ended and the next one begins: one reading of the clock for both.
    void done() noexcept {
        const std::uint64_t now = cheap_ticks();
        const std::uint64_t took = now - m_started;
        m_started = now;
        m_known = true;
        m_long = m_size == 1 && took > m_piece;
        if (took < m_piece / 2 && m_size < largest) {
            // Loops of a few thousand cheap iterations read the clock less.
            m_size *= took < m_piece / 32 && m_size <= largest / 8 ? 8 : 2;
        } else if (took > m_piece * 2 && m_size > 1) {
            m_size /= 2;
        }
    }

private:
    // No real iteration reaches this limit: 2^20 of them take longer than a piece should. If the clock
    // does not move, the limit makes a loop look up again.
    static constexpr std::uint64_t largest = std::uint64_t{1} << 20;
    std::uint64_t m_size = 1;
    std::uint64_t m_started = 0;
    std::uint64_t m_piece = piece_ticks();
    bool m_known = false;
    bool m_long = true;
#if defined(PILFER_TEST)
    static constexpr unsigned fixed_splits = 5; // so 32 parts
    bool m_fixed = loops_are_fixed();
    unsigned m_splits = 0;
#endif
};

/// True if another worker wants a part of what this worker is at. One load in the usual case. Tasks that
/// wait for this worker pass first, and their time is no part of the next piece.
[[nodiscard]] PILFER_ALWAYS_INLINE bool split_wanted(worker* w, piece_size& piece) {
    if (!w->deque.signal().has(signal_word<std_atom>::asked)) [[likely]] {
        return false;
    }
#if defined(PILFER_TEST)
    if (piece.is_fixed()) {
        (void)detail::split_wanted_cold(w);
        return false;
    }
#endif
    if (detail::split_wanted_cold(w)) {
        return true;
    }
    piece.start();
    return false;
}

/// The type of the function that the inner loop calls. A small closure is copied if no one can observe the
/// copy: its captures stay in registers. The captures of a shared closure are read again after every store
/// that might have changed them.
template <class F, class... Arguments>
inline constexpr bool is_copied_close = [] {
    if constexpr (std::is_trivially_copyable_v<F> && std::is_trivially_copy_constructible_v<F> &&
                  sizeof(F) <= line_bytes && std::is_invocable_v<const F&, Arguments...>) {
        // Another type shows a second operator(), which is no const one.
        if constexpr (std::is_invocable_v<F&, Arguments...>) {
            return std::is_same_v<std::invoke_result_t<const F&, Arguments...>,
                                  std::invoke_result_t<F&, Arguments...>>;
        } else {
            return true;
        }
    } else {
        return false;
    }
}();
template <class F, class... Arguments>
using kept_close = std::conditional_t<is_copied_close<F, Arguments...>, const F, F&>;

#if defined(PILFER_RACE)
/// As race::of_program() for one element. `at` is a value, because a frame of the library would be read for a
/// reference.
template <class T, class F, class I>
PILFER_NOINLINE T call_at(F& f, I at) {
    const race::program now;
    return T(std::invoke(f, detail::element(at)));
}
#endif

template <class I, class Body>
PILFER_NOINLINE void run_piece(I first, I stop, Body& body) {
    kept_close<Body, decltype(detail::element(first))> close = body;
    for (; first != stop; ++first) {
#if defined(PILFER_RACE)
        detail::call_at<void>(close, first);
#else
        std::invoke(close, detail::element(first));
#endif
    }
}

/// Runs code of the user in a loop. Once any has thrown, on whatever worker, no more of it begins.
template <class F>
PILFER_ALWAYS_INLINE auto as_part(common_report report, F part) {
    if (report.failed()) [[unlikely]] {
        detail::drop_and_leave(0); // the error itself arrives by a join
    }
    PILFER_TRY { return part(); }
    PILFER_CATCH_ALL {
        report.fails();
        PILFER_RETHROW;
    }
}

template <class I, class Body>
void run_range(I first, I last, Body& body, common_report report, piece_size piece) {
#if defined(PILFER_RACE)
    (void)piece;
    const race::library_if<std::integral<I>> here(2);
    race::each(std::uint64_t{0}, detail::range_size(first, last), [&](std::uint64_t i) {
        const I at = detail::advanced(first, i);
        detail::as_part(report, [&] { detail::run_piece(at, detail::advanced(at, 1), body); });
    });
#else
    piece.start();
    while (first != last) {
        const std::uint64_t left = detail::range_size(first, last);
        if (left > 1 && (piece.splits_unasked() || detail::split_wanted(this_worker(), piece))) {
            const I middle = detail::advanced(first, left - detail::given_away(left));
            auto lower = [&] { detail::run_range(first, middle, body, report, piece.of_lower()); };
            auto upper = [&] { detail::run_range(middle, last, body, report, piece.of_upper()); };
            (void)detail::join_two(this_worker(), lower, upper, report);
            return;
        }
        const I stop = detail::advanced(first, piece.next(left));
        detail::as_part(report, [&] { detail::run_piece(first, stop, body); });
        first = stop;
        piece.done();
    }
#endif
}

} // namespace detail
} // namespace v0
} // namespace pilfer
