// The merge sort: both halves are sorted into the other place at once, then merged back in parallel.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <numeric>
#include <type_traits>
#include <utility>

#include <pilfer/detail/sort/base.hpp>
#include <pilfer/detail/sort/merge.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {
namespace sorting {

/// Shorter sequences are sorted by insertion.
inline constexpr std::size_t by_insertion = 16;

/// Brings n elements to `other` if to_other, else to `data`. in_other: where they are.
template <class Data, class Other>
void gather(Data data, Other other, std::size_t n, bool in_other, bool to_other) noexcept {
    if (in_other && !to_other) {
        sorting::relocate(other, n, data);
    } else if (!in_other && to_other) {
        sorting::relocate(data, n, other);
    }
}

/// Sorts a short sequence on this task. The elements begin in `data` and end, also after an exception, in
/// `other` if to_other, else in `data`.
template <bool Cheap, class Data, class Other, class Less>
void sort_here(Data data, Other other, std::size_t n, bool to_other, Less less) {
    if (n <= by_insertion) {
        PILFER_TRY { sorting::insertion_sort(data, n, less); }
        PILFER_CATCH_ALL {
            sorting::gather(data, other, n, false, to_other);
            PILFER_RETHROW;
        }
        sorting::gather(data, other, n, false, to_other);
        return;
    }
    const std::size_t half = n / 2;
    const Data data_high = sorting::at(data, half);
    const Other other_high = sorting::at(other, half);
    bool high_begun = false;
    PILFER_TRY {
        sorting::sort_here<Cheap>(data, other, half, !to_other, less);
        high_begun = true;
        sorting::sort_here<Cheap>(data_high, other_high, n - half, !to_other, less);
    }
    PILFER_CATCH_ALL {
        // A half that has begun is where the merge would look for it: in `other`, unless to_other.
        sorting::gather(data, other, half, !to_other, to_other);
        sorting::gather(data_high, other_high, n - half, high_begun && !to_other, to_other);
        PILFER_RETHROW;
    }
    if (to_other) {
        sorting::merge_here<Cheap>(data, half, data_high, n - half, other, less);
    } else {
        sorting::merge_here<Cheap>(other, half, other_high, n - half, data, less);
    }
}

/// sort_here() for any length, perhaps in parallel.
template <bool Cheap, class Data, class Other, class Less>
void sort_to(Data data, Other other, std::size_t n, bool to_other, Less less, common_report report) {
    if (n <= grain) {
        sorting::sort_here<Cheap>(data, other, n, to_other, less);
        return;
    }
    const std::size_t half = n / 2;
    const Data data_high = sorting::at(data, half);
    const Other other_high = sorting::at(other, half);
    bool low_begun = false;
    bool high_begun = false;
    PILFER_TRY {
        auto low = [&] {
            low_begun = true;
            sorting::sort_to<Cheap>(data, other, half, !to_other, less, report);
        };
        auto high = [&] {
            high_begun = true;
            sorting::sort_to<Cheap>(data_high, other_high, n - half, !to_other, less, report);
        };
        (void)detail::join_two(detail::this_worker(), low, high, report);
    }
    PILFER_CATCH_ALL {
        sorting::gather(data, other, half, low_begun && !to_other, to_other);
        sorting::gather(data_high, other_high, n - half, high_begun && !to_other, to_other);
        PILFER_RETHROW;
    }
    if (to_other) {
        sorting::merge_to<Cheap>(data, half, data_high, n - half, other, less, report);
    } else {
        sorting::merge_to<Cheap>(other, half, other_high, n - half, data, less, report);
    }
}

/// Puts the element first[from[i]] to first[i] for every i. `from` is used up.
template <class I>
void permute(I first, std::size_t* from, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) {
        if (from[i] == i) {
            continue;
        }
        std::iter_value_t<I> value = std::ranges::iter_move(sorting::at(first, i));
        std::size_t place = i;
        for (std::size_t next = from[i]; next != i; next = from[place]) {
            *sorting::at(first, place) = std::ranges::iter_move(sorting::at(first, next));
            from[place] = place;
            place = next;
        }
        *sorting::at(first, place) = std::move(value);
        from[place] = place;
    }
}

/// Sorts elements whose moves may throw: their numbers are sorted, then each element moves once. A comparison
/// that throws changes nothing.
template <class I, class Less>
void sort_numbers(I first, std::size_t n, Less& less, common_report report) {
    buffer<std::size_t> numbers(2 * n);
    std::size_t* const from = numbers.data();
    std::iota(from, from + n, std::size_t{0});
    auto by_number = [&](std::size_t a, std::size_t b) {
        return less(*sorting::at(first, a), *sorting::at(first, b));
    };
    sorting::sort_to<false>(from, from + n, n, false, by_number, report);
    sorting::permute(first, from, n);
}

/// Sorts by merging, stable. `space`: for n elements.
template <bool Cheap, class I, class Less>
void merge_sort(I first, std::iter_value_t<I>* space, std::size_t n, Less less, common_report report) {
    sorting::sort_to<Cheap>(sorting::place_of(first), space, n, false, less, report);
}

} // namespace sorting
} // namespace detail
} // namespace v0
} // namespace pilfer
