// Sorting by a string, seven characters at a time. Each element gets a tag: a number of the next characters,
// and the place of the element. The tags are sorted by digits, and those with equal characters get the next
// ones. A comparison of strings has to fetch both from memory; most tags are settled after one fetch.
//
// Sources: McIlroy, Bostic and McIlroy, Engineering radix sort, 1993; Ng and Kakehi, Cache efficient radix
// sort for string sorting, 2007 (the cached characters).
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <iterator>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <pilfer/detail/sort/base.hpp>
#include <pilfer/detail/sort/radix.hpp>
#include <pilfer/detail/sort/stable.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {
namespace sorting {

template <class K>
inline constexpr bool is_text = false;
template <class Allocator>
inline constexpr bool is_text<std::basic_string<char, std::char_traits<char>, Allocator>> = true;
template <>
inline constexpr bool is_text<std::string_view> = true;

/// True if the order is that of a string, and reading it has no side effect.
template <class I, class Comp, class Proj>
inline constexpr bool by_text = [] {
    using key = key_of<I, Proj>;
    using read = std::invoke_result_t<Proj&, std::iter_reference_t<I>>;
    constexpr bool stays = std::is_lvalue_reference_v<read> || std::same_as<key, std::string_view>;
    return moves_safely<I> && alignof(std::iter_value_t<I>) <= line_bytes && is_text<key> && stays &&
           (is_less<Comp, key> || is_greater<Comp, key>)&&(std::same_as<Proj, std::identity> ||
                                                           std::is_member_object_pointer_v<Proj>);
}();

/// Fewer elements than this are sorted by comparing strings.
inline constexpr std::size_t least_for_text = 64;
/// As many tags with equal characters are sorted by comparing what follows.
inline constexpr std::size_t few_texts = 24;
/// Strings that are equal up to here are compared: characters that do not differ are fetched for nothing.
inline constexpr std::size_t most_text = 112;

/// Characters of a string and the place of its element. Three words of 32 bits, so that two tags take less
/// memory than a std::string.
class text_tag {
public:
    static constexpr std::size_t characters = 7;

    text_tag() = default;
    explicit text_tag(std::size_t place) noexcept : m_from(static_cast<std::uint32_t>(place)) {}

    [[nodiscard]] std::uint32_t from() const noexcept { return m_from; }
    /// Orders as the strings do up to these characters and, if they end here, to their ends.
    [[nodiscard]] std::uint64_t number() const noexcept { return std::uint64_t{m_high} << 32 | m_low; }
    /// Reads the characters from `depth` on. `down`: for a descending order.
    void read(std::string_view text, std::size_t depth, bool down) noexcept {
        const std::size_t left = text.size() - depth;
        std::uint64_t bytes = 0;
        if (left > characters) {
            std::memcpy(&bytes, text.data() + depth, sizeof bytes);
        } else if (left != 0) {
            std::memcpy(&bytes, text.data() + depth, left);
        }
        if constexpr (std::endian::native == std::endian::little) {
            bytes = __builtin_bswap64(bytes);
        }
        // The last byte tells ends apart: a string that ends comes before one that goes on with a zero.
        const std::uint64_t number = (bytes & ~std::uint64_t{0xff}) | std::min(left, characters + 1);
        const std::uint64_t ordered = down ? ~number : number;
        m_high = static_cast<std::uint32_t>(ordered >> 32);
        m_low = static_cast<std::uint32_t>(ordered);
    }
    /// True if the string goes on after these characters. Otherwise strings with equal numbers are equal.
    [[nodiscard]] bool goes_on(bool down) const noexcept {
        return ((down ? ~m_low : m_low) & 0xff) == characters + 1;
    }

private:
    std::uint32_t m_high;
    std::uint32_t m_low;
    std::uint32_t m_from;
};

/// The tags of a sort, and the strings that they stand for. TextOf: returns the string of an element by its
/// place.
template <class TextOf>
class text_sorter {
public:
    text_sorter(TextOf text_of, bool down, common_report report) noexcept
        : m_text_of(text_of), m_down(down), m_report(report) {}

