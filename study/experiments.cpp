// The effect of one theft: the example, the law, the wave.
#include "experiments.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cmath>

#include "balance/text.hpp"

#include "svg.hpp"

namespace study {
namespace {

/// Where each worker's tasks are over time.
class holdings : public observer {
public:
    explicit holdings(unsigned workers) : steps(workers) {}
    void busy(moment, unsigned, bool) override {}
    void holds(moment when, unsigned worker, std::uint64_t tasks) override {
        auto& mine = steps[worker];
        const double at = to_ns(when) / 1000;
        if (!mine.empty() && mine.back().first == at) {
            mine.back().second = tasks;
        } else if (mine.empty() || mine.back().second != tasks) {
            mine.emplace_back(at, tasks);
        }
    }
    std::vector<std::vector<std::pair<double, std::uint64_t>>> steps; // us, tasks
};

class busy_count : public observer {
public:
    void busy(moment when, unsigned, bool now) override {
        m_busy += now ? 1 : -1;
        const double at = to_ns(when) / 1000;
        if (!points.empty() && points.back().first == at) {
            points.back().second = m_busy;
        } else {
            points.emplace_back(at, m_busy);
        }
    }
    void holds(moment, unsigned, std::uint64_t) override {}
    std::vector<std::pair<double, double>> points; // us, workers

private:
    int m_busy = 0;
};

/// Few enough points for a picture: the last of each of `n` equal stretches of time.
[[nodiscard]] std::vector<std::pair<double, double>>
thinned(const std::vector<std::pair<double, double>>& points, double until, double n) {
    std::vector<std::pair<double, double>> out;
    for (const auto& p : points) {
        if (p.first > until) {
            break;
        }
        if (!out.empty() && std::floor(out.back().first / until * n) == std::floor(p.first / until * n)) {
            out.back() = p;
        } else {
            out.push_back(p);
        }
    }
    return out;
}

/// The time of a wake-up and of the theft after it.
[[nodiscard]] double wake_plus_steal(const costs& c) { return c.wake_latency + c.steal_hit; }

} // namespace

std::vector<unsigned> usual_workers() {
    std::vector<unsigned> all;
    for (unsigned n = 2; n <= 4'096; n *= 2) {
        all.push_back(n);
    }
    return all;
}

setup with_policy(const frame_of_study& f, unsigned workers, const std::string& text) {
    setup s;
    s.workers = workers;
    pilfer::balance::resolve(s.policy, text.c_str());
    s.price = f.price;
    s.seed = f.seed;
    return s;
}

section example_of_eight(const frame_of_study& f) {
    section s{"example", "Eight tasks on one of four workers", "", {}, {}};
    s.text =
        "The first worker has eight tasks of 20 us. The others search, and each robs only its neighbour in "
        "the ring. A thief that takes one task has none left for its own neighbour, so the third and the "
        "fourth worker starve. With half, the workers get 4, 2, 1 and 1 tasks.\n\n"
        "The runtime's last look at all workers before a worker sleeps is switched off here, to show the "
        "rule by itself.";
    s.results.columns = {"amount", "worker", "tasks after the first thefts", "makespan, us"};
    std::vector<panel> panels;
    double longest = 0;
    for (const char* amount : {"one", "half"}) {
        setup how = with_policy(f, 4, std::string(amount) + ",ring,on-demand");
        how.asleep = false;
        how.last_look = false;
        how.rounds = 4; // the owner is inside a task of 20 us: thieves reach soon
        holdings seen(4);
        const auto program = make_workload("ready:tasks=8,length=20000", f.seed);
        const result r = simulate(how, *program, &seen);
        how.until = from_ns(20'000 - 1);
        how.price = no_costs();
        holdings first(4);
        (void)simulate(how, *program, &first);
        for (unsigned i = 0; i < 4; ++i) {
            std::uint64_t most = 0;
            for (const auto& [when, tasks] : first.steps[i]) {
                most = tasks;
            }
            s.results.rows.push_back(
                {std::string(amount), static_cast<double>(i + 1), static_cast<double>(most), us(r.makespan)});
        }
        longest = std::max(longest, us(r.makespan));
        panels.push_back(
            {fmt::format("{}: finished after {} us", std::string("steal ") + amount, number(us(r.makespan))),
             std::move(seen.steps)});
    }
    s.pictures.push_back(draw_panels("Tasks of each worker", "time, us", longest, panels));
    return s;
}

section law_of_parts(const frame_of_study& f) {
    section s{"law", "The law of parts", "", {}, {}};
    s.text =
        "One worker has all the work. Each thief robs its neighbour in a ring and takes the part p. Then the "
        "k-th neighbour gets p^k of the work, and keeps (1 - p) p^k. With half that is (1/2)^k: after log2 "
        "of "
        "the number of tasks a neighbour gets none, for any number of workers. Operations cost nothing here, "
        "and each worker steals once. Lines: simulated; dashes: the law.";
    constexpr unsigned neighbours = 16;
    constexpr double tasks = 1 << 16;
    s.results.columns = {"part", "neighbour", "simulated", "law"};
    std::vector<series> lines;
    for (const auto& [name, part] : {std::pair{"1/4", 0.25}, {"half", 0.5}, {"3/4", 0.75}}) {
        frame_of_study free = f;
        free.price = no_costs();
        setup how = with_policy(free, neighbours + 1, std::string(name) + ",ring,on-demand");
        how.asleep = false;
        how.last_look = false;
        how.until = 1;
        holdings seen(how.workers);
        (void)simulate(how, *make_workload("ready:tasks=65536,length=1000", f.seed), &seen);
        series found{name, {}, false, false};
        series law{std::string("law of ") + name, {}, true, false};
        double got = 0; // Tasks of worker k and of all later ones.
        std::vector<double> arrived(neighbours + 1);
        for (unsigned k = neighbours + 1; k-- > 0;) {
            got += seen.steps[k].empty() ? 0 : static_cast<double>(seen.steps[k].back().second);
            arrived[k] = got / tasks;
        }
        for (unsigned k = 0; k <= neighbours; ++k) {
            found.points.emplace_back(k, arrived[k]);
            if (std::pow(part, k) * tasks >= 1) { // less than a task is none
                law.points.emplace_back(k, std::pow(part, k));
            }
            s.results.rows.push_back(
                {std::string(name), static_cast<double>(k), arrived[k], std::pow(part, k)});
        }
        lines.push_back(std::move(found));
        lines.push_back(std::move(law));
    }
    s.pictures.push_back(draw_lines("Part of the work that reaches the k-th neighbour", {"neighbour k", 0, 0},
                                    {"part of all tasks", 2, 0}, lines));
    return s;
}

section wave_of_wakes(const frame_of_study& f) {
    section s{"wave", "The wave of wake-ups", "", {}, {}};
    s.results.columns = {
        "amount",        "workers",     "all had a task, us", "2 log2(N) wake-plus-steal, us",
        "depth of tree", "log2(N) + 1", "wake-ups",           "depth, calls alone"};
    std::vector<series> lines;
    std::string verdict;
    for (const char* amount : {"half", "one"}) {
        for (const unsigned n : {16U, 64U, 256U, 1'024U, 4'096U}) {
            const std::string policy = std::string(amount) + ",random,on-demand";
            const auto program = make_workload(fmt::format("ready:tasks={},length=100000", n * 16), f.seed);
            setup how = with_policy(f, n, policy);
            busy_count seen;
            const result r = simulate(how, *program, &seen);
            // The protocol by itself: every wake-up takes equally long and nothing else takes any time.
            how.price = no_costs();
            how.price.wake_latency = 5'000;
            const result alone = simulate(how, *program);
            const double log = std::log2(n);
            const double bound = 2 * log * wake_plus_steal(f.price) / 1000;
            s.results.rows.push_back({std::string(amount), static_cast<double>(n), us(r.all_reached), bound,
                                      static_cast<double>(r.wake_depth), std::ceil(log) + 1,
                                      static_cast<double>(r.wakes), static_cast<double>(alone.wake_depth)});
            if (n == 1'024) {
                verdict +=
                    fmt::format(" With {}, 1,024 workers have all had a task after {} us; 2 log2(1,024) "
                                "wake-plus-steal times are {} us: {}.",
                                amount, number(us(r.all_reached)), number(bound),
                                us(r.all_reached) <= bound ? "held" : "missed");
            }
            series one{fmt::format("{}, {} workers", amount, n), {}, false, true};
            for (auto [when, busy] : thinned(seen.points, 600, 240)) {
                one.points.emplace_back(when, busy / n);
            }
            if (n == 64 || n == 1'024 || (n == 4'096 && amount == std::string("half"))) {
                lines.push_back(std::move(one));
            }
        }
    }
    s.text =
        "One worker has 16 tasks of 100 us for each worker; all others sleep. It wakes one, which robs it "
        "and wakes two before it starts, and so on. The tree's depth is the longest chain of first wake-ups. "
        "The last column omits all costs but the wake-up: the protocol by itself, without waits for cache "
        "lines." +
        verdict +
        "\n\nFour effects stretch the wave beyond its depth. Thefts from one victim take turns at its line. "
        "A "
        "theft of many tasks is a row of single ones. A worker with an empty deque looks from deque to deque "
        "before it knows that a task is left. After the last wake-up a thief that finds only private tasks "
        "spins until it may reach.";
    s.pictures.push_back(
        draw_lines("Part of the workers that are busy", {"time, us", 0, 0}, {"busy", 0, 0}, lines));
    return s;
}

section variants_of_the_wave(const frame_of_study& f) {
    section s{"variants", "Variants of the wave", "", {}, {}};
    s.text =
        "Variants of the runtime's wave; the runtime has the first and the last since this table was made. "
        "Look at the victim: a thief that has found work looks for more at its victim, before it goes from "
        "deque to deque. Wake first: a thief wakes others as soon as it has one task, not after the whole "
        "theft. Send to itself: a thief names itself to the workers that it wakes, not its victim. Answer "
        "between tasks: a worker answers requests between two of its stolen tasks, so that no thief must "
        "reach.";
    s.results.columns = {"amount",         "workers",        "look at the victim", "wake first",
                         "send to itself", "answer between", "all had a task, us", "makespan, us",
                         "efficiency"};
    for (const char* amount : {"half", "one"}) {
        for (const unsigned n : {64U, 1'024U}) {
            for (unsigned v = 0; v < 16; ++v) {
                setup how = with_policy(f, n, std::string(amount) + ",random,on-demand");
                how.look_at_victim = (v & 1) != 0;
                how.wake_before_haul = (v & 2) != 0;
                how.name_itself = (v & 4) != 0;
                how.attend_between = (v & 8) != 0;
                const auto program = make_workload(fmt::format("loop:tasks={},length=10000", n * 64), f.seed);
                const result r = simulate(how, *program);
                const auto yes = [](bool b) { return std::string(b ? "yes" : "no"); };
                s.results.rows.push_back({std::string(amount), static_cast<double>(n),
                                          yes(how.look_at_victim), yes(how.wake_before_haul),
                                          yes(how.name_itself), yes(how.attend_between), us(r.all_reached),
                                          us(r.makespan), r.efficiency(n)});
            }
        }
    }
    return s;
}

section speed_of_simulation(const frame_of_study& f) {
    section s{"speed", "Speed of the simulation", "", {}, {}};
    s.text = "Wall time of one thread. The aim: 10^7 tasks in less than 10 s.";
    s.results.columns = {"workload", "workers", "tasks", "events", "seconds", "seconds for 10^7"};
    for (const char* w : {"loop:tasks=10000000,length=1000", "ready:tasks=10000000,length=1000",
                          "tree:height=33,length=10"}) {
        const auto program = make_workload(w, f.seed);
        for (const unsigned n : {2U, 64U}) {
            const setup how = with_policy(f, n, "half,random,on-demand");
            const auto begin = std::chrono::steady_clock::now();
            const result r = simulate(how, *program);
            const double took =
                std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
            s.results.rows.push_back({std::string(w), static_cast<double>(n), static_cast<double>(r.tasks),
                                      static_cast<double>(r.events), took,
                                      took / static_cast<double>(r.tasks) * 1e7});
        }
    }
    return s;
}

} // namespace study
