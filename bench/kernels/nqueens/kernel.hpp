// All solutions of the n queens problem, one task for each queen that can be placed.
#pragma once

#include <array>

#include "common/bench.hpp"
#include "kernels/nqueens/config.hpp"

namespace bench {

template <class R>
class kernel : public kernel_base {
public:
    static constexpr const char* name = "nqueens";
    explicit kernel(size s) : m_setting(nqueens::config[s]) {}
    std::uint64_t run() const { return count(board{}, 0, m_setting.n); }
    bool check(std::uint64_t answer) const { return answer == m_setting.answer; }

private:
    using board = std::array<signed char, 16>; // the queen's column for each row

    static bool safe(const board& queens, int row, int column) {
        for (int i = 0; i < row; ++i) {
            const int distance = queens[static_cast<unsigned>(i)] - column;
            if (distance == 0 || distance == row - i || distance == i - row)
                return false;
        }
        return true;
    }

    static std::uint64_t count(const board& queens, int row, int n) {
        if (row == n)
            return 1;
        board columns{};
        unsigned placements = 0;
        for (int column = 0; column < n; ++column) {
            if (safe(queens, row, column))
                columns[placements++] = static_cast<signed char>(column);
        }
        return R::fork_sum(placements, [&queens, &columns, row, n](unsigned i) {
            board next = queens;
            next[static_cast<unsigned>(row)] = columns[i];
            return count(next, row + 1, n);
        });
    }

    nqueens::setting m_setting;
};

} // namespace bench
