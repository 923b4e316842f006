// Merge sort with a parallel merge: the longer half's middle number splits both halves (Cormen et al.,
// Introduction to Algorithms, 3rd edition, section 27.3).
#pragma once

#include <algorithm>
#include <vector>

#include "common/bench.hpp"
#include "kernels/mergesort/config.hpp"

namespace bench {

template <class R>
class kernel : public kernel_base {
public:
    static constexpr const char* name = "mergesort";
    explicit kernel(size s) : m_input(mergesort::numbers[s]), m_space(m_input.size()) {
        std::uint64_t state = 42;
        for (number& value : m_input) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            value = static_cast<number>(state >> 32);
        }
    }
    void prepare() { m_numbers = m_input; }

    std::uint64_t run() {
        sort(m_numbers.data(), m_space.data(), m_numbers.size(), false);
        return 0;
    }
    std::uint64_t complete(std::uint64_t) const { return hash(m_numbers); }
    bool check(std::uint64_t answer) const {
        return answer == hash(m_input) && std::is_sorted(m_numbers.begin(), m_numbers.end());
    }

private:
    using number = std::uint32_t;

    static std::uint64_t hash(const std::vector<number>& numbers) {
        std::uint64_t sum = 0;
        for (number value : numbers)
            sum += (value + 1ull) * (value ^ 0x9e3779b97f4a7c15u);
        return sum;
    }

    /// Sorts n numbers at data; the result goes to space if `elsewhere`, else to data.
    static void sort(number* data, number* space, std::size_t n, bool elsewhere) {
        if (n <= mergesort::sort_leaf) {
            std::sort(data, data + n);
            if (elsewhere)
                std::copy(data, data + n, space);
            return;
        }
        const std::size_t half = n / 2;
        R::fork_all([=] { sort(data, space, half, !elsewhere); },
                    [=] { sort(data + half, space + half, n - half, !elsewhere); });
        const number* from = elsewhere ? data : space;
        merge(from, half, from + half, n - half, elsewhere ? space : data);
    }

    static void merge(const number* a, std::size_t a_size, const number* b, std::size_t b_size, number* to) {
        if (a_size < b_size) {
            std::swap(a, b);
            std::swap(a_size, b_size);
        }
        if (a_size + b_size <= mergesort::merge_leaf) {
            std::merge(a, a + a_size, b, b + b_size, to);
            return;
        }
        const std::size_t a_half = a_size / 2;
        const auto b_half = static_cast<std::size_t>(std::lower_bound(b, b + b_size, a[a_half]) - b);
        R::fork_all(
            [=] { merge(a, a_half, b, b_half, to); },
            [=] { merge(a + a_half, a_size - a_half, b + b_half, b_size - b_half, to + a_half + b_half); });
    }

    std::vector<number> m_input;
    std::vector<number> m_numbers;
    std::vector<number> m_space;
};

} // namespace bench
