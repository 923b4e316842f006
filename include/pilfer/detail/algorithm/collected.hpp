// Ranges of linked nodes as sequences with random access: one walk collects an iterator for each element.
#pragma once

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <vector>

#include <pilfer/detail/algorithm/ranges.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

/// Goes over the elements of collected iterators.
template <class I>
class collected_iterator {
public:
    using value_type = std::iter_value_t<I>;
    using difference_type = std::ptrdiff_t;
    using reference = std::iter_reference_t<I>;
    using iterator_concept = std::random_access_iterator_tag;

    collected_iterator() = default;
    explicit collected_iterator(const I* at) noexcept : m_at(at) {}
    /// The iterator of the caller's range.
    [[nodiscard]] I base() const { return *m_at; }

    [[nodiscard]] reference operator*() const { return **m_at; }
    [[nodiscard]] reference operator[](difference_type n) const { return *m_at[n]; }
    collected_iterator& operator++() noexcept { return *this += 1; }
    collected_iterator& operator--() noexcept { return *this -= 1; }
    collected_iterator operator++(int) noexcept { return collected_iterator(m_at++); }
    collected_iterator operator--(int) noexcept { return collected_iterator(m_at--); }
    collected_iterator& operator+=(difference_type n) noexcept {
        m_at += n;
        return *this;
    }
    collected_iterator& operator-=(difference_type n) noexcept { return *this += -n; }
    [[nodiscard]] friend collected_iterator operator+(collected_iterator i, difference_type n) noexcept {
        return i += n;
    }
    [[nodiscard]] friend collected_iterator operator+(difference_type n, collected_iterator i) noexcept {
        return i += n;
    }
    [[nodiscard]] friend collected_iterator operator-(collected_iterator i, difference_type n) noexcept {
        return i -= n;
    }
    [[nodiscard]] friend difference_type operator-(collected_iterator a, collected_iterator b) noexcept {
        return a.m_at - b.m_at;
    }
    friend bool operator==(const collected_iterator&, const collected_iterator&) = default;
    friend auto operator<=>(const collected_iterator&, const collected_iterator&) = default;

private:
    const I* m_at = nullptr;
};

/// The elements of a range, reachable by their indices. With random access there is nothing to do.
template <class I>
class reachable {
public:
    template <class S>
    reachable(I first, S last) : m_first(first), m_size(detail::length(first, last)) {}
    /// The first n elements.
    reachable(I first, std::uint64_t n) : m_first(first), m_size(n) {}
    /// At most n elements.
    template <class S>
    reachable(I first, S last, std::uint64_t n)
        : m_first(first), m_size(detail::length_within(first, last, n)) {}
    /// Adds the element at the end.
    void grow() noexcept { ++m_size; }

    [[nodiscard]] std::uint64_t size() const noexcept { return m_size; }
    [[nodiscard]] I begin() const { return m_first; }
    [[nodiscard]] I end() const { return this->at(m_size); }
    /// The caller's iterator of an element, or of the end.
    [[nodiscard]] I at(std::uint64_t index) const { return detail::at(m_first, index); }

private:
    I m_first;
    std::uint64_t m_size;
};

/// Linked nodes. Memory: an iterator for each element; throws std::bad_alloc.
template <std::forward_iterator I>
requires(!std::random_access_iterator<I>) class reachable<I> {
public:
    template <class S>
    reachable(I first, S last) {
        for (; first != last; ++first) {
            m_all.push_back(first);
        }
        m_all.push_back(first);
    }
    /// The first n elements.
    reachable(I first, std::uint64_t n) {
        m_all.reserve(n + 1);
        for (; n != 0; --n, (void)++first) {
            m_all.push_back(first);
        }
        m_all.push_back(first);
    }
    /// At most n elements.
    template <class S>
    reachable(I first, S last, std::uint64_t n) {
        for (; n != 0 && first != last; --n, (void)++first) {
            m_all.push_back(first);
        }
        m_all.push_back(first);
    }
    /// Adds the element at the end.
    void grow() {
        I next = m_all.back();
        m_all.push_back(++next);
    }

    [[nodiscard]] std::uint64_t size() const noexcept { return m_all.size() - 1; }
    [[nodiscard]] collected_iterator<I> begin() const { return collected_iterator<I>(m_all.data()); }
    [[nodiscard]] collected_iterator<I> end() const { return detail::at(this->begin(), this->size()); }
    /// The caller's iterator of an element, or of the end.
    [[nodiscard]] I at(std::uint64_t index) const { return m_all[index]; }

private:
    std::vector<I> m_all; ///< and the end
};

/// The pairs of two ranges, as many as the shorter one has elements. One of them may have no end.
template <class I1, class I2>
struct reachable_pairs {
    template <class S1, class S2>
    reachable_pairs(I1 first1, S1 last1, I2 first2, S2 last2)
        : in1(first1, std::uint64_t{0}), in2(first2, std::uint64_t{0}) {
        if constexpr (std::sized_sentinel_for<S1, I1>) {
            in1 = reachable<I1>(first1, last1);
            in2 = reachable<I2>(first2, last2, in1.size());
        } else if constexpr (std::sized_sentinel_for<S2, I2>) {
            in2 = reachable<I2>(first2, last2);
            in1 = reachable<I1>(first1, last1, in2.size());
        } else {
            while (in1.at(in1.size()) != last1 && in2.at(in2.size()) != last2) {
                in1.grow();
                in2.grow();
            }
        }
    }
    [[nodiscard]] std::uint64_t size() const noexcept { return std::min(in1.size(), in2.size()); }

    reachable<I1> in1;
    reachable<I2> in2;
};

} // namespace detail
} // namespace v0
} // namespace pilfer
