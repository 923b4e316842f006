// Tests under chosen schedules: how many a minute, and how many each planted error of tests/explore/bugs.hpp
// needs. Prints Markdown. With an argument: the number of seeds, 21 otherwise.
#include "explore/bugs.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <mutex>
#include <string>
#include <vector>

namespace {

using pilfer::test::options;
using pilfer::test::result;
using pilfer::test::schedules;
using pilfer::test::strategy;

constexpr std::uint64_t most = 10'000;
struct way {
    const char* name;
    strategy how;
};
constexpr way ways[] = {{"random", strategy::random},
                        {"pct", strategy::pct},
                        {"mixed", strategy::mixed},
                        {"exhaustive", strategy::exhaustive}};

/// The processor time of the process, in seconds: other programs may run beside this one.
[[nodiscard]] double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

[[nodiscard]] std::uint64_t median(std::vector<std::uint64_t> all) {
    std::sort(all.begin(), all.end());
    return all[all.size() / 2];
}

void ten_tasks() {
    pilfer::mutex m;
    int sum = 0;
    pilfer::scope s;
    for (int i = 0; i < 10; ++i) {
        s.fork([&] {
            const std::lock_guard lock(m);
            ++sum;
        });
    }
    s.sync();
    pilfer::test::require(sum == 10);
}

void speed() {
    std::printf(
        "| a program of ten tasks and a mutex | schedules a minute of processor time |\n| --- | ---: |\n");
    for (const way& w : ways) {
        constexpr std::uint64_t n = 100'000;
        const double start = cpu_seconds();
        const result r = schedules(n, {.strategy = w.how}, &ten_tasks);
        const double took = cpu_seconds() - start;
        std::printf("| %s | %.2g |\n", w.name, static_cast<double>(r.schedules) / took * 60);
    }
    const double start = cpu_seconds();
    const result r = schedules(1, {.steps = 10'000'000}, [] {
        for (int second = 0; second < 72 * 3'600; ++second) {
            pilfer::sleep_for(std::chrono::seconds(1));
        }
    });
    std::printf("\nA program that sleeps 259,200 times for a second, together 72 hours, takes %.2f s%s.\n\n",
                cpu_seconds() - start, r ? "" : ", and fails");
}

void bugs_found(std::uint64_t seeds) {
    std::printf("| error |");
    for (const way& w : ways) {
        std::printf(" %s |", w.name);
    }
    std::printf(" longest text |\n| --- | ---: | ---: | ---: | ---: | ---: |\n");
    std::size_t found[std::size(ways)]{};
    std::size_t again = 0;
    std::size_t tried = 0;
    for (const bugs::bug& b : bugs::all) {
        std::printf("| %s |", b.name);
        std::size_t longest = 0;
        for (std::size_t i = 0; i < std::size(ways); ++i) {
            std::vector<std::uint64_t> needed;
            std::uint64_t missed = 0;
            for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
                const auto body = [&b] { b.body(false); };
                const result r = schedules(most, {.strategy = ways[i].how, .seed = seed}, body);
                needed.push_back(r.schedules);
                if (r) {
                    ++missed;
                    continue;
                }
                longest = std::max(longest, r.schedule.size());
                ++tried;
                const result repeated = schedules(1, {.replay = r.schedule}, body);
                again += !repeated && repeated.message == r.message ? 1 : 0;
            }
            found[i] += missed == 0 ? 1 : 0;
            std::printf(" %llu%s |", static_cast<unsigned long long>(median(needed)),
                        missed == 0 ? "" : (" (" + std::to_string(missed) + " missed)").c_str());
        }
        std::printf(" %zu |\n", longest);
    }
    std::printf("| found with every seed |");
    for (const std::size_t n : found) {
        std::printf(" %zu of %zu |", n, std::size(bugs::all));
    }
    std::printf(" |\n\n%zu of %zu failing schedules failed again by their text.\n", again, tried);
}

} // namespace

int main(int argc, char** argv) {
    std::uint64_t seeds = 21;
    if (argc > 1) {
        const char* const end = argv[1] + std::strlen(argv[1]);
        if (const auto read = std::from_chars(argv[1], end, seeds); read.ptr != end || seeds == 0) {
            std::fprintf(stderr, "bench-schedules: a number of seeds is needed, not %s\n", argv[1]);
            return 2;
        }
    }
    speed();
    bugs_found(seeds);
}
