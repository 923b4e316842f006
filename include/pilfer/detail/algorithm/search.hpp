// The search for the lowest index that has a property.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <type_traits>

#include <pilfer/detail/algorithm/collected.hpp>
#include <pilfer/detail/algorithm/ranges.hpp>
#include <pilfer/detail/parallel/pieces.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

/// The lowest index found yet. Parts after it end, and parts after it that have not started never start.
class lowest_index {
public:
    explicit lowest_index(std::uint64_t none) noexcept : m_value(none) {}
    // Relaxed: the number itself is the message, and the join that ends the search orders the rest.
    [[nodiscard]] std::uint64_t get() const noexcept { return m_value.load(std::memory_order_relaxed); }
    void found(std::uint64_t at) noexcept {
        std::uint64_t seen = this->get();
        while (at < seen && !m_value.compare_exchange_weak(seen, at, std::memory_order_relaxed)) {
        }
    }

private:
    std::atomic<std::uint64_t> m_value;
};

/// Searches [first, last) for an index below the lowest one found yet. look(begin, end) returns the first
/// index of the piece that has the property, or `end`.
template <class Look>
void run_search(std::uint64_t first, std::uint64_t last, Look& look, lowest_index& lowest,
                common_report report, piece_size piece) {
    piece.start();
    while (first < last && (race::splits_all || first < lowest.get())) {
        const std::uint64_t left = last - first;
        if (left > 1 &&
            (race::splits_all || piece.splits_unasked() || detail::split_wanted(this_worker(), piece))) {
            const std::uint64_t middle = last - detail::given_away(left);
            auto lower = [&] { detail::run_search(first, middle, look, lowest, report, piece.of_lower()); };
            auto upper = [&] { detail::run_search(middle, last, look, lowest, report, piece.of_upper()); };
            (void)detail::join_two(this_worker(), lower, upper, report);
            return;
        }
        const std::uint64_t stop = first + piece.next(left);
        detail::as_part(report, [&] {
            auto piece_look = [&](std::uint64_t from, std::uint64_t to) {
                const std::uint64_t at = look(from, to);
                if (at != to) {
                    lowest.found(at);
                }
            };
            detail::call_piece(piece_look, first, stop);
        });
        first = stop;
        piece.done();
    }
}

/// The lowest index of [0, n) that has the property, or n.
template <class Look>
[[nodiscard]] std::uint64_t over_search(std::uint64_t n, grain g, Look look) {
    if (n == 0) {
        return 0;
    }
    lowest_index lowest(n);
    const blocks_of blocks(n, g.size);
    detail::in_loop([&](common_report report) {
        if (g.size <= 1) {
            detail::run_search(0, n, look, lowest, report, {});
            return;
        }
        lowest_index lowest_block(blocks.count());
        auto block_look = [&](std::uint64_t first, std::uint64_t stop) {
            const std::uint64_t end = blocks.begin(stop);
            const std::uint64_t at = look(blocks.begin(first), end);
            if (at == end) {
                return stop;
            }
            lowest.found(at);
            return at / g.size;
        };
        detail::run_search(0, blocks.count(), block_look, lowest_block, report, {});
    });
    return lowest.get();
}

/// A predicate: equal to a value that the caller keeps. The comparison is in a header of the system, so that
/// compilers do not warn of the types of the caller.
template <class T>
struct equals_to {
    const T& value;
    template <class U>
    [[nodiscard]] bool operator()(U&& other) const {
        return static_cast<bool>(std::equal_to<>{}(std::forward<U>(other), value));
    }
};

/// Whether no caller can observe how many elements a predicate is called for: numbers in one piece of memory
/// that are compared with a number.
template <class I, class Pred, class Proj>
inline constexpr bool compares_numbers = false;
template <std::contiguous_iterator I, class T>
inline constexpr bool compares_numbers<I, equals_to<T>, std::identity> =
    std::is_arithmetic_v<std::iter_value_t<I>>&& std::is_arithmetic_v<T> &&
    !std::is_volatile_v<std::remove_reference_t<std::iter_reference_t<I>>>;

