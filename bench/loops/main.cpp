// bench-loops: loops that follow each other, by one way: the time of a loop for each length.
//
// bench-loops WAY KIND WORKERS ROUNDS [MOST]. The ways are plain, team, phases, for_each, static, dynamic
// (OpenMP), tbb and affinity (oneTBB). The kinds: short, one step of work an element; even, about 1 us each;
// uneven, from nothing for the first element to 2 us for the last one. MOST is the most elements. The sum of
// all elements is compared with the serial one. Each way has a process of its own, because idle threads of
// OpenMP spin. Prints one line of JSON with the seconds of a loop in every round, by the number of elements.
#include <omp.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/partitioner.h>

#include <cstdlib>
#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include <pilfer/pilfer.hpp>

#include "common/work.hpp"

namespace {

using elements = std::vector<std::uint64_t>;

/// On the machine of the results. A count and not a time, so that all ways do equal work.
constexpr std::uint64_t steps_of_1_us = 714;

/// The loops of one length: each gives every element its work.
struct loops {
    std::string kind;
    std::size_t n;
    std::uint64_t steps; ///< of an element, in the mean
    int times;

    void one(elements& all, std::size_t i) const {
        all[i] = bench::work(all[i], kind == "uneven" ? 2 * steps * i / n : steps);
    }
};

void run_plain(const loops& l, elements& all) {
    for (int k = 0; k < l.times; ++k) {
        for (std::size_t i = 0; i < l.n; ++i) {
            l.one(all, i);
        }
    }
}
void run_phases(const loops& l, elements& all, pilfer::loop_team& team) {
    team.phases(static_cast<std::uint64_t>(l.times), std::size_t{0}, l.n,
                [&](std::uint64_t, std::size_t begin, std::size_t end) {
                    for (std::size_t i = begin; i < end; ++i) {
                        l.one(all, i);
                    }
                });
}
void run_openmp(const loops& l, elements& all, bool is_static) {
    for (int k = 0; k < l.times; ++k) {
        if (is_static) {
#pragma omp parallel for schedule(static)
            for (std::size_t i = 0; i < l.n; ++i) {
                l.one(all, i);
            }
        } else {
#pragma omp parallel for schedule(dynamic)
            for (std::size_t i = 0; i < l.n; ++i) {
                l.one(all, i);
            }
        }
    }
}

/// False if there is no such way.
bool run(const std::string& way, const loops& l, elements& all, pilfer::loop_team& team,
         tbb::affinity_partitioner& affinity) {
    const auto body = [&](std::size_t i) { l.one(all, i); };
    const auto each = [&](const auto& loop) {
        for (int k = 0; k < l.times; ++k) {
            loop();
        }
        return true;
    };
    if (way == "team") {
        return each([&] { team.for_each(std::size_t{0}, l.n, body); });
    }
    if (way == "for_each") {
        return each([&] { pilfer::for_each(std::size_t{0}, l.n, body); });
    }
    if (way == "tbb") {
        return each([&] { tbb::parallel_for(std::size_t{0}, l.n, body); });
    }
    if (way == "affinity") {
        return each([&] { tbb::parallel_for(std::size_t{0}, l.n, body, affinity); });
    }
    if (way == "plain") {
        run_plain(l, all);
    } else if (way == "phases") {
        run_phases(l, all, team);
    } else if (way == "static" || way == "dynamic") {
        run_openmp(l, all, way == "static");
    } else {
        return false;
    }
    return true;
}

int measure(const std::string& way, const std::string& kind, int rounds, std::size_t most) {
    constexpr double sample_ns = 5e6;
    const double ns = kind == "short" ? 2 : 1000;
    const std::uint64_t steps = kind == "short" ? 1 : steps_of_1_us;
    pilfer::loop_team team;
    std::vector<bench::timed> results;
    for (std::size_t n = kind == "short" ? 64 : 4; n <= most; n *= 4) {
        const double loop_ns = ns * static_cast<double>(n);
        const loops l{kind, n, steps, static_cast<int>(std::clamp(sample_ns / loop_ns, 1.0, 1000.0))};
        tbb::affinity_partitioner affinity;
        elements expected(n);
        std::iota(expected.begin(), expected.end(), 1U);
        elements all = expected;
        bench::timed& result = results.emplace_back(bench::timed{std::to_string(n), {}});
        for (int round = -1; round < rounds; ++round) { // the first one is not counted
            bool known = true;
            const double took = bench::seconds([&] { known = run(way, l, all, team, affinity); });
            run_plain(l, expected);
            if (!known || all != expected) {
                std::fprintf(stderr, "bench-loops: %s\n", known ? "a wrong result" : "no such way");
                return known ? 1 : 2;
            }
            if (round >= 0) {
                result.seconds.push_back(took / l.times);
            }
        }
    }
    bench::print_json(results);
    return 0;
}

} // namespace

int main(int argc, char** argv) {
    if (argc < 5) {
        std::fputs("usage: bench-loops WAY KIND WORKERS ROUNDS [MOST]\n", stderr);
        return 2;
    }
    const std::string way = argv[1];
    const auto workers = static_cast<unsigned>(std::atoi(argv[3]));
    const std::string kind = argv[2];
    const std::size_t longest = kind == "short" ? 1 << 20 : 1 << 12;
    const std::size_t most = argc > 5 ? static_cast<std::size_t>(std::atol(argv[5])) : longest;
    omp_set_num_threads(static_cast<int>(workers));
    const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, workers);
    pilfer::pool pool({.workers = workers});
    const auto all = [&] { return measure(way, kind, std::atoi(argv[4]), most); };
    const bool is_task = way == "team" || way == "phases" || way == "for_each";
    return is_task ? pool.run(all) : all();
}
