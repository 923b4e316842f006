// The order in which workers take tasks: one deque per worker, own work first, submissions before theft.
#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "support/harness.hpp"
#include "support/process.hpp"

namespace {

using namespace support;

constexpr pilfer::exposure every_exposure[] = {pilfer::exposure::on_demand,   pilfer::exposure::always_public,
                                               pilfer::exposure::threshold,   pilfer::exposure::doubling,
                                               pilfer::exposure::short_eager, pilfer::exposure::waiter_first};

[[nodiscard]] pilfer::options classic(unsigned n) {
    pilfer::options o = workers(n);
    o.balance.exposure = pilfer::exposure::always_public;
    o.balance.steal = pilfer::steal_amount::one();
    return o;
}

void wait_until(const std::atomic<bool>& flag) {
    while (!flag) {
        std::this_thread::yield();
    }
}

/// The tasks in the order in which they ran, each with its thread.
class trace {
public:
    void add(std::string what) {
        const std::lock_guard lock(m_mutex);
        m_entries.push_back({std::move(what), thread_id()});
        m_size.fetch_add(1);
    }
    [[nodiscard]] std::size_t size() const { return m_size; }
    [[nodiscard]] std::vector<std::string> on(long thread) const {
        std::vector<std::string> mine;
        for (const auto& e : m_entries) {
            if (e.thread == thread) {
                mine.push_back(e.what);
            }
        }
        return mine;
    }

private:
    struct entry {
        std::string what;
        long thread;
    };
    std::mutex m_mutex;
    std::vector<entry> m_entries;
    std::atomic<std::size_t> m_size{0};
};

class deque_order : public guarded {};

TEST_F(deque_order, the_first_theft_is_the_oldest_task) {
    for (int round = 0; round < 50; ++round) {
        pilfer::pool pool(classic(2));
        std::atomic<bool> blocked{false};
        std::atomic<bool> pushed{false};
        std::atomic<int> first{0};
        auto blocker = pool.async([&] {
            blocked = true;
            wait_until(pushed);
        });
        wait_until(blocked);
        pool.run([&] {
            pilfer::scope s;
            for (int i = 1; i <= 20; ++i) {
                s.fork([&, i] {
                    int none = 0;
                    first.compare_exchange_strong(none, i);
                });
            }
            pushed = true;
            while (first == 0) { // the owner is blocked until a thief has run one
                std::this_thread::yield();
            }
            s.sync();
        });
        blocker.get();
        ASSERT_EQ(first, 1);
    }
}

TEST_F(deque_order, thieves_take_in_the_order_of_the_pushes) {
    pilfer::pool pool(classic(2));
    std::atomic<bool> blocked{false};
    std::atomic<bool> pushed{false};
    trace ran;
    auto blocker = pool.async([&] {
        blocked = true;
        wait_until(pushed);
        return thread_id();
    });
    wait_until(blocked);
    pool.run([&] {
        pilfer::scope s;
        for (int i = 1; i <= 5; ++i) {
            s.fork([&, i] { ran.add(std::to_string(i)); });
        }
        pushed = true;
        while (ran.size() != 5) {
            std::this_thread::yield();
        }
        s.sync();
    });
    EXPECT_EQ(ran.on(blocker.get()), (std::vector<std::string>{"1", "2", "3", "4", "5"}));
}

TEST_F(deque_order, suspended_contexts_leave_as_many_workers) {
    const auto threads_before = thread_count();
    {
        pilfer::pool gates(workers(1));
        pilfer::pool pool(workers(2));
        const auto threads = thread_count();
        std::atomic<bool> open{false};
        auto gate = gates.async([&] { wait_until(open); });
        const auto waiting = static_cast<std::size_t>(hundredth_of(100'000));
        std::vector<pilfer::future<void>> waiters;
        for (std::size_t i = 0; i < waiting; ++i) {
            waiters.push_back(pool.async([gate] { gate.get(); }));
        }
        ASSERT_TRUE(eventually([&] { return pool.counters().suspends == waiting; }));
        const auto c = pool.counters();
        EXPECT_EQ(c.resumes, 0U);
        EXPECT_GE(c.contexts_live, waiting);
        EXPECT_EQ(pool.workers(), 2U);
        EXPECT_EQ(thread_count(), threads);
        EXPECT_EQ(pool.run([] { return fib_join(10); }), fib(10)) << "the workers are free";
        open = true;
        for (auto& w : waiters) {
            w.get();
        }
        // A root that itself waited counts too.
        EXPECT_EQ(pool.counters().resumes, pool.counters().suspends);
        EXPECT_GE(pool.counters().resumes, waiting);
    }
    EXPECT_TRUE(threads_become(threads_before));
}

class private_tasks : public guarded {};

TEST_F(private_tasks, no_task_is_exposed_without_an_idle_worker) {
    pilfer::pool pool(workers(3));
    std::atomic<int> busy{0};
    std::atomic<bool> stop{false};
    std::vector<pilfer::future<void>> others;
    for (int i = 0; i < 2; ++i) {
        others.push_back(pool.async([&] {
            busy.fetch_add(1);
            wait_until(stop);
        }));
    }
    ASSERT_TRUE(eventually([&] { return busy == 2; }));
    pool.run([&] {
        // Requests that the others made before they became busy are answered once.
        (void)fib_join(10);
        const auto before = pool.counters();
        EXPECT_EQ(fib_join(20) + fib_spawn(16) + fib_fork(16), fib(20) + 2 * fib(16));
        const auto after = pool.counters();
        EXPECT_EQ(after.exposures, before.exposures);
        EXPECT_EQ(after.exposed_tasks, before.exposed_tasks);
        EXPECT_EQ(after.suspends, before.suspends);
        EXPECT_EQ(after.sleeps, before.sleeps);
        EXPECT_EQ(after.steals_tried, before.steals_tried);
        stop = true;
    });
    for (auto& other : others) {
        other.get(); // it reads objects that end before the pool
    }
}

TEST_F(private_tasks, one_worker_never_exposes) {
    pilfer::pool pool(workers(1));
    ASSERT_TRUE(eventually([&] { return pool.counters().sleeps > 0; }));
    EXPECT_EQ(pool.run([] { return fib_join(20) + fib_spawn(16) + fib_fork(16); }), fib(20) + 2 * fib(16));
    const auto c = pool.counters();
    EXPECT_EQ(c.exposures + c.exposed_tasks + c.steals_tried + c.run_stolen, 0U);
    // A submission that finds all workers awake asks the worker to make way once.
    EXPECT_LE(c.suspends, 1U);
}

TEST_F(private_tasks, the_classic_policy_exposes_every_task) {
    pilfer::pool pool(classic(1));
    pool.run([] {
        pilfer::scope s;
        for (int i = 0; i < 100; ++i) {
            s.fork([] {});
        }
        s.sync();
    });
    EXPECT_EQ(pool.counters().exposed_tasks, 100U);
}

class own_exposed_tasks : public guarded {};

TEST_F(own_exposed_tasks, take_back_sets_how_many_are_reclaimed_at_once) {
    // Both ways give one order. But this policy exposes all private tasks at each announcement, also those
    // that were reclaimed together with the announcing task.
    for (const auto how : {pilfer::unshare::one, pilfer::unshare::all}) {
        pilfer::options o = classic(1);
        o.balance.unshare = how;
        pilfer::pool pool(o);
        pool.run([&] {
            for (int i = 0; i < 6; ++i) {
                (void)pilfer::async([i] {
                    if (i == 5) {
                        (void)pilfer::async([] {});
                    }
                });
            }
        });
        pool.shutdown();
        if (how == pilfer::unshare::one) {
            EXPECT_EQ(pool.counters().exposed_tasks, 7U);
        } else {
            EXPECT_GT(pool.counters().exposed_tasks, 9U);
        }
    }
}

/// Six tasks are run by the worker that announced them, at a sync and by its scheduler.
void expect_newest_first(const pilfer::options& o) {
    pilfer::pool pool(o);
    std::vector<int> order;
    pool.run([&] {
        pilfer::scope s;
        for (int i = 0; i < 6; ++i) {
            s.fork([&order, i] { order.push_back(i); });
        }
        s.sync();
    });
    EXPECT_EQ(order, (std::vector<int>{5, 4, 3, 2, 1, 0}));
    order.clear();
    pool.run([&] {
        for (int i = 0; i < 6; ++i) {
            (void)pilfer::async([&order, i] { order.push_back(i); });
        }
    });
    pool.shutdown();
    EXPECT_EQ(order, (std::vector<int>{5, 4, 3, 2, 1, 0}));
}

TEST_F(own_exposed_tasks, are_reclaimed_newest_first) {
    for (const auto policy : every_exposure) {
        for (const auto how : {pilfer::unshare::one, pilfer::unshare::all}) {
            pilfer::options o = workers(1);
            o.balance.exposure = policy;
            o.balance.threshold = {.at_least = 2, .below = 4, .count = 2};
            o.balance.unshare = how;
            SCOPED_TRACE(static_cast<int>(policy));
            expect_newest_first(o);
        }
    }
}

TEST_F(own_exposed_tasks, run_before_tasks_of_others) {
    for (const auto policy : every_exposure) {
        for (int round = 0; round < 10; ++round) {
            pilfer::options o = workers(2);
            o.balance.exposure = policy;
            pilfer::pool pool(o);
            trace ran;
            std::atomic<bool> rich{false};
            std::atomic<bool> ready{false};
            auto busy = pool.async([&] {
                pilfer::scope s;
                rich = true;
                wait_until(ready);
                for (int i = 0; i < 3; ++i) {
                    s.fork([&] { ran.add("other"); });
                }
                rich = false;
                while (ran.size() != 6) {
                    std::this_thread::yield();
                }
                s.sync();
            });
            wait_until(rich);
            const long thread = pool.run([&] {
                for (int i = 0; i < 3; ++i) {
                    (void)pilfer::async([&, i] { ran.add("own" + std::to_string(i)); });
                }
                ready = true;
                while (rich) {
                    std::this_thread::yield();
                }
                return thread_id();
            });
            busy.get();
            ASSERT_EQ(ran.on(thread),
                      (std::vector<std::string>{"own2", "own1", "own0", "other", "other", "other"}));
        }
    }
}

class submission_order : public guarded {};

TEST_F(submission_order, come_before_theft) {
    for (int round = 0; round < 20; ++round) {
        pilfer::pool pool(classic(2));
        trace ran;
        std::atomic<bool> rich{false};
        std::atomic<bool> held{false};
        std::atomic<bool> release{false};
        auto holder = pool.async([&] {
            held = true;
            wait_until(release);
            return thread_id();
        });
        wait_until(held);
        auto victim = pool.async([&] {
            pilfer::scope s;
            for (int i = 0; i < 3; ++i) {
                s.fork([&] { ran.add("stolen"); });
            }
            rich = true;
            while (ran.size() != 5) {
                std::this_thread::yield();
            }
            s.sync();
        });
        wait_until(rich);
        auto one = pool.async([&] { ran.add("first"); });
        auto two = pool.async([&] { ran.add("second"); });
        release = true;
        const long thread = holder.get();
        victim.get();
        ASSERT_EQ(ran.on(thread),
                  (std::vector<std::string>{"first", "second", "stolen", "stolen", "stolen"}));
    }
}

TEST_F(submission_order, are_first_in_first_out) {
    pilfer::pool pool(workers(1));
    std::atomic<bool> go_on{false};
    std::vector<int> order;
    (void)pool.async([&] { wait_until(go_on); });
    std::vector<int> expected;
    for (int i = 0; i < 100; ++i) {
        (void)pool.async([&order, i] { order.push_back(i); });
        expected.push_back(i);
    }
    go_on = true;
    pool.shutdown();
    EXPECT_EQ(order, expected);
}

class starvation : public over_workers {
protected:
    /// Keeps every worker busy with `endless(stop)` and submits meanwhile.
    static void run(const std::function<void(std::atomic<bool>&)>& endless) {
        std::atomic<bool> stop{false};
        pilfer::pool pool(with_workers()); // at its end the last tasks have seen `stop`
        std::vector<pilfer::future<void>> busy;
        for (unsigned i = 0; i < GetParam(); ++i) {
            busy.push_back(pool.async([&] { endless(stop); }));
        }
        for (int i = 0; i < 5; ++i) {
            EXPECT_EQ(pool.run([i] { return i; }), i);
        }
        stop = true;
        for (auto& b : busy) {
            b.get();
        }
    }
};

TEST_P(starvation, by_a_task_that_forks_itself) {
    run([](std::atomic<bool>& stop) {
        struct again {
            pilfer::scope& s;
            std::atomic<bool>& stop;
            void operator()() const {
                if (!stop) {
                    s.fork(again{s, stop});
                }
            }
        };
        pilfer::scope s;
        s.fork(again{s, stop});
        s.sync();
    });
}

TEST_P(starvation, by_endless_joins) {
    run([](std::atomic<bool>& stop) {
        while (!stop) {
            (void)pilfer::join([] {}, [] {});
        }
    });
}

TEST_P(starvation, by_endless_spawns) {
    run([](std::atomic<bool>& stop) {
        pilfer::scope s;
        while (!stop) {
            s.spawn([] {});
        }
        s.sync();
    });
}

TEST_P(starvation, by_asyncs_that_follow_each_other) {
    run([](std::atomic<bool>& stop) {
        struct again {
            std::atomic<bool>& stop;
            void operator()() const {
                if (!stop) {
                    (void)pilfer::async(again{stop});
                }
            }
        };
        again{stop}();
    });
}

TEST_P(starvation, by_contexts_that_suspend_and_resume) {
    pilfer::pool other(workers(1));
    run([&](std::atomic<bool>& stop) {
        while (!stop) {
            other.run([] {});
        }
    });
}

PILFER_OVER_WORKERS(starvation);

class fairness : public guarded {};

TEST_F(fairness, two_announcing_loops_share_the_remaining_worker) {
    pilfer::pool pool(workers(2));
    std::atomic<bool> stop{false};
    std::array<std::atomic<std::uint64_t>, 2> turns{};
    std::vector<pilfer::future<void>> loops;
    for (auto& mine : turns) {
        loops.push_back(pool.async([&] {
            while (!stop) {
                (void)pilfer::join([] {}, [] {});
                mine.fetch_add(1, std::memory_order_relaxed);
            }
        }));
    }
    for (int round = 0; round < 20; ++round) {
        // Announces nothing and stays until both loops have gone on beside it.
        pool.run([&] {
            const std::uint64_t before[] = {turns[0], turns[1]};
            while (turns[0] < before[0] + 1000 || turns[1] < before[1] + 1000) {
                std::this_thread::yield();
            }
        });
    }
    stop = true;
    for (auto& l : loops) {
        l.get();
    }
}

TEST_F(fairness, contexts_that_yield_to_each_other_do_not_starve_the_deque) {
    pilfer::pool pool(workers(1));
    std::atomic<bool> announced{false};
    std::atomic<bool> ran{false};
    const auto loop = [&] {
        while (!ran) {
            (void)pilfer::join([] {}, [] {});
        }
    };
    auto first = pool.async([&] {
        auto own = pilfer::async([&] { ran = true; });
        announced = true;
        loop();
        own.get();
    });
    wait_until(announced);
    pool.run(loop);
    first.get();
}

} // namespace
