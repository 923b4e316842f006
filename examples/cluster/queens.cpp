// Queens on a board, counted by all machines. queens_plain.cpp is the same program for one.
//
//     ./queens          mpirun -n 4 --hostfile hosts --bind-to none ./queens
//     PILFER_CLUSTER=gearman://host ./queens     beside     PILFER_CLUSTER=gearman://host ./queens
//     --pilfer-worker
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <pilfer/cluster.hpp>

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
            return count_here(); // too small to travel
        }
        return pilfer::cluster::sum(free_columns(), [this](int c) { return place(c); });
    }
};
PILFER_CLUSTER_TASK(queens);

int main(int argc, char** argv) {
    pilfer::cluster::session s(argc, argv);
    const int n = argc > 1 && argv[1][0] != '-' ? std::atoi(argv[1]) : 11;
    const long solutions = s.run(queens{n, 0, 0, 0, 0});
    if (s.rank() == 0) {
        std::printf("%d queens: %ld\n", n, solutions);
    }
}