/// The beginning of the first block of numbers with one that is equal to the value, or of the rest that is
/// shorter than a block. A block is compared as a whole, which compilers turn into vector instructions.
template <std::contiguous_iterator I, class T>
[[nodiscard]] std::uint64_t block_with(I first, std::uint64_t n, const T& value) {
    constexpr std::uint64_t block = 32;
    const T wanted = value;
    std::uint64_t begin = 0;
    for (const auto* from = std::to_address(first); n - begin >= block; begin += block, from += block) {
        unsigned is_there = 0;
        for (std::uint64_t i = 0; i != block; ++i) {
            is_there |= static_cast<unsigned>(std::equal_to<>{}(from[i], wanted));
        }
        if (is_there != 0) {
            break;
        }
    }
    return begin;
}

template <class I, class S, class Pred, class Proj>
[[nodiscard]] std::iter_difference_t<I> count_all(I first, S last, Pred&& pred, Proj& proj, grain g) {
    using number = std::iter_difference_t<I>;
    const reachable<I> in(first, last);
    return detail::over_fold(
        in.size(), g, [](std::uint64_t) { return number{0}; },
        [&](number& sum, std::uint64_t b, std::uint64_t e) {
            close_call<Proj, std::iter_reference_t<I>> project = proj;
            close_call<std::remove_reference_t<Pred>, std::indirect_result_t<Proj&, I>> call = pred;
            number here = 0;
            for (auto from = detail::at(in.begin(), b), stop = detail::at(in.begin(), e); from != stop;
                 ++from) {
                if (std::invoke(call, std::invoke(project, *from))) {
                    ++here;
                }
            }
            sum += here;
        },
        [](number& sum, std::uint64_t, number other) { sum += other; });
}

/// The lowest index with pred(proj(element)), or the number of elements.
template <class I, class Pred, class Proj>
[[nodiscard]] std::uint64_t find_index(I first, std::uint64_t n, Pred& pred, Proj& proj, grain g) {
    return detail::over_search(n, g, [&](std::uint64_t b, std::uint64_t e) {
        close_call<Proj, std::iter_reference_t<I>> project = proj;
        close_call<Pred, std::indirect_result_t<Proj&, I>> call = pred;
        const auto is_found = [&](const I& it) {
            return static_cast<bool>(std::invoke(call, std::invoke(project, *it)));
        };
        if constexpr (compares_numbers<I, Pred, Proj>) {
            b += detail::block_with(detail::at(first, b), e - b, pred.value);
        }
        I from = detail::at(first, b);
        for (; e - b >= 4; b += 4, (void)(from += 4)) { // no compiler unrolls a loop with two ends
            if (is_found(from)) {
                return b;
            }
            if (is_found(from + 1)) {
                return b + 1;
            }
            if (is_found(from + 2)) {
                return b + 2;
            }
            if (is_found(from + 3)) {
                return b + 3;
            }
        }
        for (; b != e && !is_found(from); ++b, (void)++from) {
        }
        return b;
    });
}
template <class I, class S, class Pred, class Proj>
[[nodiscard]] I find_first(I first, S last, Pred&& pred, Proj& proj, grain g) {
    if constexpr (std::random_access_iterator<I>) {
        return detail::at(first, detail::find_index(first, detail::length(first, last), pred, proj, g));
    } else {
        // Parts that grow, so that a walk for an early result is short.
        for (std::uint64_t most = 1024; first != last; most *= 2) {
            const reachable<I> part(first, last, most);
            const std::uint64_t found = detail::find_index(part.begin(), part.size(), pred, proj, g);
            first = part.at(found);
            if (found != part.size()) {
                break;
            }
        }
        return first;
    }
}
template <class I, class S, class Pred, class Proj>
[[nodiscard]] bool holds_for_any(I first, S last, Pred&& pred, Proj& proj, grain g) {
    if constexpr (std::random_access_iterator<I>) {
        const std::uint64_t n = detail::length(first, last);
        return detail::find_index(first, n, pred, proj, g) != n;
    } else {
        return detail::find_first(first, last, pred, proj, g) != last;
    }
}

template <class I, class S, class Pred, class Proj>
[[nodiscard]] I find_pair(I first, S last, Pred& pred, Proj& proj, grain g) {
    const std::uint64_t n = detail::length(first, last);
    const std::uint64_t pairs = n == 0 ? 0 : n - 1;
    const std::uint64_t found = detail::over_search(pairs, g, [&](std::uint64_t b, std::uint64_t e) {
        for (I from = detail::at(first, b); b != e; ++b) {
            I a = from;
            if (std::invoke(pred, std::invoke(proj, *a), std::invoke(proj, *++from))) {
                break;
            }
        }
        return b;
    });
    return detail::at(first, found == pairs ? n : found);
}

} // namespace detail
} // namespace v0
} // namespace pilfer
