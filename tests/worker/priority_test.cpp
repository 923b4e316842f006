// Priorities: the order of beginnings, levels that never starve, and the tasks that a wait and a running task
// let pass.
#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "pool/pool_core.hpp"
#include "support/harness.hpp"

namespace {

using namespace support;
using pilfer::priority;
using enum pilfer::priority;

class priorities_over_workers : public over_workers {};
PILFER_OVER_WORKERS(priorities_over_workers);
class priorities : public guarded {};

[[nodiscard]] priority level_now() {
    return static_cast<pilfer::detail::scheduler*>(pilfer::detail::this_worker())->level();
}

void wait_until(const std::atomic<bool>& flag) {
    while (!flag) {
        std::this_thread::yield();
    }
}

/// Keeps the only worker of a pool until it is let go.
class busy {
public:
    explicit busy(pilfer::pool& p) {
        p.submit([this] {
            m_there = true;
            wait_until(m_go_on);
        });
        wait_until(m_there);
    }
    void let_go() { m_go_on = true; }

private:
    std::atomic<bool> m_there{false};
    std::atomic<bool> m_go_on{false};
};

/// The tasks in the order in which they ran.
class order {
public:
    void add(const std::string& what) {
        const std::lock_guard lock(m_mutex);
        m_all.push_back(what);
    }
    [[nodiscard]] std::vector<std::string> all() const {
        const std::lock_guard lock(m_mutex);
        return m_all;
    }

private:
    mutable std::mutex m_mutex;
    std::vector<std::string> m_all;
};

[[nodiscard]] pilfer::options one_worker() { return workers(1); }

TEST_F(priorities, high_before_normal_before_low_and_the_oldest_first) {
    pilfer::pool pool(one_worker());
    order ran;
    busy worker(pool);
    const auto note = [&](const char* what) { return [&ran, what] { ran.add(what); }; };
    pool.submit({.priority = low}, note("l1"));
    pool.submit(note("n1"));
    pool.submit({.priority = high}, note("h1"));
    auto n2 = pool.async({.priority = normal}, note("n2"));
    auto l2 = pool.async({.priority = low}, note("l2"));
    auto h2 = pool.async({.priority = high}, note("h2"));
    pool.submit(note("n3"));
    worker.let_go();
    pool.shutdown();
    EXPECT_EQ(ran.all(), (std::vector<std::string>{"h1", "h2", "n1", "n2", "n3", "l1", "l2"}));
    EXPECT_EQ(pool.counters().run_submitted, 8U);
}

TEST_F(priorities, every_64th_look_takes_the_lowest_level) {
    pilfer::pool pool(one_worker());
    order ran;
    std::function<void(int)> again = [&](int left) {
        ran.add("h");
        if (left > 1) {
            pool.submit({.priority = high}, [&again, left] { again(left - 1); });
        }
    };
    {
        busy worker(pool);
        for (int i = 0; i < 3; ++i) {
            pool.submit({.priority = low}, [&] { ran.add("l"); });
            pool.submit({.priority = normal}, [&] { ran.add("n"); });
        }
        pool.submit({.priority = high}, [&] { again(250); });
        worker.let_go();
        pool.shutdown();
    }
    const auto all = ran.all();
    ASSERT_EQ(all.size(), 256U);
    for (std::size_t i = 0; i < 192; ++i) {
        EXPECT_EQ(all[i], i % 64 == 31 ? "n" : i % 64 == 63 ? "l" : "h") << i;
    }
    for (std::size_t i = 192; i < all.size(); ++i) {
        EXPECT_EQ(all[i], "h") << i;
    }
}

TEST_F(priorities, the_lowest_queued_level_may_be_normal) {
    pilfer::pool pool(one_worker());
    order ran;
    busy worker(pool);
    for (int i = 0; i < 100; ++i) {
        pool.submit({.priority = high}, [&] { ran.add("h"); });
    }
    pool.submit([&] { ran.add("n"); });
    pool.submit([&] { ran.add("n"); });
    worker.let_go();
    pool.shutdown();
    const auto all = ran.all();
    EXPECT_EQ(all[31], "n");
    EXPECT_EQ(all[63], "n");
}

TEST_F(priorities, a_pool_without_levels_is_first_in_first_out) {
    pilfer::pool pool(one_worker());
    order ran;
    std::vector<std::string> expected;
    busy worker(pool);
    for (int i = 0; i < 200; ++i) {
        expected.push_back(std::to_string(i));
        pool.submit([&ran, i] { ran.add(std::to_string(i)); });
    }
    worker.let_go();
    pool.shutdown();
    EXPECT_EQ(ran.all(), expected);
}

/// A task's submissions have its level unless they name one, in other pools, too, and after a wait.
TEST_P(priorities_over_workers, submissions_have_the_level_of_their_task) {
    pilfer::pool pool(with_workers());
    pilfer::pool other(with_workers());
    for (const priority level : {high, normal, low}) {
        pool.run({.priority = level}, [&] {
            EXPECT_EQ(level_now(), level);
            other.run([&] {
                EXPECT_EQ(level_now(), level);
                pool.run([&] { EXPECT_EQ(level_now(), level); });
                pool.async({.priority = low}, [] { EXPECT_EQ(level_now(), low); })
                    .wait(); // not run in place: another pool's
            });
            EXPECT_EQ(level_now(), level) << "behind a wait for another pool";
            pilfer::sleep_for(std::chrono::microseconds(50));
            EXPECT_EQ(level_now(), level) << "behind a wait for a time";
            pilfer::yield();
            EXPECT_EQ(level_now(), level);
            EXPECT_EQ(other.async([] { return level_now(); }).get(), level);
        });
    }
    EXPECT_EQ(pool.run([] { return level_now(); }), normal) << "threads have none";
}

/// Stolen children have the level of their parent's task.
TEST_P(priorities_over_workers, children_have_the_level_of_their_parent) {
    if (GetParam() == 1) {
        return;
    }
    pilfer::pool pool(with_workers());
    for (const priority level : {high, low, normal}) {
        pool.run({.priority = level}, [&] {
            std::atomic<bool> stolen{false};
            pilfer::join(
                [&] {
                    wait_until(stolen);
                    EXPECT_EQ(level_now(), level);
                },
                [&] {
                    EXPECT_EQ(level_now(), level);
                    stolen = true;
                });
            std::atomic<bool> went_on{false};
            pilfer::scope s;
            s.spawn([&] { wait_until(went_on); });
            EXPECT_EQ(level_now(), level) << "the rest of a spawn, on another worker";
            went_on = true;
            s.sync();
            EXPECT_EQ(level_now(), level);
        });
    }
}

/// It makes way for a frame that can run: no task of a lower level begins before it is back.
TEST_F(priorities, a_yielding_task_lets_no_lower_level_begin) {
    for (const priority lower : {normal, low}) {
        pilfer::pool pool(one_worker());
        order ran;
        pilfer::event go;
        std::atomic<bool> waits{false};
        auto frame = pool.async({.priority = high}, [&] {
            waits = true;
            go.wait();
            ran.add("frame");
        });
        wait_until(waits);
        std::atomic<bool> there{false};
        std::atomic<bool> queued{false};
        auto task = pool.async({.priority = high}, [&] {
            there = true;
            wait_until(queued);
            go.set();
            for (int i = 0; i < 1000; ++i) {
                (void)fib_join(4);
            }
            ran.add("task");
        });
        wait_until(there);
        pool.submit({.priority = lower}, [&] { ran.add("lower"); });
        queued = true;
        task.wait();
        frame.wait();
        pool.shutdown();
        EXPECT_EQ(ran.all(), (std::vector<std::string>{"frame", "task", "lower"}));
    }
}

TEST_F(priorities, a_task_yields_to_its_own_level_and_above) {
    for (const priority mine : {high, normal, low}) {
        for (const priority other : {high, normal, low}) {
            pilfer::pool pool(one_worker());
            std::atomic<bool> there{false};
            std::atomic<bool> queued{false};
            std::atomic<bool> other_ran{false};
            auto first = pool.async({.priority = mine}, [&] {
                there = true;
                wait_until(queued);
                for (int i = 0; i < 1000 && !other_ran; ++i) {
                    (void)fib_join(4);
                }
                EXPECT_EQ(other_ran, other <= mine);
            });
            wait_until(there);
            pool.submit({.priority = other}, [&] { other_ran = true; });
            queued = true;
            first.wait();
            pool.shutdown();
            EXPECT_TRUE(other_ran);
        }
    }
}

/// Without a stack a frame that waits runs others on top of itself: none of a lower level.
TEST_F(priorities, no_lower_level_begins_on_top_of_a_waiting_frame) {
    for (const priority mine : {high, normal, low}) {
        pilfer::options o = one_worker();
        o.max_contexts = 1;
        pilfer::pool pool(o);
        order ran;
        pool.run({.priority = mine}, [&] {
            pilfer::event awaited;
            pool.submit({.priority = low}, [&] { ran.add("low"); });
            pool.submit({.priority = normal}, [&] { ran.add("normal"); });
            pool.submit({.priority = high}, [&] { ran.add("high"); });
            pool.submit({.priority = mine}, [&] {
                EXPECT_EQ(level_now(), mine);
                awaited.set();
            });
            awaited.wait();
            EXPECT_EQ(level_now(), mine);
            EXPECT_GT(pool.counters().no_context, 0U);
            ran.add("mine");
        });
        pool.shutdown();
        const std::vector<std::string> levels{"high", "normal", "low"};
        std::vector<std::string> expected(levels.begin(), levels.begin() + 1 + static_cast<int>(mine));
        expected.emplace_back("mine");
        expected.insert(expected.end(), levels.begin() + 1 + static_cast<int>(mine), levels.end());
        EXPECT_EQ(ran.all(), expected);
    }
}

/// A child that another pool's task gives to a scope may be all that its frame waits for.
TEST_F(priorities, children_from_outside_go_first) {
    pilfer::options o = one_worker();
    o.max_contexts = 1;
    pilfer::pool pool(o);
    pilfer::pool other(workers(1));
    bool ran = false;
    pool.run({.priority = high}, [&] {
        pilfer::scope s;
        other.submit({.priority = low}, [&] { s.fork([&] { ran = true; }); });
        other.run({.priority = low}, [] {}); // queued after it
        s.sync();
        EXPECT_TRUE(ran);
    });
}

TEST_F(priorities, get_runs_a_queued_task_of_any_level) {
    pilfer::options o = one_worker();
    o.max_contexts = 1;
    pilfer::pool pool(o);
    pool.run({.priority = high}, [&] {
        auto f = pool.async({.priority = low}, [] { return level_now(); });
        EXPECT_EQ(f.get(), high) << "in place of its caller, who waits for it";
    });
}

TEST_F(priorities, own_tasks_may_submit_while_the_pool_drains) {
    std::atomic<int> ran{0};
    {
        pilfer::pool pool(one_worker());
        std::function<void(int)> again = [&](int left) {
            ran.fetch_add(1);
            for (const priority level : {high, normal, low}) {
                if (left > 0) {
                    pool.submit({.priority = level}, [&again, left] { again(left - 1); });
                }
            }
        };
        auto first = std::make_unique<busy>(pool);
        pool.submit({.priority = low}, [&] { again(5); });
        std::thread ends([&] { pool.shutdown(); });
        while (!pool.core().gate.is_closed()) {
            std::this_thread::yield();
        }
        EXPECT_THROW(pool.submit({.priority = high}, [] {}), pilfer::pool_closed);
        first->let_go();
        ends.join();
    }
    EXPECT_EQ(ran, 364); // 3^0 + ... + 3^5
}

TEST_F(priorities, a_bound_is_one_for_all_levels) {
    pilfer::options o = one_worker();
    o.queue_capacity = 3;
    o.when_full = pilfer::when_full::fail;
    pilfer::pool pool(o);
    order ran;
    busy worker(pool);
    pool.submit({.priority = low}, [&] { ran.add("l"); });
    pool.submit({.priority = normal}, [&] { ran.add("n"); });
    pool.submit({.priority = high}, [&] { ran.add("h"); });
    for (const priority level : {high, normal, low}) {
        EXPECT_THROW(pool.submit({.priority = level}, [] {}), pilfer::queue_full);
        EXPECT_THROW((void)pool.async({.priority = level}, [] {}), pilfer::queue_full);
        EXPECT_THROW(pool.run({.priority = level}, [] {}), pilfer::queue_full);
    }
    worker.let_go();
    pool.shutdown();
    EXPECT_EQ(ran.all(), (std::vector<std::string>{"h", "n", "l"}));
}

TEST_F(priorities, dump_says_which_levels_are_queued) {
    pilfer::pool pool(one_worker());
    const auto said = [&](const char* what) {
        std::ostringstream out;
        pool.dump(out);
        return out.str().find(what) != std::string::npos;
    };
    busy worker(pool);
    EXPECT_TRUE(said("submissions: none;"));
    pool.submit([] {});
    EXPECT_TRUE(said("submissions: queued;"));
    pool.submit({.priority = low}, [] {});
    EXPECT_TRUE(said("submissions: queued (normal, low);"));
    pool.submit({.priority = high}, [] {});
    EXPECT_TRUE(said("submissions: queued (high, normal, low);"));
    worker.let_go();
    pool.shutdown();
    EXPECT_TRUE(said("submissions: none;"));
}

TEST_F(priorities, queued_levels_are_dropped_and_closed_pools_refuse) {
    pilfer::pool pool(one_worker());
    std::array<pilfer::future<void>, 3> dropped{pool.async([] {}), pool.async([] {}), pool.async([] {})};
    for (auto& f : dropped) {
        f.wait();
    }
    busy worker(pool);
    dropped = {pool.async({.priority = high}, [] {}), pool.async({.priority = normal}, [] {}),
               pool.async({.priority = low}, [] {})};
    std::thread ends([&] { pool.shutdown(pilfer::shutdown_mode::drop); });
    while (!pool.core().dropping()) {
        std::this_thread::yield();
    }
    worker.let_go();
    ends.join();
    for (auto& f : dropped) {
        EXPECT_THROW(f.get(), pilfer::broken_promise);
    }
    EXPECT_EQ(pool.counters().dropped, 3U);
    EXPECT_THROW(pool.run({.priority = high}, [] {}), pilfer::pool_closed);
    EXPECT_THROW((void)pool.async({.priority = low}, [] {}), pilfer::pool_closed);
}

TEST_F(priorities, an_invalid_level_is_an_error) {
    pilfer::pool pool(workers(2));
    for (const int value : {4, 5, 100, 255}) {
        const auto none = static_cast<priority>(value);
        EXPECT_THROW(pool.submit({.priority = none}, [] { ADD_FAILURE(); }), std::invalid_argument);
        EXPECT_THROW((void)pool.async({.priority = none}, [] { ADD_FAILURE(); }), std::invalid_argument);
        EXPECT_THROW(pool.run({.priority = none}, [] { ADD_FAILURE(); }), std::invalid_argument);
        EXPECT_THROW((void)pilfer::async({.priority = none}, [] { ADD_FAILURE(); }), std::invalid_argument);
        pool.run([&] {
            EXPECT_THROW((void)pilfer::async({.priority = none}, [] { ADD_FAILURE(); }),
                         std::invalid_argument);
            EXPECT_THROW(pool.run({.priority = none}, [] { ADD_FAILURE(); }), std::invalid_argument);
        });
    }
    try {
        pool.submit({.priority = static_cast<priority>(9)}, [] {});
    } catch (const std::invalid_argument& e) {
        EXPECT_STREQ(e.what(), "pilfer: a priority must be high, normal, low or automatic, not 9");
    }
}

TEST_F(priorities, on_one_lock_levels_are_without_effect) {
    pilfer::options o = one_worker();
    o.backend = pilfer::backend::one_lock;
    pilfer::pool pool(o);
    order ran;
    busy worker(pool);
    pool.submit({.priority = low}, [&] { ran.add("l"); });
    pool.submit({.priority = high}, [&] { ran.add("h"); });
    worker.let_go();
    EXPECT_EQ(pool.run({.priority = high}, [] { return 1; }), 1);
    EXPECT_EQ(pool.run([&] { return pool.async({.priority = low}, [] { return 2; }).get(); }), 2);
    pool.shutdown();
    EXPECT_EQ(ran.all(), (std::vector<std::string>{"l", "h"}));
}

/// Threads and tasks submit at all levels, workers sleep and wake in between: nothing is lost.
TEST_P(priorities_over_workers, everything_runs_once) {
    pilfer::pool pool(with_workers());
    std::atomic<std::uint64_t> ran{0};
    const auto n = hundredth_of(100'000, 300);
    const auto submit_all = [&] {
        for (std::uint64_t i = 0; i < n; ++i) {
            const auto level = static_cast<priority>(i % 3);
            pool.submit({.priority = level}, [&] { ran.fetch_add(1); });
            if (i % 50 == 0) {
                pool.run({.priority = level}, [&] { ran.fetch_add(fib_join(6) == 8 ? 1 : 0); });
            }
        }
    };
    std::thread a(submit_all);
    pool.run(submit_all);
    a.join();
    pool.shutdown();
    EXPECT_EQ(ran, 2 * n + 2 * ((n + 49) / 50));
}

} // namespace
