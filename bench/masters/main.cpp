// bench-masters: cost and gain of cancelling scopes and of leaving them early. One figure per call.
#include <array>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "common/bench.hpp"
#include "common/flat.hpp"
#include "masters/masters.hpp"

namespace {

/// How many times as much `threads` threads compute as one at this moment. A machine with other work has
/// fewer processors than it reports.
double processors(unsigned threads) {
    using namespace bench::masters;
    const auto time_of = [](unsigned n) {
        const auto begin = clock::now();
        std::vector<std::thread> all;
        for (unsigned i = 0; i < n; ++i) {
            all.emplace_back([i] {
                std::uint64_t sum = i;
                for (std::uint64_t k = 0; k < 5000; ++k)
                    sum += bench::flat::value_of(k);
                bench::forget(sum);
            });
        }
        for (std::thread& t : all)
            t.join();
        return us_since(begin);
    };
    std::vector<double> one;
    std::vector<double> several;
    for (int round = 0; round < 7; ++round) {
        one.push_back(time_of(1));
        several.push_back(time_of(threads));
    }
    return threads * median(one) / median(several);
}

} // namespace

int main(int argc, char** argv) {
    using namespace bench::masters;
    constexpr std::array<std::pair<const char*, bool (*)(const setting&)>, 6> figures{
        {{"tree", tree},
         {"tail", tail},
         {"first", first_solution},
         {"waits", waits},
         {"late", late},
         {"strangers", strangers}}};
    setting s;
    std::string name;
    CLI::App app{"Figures of scopes that are cancelled or left early"};
    app.add_option("figure", name, "tree, tail, first, waits, late or strangers")
        ->required()
        ->check(CLI::IsMember({"tree", "tail", "first", "waits", "late", "strangers"}));
    app.add_option("--workers", s.workers, "workers of the pool")->check(CLI::Range(1, 4096));
    app.add_option("--repeat", s.repeat, "rounds; the compared variants take turns in each")
        ->check(CLI::Range(1, 10'000));
    app.add_flag("--rotated", s.rotated,
                 "first: columns from left to right, beginning at another one for each seed");
    app.add_option("--alone", s.alone, "first: number of nodes before the search divides itself");
    app.add_flag("--tiny", s.tiny, "few tasks: for tests of the answers");
    CLI11_PARSE(app, argc, argv);
    try {
        const double before = processors(s.workers);
        for (const auto& [figure, print] : figures) {
            if (name == figure && !print(s)) {
                std::puts("WRONG");
                return 1;
            }
        }
        std::printf("%u threads computed %.2f times as much as one before, %.2f after\n", s.workers, before,
                    processors(s.workers));
    } catch (const std::exception& e) {
        std::fprintf(stderr, "bench-masters: %s\n", e.what());
        return 2;
    }
    return 0;
}
