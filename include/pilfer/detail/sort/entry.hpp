// Which way a sort goes: by digits, by the characters of strings, by merging, or in place.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <functional>
#include <iterator>
#include <type_traits>
#include <utility>

#include <pilfer/detail/sort/base.hpp>
#include <pilfer/detail/sort/radix.hpp>
#include <pilfer/detail/sort/select.hpp>
#include <pilfer/detail/sort/stable.hpp>
#include <pilfer/detail/sort/text.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {
namespace sorting {

/// True if the order is that of a number which digits can follow, and reading it has no side effect.
template <class I, class Comp, class Proj>
inline constexpr bool by_digits = [] {
    using value = std::iter_value_t<I>;
    using key = key_of<I, Proj>;
    return std::contiguous_iterator<I> && copies_freely<value> && has_radix_key<key> &&
           (is_less<Comp, key> || is_greater<Comp, key>)&&(std::same_as<Proj, std::identity> ||
                                                           std::is_member_object_pointer_v<Proj>);
}();

/// Fewer elements than this are sorted by comparing even if digits could be followed.
inline constexpr std::size_t least_for_digits = 512;

/// True if the range is sorted, or has been sorted by a reversal.
template <class I, class Less>
[[nodiscard]] bool sorted_at_once(I first, std::size_t n, Less less, common_report report) {
    auto descends = [&](auto&& a, auto&& b) {
        return less(std::forward<decltype(b)>(b), std::forward<decltype(a)>(a));
    };
    auto does_not = [&](auto&& a, auto&& b) {
        return !less(std::forward<decltype(b)>(b), std::forward<decltype(a)>(a));
    };
    if (sorting::ordered_prefix(first, n, descends, report) == n) {
        return true;
    }
    if (sorting::ordered_prefix(first, n, does_not, report) != n) {
        return false;
    }
    const std::size_t half = n / 2;
    constexpr std::size_t piece = 4 * grain;
    auto part = [&](std::size_t p) {
        for (std::size_t i = p * piece; i < std::min(half, (p + 1) * piece); ++i) {
            std::ranges::iter_swap(sorting::at(first, i), sorting::at(first, n - 1 - i));
        }
    };
    sorting::for_parts(0, (half + piece - 1) / piece, part, report);
    return true;
}

template <bool Stable, class I, class Comp, class Proj>
void sort(I first, std::size_t n, Comp& comp, Proj& proj) {
    if (n < 2) {
        return;
    }
    using value = std::iter_value_t<I>;
    using key = key_of<I, Proj>;
    sorting::run(n, [&](common_report report) {
        const order<Comp, Proj> less(comp, proj, proj);
        if constexpr (moves_safely<I>) {
            if (n <= by_insertion) {
                sorting::insertion_sort(first, n, less);
                return;
            }
            if (sorting::sorted_at_once(first, n, less, report)) {
                return;
            }
            if constexpr (by_text<I, Comp, Proj>) {
                if (n >= least_for_text && n <= UINT32_MAX &&
                    sorting::text_sort(first, n, proj, is_greater<Comp, key>, report)) {
                    return;
                }
            }
            buffer<value> space(n, std::nothrow);
            if (space.data() == nullptr) {
                if constexpr (Stable) {
                    PILFER_THROW(std::bad_alloc());
                } else {
                    sorting::quick_sort(first, n, sorting::patience_for(n), less, report);
                    return;
                }
            }
            if constexpr (by_digits<I, Comp, Proj>) {
                if (n >= least_for_digits) {
                    auto number = [&proj](const value& x) {
                        const auto up = sorting::radix_key<key>(std::invoke(proj, x));
                        return is_less<Comp, key> ? up : static_cast<decltype(up)>(~up);
                    };
                    sorting::radix_sort(sorting::place_of(first), space.data(), n, number, report);
                    space.discard(report);
                    return;
                }
            }
            sorting::merge_sort<cheap_order<I, Comp, Proj>>(first, space.data(), n, less, report);
            space.discard(report);
        } else {
            if (sorting::sorted_at_once(first, n, less, report)) {
                return;
            }
            if constexpr (Stable) {
                sorting::sort_numbers(first, n, less, report);
            } else {
                sorting::quick_sort(first, n, sorting::patience_for(n), less, report);
            }
        }
    });
}

template <class I, class Comp, class Proj>
void nth(I first, I nth, I last, Comp& comp, Proj& proj) {
    const auto n = static_cast<std::size_t>(last - first);
    if (nth == last || n < 2) {
        return;
    }
    order<Comp, Proj> less(comp, proj, proj);
    sorting::run(n, [&](common_report report) {
        sorting::select(first, n, static_cast<std::size_t>(nth - first), less, report);
    });
}

template <class I, class Comp, class Proj>
[[nodiscard]] I sorted_until(I first, I last, Comp& comp, Proj& proj) {
    const auto n = static_cast<std::size_t>(last - first);
    const order<Comp, Proj> less(comp, proj, proj);
    auto descends = [&](auto&& a, auto&& b) {
        return less(std::forward<decltype(b)>(b), std::forward<decltype(a)>(a));
    };
    std::size_t length = 0;
    sorting::run(n,
                 [&](common_report report) { length = sorting::ordered_prefix(first, n, descends, report); });
    return sorting::at(first, length);
}

template <class I, class KeyOf>
void integer_sort(I first, std::size_t n, KeyOf& key_of) {
    if (n < 2) {
        return;
    }
    using value = std::iter_value_t<I>;
    using key = integer_of<std::remove_cvref_t<std::invoke_result_t<KeyOf&, std::iter_reference_t<I>>>>;
    sorting::run(n, [&](common_report report) {
        if constexpr (std::contiguous_iterator<I> && copies_freely<value>) {
            buffer<value> space(n);
            auto number = [&key_of](value& x) { return static_cast<key>(std::invoke(key_of, x)); };
            sorting::radix_sort(sorting::place_of(first), space.data(), n, number, report);
            space.discard(report);
        } else {
            // Each key is read once, with the number of its element; then each element moves once.
            struct numbered {
                key k;
                std::size_t from;
            };
            buffer<numbered> pairs(2 * n);
            buffer<std::size_t> from(n);
            constexpr std::size_t piece = 4 * grain;
            auto read = [&](std::size_t p) {
                for (std::size_t i = p * piece; i < std::min(n, (p + 1) * piece); ++i) {
                    const auto k = static_cast<key>(std::invoke(key_of, *sorting::at(first, i)));
                    std::construct_at(pairs.data() + i, numbered{k, i});
                }
            };
            sorting::for_parts(0, (n + piece - 1) / piece, read, report);
            auto number = [](const numbered& x) { return x.k; };
            sorting::radix_sort(pairs.data(), pairs.data() + n, n, number, report);
            for (std::size_t i = 0; i < n; ++i) {
                from.data()[i] = pairs.data()[i].from;
            }
            sorting::permute(first, from.data(), n);
            pairs.discard(report);
        }
    });
}

} // namespace sorting
} // namespace detail
} // namespace v0
} // namespace pilfer
