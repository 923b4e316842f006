// Queens on a board, for one machine: see queens.cpp.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <vector>

#include <pilfer/pilfer.hpp>

struct queens {
    int n, row;
    std::uint32_t columns, left, right;

    queens place(int c) const {
        const std::uint32_t bit = 1u << c;
        return {n, row + 1, columns | bit, (left | bit) << 1, (right | bit) >> 1};
    }
    std::vector<int> free_columns() const {
        std::vector<int> free;
        for (int c = 0; c < n; ++c) {
            if (((columns | left | right) >> c & 1) == 0) {
                free.push_back(c);
            }
        }
        return free;
    }
    long count_here() const {
        long sum = row == n ? 1 : 0;
        for (const int c : free_columns()) {
            sum += place(c).count_here();
        }
        return sum;
    }
    long operator()() const {
        if (n - row <= 8) {
            return count_here();
        }
        const std::vector<int> free = free_columns();
        return pilfer::reduce(
            free.begin(), free.end(), 0L, [this](int c) { return place(c)(); }, std::plus<>{});
    }
};

int main(int argc, char** argv) {
    pilfer::pool pool;
    const int n = argc > 1 ? std::atoi(argv[1]) : 11;
    const long solutions = pool.run(queens{n, 0, 0, 0, 0});
    std::printf("%d queens: %ld\n", n, solutions);
}
