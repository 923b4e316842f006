// The shortest round trip of a salesman, by branch and bound. A length that one rank finds cuts branches on
// all others. branch_and_bound_plain.cpp is the same program for one machine.
#include <algorithm>
#include <array>
#include <climits>
#include <cstdio>
#include <vector>

#include <pilfer/cluster.hpp>

constexpr int cities = 14;
pilfer::cluster::bound<int> shortest(INT_MAX); // of all ranks

int distance(int a, int b) {
    constexpr std::array<int, cities> x{12, 80, 33, 95, 60, 5, 47, 71, 22, 88, 54, 39, 66, 9};
    constexpr std::array<int, cities> y{40, 13, 77, 58, 91, 8, 35, 66, 99, 27, 3, 52, 44, 71};
    const auto i = static_cast<std::size_t>(a);
    const auto j = static_cast<std::size_t>(b);
    return (x[i] - x[j]) * (x[i] - x[j]) + (y[i] - y[j]) * (y[i] - y[j]); // long legs are expensive
}

/// A trip that begins in city 0 and has come to `last`.
struct trip {
    int length, last, visited;
    unsigned seen;

    bool
    is_hopeless() const { // each city that is left, and the last one, is left by its cheapest leg or more
        int least = length;
        for (int a = 0; a < cities; ++a) {
            if ((seen >> a & 1) == 0 || a == last) {
                int leg = INT_MAX;
                for (int b = 0; b < cities; ++b) {
                    if (b != a && ((seen >> b & 1) == 0 || (b == 0 && visited != 1))) {
                        leg = std::min(leg, distance(a, b));
                    }
                }
                least += leg;
            }
        }
        return least >= shortest.get();
    }
    trip visit(int next) const {
        return {length + distance(last, next), next, visited + 1, seen | 1u << next};
    }
    std::vector<int> next_cities() const {
        std::vector<int> next;
        for (int c = 0; c < cities; ++c) {
            if ((seen >> c & 1) == 0) {
                next.push_back(c);
            }
        }
        return next;
    }
    void search_here() const {
        if (visited == cities) {
            shortest.improve(length + distance(last, 0));
        } else if (!is_hopeless()) {
            for (const int c : next_cities()) {
                visit(c).search_here();
            }
        }
    }
    int operator()() const { // how many trips were searched by one task each
        if (visited >= 4) {
            search_here();
            return 1;
        }
        return is_hopeless() ? 0 : pilfer::cluster::sum(next_cities(), [this](int c) { return visit(c); });
    }
};
PILFER_CLUSTER_TASK(trip);

int main(int argc, char** argv) {
    pilfer::cluster::session s(argc, argv);
    (void)s.run(trip{0, 0, 1, 1});
    if (s.rank() == 0) {
        std::printf("the shortest trip: %d\n", shortest.get()); // the same on all ranks
    }
}
