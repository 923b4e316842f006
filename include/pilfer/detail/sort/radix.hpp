// Sorting by an unsigned key, digit by digit; stable. Long sequences are cut by their highest digit into
// parts, which are sorted at once; short ones go digit by digit from the lowest one.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include <pilfer/detail/sort/base.hpp>
#include <pilfer/detail/sort/stable.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {
namespace sorting {

inline constexpr unsigned digit_bits = 8;
inline constexpr std::size_t digits = std::size_t{1} << digit_bits;
/// A part of this many bytes fits into the second-level cache together with its copy.
inline constexpr std::size_t radix_bytes = std::size_t{1} << 18;

/// Fewer elements than this are not cut by their highest digit.
inline constexpr std::size_t radix_least = 1024;

/// The unsigned number of `Bytes` bytes.
template <std::size_t Bytes>
using unsigned_of =
    std::conditional_t<Bytes == 1, std::uint8_t,
                       std::conditional_t<Bytes == 2, std::uint16_t,
                                          std::conditional_t<Bytes == 4, std::uint32_t, std::uint64_t>>>;

/// The unsigned number of the size of K, which may be bool or a character: these have no bit operations.
template <class K>
using integer_of = std::conditional_t<(sizeof(K) <= 8), unsigned_of<sizeof(K)>, K>;

/// True if radix_key() orders values of this type as < does. An enumeration may have an order of its own.
template <class K>
inline constexpr bool has_radix_key = (std::integral<K> && sizeof(K) <= 8) ||
                                      (std::floating_point<K> && (sizeof(K) == 4 || sizeof(K) == 8) &&
                                       std::numeric_limits<K>::is_iec559);

/// An unsigned number that is less if and only if the value is less, and neither is NaN.
template <class K>
[[nodiscard]] PILFER_ALWAYS_INLINE auto radix_key(K value) noexcept {
    using number = unsigned_of<sizeof(K)>;
    constexpr number sign = static_cast<number>(number{1} << (8 * sizeof(K) - 1));
    if constexpr (std::floating_point<K>) {
        const auto bits = std::bit_cast<number>(value + K{0}); // -0 becomes +0: these are equal
        return static_cast<number>((bits & sign) != 0 ? ~bits : bits | sign);
    } else if constexpr (std::signed_integral<K>) {
        return static_cast<number>(static_cast<number>(value) ^ sign);
    } else {
        return static_cast<number>(value);
    }
}

template <class Key>
[[nodiscard]] PILFER_ALWAYS_INLINE std::size_t digit(Key key, unsigned shift) noexcept {
    return static_cast<std::size_t>(key >> shift) & (digits - 1);
}

/// Sorts by the lowest `bits` bits of the key, on this task. Elements go to `other` if to_other, else to
/// `data`, also after an exception of the key.
template <class T, class KeyOf>
void radix_here(T* data, T* other, std::size_t n, bool to_other, unsigned bits, KeyOf& key_of) {
    using key = std::remove_cvref_t<std::invoke_result_t<KeyOf&, T&>>;
    constexpr std::size_t places = sizeof(key);
    T* from = data;
    PILFER_TRY {
        if (n <= 32 || n <= 8 * ((bits + digit_bits - 1) / digit_bits)) {
            sorting::insertion_sort(data, n, [&](T& a, T& b) { return key_of(a) < key_of(b); });
        } else {
            std::array<std::array<std::uint32_t, digits>, places> counts;
            const std::size_t used = (bits + digit_bits - 1) / digit_bits;
            for (std::size_t d = 0; d < used; ++d) {
                counts[d].fill(0);
            }
            for (std::size_t i = 0; i < n; ++i) {
                const key k = key_of(data[i]);
                for (std::size_t d = 0; d < used; ++d) {
                    ++counts[d][sorting::digit(k, static_cast<unsigned>(d) * digit_bits)];
                }
            }
            T* to = other;
            for (std::size_t d = 0; d < used; ++d) {
                const unsigned shift = static_cast<unsigned>(d) * digit_bits;
                auto& count = counts[d];
                if (count[sorting::digit(static_cast<key>(key_of(*from)), shift)] == n) {
                    continue; // all have this digit
                }
                std::uint32_t sum = 0;
                for (std::uint32_t& c : count) {
                    sum += std::exchange(c, sum);
                }
                for (std::size_t i = 0; i < n; ++i) {
                    to[count[sorting::digit(static_cast<key>(key_of(from[i])), shift)]++] = from[i];
                }
                std::swap(from, to);
            }
        }
    }
    PILFER_CATCH_ALL {
        sorting::gather(data, other, n, from == other, to_other);
        PILFER_RETHROW;
    }
    sorting::gather(data, other, n, from == other, to_other);
}

/// Radix sort of any length, perhaps in parallel. Elements go where radix_here() brings them, also after an
/// exception or a cancellation.
template <class T, class KeyOf>
void radix_to(T* data, T* other, std::size_t n, bool to_other, unsigned bits, KeyOf& key_of,
              common_report report);

/// The parts into which one digit cuts a sequence: `start[d]` to `start[d + 1]`.
struct radix_parts {
    std::array<std::size_t, digits + 1> start{};
    std::array<bool, digits> begun{};
};

/// Sorts the parts of [first, last), which are in `other`; in parallel if these are long.
template <class T, class KeyOf>
void sort_parts(radix_parts& parts, std::size_t first, std::size_t last, T* data, T* other, bool to_other,
                unsigned bits, KeyOf& key_of, common_report report) {
    const std::size_t n = parts.start[last] - parts.start[first];
    if (last - first == 1 || n <= grain) {
        for (; first != last; ++first) {
            const std::size_t at = parts.start[first];
            parts.begun[first] = true;
            sorting::radix_to(other + at, data + at, parts.start[first + 1] - at, !to_other, bits, key_of,
                              report);
        }
        return;
    }
    std::size_t middle = first + (last - first) / 2;
    auto low = [&] {
        sorting::sort_parts(parts, first, middle, data, other, to_other, bits, key_of, report);
    };
    auto high = [&] {
        sorting::sort_parts(parts, middle, last, data, other, to_other, bits, key_of, report);
    };
    (void)detail::join_two(detail::this_worker(), low, high, report);
}

/// Moves all elements to `other`, ordered by the highest digit, and fills `parts`. An exception leaves all
/// elements in `data`. False: all have that digit, and nothing has moved.
/// Without memory for the counts of several blocks, there is one block, counted in `parts`.
template <class T, class KeyOf>
bool cut_by_digit(radix_parts& parts, T* data, T* other, std::size_t n, unsigned shift, KeyOf& key_of,
                  common_report report) {
    using counts = std::array<std::size_t, digits>;
    constexpr std::size_t block_elements = std::size_t{1} << 16;
    std::size_t blocks = std::clamp<std::size_t>(n / block_elements, 1, 128);
    const std::unique_ptr<std::size_t[]> many(blocks > 1 ? new (std::nothrow) std::size_t[blocks * digits]
                                                         : nullptr);
    if (many == nullptr) {
        blocks = 1;
    }
    std::size_t* const count = many != nullptr ? many.get() : parts.start.data();
    const std::size_t length = n / blocks;
    auto block_end = [&](std::size_t b) { return b + 1 == blocks ? n : (b + 1) * length; };
    auto histogram = [&](std::size_t b) {
        counts here{};
        for (std::size_t i = b * length; i < block_end(b); ++i) {
            ++here[sorting::digit(key_of(data[i]), shift)];
        }
        std::ranges::copy(here, count + b * digits);
    };
    sorting::for_parts(0, blocks, histogram, report);
    std::size_t sum = 0;
    std::size_t largest = 0;
    for (std::size_t d = 0; d < digits; ++d) {
        const std::size_t start = sum;
        for (std::size_t b = 0; b < blocks; ++b) {
            sum += std::exchange(count[b * digits + d], sum);
        }
        parts.start[d] = start;
        largest = std::max(largest, sum - start);
    }
    parts.start[digits] = n;
    if (largest == n) {
        return false;
    }
    auto scatter = [&](std::size_t b) {
        counts to;
        std::copy_n(count + b * digits, digits, to.begin());
        for (std::size_t i = b * length; i < block_end(b); ++i) {
            other[to[sorting::digit(key_of(data[i]), shift)]++] = data[i];
        }
    };
    sorting::for_parts(0, blocks, scatter, report);
    return true;
}

template <class T, class KeyOf>
void radix_to(T* data, T* other, std::size_t n, bool to_other, unsigned bits, KeyOf& key_of,
              common_report report) {
    for (;;) {
        if (bits == 0) {
            sorting::gather(data, other, n, false, to_other);
            return;
        }
        if (n <= radix_least || (n <= radix_bytes / sizeof(T) && bits <= 3 * digit_bits)) {
            sorting::radix_here(data, other, n, to_other, bits, key_of);
            return;
        }
        radix_parts parts;
        bits = bits > digit_bits ? bits - digit_bits : 0;
        bool cut = false;
        PILFER_TRY {
            cut = sorting::cut_by_digit(parts, data, other, n, bits, key_of, report);
            if (cut) {
                sorting::sort_parts(parts, 0, digits, data, other, to_other, bits, key_of, report);
                return;
            }
        }
        PILFER_CATCH_ALL {
            if (!cut) {
                sorting::gather(data, other, n, false, to_other);
            } else {
                for (std::size_t d = 0; d < digits; ++d) {
                    const std::size_t at = parts.start[d];
                    if (!parts.begun[d]) {
                        sorting::gather(data + at, other + at, parts.start[d + 1] - at, true, to_other);
                    }
                }
            }
            PILFER_RETHROW;
        }
    }
}

/// Which bits differ between keys.
template <class T, class KeyOf>
[[nodiscard]] unsigned differing_bits(T* data, std::size_t n, KeyOf& key_of, common_report report) {
    using key = std::remove_cvref_t<std::invoke_result_t<KeyOf&, T&>>;
    constexpr std::size_t block_elements = std::size_t{1} << 16;
    const std::size_t blocks = std::clamp<std::size_t>(n / block_elements, 1, 128);
    const std::size_t length = n / blocks;
    std::array<key, 128> found{};
    const key any = key_of(*data);
    auto part = [&](std::size_t b) {
        const std::size_t end = b + 1 == blocks ? n : (b + 1) * length;
        key all = 0;
        for (std::size_t i = b * length; i < end; ++i) {
            all = static_cast<key>(all | (key_of(data[i]) ^ any));
        }
        found[b] = all;
    };
    sorting::for_parts(0, blocks, part, report);
    key all = 0;
    for (const key k : found) {
        all = static_cast<key>(all | k);
    }
    return static_cast<unsigned>(std::bit_width(all));
}

/// Sorts trivially copyable elements by key_of(element), an unsigned number. `space`: for n elements.
template <class T, class KeyOf>
void radix_sort(T* data, T* space, std::size_t n, KeyOf key_of, common_report report) {
    const unsigned bits = sorting::differing_bits(data, n, key_of, report);
    if (bits != 0) {
        sorting::radix_to(data, space, n, false, bits, key_of, report);
    }
}

} // namespace sorting
} // namespace detail
} // namespace v0
} // namespace pilfer
