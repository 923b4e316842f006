// The simulator against results by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "balance/text.hpp"
#include "study/simulator.hpp"
#include "support/harness.hpp"

namespace {

class simulated_pool : public support::guarded {};

/// `policy` as PILFER_BALANCE has it.
study::setup with(unsigned workers, const char* policy, const study::costs& price = study::no_costs()) {
    study::setup how;
    how.workers = workers;
    pilfer::balance::resolve(how.policy, policy);
    how.price = price;
    return how;
}

/// Of no machine: every part of the model in play, and a program of some hundred tasks long enough for
/// thefts.
study::costs some_costs() {
    study::costs c;
    c.spawn = 4;
    c.slow_path = 20;
    c.steal_hit = 300;
    c.steal_miss = 50;
    c.steal_more = 20;
    c.wake_call = 1'500;
    c.wake_latency = 5'000;
    c.context_switch = 20;
    c.remote_line = 100;
    c.reach = 1'000;
    return c;
}

study::result run(const study::setup& how, const std::string& workload) {
    return study::simulate(how, *study::make_workload(workload, how.seed));
}

std::vector<std::string> every_policy() {
    std::vector<std::string> all;
    for (const char* amount : {"one", "1/4", "half", "3/4", "all-but-one", "adaptive"}) {
        for (const char* victim : {"random", "sticky", "ring", "nearest", "longest"}) {
            for (const char* exposure : {"on-demand", "always-public", "threshold:4:2:1/2", "doubling",
                                         "short-eager:3", "waiter-first"}) {
                all.push_back(std::string(amount) + "," + victim + "," + exposure);
            }
        }
    }
    return all;
}

/// The tasks of each worker while the clock is 0.
class first_spread : public study::observer {
public:
    explicit first_spread(unsigned workers) : tasks(workers) {}
    void busy(study::moment, unsigned, bool) override {}
    void holds(study::moment when, unsigned worker, std::uint64_t n) override {
        if (when == 0) {
            tasks[worker] = n;
        }
    }
    std::vector<std::uint64_t> tasks;
};

std::vector<std::uint64_t> spread(study::setup how, const std::string& workload) {
    first_spread seen(how.workers);
    how.asleep = false;
    how.until = 1;
    (void)study::simulate(how, *study::make_workload(workload, 1), &seen);
    return seen.tasks;
}

TEST_F(simulated_pool, eight_tasks_on_one_of_four) {
    const std::string eight = "ready:tasks=8,length=1000";
    for (const char* exposure :
         {"on-demand", "always-public", "threshold:4:2:1/2", "doubling", "short-eager:3", "waiter-first"}) {
        SCOPED_TRACE(exposure);
        const std::string ring = std::string(",ring,") + exposure;
        const auto after = [&](const std::string& amount) {
            auto how = with(4, (amount + ring).c_str());
            how.last_look = false;
            return spread(how, eight);
        };
        EXPECT_THAT(after("half"), testing::ElementsAre(4, 2, 1, 1));
        EXPECT_THAT(after("one"), testing::ElementsAre(7, 1, 0, 0)); // starves the third and the fourth
        EXPECT_THAT(after("all-but-one"), testing::ElementsAre(2, 2, 2, 2));
    }
}

TEST_F(simulated_pool, a_ring_of_halves_follows_the_law) {
    // The k-th neighbour gets 2^-k of the tasks of the worker before it; the last one gets as many as the one
    // before it.
    for (unsigned k = 1; k <= 12; ++k) {
        const unsigned workers = k + 1;
        auto how = with(workers, "half,ring,on-demand");
        how.last_look = false;
        const auto tasks = spread(how, "ready:tasks=" + std::to_string(1U << k) + ",length=1000");
        for (unsigned i = 0; i < workers; ++i) {
            EXPECT_EQ(tasks[i], i + 1 < workers ? 1U << (k - i - 1) : 1U)
                << "worker " << i << " of " << workers;
        }
    }
}

TEST_F(simulated_pool, equal_tasks_without_costs_take_their_rounds) {
    for (const unsigned workers : {1U, 2U, 3U, 7U, 64U}) {
        for (const unsigned tasks : {1U, 2U, 63U, 64U, 65U, 1'000U}) {
            for (const char* form : {"ready", "loop"}) {
                const auto r = run(with(workers, "half,random,on-demand"),
                                   std::string(form) + ":length=500,tasks=" + std::to_string(tasks));
                const study::moment rounds = (tasks + workers - 1) / workers;
                EXPECT_EQ(r.makespan, rounds * 500'000)
                    << workers << " workers, " << tasks << " tasks, " << form;
                EXPECT_EQ(r.work, tasks * study::moment{500'000});
            }
        }
    }
}

const std::vector<std::string> workloads = {
    "loop:tasks=500,length=200",
    "ready:tasks=500,length=300,imbalance=0.6",
    "tree:height=11,length=50",
    "arrivals:tasks=300,length=400,gap=150",
    "arrivals:tasks=300,length=400,gap=150,anywhere=1",
    "geometric:branching=3,depth=4",
    "binomial:root=50,children=4,probability=0.2",
    "pareto:tasks=400",
    "pareto:tasks=400,announced=1",
};

TEST_F(simulated_pool, one_worker_takes_the_sum) {
    for (const std::string& w : workloads) {
        const auto r = run(with(1, nullptr), w);
        EXPECT_EQ(r.work, study::make_workload(w, 1)->work()) << w;
        if (w.find("arrivals") == std::string::npos) {
            EXPECT_EQ(r.makespan, r.work) << w;
        } else {
            EXPECT_GE(r.makespan, r.work) << w;
        }
        EXPECT_EQ(r.steals + r.suspends, 0U) << w;
    }
}

TEST_F(simulated_pool, no_policy_loses_or_doubles_work) {
    for (const std::string& w : workloads) {
        const auto program = study::make_workload(w, 1);
        const auto serial = run(with(1, nullptr), w);
        for (const std::string& policy : every_policy()) {
            for (const unsigned workers : {2U, 5U}) {
                const auto r = study::simulate(with(workers, policy.c_str(), some_costs()), *program);
                EXPECT_EQ(r.work, serial.work) << w << " " << policy;
                EXPECT_EQ(r.tasks, serial.tasks) << w << " " << policy;
                EXPECT_EQ(r.announced, serial.announced) << w << " " << policy;
                EXPECT_GE(r.makespan * workers, r.work) << w << " " << policy;
                EXPECT_GE(r.stolen, r.steals);
            }
        }
    }
}

/// Each of `n` tasks once.
class marks final : public study::workload {
public:
    explicit marks(std::uint64_t n) : seen(n) {}
    study::step next(std::uint64_t task, std::uint64_t& place) const override {
        if (place++ > 0) {
            return {study::step::kind::end};
        }
        ++seen[task];
        return {study::step::kind::compute, 1'000 + task % 7 * 300};
    }
    void begin(unsigned, const std::function<void(unsigned, std::uint64_t)>& put) const override {
        for (std::uint64_t k = 0; k < seen.size(); ++k) {
            put(0, k);
        }
    }
    [[nodiscard]] study::moment work() const override { return 0; }
    mutable std::vector<unsigned> seen;
};

TEST_F(simulated_pool, each_task_runs_once_under_every_policy) {
    for (const std::string& policy : every_policy()) {
        const marks program(200);
        const auto r = study::simulate(with(6, policy.c_str(), some_costs()), program);
        EXPECT_EQ(r.tasks, 200U);
        EXPECT_THAT(program.seen, testing::Each(1U)) << policy;
    }
}

TEST_F(simulated_pool, the_seed_decides) {
    const auto same = [](const study::result& a, const study::result& b) {
        return a.makespan == b.makespan && a.events == b.events && a.misses == b.misses &&
               a.steals == b.steals;
    };
    for (const std::string& w : workloads) {
        auto how = with(16, "half,random,on-demand", some_costs());
        const auto first = run(how, w);
        EXPECT_TRUE(same(first, run(how, w))) << w;
        how.seed = 2;
        EXPECT_FALSE(same(first, run(how, w))) << w;
    }
}

TEST_F(simulated_pool, more_than_one_task_per_theft_in_a_flat_loop) {
    const auto r = run(with(8, "half,random,on-demand", some_costs()), "ready:tasks=10000");
    EXPECT_GT(r.stolen, r.steals);
    const auto one = run(with(8, "one,random,on-demand", some_costs()), "ready:tasks=10000");
    EXPECT_EQ(one.stolen, one.steals);
    EXPECT_LT(r.steals, one.steals);
}

class simulated_wave : public support::guarded {};

TEST_F(simulated_wave, is_a_flat_tree) {
    // The protocol by itself: only a wake-up takes time. A worker with a task keeps it.
    for (const char* policy : {"one,random,on-demand", "half,random,on-demand", "half,ring,always-public"}) {
        for (unsigned workers = 2; workers <= 4'096; workers = workers < 64 ? workers + 7 : workers * 2) {
            auto how = with(workers, policy);
            how.price.wake_latency = 5'000;
            how.until = study::from_ns(1e8);
            const auto r = run(how, "ready:length=1e9,tasks=" + std::to_string(workers * 4));
            EXPECT_NE(r.all_busy, study::never) << workers << " " << policy;
            EXPECT_GE(r.wakes, workers - 1);
            unsigned log = 0;
            while ((1U << log) < workers) {
                ++log;
            }
            EXPECT_LE(r.wake_depth, log + 1) << workers << " workers, " << policy;
        }
    }
}

/// The gain of two mechanisms of the runtime, with the costs of a machine.
class gain : public support::guarded {
protected:
    static study::setup idle_pool(unsigned workers) {
        return with(workers, "1/4,random,on-demand", study::built_in_costs());
    }
    /// When the last worker begins its first task.
    static double all_reached(const study::setup& how) {
        return static_cast<double>(
            run(how, "loop:length=10000,tasks=" + std::to_string(how.workers * 64)).all_reached);
    }
};

TEST_F(gain, of_a_waker_that_names_its_victim) {
    for (const unsigned workers : {64U, 1'024U}) {
        auto how = idle_pool(workers);
        const double named = all_reached(how);
        how.name_victim = false;
        const double at_random = all_reached(how);
        RecordProperty("percent_" + std::to_string(workers), static_cast<int>(at_random * 100 / named));
        EXPECT_LT(named, at_random * 0.95) << workers;
    }
}

TEST_F(gain, of_a_worker_that_answers_between_two_tasks) {
    for (const unsigned workers : {64U, 1'024U}) {
        auto how = idle_pool(workers);
        const double answered = all_reached(how);
        how.attend_between = false;
        const double reached = all_reached(how);
        RecordProperty("percent_" + std::to_string(workers), static_cast<int>(reached * 100 / answered));
        EXPECT_LT(answered, reached * 0.95) << workers;
    }
}

TEST_F(simulated_pool, wrong_arguments_give_a_reason) {
    const auto why = [](const std::string& workload) -> std::string {
        try {
            (void)study::make_workload(workload, 1);
        } catch (const std::invalid_argument& error) {
            return error.what();
        }
        return "";
    };
    using testing::HasSubstr;
    EXPECT_THAT(why("lop"),
                HasSubstr("known are loop, ready, tree, arrivals, geometric, binomial, pareto, graph:FILE"));
    EXPECT_THAT(why(""), HasSubstr("known are"));
    EXPECT_THAT(why("loop:task=5"), HasSubstr("the keys of loop are tasks, length"));
    EXPECT_THAT(why("loop:tasks"), HasSubstr("is no KEY=VALUE"));
    EXPECT_THAT(why("loop:tasks="), HasSubstr("tasks needs a number from 1 to"));
    EXPECT_THAT(why("loop:tasks=0"), HasSubstr("tasks needs a number from 1 to"));
    EXPECT_THAT(why("loop:tasks=5x"), HasSubstr("tasks needs a number"));
    EXPECT_THAT(why("loop:length=nan"), HasSubstr("length needs a number from 0 to"));
    EXPECT_THAT(why("tree:height=46"), HasSubstr("from 0 to 45"));
    EXPECT_THAT(why("binomial:probability=0.5"), HasSubstr("has no end"));
    EXPECT_EQ(why("loop:tasks=5,length=0"), "");

    const auto program = study::make_workload("loop:tasks=2", 1);
    auto how = with(2, nullptr);
    how.workers = 4'097;
    EXPECT_THROW((void)study::simulate(how, *program), std::invalid_argument);
    how.workers = 0;
    EXPECT_THROW((void)study::simulate(how, *program), std::invalid_argument);
    how = {};
    EXPECT_THROW((void)study::simulate(how, *program), std::invalid_argument); // automatic policies
}

} // namespace
