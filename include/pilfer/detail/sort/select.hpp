// Partition in place, the selection and the quicksort that rest on it, and the search for the end of a sorted
// prefix.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <utility>

#include <pilfer/detail/sort/base.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {
namespace sorting {

/// Moves the elements for which pred is true to the front. Returns their number.
template <class I, class Pred>
[[nodiscard]] std::size_t partition_here(I first, std::size_t n, Pred& pred) {
    std::size_t low = 0;
    std::size_t high = n;
    for (;;) {
        while (low < high && pred(*sorting::at(first, low))) {
            ++low;
        }
        while (low < high && !pred(*sorting::at(first, high - 1))) {
            --high;
        }
        if (low >= high) {
            return low;
        }
        --high;
        std::ranges::iter_swap(sorting::at(first, low), sorting::at(first, high));
        ++low;
    }
}

/// Swaps [a, a + n) and [b, b + n), perhaps in parallel.
template <class I>
void swap_parts(I a, I b, std::size_t n, common_report report) {
    if (n > grain) {
        const std::size_t half = n / 2;
        auto low = [&] { sorting::swap_parts(a, b, half, report); };
        auto high = [&] {
            sorting::swap_parts(sorting::at(a, half), sorting::at(b, half), n - half, report);
        };
        (void)detail::join_two(detail::this_worker(), low, high, report);
        return;
    }
    for (std::size_t i = 0; i < n; ++i) {
        std::ranges::iter_swap(sorting::at(a, i), sorting::at(b, i));
    }
}

/// partition_here(), perhaps in parallel: both halves are partitioned at once, then the false ones of the
/// lower half change places with the true ones of the upper half.
template <class I, class Pred>
[[nodiscard]] std::size_t partition(I first, std::size_t n, std::size_t piece, Pred& pred,
                                    common_report report) {
    if (n <= piece) {
        return sorting::partition_here(first, n, pred);
    }
    const std::size_t half = n / 2;
    auto low = [&] { return sorting::partition(first, half, piece, pred, report); };
    auto high = [&] { return sorting::partition(sorting::at(first, half), n - half, piece, pred, report); };
    auto [a, b] = detail::join_two(detail::this_worker(), low, high, report);
    const std::size_t swapped = std::min(half - a, b);
    sorting::swap_parts(sorting::at(first, a), sorting::at(first, half + b - swapped), swapped, report);
    return a + b;
}

/// Brings an element to first[0] that is about the one of rank `rank` of n, by a sorted sample. True if the
/// sample has an equal one: then the range has many.
template <class I, class Less>
[[nodiscard]] bool choose_pivot(I first, std::size_t n, std::size_t rank, Less& less) {
    constexpr std::size_t most = 255;
    const std::size_t size = n < 4096 ? 9 : n < (std::size_t{1} << 17) ? 63 : most;
    std::array<std::size_t, most> sample{};
    std::uint64_t state = n * 0x9e3779b97f4a7c15U + rank;
    for (std::size_t i = 0; i < size; ++i) {
        // One from each of `size` parts, at a place that no pattern of the input knows.
        state = state * 6364136223846793005U + 1442695040888963407U;
        const std::size_t part = n / size;
        sample[i] = i * part + static_cast<std::size_t>(state >> 33) % part;
    }
    sorting::insertion_sort(sample.data(), size, [&](std::size_t a, std::size_t b) {
        return less(*sorting::at(first, a), *sorting::at(first, b));
    });
    // A bit past the rank, seen from the nearer end: the next part then is short with a high probability.
    const auto place = static_cast<std::size_t>(static_cast<double>(rank) / static_cast<double>(n) *
                                                static_cast<double>(size));
    const std::size_t margin = size / 20;
    const std::size_t chosen =
        rank < n / 2 ? std::min(place + margin, size - 1) : place - std::min(place, margin);
    const bool repeated = chosen + 1 < size &&
                          !less(*sorting::at(first, sample[chosen]), *sorting::at(first, sample[chosen + 1]));
    std::ranges::iter_swap(first, sorting::at(first, sample[chosen]));
    return repeated;
}

/// Elements less than first[0] go before `low`, equal ones to [low, high), greater ones after them.
struct three_parts {
    std::size_t low, high;
};
template <class I, class Less>
[[nodiscard]] three_parts partition_around(I first, std::size_t n, bool repeated, Less& less,
                                           common_report report) {
    const std::size_t piece = n <= 4 * grain ? n : std::max(grain, n / 256);
    auto below = [&](auto&& x) { return less(std::forward<decltype(x)>(x), *first); };
    const std::size_t low = sorting::partition(first + 1, n - 1, piece, below, report);
    if (low != 0) {
        std::ranges::iter_swap(first, sorting::at(first, low));
    }
    std::size_t high = low + 1;
    // Equal elements would come again and again.
    if (repeated || low == 0) {
        const I pivot = sorting::at(first, low);
        auto not_above = [&](auto&& x) { return !less(*pivot, std::forward<decltype(x)>(x)); };
        high += sorting::partition(sorting::at(first, high), n - high, piece, not_above, report);
    }
    return {low, high};
}

/// Moves an element down into the heap [0, n) of first, whose root is the greatest.
template <class I, class Less>
void sift_down(I first, std::size_t root, std::size_t n, Less& less) {
    for (;;) {
        std::size_t child = 2 * root + 1;
        if (child >= n) {
            return;
        }
        if (child + 1 < n && less(*sorting::at(first, child), *sorting::at(first, child + 1))) {
            ++child;
        }
        if (!less(*sorting::at(first, root), *sorting::at(first, child))) {
            return;
        }
        std::ranges::iter_swap(sorting::at(first, root), sorting::at(first, child));
        root = child;
    }
}
template <class I, class Less>
void heap_sort(I first, std::size_t n, Less& less) {
    for (std::size_t i = n / 2; i-- > 0;) {
        sorting::sift_down(first, i, n, less);
    }
    for (std::size_t i = n; i-- > 1;) {
        std::ranges::iter_swap(first, sorting::at(first, i));
        sorting::sift_down(first, 0, i, less);
    }
}

/// How many partitions may be bad before heap sort ends the matter.
[[nodiscard]] inline unsigned patience_for(std::size_t n) noexcept {
    return static_cast<unsigned>(std::bit_width(n)) + 4;
}

/// Sorts in place, without memory; not stable.
template <class I, class Less>
void quick_sort(I first, std::size_t n, unsigned patience, Less& less, common_report report) {
    while (n > 16) {
        if (patience == 0) {
            sorting::heap_sort(first, n, less);
            return;
        }
        const bool repeated = sorting::choose_pivot(first, n, n / 2, less);
        const three_parts cut = sorting::partition_around(first, n, repeated, less, report);
        const std::size_t above = n - cut.high;
        patience -= std::max(cut.low, above) > n - n / 8 ? 1U : 0U;
        if (n > grain) {
            auto low = [&] { sorting::quick_sort(first, cut.low, patience, less, report); };
            auto high = [&] {
                sorting::quick_sort(sorting::at(first, cut.high), above, patience, less, report);
            };
            (void)detail::join_two(detail::this_worker(), low, high, report);
            return;
        }
        // The shorter part by a call, so that the stack stays short.
        if (cut.low < above) {
            sorting::quick_sort(first, cut.low, patience, less, report);
            first = sorting::at(first, cut.high);
            n = above;
        } else {
            sorting::quick_sort(sorting::at(first, cut.high), above, patience, less, report);
            n = cut.low;
        }
    }
    sorting::insertion_sort(first, n, less);
}

/// Brings the element of rank `rank` to its place, lesser ones before it.
template <class I, class Less>
void select(I first, std::size_t n, std::size_t rank, Less& less, common_report report) {
    unsigned patience = sorting::patience_for(n);
    while (n > 16) {
        if (patience == 0) {
            sorting::heap_sort(first, n, less);
            return;
        }
        const bool repeated = sorting::choose_pivot(first, n, rank, less);
        const three_parts cut = sorting::partition_around(first, n, repeated, less, report);
        const std::size_t before = n;
        if (rank < cut.low) {
            n = cut.low;
        } else if (rank < cut.high) {
            return;
        } else {
            first = sorting::at(first, cut.high);
            rank -= cut.high;
            n -= cut.high;
        }
        patience -= n > before - before / 8 ? 1U : 0U;
    }
    sorting::insertion_sort(first, n, less);
}

/// The length of the longest prefix of [first, first + n) in which no element stands `wrongly` after the one
/// before it. Later parts are not looked at once an earlier one has an end.
template <class I, class Wrong>
void search_break(I first, std::size_t from, std::size_t to, std::atomic<std::size_t>& found, Wrong& wrong,
                  common_report report) {
    constexpr std::size_t piece = 4 * grain;
    if (from >= found.load(rlx)) {
        return;
    }
    if (to - from > piece) {
        const std::size_t middle = from + (to - from) / 2;
        auto low = [&] { sorting::search_break(first, from, middle, found, wrong, report); };
        auto high = [&] { sorting::search_break(first, middle, to, found, wrong, report); };
        (void)detail::join_two(detail::this_worker(), low, high, report);
        return;
    }
    for (std::size_t i = from; i < to; ++i) {
        if (wrong(*sorting::at(first, i - 1), *sorting::at(first, i))) {
            std::size_t before = found.load(rlx);
            while (i < before && !found.compare_exchange_weak(before, i, rlx)) { // read after the joins
            }
            return;
        }
    }
}
template <class I, class Wrong>
[[nodiscard]] std::size_t ordered_prefix(I first, std::size_t n, Wrong wrong, common_report report) {
    if (n < 2) {
        return n;
    }
    std::atomic<std::size_t> found{n};
    // Most inputs that are not sorted show it at once.
    sorting::search_break(first, 1, std::min<std::size_t>(n, 64), found, wrong, report);
    if (found.load(rlx) == n && n > 64) {
        sorting::search_break(first, 64, n, found, wrong, report);
    }
    return found.load(rlx);
}

} // namespace sorting
} // namespace detail
} // namespace v0
} // namespace pilfer
