// The iterator of <pilfer/algorithm/spaces.hpp> that makes steps.
#pragma once

#include <compare>
#include <concepts>
#include <cstdint>
#include <iterator>
#include <type_traits>

#include <pilfer/detail/scope/range.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

/// The value and the reference of a position: of the number itself, or of the element.
template <class I>
struct position_types {
    using value = std::iter_value_t<I>;
    using reference = std::iter_reference_t<I>;
};
template <std::integral I>
struct position_types<I> {
    using value = I;
    using reference = I;
};

/// The index-th step from `first`. It keeps the index, so that no position after the last one is ever made.
template <class I>
class strided_iterator {
public:
    using value_type = typename position_types<I>::value;
    using reference = typename position_types<I>::reference;
    using difference_type = std::int64_t;
    using iterator_concept = std::random_access_iterator_tag;

    strided_iterator() = default;
    strided_iterator(I first, std::int64_t step, std::int64_t index)
        : m_first(first), m_step(step), m_index(index) {}
    /// The position: an integer, or the caller's iterator. The end has none.
    [[nodiscard]] I base() const {
        // Modulo 2^64: the product of two signed numbers may exceed their range.
        return detail::advanced(m_first,
                                static_cast<std::uint64_t>(m_index) * static_cast<std::uint64_t>(m_step));
    }

    [[nodiscard]] reference operator*() const { return detail::element(this->base()); }
    [[nodiscard]] reference operator[](difference_type n) const { return *(*this + n); }
    strided_iterator& operator++() noexcept { return *this += 1; }
    strided_iterator& operator--() noexcept { return *this -= 1; }
    strided_iterator operator++(int) {
        strided_iterator before = *this;
        ++m_index;
        return before;
    }
    strided_iterator operator--(int) {
        strided_iterator before = *this;
        --m_index;
        return before;
    }
    strided_iterator& operator+=(difference_type n) noexcept {
        m_index += n;
        return *this;
    }
    strided_iterator& operator-=(difference_type n) noexcept {
        m_index -= n;
        return *this;
    }
    [[nodiscard]] friend strided_iterator operator+(strided_iterator i, difference_type n) { return i += n; }
    [[nodiscard]] friend strided_iterator operator+(difference_type n, strided_iterator i) { return i += n; }
    [[nodiscard]] friend strided_iterator operator-(strided_iterator i, difference_type n) { return i -= n; }
    [[nodiscard]] friend difference_type operator-(const strided_iterator& a, const strided_iterator& b) {
        return a.m_index - b.m_index;
    }
    // Both are of one range.
    [[nodiscard]] friend bool operator==(const strided_iterator& a, const strided_iterator& b) {
        return a.m_index == b.m_index;
    }
    [[nodiscard]] friend auto operator<=>(const strided_iterator& a, const strided_iterator& b) {
        return a.m_index <=> b.m_index;
    }

private:
    I m_first{};
    std::int64_t m_step = 1;
    std::int64_t m_index = 0;
};

/// How many positions a loop from `first` to `last` visits.
template <class I>
[[nodiscard]] std::int64_t steps_between(I first, I last, std::int64_t step) {
    if (!(first < last)) {
        return 0;
    }
    return static_cast<std::int64_t>(
        (detail::range_size(first, last) - 1) / static_cast<std::uint64_t>(step) + 1);
}

} // namespace detail
} // namespace v0
} // namespace pilfer
