// The price of a recording (<pilfer/test.hpp>) for code that only forks and joins: a tree of the Unbalanced
// Tree Search benchmark, and Fibonacci numbers, whose tasks are as small as they can be. Runs that are
// recorded and runs that are not take turns. Prints Markdown. Arguments: the number of runs, 21 otherwise; of
// workers, 2 otherwise.
#include "bench/common/uts.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <tuple>
#include <vector>

#include <pilfer/pilfer.hpp>
#include <pilfer/test.hpp>

namespace {

using bench::uts::node;

std::uint64_t count(const node& at);

/// The nodes below some children of a node.
std::uint64_t count_some(const node& parent, unsigned first, unsigned last) {
    if (last - first == 1) {
        return count(child_of(parent, first));
    }
    const unsigned middle = first + (last - first) / 2;
    const auto [a, b] = pilfer::join([&] { return count_some(parent, first, middle); },
                                     [&] { return count_some(parent, middle, last); });
    return a + b;
}

std::uint64_t count(const node& at) {
    const unsigned children = children_of(at, bench::uts::t1);
    return 1 + (children != 0 ? count_some(at, 0, children) : 0);
}

std::uint64_t fib(unsigned n) {
    if (n < 2) {
        return n;
    }
    const auto [a, b] = pilfer::join([=] { return fib(n - 1); }, [=] { return fib(n - 2); });
    return a + b;
}

void check(bool right) {
    if (!right) {
        std::fprintf(stderr, "a wrong result\n");
        std::exit(1);
    }
}

void count_tree() { check(count(root_of(bench::uts::t1)) == bench::uts::t1.nodes); }
void fibonacci() { check(fib(34) == 5'702'887); }

struct program {
    const char* name;
    void (*run)();
};
constexpr program programs[] = {{"uts T1", &count_tree}, {"fib(34)", &fibonacci}};

/// The seconds that `run` takes inside a task.
[[nodiscard]] std::function<void()> timed(void (*run)(), double& seconds) {
    return [run, &seconds] {
        const auto start = std::chrono::steady_clock::now();
        run();
        seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    };
}

[[nodiscard]] double median(std::vector<double> all) {
    std::sort(all.begin(), all.end());
    return all[all.size() / 2];
}

} // namespace

int main(int argc, char** argv) {
    const int runs = argc > 1 ? std::atoi(argv[1]) : 21;
    const unsigned workers = argc > 2 ? static_cast<unsigned>(std::atoi(argv[2])) : 2;
    std::printf(
        "| program | not recorded | recorded | ratio of the medians |\n| --- | ---: | ---: | ---: |\n");
    for (const program& p : programs) {
        std::vector<double> plain;
        std::vector<double> recorded;
        double seconds = 0;
        for (int i = 0; i < runs; ++i) {
            {
                pilfer::pool pool(pilfer::options{.workers = workers});
                pool.run(timed(p.run, seconds));
                plain.push_back(seconds);
            }
            check(pilfer::test::record({.workers = workers}, timed(p.run, seconds)).passed);
            recorded.push_back(seconds);
        }
        std::printf("| %s | %.3f s | %.3f s | %.3f |\n", p.name, median(plain), median(recorded),
                    median(recorded) / median(plain));
    }
}
