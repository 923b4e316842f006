// A tree of ten-way forks whose leaves give their own number; the sum goes up. After
// github.com/atemerev/skynet.
#pragma once

#include <array>
#include <numeric>
#include <utility>

#include "common/bench.hpp"
#include "kernels/skynet/config.hpp"

namespace bench {

template <class R>
class kernel : public kernel_base {
public:
    static constexpr const char* name = "skynet";
    explicit kernel(size s) : m_leaves(skynet::leaves[s]) {}
    std::uint64_t run() const { return sum(0, m_leaves); }
    bool check(std::uint64_t answer) const { return answer == m_leaves * (m_leaves - 1) / 2; }

private:
    static std::uint64_t sum(std::uint64_t first, std::uint64_t leaves) {
        if (leaves == 1)
            return first;
        return fork(first, leaves / 10, std::make_index_sequence<10>());
    }

    template <std::size_t... I>
    static std::uint64_t fork(std::uint64_t first, std::uint64_t part, std::index_sequence<I...>) {
        std::array<std::uint64_t, sizeof...(I)> sums{};
        R::fork_all([&sums, first, part] { sums[I] = sum(first + I * part, part); }...);
        return std::accumulate(sums.begin(), sums.end(), std::uint64_t{0});
    }

    std::uint64_t m_leaves;
};

} // namespace bench
