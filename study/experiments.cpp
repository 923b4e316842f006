// What one theft does: the example, the law, the wave.
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

/// What a wake-up and the theft behind it take.
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
        "The first worker has eight tasks of 20 us; the others search, and each robs its neighbour in the "
        "ring and nobody else. A thief that takes one task has nothing to be robbed of: the third and the "
        "fourth worker starve. With half, 4, 2, 1 and 1 tasks lie where they are needed.\n\n"
        "The runtime's last look at everybody before a worker sleeps is switched off here, to show what the "
        "rule does by itself.";
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
    s.pictures.push_back(draw_panels("Who has how many tasks", "time, us", longest, panels));
    return s;
}

section law_of_parts(const frame_of_study& f) {
    section s{"law", "The law of parts", "", {}, {}};
    s.text =
        "Where each thief robs its neighbour in a ring and takes the part p, the k-th neighbour of the "
        "worker "
        "that has all the work gets p^k of it, and keeps (1 - p) p^k. With half that is (1/2)^k: after log2 "
        "of "
        "the number of tasks a neighbour gets none, however many workers there are. Operations cost nothing "
        "here, and each worker steals once. Lines: simulated; dashes: the law.";
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
        double got = 0; // by worker k and all behind it
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
    s.pictures.push_back(draw_lines("Which part of the work gets to the k-th neighbour",
                                    {"neighbour k", 0, 0}, {"part of all tasks", 2, 0}, lines));
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
            // The protocol by itself: every wake-up takes the same time and nothing else any.
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
        "and "
        "wakes two before it starts, and so on. The tree's depth is the longest chain of first wake-ups. Its "
        "last column leaves all costs but the wake-up away: what the protocol does when nobody has to wait "
        "for a cache line." +
        verdict +
        "\n\nWhat stretches the wave beyond its depth: the thefts from one victim take turns at its line; a "
        "theft of many tasks is a row of single ones; a worker with an empty deque looks from deque to deque "
        "before it may say that something is left; and behind the last wake-up a thief that finds everything "
        "private spins until it may reach.";
    s.pictures.push_back(
        draw_lines("Part of the workers that are busy", {"time, us", 0, 0}, {"busy", 0, 0}, lines));
    return s;
}

section variants_of_the_wave(const frame_of_study& f) {
    section s{"variants", "Variants of the wave", "", {}, {}};
    s.text =
        "What the runtime could do otherwise; it does the first and the last since this table was made. Look "
        "at "
        "the victim: a thief that has found work and asks whether more is left looks at its victim before it "
        "goes from deque to deque. Wake first: it wakes others as "
        "soon as it has one task, not behind the whole theft. Send to itself: it names itself to those that "
        "it wakes, not its victim. Answer between tasks: a worker that runs what it has stolen, task by "
        "task, answers "
        "those who ask, so that nobody has to reach.";
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
