// Inputs of every length for the algorithms, and functions that make their loops split.
#pragma once

#include <chrono>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <random>
#include <stdexcept>
#include <utility>
#include <vector>

#include <pilfer/algorithm.hpp>

#include "support/harness.hpp"

namespace algorithm_tests {

/// Returns after longer than a piece of a loop should take: the loop then splits unasked at every element.
inline void linger() {
    const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(8);
    while (std::chrono::steady_clock::now() < end) {
    }
}

/// A function that calls another one; with `slow` it lingers first.
template <class F>
struct lingering {
    F function;
    bool slow;
    template <class... Arguments>
    decltype(auto) operator()(Arguments&&... arguments) const {
        if (slow) {
            linger();
        }
        return function(std::forward<Arguments>(arguments)...);
    }
};
template <class F>
lingering(F, bool) -> lingering<F>;

struct input {
    std::vector<int> values;
    bool slow; // functions should linger
    pilfer::grain grain;
};

inline std::vector<int> random_values(std::size_t n, std::mt19937& random) {
    static constexpr int distinct[] = {1, 2, 10, 1000, 1'000'000};
    const int most = distinct[random() % 5];
    std::vector<int> values(n);
    for (int& v : values) {
        v = static_cast<int>(random() % static_cast<unsigned>(most));
    }
    return values;
}

/// Calls check(input) for every length to 300, for random ones, for a large one, and for some whose functions
/// are slow enough that every loop splits down to single elements. Stops at the first failure.
template <class Check>
void over_inputs(unsigned seed, Check check) {
    std::mt19937 random(seed);
    const auto one = [&](std::size_t n, bool slow, bool is_checked = true) {
        static constexpr std::uint64_t grains[] = {1, 1, 0, 3, 7, 64};
        const input in{random_values(n, random), slow, {grains[random() % 6]}};
        if (is_checked) {
            check(in);
        }
        if (::testing::Test::HasFailure()) {
            ADD_FAILURE() << "length " << n << ", grain " << in.grain.size << (slow ? ", slow" : "");
        }
    };
    // Under a sanitizer every seventh length from 40 on: the other legs have all of them.
    for (std::size_t n = 0; n <= 300 && !::testing::Test::HasFailure(); ++n) {
        one(n, false, !support::sanitized || n < 40 || n % 7 == 0);
    }
    const std::uint64_t rounds = support::hundredth_of(10'000, 10);
    for (std::uint64_t i = 0; i != rounds && !::testing::Test::HasFailure(); ++i) {
        one(random() % 5000, false);
    }
    for (const std::size_t n : {1U, 2U, 3U, 4U, 7U, 16U, 33U, 150U}) {
        if (!::testing::Test::HasFailure()) {
            one(n, true);
        }
    }
    if (!::testing::Test::HasFailure()) {
        one(support::sanitized ? 20'000 : 200'000, false);
    }
}

/// A value that can only be moved, and that says if it was.
class move_only {
public:
    move_only() = default;
    explicit move_only(int value) : m_value(value) {}
    move_only(move_only&& other) noexcept : m_value(std::exchange(other.m_value, -1)) {}
    move_only& operator=(move_only&& other) noexcept {
        m_value = std::exchange(other.m_value, -1);
        return *this;
    }
    ~move_only() = default;
    [[nodiscard]] int get() const { return m_value; }
    friend bool operator==(const move_only& a, const move_only& b) { return a.m_value == b.m_value; }

private:
    int m_value = 0;
};

inline std::vector<move_only> movable(const std::vector<int>& values) {
    std::vector<move_only> all;
    all.reserve(values.size());
    for (const int v : values) {
        all.emplace_back(v);
    }
    return all;
}
template <class I>
std::vector<int> numbers(I first, I last) {
    std::vector<int> all;
    for (; first != last; ++first) {
        all.push_back(first->get());
    }
    return all;
}

/// Random access by the concepts of C++20 only, as an iterator of std::views::zip has. For std::prev and the
/// like it is an input iterator, which does not go back. Throws if it would leave its range.
class concept_iterator {
public:
    using value_type = int;
    using difference_type = std::ptrdiff_t;
    using reference = int&;
    using pointer = int*;
    using iterator_concept = std::random_access_iterator_tag;
    using iterator_category = std::input_iterator_tag;

    concept_iterator() = default;
    concept_iterator(int* at, int* end) noexcept : m_at(at), m_end(end) {}

    int& operator*() const noexcept { return *m_at; }
    int& operator[](difference_type n) const noexcept { return m_at[n]; }
    concept_iterator& operator++() { return *this += 1; }
    concept_iterator& operator--() { return *this += -1; }
    concept_iterator operator++(int) { return {std::exchange(m_at, m_at + 1), m_end}; }
    concept_iterator operator--(int) { return {std::exchange(m_at, m_at - 1), m_end}; }
    concept_iterator& operator+=(difference_type n) {
        if (n > m_end - m_at) {
            throw std::logic_error("an iterator leaves its range");
        }
        m_at += n;
        return *this;
    }
    concept_iterator& operator-=(difference_type n) { return *this += -n; }
    friend concept_iterator operator+(concept_iterator i, difference_type n) { return i += n; }
    friend concept_iterator operator+(difference_type n, concept_iterator i) { return i += n; }
    friend concept_iterator operator-(concept_iterator i, difference_type n) { return i -= n; }
    friend difference_type operator-(const concept_iterator& a, const concept_iterator& b) noexcept {
        return a.m_at - b.m_at;
    }
    friend bool operator==(const concept_iterator&, const concept_iterator&) = default;
    friend auto operator<=>(const concept_iterator&, const concept_iterator&) = default;

private:
    int* m_at = nullptr;
    int* m_end = nullptr;
};

} // namespace algorithm_tests