    /// Sorts tags whose strings are equal up to `depth`. `space`: for n tags.
    void sort(text_tag* tags, text_tag* space, std::size_t n, std::size_t depth) {
        if (n <= few_texts || depth >= most_text) {
            compare(tags, space, n, depth);
            return;
        }
        auto read = [&](std::size_t p) {
            for (std::size_t i = p * grain; i < std::min(n, (p + 1) * grain); ++i) {
                tags[i].read(m_text_of(tags[i].from()), depth, m_down);
            }
        };
        const std::size_t parts = (n + grain - 1) / grain;
        sorting::for_parts(0, parts, read, m_report);
        sorting::radix_sort(
            tags, space, n, [](const text_tag& t) { return t.number(); }, m_report);
        buffer<std::size_t> starts(parts + 1, std::nothrow);
        if (parts == 1 || starts.data() == nullptr) {
            sort_equals(tags, space, 0, n, depth);
            return;
        }
        // Where the first run of each part begins is looked up before any part changes its tags.
        auto find = [&](std::size_t p) {
            const std::size_t i = p * grain;
            starts.data()[p] = i == 0 ? 0 : end_of_run(tags, i, n, tags[i - 1].number());
        };
        sorting::for_parts(0, parts, find, m_report);
        starts.data()[parts] = n;
        auto part = [&](std::size_t p) {
            sort_equals(tags, space, starts.data()[p], starts.data()[p + 1], depth);
        };
        sorting::for_parts(0, parts, part, m_report);
    }

private:
    /// The first place of [from, n) whose tag has another number than `number`, which is none of a later run.
    [[nodiscard]] static std::size_t end_of_run(const text_tag* tags, std::size_t from, std::size_t n,
                                                std::uint64_t number) noexcept {
        const auto* const end = std::upper_bound(
            tags + from, tags + n, number, [](std::uint64_t x, const text_tag& t) { return x < t.number(); });
        return static_cast<std::size_t>(end - tags);
    }
    /// Sorts the tags of each run of equal numbers in [first, last).
    void sort_equals(text_tag* tags, text_tag* space, std::size_t first, std::size_t last,
                     std::size_t depth) {
        while (first < last) {
            std::size_t end = first + 1;
            while (end < last && tags[end].number() == tags[first].number()) {
                ++end;
            }
            if (end - first > 1 && tags[first].goes_on(m_down)) {
                sort(tags + first, space + first, end - first, depth + text_tag::characters);
            }
            first = end;
        }
    }
    void compare(text_tag* tags, text_tag* space, std::size_t n, std::size_t depth) {
        auto less = [&](const text_tag& a, const text_tag& b) {
            const std::string_view x = m_text_of((m_down ? b : a).from());
            const std::string_view y = m_text_of((m_down ? a : b).from());
            return x.substr(depth) < y.substr(depth);
        };
        sorting::sort_to<false>(tags, space, n, false, less, m_report);
    }

    TextOf m_text_of;
    bool m_down;
    common_report m_report;
};

/// Puts the element first[from[i]] to first[i] for every i, by way of `space`. After a cancellation, too.
template <class First, class T>
void permute_by(First first, T* space, const std::uint32_t* from, std::size_t n, common_report report) {
    const std::size_t parts = (n + grain - 1) / grain;
    auto end_of = [&](std::size_t p) { return std::min(n, (p + 1) * grain); };
    auto out = [&](std::size_t p) {
        for (std::size_t i = p * grain; i < end_of(p); ++i) {
            sorting::relocate(sorting::at(first, from[i]), space + i);
        }
    };
    auto back = [&](std::size_t p) {
        sorting::relocate(space + p * grain, end_of(p) - p * grain, sorting::at(first, p * grain));
    };
    sorting::for_all_parts(parts, out, report);
    sorting::for_all_parts(parts, back, report);
}

/// Sorts by the string proj(element); stable. False: there is no memory, and nothing has changed. An
/// exception, which is that of a cancellation, leaves each element in the range once.
template <class I, class Proj>
[[nodiscard]] bool text_sort(I first, std::size_t n, Proj& proj, bool down, common_report report) {
    using value = std::iter_value_t<I>;
    buffer<std::byte> memory(n * std::max(2 * sizeof(text_tag), sizeof(value)), std::nothrow);
    buffer<std::uint32_t> from(n, std::nothrow);
    if (memory.data() == nullptr || from.data() == nullptr) {
        return false;
    }
    auto text_of = [first, &proj](std::uint32_t place) -> std::string_view {
        return std::invoke(proj, *sorting::at(first, place));
    };
    auto* const tags = reinterpret_cast<text_tag*>(memory.data());
    const std::size_t parts = (n + grain - 1) / grain;
    auto make = [&](std::size_t p) {
        for (std::size_t i = p * grain; i < std::min(n, (p + 1) * grain); ++i) {
            std::construct_at(tags + i, text_tag(i));
        }
    };
    sorting::for_parts(0, parts, make, report);
    text_sorter sorter(text_of, down, report);
    sorter.sort(tags, tags + n, n, 0);
    auto places = [&](std::size_t p) {
        for (std::size_t i = p * grain; i < std::min(n, (p + 1) * grain); ++i) {
            from.data()[i] = tags[i].from();
        }
    };
    sorting::for_parts(0, parts, places, report);
    auto* const space = reinterpret_cast<value*>(memory.data()); // the tags are not needed any more
    sorting::permute_by(sorting::place_of(first), space, from.data(), n, report);
    memory.discard(report);
    return true;
}

} // namespace sorting
} // namespace detail
} // namespace v0
} // namespace pilfer
