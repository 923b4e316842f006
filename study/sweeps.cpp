// The effect of the policies on whole programs: sweeps over amounts, workers, imbalance, victims, exposures.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "experiments.hpp"
#include "svg.hpp"

namespace study {
namespace {

constexpr std::array<const char*, 6> amounts = {"one", "1/4", "half", "3/4", "all-but-one", "adaptive"};
constexpr std::array<const char*, 5> victims = {"random", "sticky", "ring", "nearest", "longest"};

/// The amounts on a line from one task to all but one: their places and names.
struct place {
    double x;
    const char* name;
};
constexpr std::array<place, 9> fractions = {{{0, "one"},
                                             {0.125, "1/8"},
                                             {0.25, "1/4"},
                                             {0.375, "3/8"},
                                             {0.5, "half"},
                                             {0.625, "5/8"},
                                             {0.75, "3/4"},
                                             {0.875, "7/8"},
                                             {1, "all-but-one"}}};

} // namespace

section time_to_all_busy(const frame_of_study& f) {
    section s{"all-busy", "Time until every worker has had a task", "", {}, {}};
    s.text =
        "One worker has 64 tasks of 10 us for each worker; the others sleep. The dashes are log2(N) times a "
        "wake-up and a theft: the time of a tree of wake-ups without other costs.";
    s.results.columns = {"victim",       "amount",     "workers", "all had a task, us",
                         "makespan, us", "efficiency", "thefts"};
    for (const char* victim : {"ring", "random"}) {
        std::vector<series> lines;
        for (const char* amount : amounts) {
            series one{amount, {}, false, false};
            for (const unsigned n : f.workers) {
                if (n < 2) {
                    continue;
                }
                const setup how = with_policy(f, n, fmt::format("{},{},on-demand", amount, victim));
                const result r =
                    simulate(how, *make_workload(fmt::format("ready:tasks={},length=10000", n * 64), f.seed));
                one.points.emplace_back(n, us(r.all_reached));
                s.results.rows.push_back({std::string(victim), std::string(amount), static_cast<double>(n),
                                          us(r.all_reached), us(r.makespan), r.efficiency(n),
                                          static_cast<double>(r.steals)});
            }
            lines.push_back(std::move(one));
        }
        series law{"log2(N) wake + steal", {}, true, false};
        for (const unsigned n : f.workers) {
            law.points.emplace_back(n, std::log2(n) * (f.price.wake_latency + f.price.steal_hit) / 1000);
        }
        lines.push_back(std::move(law));
        s.pictures.push_back(draw_lines(fmt::format("Until every worker has had a task, victims: {}", victim),
                                        {"workers", 2, 0}, {"time, us", 10, 0}, lines));
    }
    return s;
}

section makespan_by_fraction(const frame_of_study& f) {
    section s{"makespan", "Makespan against the part that is stolen", "", {}, {}};
    s.text = "From one task (left) to all but one (right), victims at random. 1.0: every worker works all "
             "the time. "
             "Loop: one task announces 64 tasks of 5 us for each worker. Tree: fib by join, 1 us a call.";
    s.results.columns = {"workload",   "workers", "amount",         "makespan, us",
                         "efficiency", "thefts",  "tasks per theft"};
    for (const char* kind : {"loop", "tree"}) {
        std::vector<series> lines;
        for (const unsigned n : f.workers) {
            if (n != 2 && n != 8 && n != 64 && n != 256 && n != 1'024 && f.workers.size() > 6) {
                continue;
            }
            const std::string w = kind == std::string("loop")
                                      ? fmt::format("loop:tasks={},length=5000", n * 64)
                                      : std::string("tree:height=22,length=1000");
            const auto program = make_workload(w, f.seed);
            series one{fmt::format("{} workers", n), {}, false, false};
            for (const place& p : fractions) {
                const result r =
                    simulate(with_policy(f, n, fmt::format("{},random,on-demand", p.name)), *program);
                one.points.emplace_back(p.x, r.efficiency(n));
                s.results.rows.push_back({w, static_cast<double>(n), std::string(p.name), us(r.makespan),
                                          r.efficiency(n), static_cast<double>(r.steals),
                                          static_cast<double>(r.stolen) /
                                              static_cast<double>(std::max<std::uint64_t>(r.steals, 1))});
            }
            lines.push_back(std::move(one));
        }
        s.pictures.push_back(draw_lines(fmt::format("Efficiency against the part stolen: {}", kind),
                                        {"part of the victim's tasks", 0, 0},
                                        {"work / (workers x makespan)", 0, 0}, lines));
    }
    return s;
}

section fraction_and_imbalance(const frame_of_study& f) {
    section s{"imbalance", "Part stolen and imbalance", "", {}, {}};
    s.text = "64 workers, 4,096 tasks of 5 us at the start: a part of them on one worker, the others spread "
             "evenly. Numbers: makespan as a multiple of the ideal one, 1.00 is the best possible.";
    s.results.columns = {"part on one worker", "amount", "makespan, us", "multiple of ideal"};
    heat_map map{"Makespan as a multiple of the ideal",
                 "part stolen",
                 "part of the tasks on one worker",
                 {},
                 {},
                 {},
                 true};
    for (const place& p : fractions) {
        map.columns.emplace_back(p.name);
    }
    for (const double part : {0.02, 0.1, 0.25, 0.5, 0.75, 1.0}) {
        map.rows.push_back(number(part));
        map.values.emplace_back();
        const auto program =
            make_workload(fmt::format("ready:tasks=4096,length=5000,imbalance={}", part), f.seed);
        for (const place& p : fractions) {
            const result r =
                simulate(with_policy(f, 64, fmt::format("{},random,on-demand", p.name)), *program);
            map.values.back().push_back(1 / r.efficiency(64));
            s.results.rows.push_back({part, std::string(p.name), us(r.makespan), 1 / r.efficiency(64)});
        }
    }
    s.pictures.push_back(draw_heat(map));
    return s;
}

section all_policies(const frame_of_study& f) {
    section s{"policies", "Every policy on every kind of work", "", {}, {}};
    s.text =
        "64 workers. Efficiency of a workload: work / (workers x makespan); mean: "
        "geometric. "
        "The map shows the mean for each amount and choice of victims with exposure on demand; the table has "
        "all exposures. `longest` reads every deque at every attempt.";
    const std::array<const char*, 6> exposures = {"on-demand", "always-public", "threshold:8:2:1/2",
                                                  "doubling",  "short-eager:4", "waiter-first"};
    const std::array<std::pair<const char*, const char*>, 7> works = {{
        {"loop", "loop:tasks=4096,length=2000"},
        {"ready", "ready:tasks=4096,length=2000"},
        {"tree", "tree:height=17,length=500"},
        {"geometric", "geometric:branching=4,depth=6,length=500"},
        {"binomial", "binomial:root=200,children=6,probability=0.15,length=1000"},
        {"pareto", "pareto:tasks=4096,length=2000"},
        {"arrivals", "arrivals:tasks=8000,length=2000,gap=50"},
    }};
    s.results.columns = {"amount", "victim", "exposure"};
    for (const auto& [name, text] : works) {
        s.results.columns.emplace_back(name);
    }
    s.results.columns.emplace_back("mean");
    heat_map map{"Mean efficiency, exposure on demand, 64 workers", "amount", "victim", {}, {}, {}, false};
    map.columns.assign(amounts.begin(), amounts.end());
    for (const char* victim : victims) {
        map.rows.emplace_back(victim);
        map.values.emplace_back();
        for (const char* amount : amounts) {
            for (const char* exposure : exposures) {
                std::vector<cell> row{std::string(amount), std::string(victim), std::string(exposure)};
                double logs = 0;
                for (const auto& [name, text] : works) {
                    double sum = 0;
                    constexpr std::uint64_t seeds = 1;
                    for (std::uint64_t k = 0; k < seeds; ++k) {
                        setup how = with_policy(f, 64, fmt::format("{},{},{}", amount, victim, exposure));
                        how.seed = f.seed + k;
                        sum += simulate(how, *make_workload(text, how.seed)).efficiency(64);
                    }
                    row.emplace_back(sum / seeds);
                    logs += std::log(sum / seeds);
                }
                const double mean = std::exp(logs / static_cast<double>(works.size()));
                row.emplace_back(mean);
                s.results.rows.push_back(std::move(row));
                if (exposure == exposures[0]) {
                    map.values.back().push_back(mean);
                }
            }
        }
    }
    std::sort(s.results.rows.begin(), s.results.rows.end(), [](const auto& x, const auto& y) {
        const double left = std::get<double>(x.back());
        const double right = std::get<double>(y.back());
        return left != right ? left > right : x < y; // of equals by name: always one order
    });
    s.pictures.push_back(draw_heat(map));
    return s;
}

section one_workload(const frame_of_study& f, const std::string& workload,
                     const std::vector<std::string>& policies) {
    section s{"workload", "Workload " + workload, "", {}, {}};
    std::vector<std::string> all = policies;
    if (all.empty()) {
        for (const char* amount : amounts) {
            for (const char* victim : victims) {
                all.push_back(fmt::format("{},{},on-demand", amount, victim));
            }
        }
    }
    s.results.columns = {"policy",
                         "workers",
                         "makespan, us",
                         "efficiency",
                         "all had a task, us",
                         "tasks",
                         "thefts",
                         "stolen",
                         "misses",
                         "reaches",
                         "sleeps",
                         "wakes",
                         "suspended",
                         "mean wait of arrivals, us"};
    const auto program = make_workload(workload, f.seed);
    std::vector<series> lines;
    for (const std::string& policy : all) {
        series one{policy, {}, false, false};
        for (const unsigned n : f.workers) {
            const result r = simulate(with_policy(f, n, policy), *program);
            const auto count = [](std::uint64_t x) { return static_cast<double>(x); };
            one.points.emplace_back(n, r.efficiency(n) * n);
            s.results.rows.push_back({policy, count(n), us(r.makespan), r.efficiency(n), us(r.all_reached),
                                      count(r.tasks), count(r.steals), count(r.stolen), count(r.misses),
                                      count(r.reaches), count(r.sleeps), count(r.wakes), count(r.suspends),
                                      us(r.waited) / count(std::max<std::uint64_t>(r.tasks, 1))});
        }
        lines.push_back(std::move(one));
    }
    lines.resize(std::min<std::size_t>(lines.size(), 8));
    series ideal{"one each", {}, true, false};
    for (const unsigned n : f.workers) {
        ideal.points.emplace_back(n, n);
    }
    lines.push_back(std::move(ideal));
    s.pictures.push_back(draw_lines("Workers' worth of work: " + workload, {"workers", 2, 0},
                                    {"work / makespan", 2, 0}, lines));
    return s;
}

} // namespace study
