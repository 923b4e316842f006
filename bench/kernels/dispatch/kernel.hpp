// Empty loops, one after another: the cost of starting and ending a loop.
#pragma once

#include <array>
#include <numeric>

#include "common/bench.hpp"
#include "kernels/dispatch/config.hpp"

namespace bench {

template <class R>
class kernel : public kernel_base {
public:
    static constexpr const char* name = "dispatch";
    static constexpr bool flat = true;
    explicit kernel(size s) : m_loops(dispatch::loops[s]) {}
    void prepare() { m_marks = {}; }

    /// The first loop leaves a mark for each body, so that a runtime that skips some is found out.
    std::uint64_t run() {
        R::loop(dispatch::bodies, [this](std::size_t i) { m_marks[i] += static_cast<unsigned>(i) + 1; });
        for (std::size_t i = 1; i < m_loops; ++i) {
            // Not even an empty loop may be optimised away.
            R::loop(dispatch::bodies, [](std::size_t) { asm volatile(""); });
        }
        return std::accumulate(m_marks.begin(), m_marks.end(), std::uint64_t{0});
    }
    bool check(std::uint64_t answer) const { return answer == dispatch::bodies * (dispatch::bodies + 1) / 2; }

private:
    std::size_t m_loops;
    std::array<unsigned, dispatch::bodies> m_marks{};
};

} // namespace bench
