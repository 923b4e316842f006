// Branch and bound
//
// A knapsack with weights and values. Each branch forks into one scope; a branch that cannot beat the best
// value found so far is cut. A `deadline` cancels the scope if the search takes too long: then the best value
// so far is the answer.
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>

#include <pilfer/pilfer.hpp>

struct item {
    int weight;
    int value;
};
// Sorted by value per weight.
constexpr std::array<item, 12> items{{{1, 9},
                                      {2, 14},
                                      {3, 20},
                                      {4, 25},
                                      {5, 30},
                                      {6, 35},
                                      {7, 39},
                                      {8, 42},
                                      {9, 45},
                                      {10, 48},
                                      {11, 50},
                                      {12, 52}}};

struct search {
    std::atomic<int> best{0};
    pilfer::scope all; // the last member, so that its children end before the others do

    static double bound(std::size_t next, int room) {
        return next == items.size() ? 0 : double(room) * items[next].value / items[next].weight;
    }
    void branch(std::size_t next, int room, int value) {
        int seen = best.load();
        while (value > seen && !best.compare_exchange_weak(seen, value)) {
        }
        if (next == items.size() || value + bound(next, room) <= best.load()) {
            return;
        }
        if (items[next].weight <= room) {
            all.fork([=, this] { branch(next + 1, room - items[next].weight, value + items[next].value); });
        }
        branch(next + 1, room, value);
    }
};

int main() {
    pilfer::pool pool;
    pool.run([] {
        search s;
        const pilfer::deadline limit(s.all, std::chrono::minutes(1));
        s.branch(0, 30, 0);
        s.all.sync(); // returns early if the deadline cancels the scope
        std::printf("best value: %d\n", s.best.load());
    });
}
