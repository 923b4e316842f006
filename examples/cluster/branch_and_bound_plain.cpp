// The shortest round trip of a salesman, for one machine: see branch_and_bound.cpp.
#include <algorithm>
#include <array>
#include <atomic>
#include <climits>
#include <cstdio>
#include <functional>
#include <vector>

#include <pilfer/pilfer.hpp>

constexpr int cities = 14;
std::atomic<int> shortest{INT_MAX};

void improve(int length) {
    int now = shortest;
    while (length < now && !shortest.compare_exchange_weak(now, length)) {
    }
}

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
        return least >= shortest;
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
            improve(length + distance(last, 0));
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
        const std::vector<int> next = next_cities();
        return is_hopeless()
                   ? 0
                   : pilfer::reduce(
                         next.begin(), next.end(), 0, [this](int c) { return visit(c)(); }, std::plus<>{});
    }
};

int main() {
    pilfer::pool pool;
    (void)pool.run(trip{0, 0, 1, 1});
    std::printf("the shortest trip: %d\n", shortest.load());
}
