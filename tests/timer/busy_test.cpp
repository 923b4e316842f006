// Time and descriptors while every worker computes: the timekeeper (src/timer/README.md).
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <pilfer/pilfer.hpp>

#include "support/child.hpp"
#include "support/harness.hpp"
#include "support/process.hpp"
#include "timer/timekeeper.hpp"

namespace {

using namespace support;
using namespace std::chrono_literals;

std::atomic<bool> finish{false};

long join_tree(int depth) {
    if (depth == 0 || finish.load(std::memory_order_relaxed)) {
        return 1;
    }
    auto [a, b] = pilfer::join([=] { return join_tree(depth - 1); }, [=] { return join_tree(depth - 1); });
    return a + b;
}
long fork_tree(int depth) {
    if (depth == 0 || finish.load(std::memory_order_relaxed)) {
        return 1;
    }
    long a = 0;
    pilfer::scope s;
    s.fork([&] { a = fork_tree(depth - 1); });
    const long b = fork_tree(depth - 1);
    s.sync();
    return a + b;
}
long spawn_tree(int depth) {
    if (depth == 0 || finish.load(std::memory_order_relaxed)) {
        return 1;
    }
    long a = 0;
    pilfer::scope s;
    s.spawn([&] { a = spawn_tree(depth - 1); });
    const long b = spawn_tree(depth - 1);
    s.sync();
    return a + b;
}

/// As many endless trees as workers, until it ends.
class busy_pool {
public:
    busy_pool(unsigned workers, long (*tree)(int))
        : pool({.workers = workers, .debug = {.stall_report = 0}}) {
        finish = false;
        for (unsigned i = 0; i < workers; ++i) {
            m_trees.push_back(pool.async([this, tree] {
                ++m_begun;
                return tree(60);
            }));
        }
        while (m_begun < workers) {
            std::this_thread::yield();
        }
    }
    ~busy_pool() {
        finish = true;
        for (auto& t : m_trees) {
            t.get();
        }
    }
    busy_pool(const busy_pool&) = delete;
    busy_pool& operator=(const busy_pool&) = delete;

    pilfer::pool pool;

private:
    std::atomic<unsigned> m_begun{0};
    std::vector<pilfer::future<long>> m_trees;
};

struct descriptors {
    descriptors() {
        EXPECT_EQ(pipe(both), 0);
        EXPECT_FALSE(pilfer::io::make_nonblocking(both[0]));
    }
    ~descriptors() {
        close(both[0]);
        close(both[1]);
    }
    descriptors(const descriptors&) = delete;
    descriptors& operator=(const descriptors&) = delete;
    void write_one() const { EXPECT_EQ(write(both[1], "x", 1), 1); }
    int both[2] = {-1, -1};
};

struct tree_case {
    const char* name;
    long (*tree)(int);
    unsigned workers;
};

class busy_workers : public guarded, public testing::WithParamInterface<tree_case> {
protected:
    /// `wait` is the body of a task, which has to come to its end beside the trees.
    template <class F>
    static void ends(F wait) {
        busy_pool busy(GetParam().workers, GetParam().tree);
        std::atomic<bool> ended{false};
        busy.pool.submit([&] {
            wait();
            ended = true;
        });
        EXPECT_TRUE(eventually([&] { return ended.load(); }));
    }
};

TEST_P(busy_workers, let_sleepers_wake_up) {
    ends([] { pilfer::sleep_for(5ms); });
}

TEST_P(busy_workers, let_waits_for_an_event_time_out) {
    ends([] {
        pilfer::event never_set;
        EXPECT_FALSE(never_set.wait_for(5ms));
    });
}

TEST_P(busy_workers, let_waits_for_a_future_time_out) {
    ends([] {
        pilfer::promise<int> kept_late;
        EXPECT_EQ(kept_late.get_future().wait_for(5ms), pilfer::future_status::timeout);
        kept_late.set_value(1);
    });
}

TEST_P(busy_workers, let_waits_for_a_semaphore_time_out) {
    ends([] {
        pilfer::counting_semaphore<> none(0);
        EXPECT_FALSE(none.try_acquire_for(5ms));
    });
}

TEST_P(busy_workers, let_a_scope_s_wait_time_out) {
    ends([] {
        pilfer::event go_on;
        pilfer::scope s;
        s.fork([&] { go_on.wait(); });
        EXPECT_FALSE(s.sync_for(5ms));
        go_on.set();
        s.sync();
    });
}

TEST_P(busy_workers, let_reads_of_descriptors_time_out) {
    const descriptors d;
    ends([&] { EXPECT_TRUE(pilfer::io::wait_readable(d.both[0], 5ms)); });
}

TEST_P(busy_workers, see_a_readable_descriptor) {
    const descriptors d;
    busy_pool busy(GetParam().workers, GetParam().tree);
    std::atomic<bool> waits{false};
    std::atomic<bool> ended{false};
    busy.pool.submit([&] {
        waits = true;
        char c = 0;
        const auto got = pilfer::io::read(d.both[0], &c, 1);
        EXPECT_FALSE(got.error) << got.error.message();
        ended = true;
    });
    ASSERT_TRUE(eventually([&] { return waits.load(); }));
    std::this_thread::sleep_for(5ms);
    d.write_one();
    EXPECT_TRUE(eventually([&] { return ended.load(); }));
}

TEST_P(busy_workers, run_functions_on_descriptors) {
    const descriptors d;
    busy_pool busy(GetParam().workers, GetParam().tree);
    std::atomic<int> runs{0};
    auto reaction = pilfer::on(busy.pool, pilfer::io::readable(d.both[0]), [&] {
        char c = 0;
        runs += read(d.both[0], &c, 1) == 1 ? 1 : 0;
    });
    for (int i = 1; i <= 3; ++i) {
        d.write_one();
        EXPECT_TRUE(eventually([&] { return runs == i; }));
    }
    reaction.cancel();
}

TEST_P(busy_workers, run_functions_later) {
    busy_pool busy(GetParam().workers, GetParam().tree);
    std::atomic<bool> once{false};
    std::atomic<int> often{0};
    const auto one = pilfer::after(busy.pool, 5ms, [&] { once = true; });
    auto many = pilfer::every(busy.pool, 1ms, [&] { ++often; });
    EXPECT_TRUE(eventually([&] { return once && often >= 10; }));
    many.cancel();
    EXPECT_TRUE(eventually([&] { return many.over(); }));
}

TEST_P(busy_workers, resume_coroutines_later) {
    busy_pool busy(GetParam().workers, GetParam().tree);
    std::atomic<bool> ended{false};
    busy.pool.submit([](std::atomic<bool>& here) -> pilfer::task<> {
        co_await pilfer::resume_after(5ms);
        here = true;
    }(ended));
    EXPECT_TRUE(eventually([&] { return ended.load(); }));
}

TEST_P(busy_workers, end_a_search_at_its_deadline) {
    pilfer::pool pool({.workers = GetParam().workers});
    finish = false;
    std::atomic<bool> through{false};
    std::thread watchdog([&] { finish = !eventually([&] { return through.load(); }); });
    pool.run([] {
        pilfer::scope search;
        const pilfer::deadline limit(search, 5ms);
        search.fork([] { GetParam().tree(60); });
        search.sync();
    });
    through = true;
    watchdog.join();
    EXPECT_FALSE(finish) << "only the watchdog has ended it";
}

INSTANTIATE_TEST_SUITE_P(, busy_workers,
                         testing::Values(tree_case{"join", &join_tree, 2}, tree_case{"fork", &fork_tree, 2},
                                         tree_case{"spawn", &spawn_tree, 2},
                                         tree_case{"join_on_one", &join_tree, 1},
                                         tree_case{"fork_on_three", &fork_tree, 3}),
                         [](const testing::TestParamInfo<tree_case>& tree) {
                             return std::string(tree.param.name);
                         });

class deadline : public guarded {};

// No worker comes by at all: each is inside a loop that only asks whether it is cancelled.
TEST_F(deadline, cancels_while_no_worker_makes_way) {
    pilfer::pool pool({.workers = 2});
    std::atomic<bool> give_up{false};
    std::atomic<bool> through{false};
    std::atomic<int> inside{0};
    std::thread watchdog([&] { give_up = !eventually([&] { return through.load(); }); });
    pool.run([&] {
        pilfer::scope search;
        const auto compute = [&](auto is_over) {
            ++inside;
            while (inside < 2 && !give_up) {
            }
            const pilfer::deadline limit(search, 5ms);
            while (!is_over() && !give_up) {
            }
        };
        search.fork([&] { compute([] { return pilfer::cancelled(); }); });
        search.fork([&] {
            const pilfer::stop_on_cancel stop; // the canceller makes its request
            compute([&] { return stop.token().stop_requested(); });
        });
        search.sync();
    });
    through = true;
    watchdog.join();
    EXPECT_FALSE(give_up) << "only the watchdog has ended it";
}

// Both are due in one look of the watching worker. The owner of the first one resumes there with a long
// function.
TEST_F(deadline, cancels_when_another_one_came_first) {
    pilfer::pool pool({.workers = 2});
    std::atomic<bool> give_up{false};
    std::atomic<bool> second_is_over{false};
    std::thread watchdog([&] { give_up = !eventually([&] { return second_is_over.load(); }); });
    auto first = pool.async([&] {
        pilfer::scope s;
        const pilfer::deadline limit(s, 20ms);
        s.fork([] { pilfer::sleep_for(1h); });
        s.sync();
        while (!second_is_over && !give_up) {
        }
    });
    auto second = pool.async([&] {
        pilfer::scope s;
        const pilfer::deadline limit(s, 20ms);
        s.fork([&] {
            while (!pilfer::cancelled() && !give_up) {
            }
        });
        s.sync();
        second_is_over = true;
    });
    first.get();
    second.get();
    watchdog.join();
    EXPECT_FALSE(give_up) << "only the watchdog has ended it";
}

// Taken back in time, and ended at any moment around its time.
TEST_F(deadline, may_end_at_the_moment_when_it_fires) {
    busy_pool busy(1, &join_tree);
    std::atomic<int> rounds{0};
    busy.pool.submit([&] {
        for (int i = 0; i < 200; ++i) {
            pilfer::scope s;
            const pilfer::deadline limit(s, std::chrono::microseconds(i * 5));
            s.fork([] { pilfer::sleep_for(500us); });
            s.sync();
            ++rounds;
        }
    });
    EXPECT_TRUE(eventually([&] { return rounds == 200; })) << rounds;
}

class timekeeper : public guarded {};

std::size_t timekeepers() { return threads_named("pilfer/time"); }

TEST_F(timekeeper, exists_when_needed_and_ends_with_the_last_pool) {
    EXPECT_TRUE(eventually([] { return timekeepers() == 0; })) << "that of an earlier case";
    {
        busy_pool first(1, &join_tree);
        EXPECT_EQ(timekeepers(), 0) << "nothing is armed";
        const busy_pool second(1, &join_tree);
        const auto a = pilfer::after(first.pool, 1h, [] {});
        EXPECT_TRUE(eventually([] { return timekeepers() == 1; }));
        std::atomic<bool> came{false};
        {
            busy_pool third(1, &join_tree);
            const auto b = pilfer::after(third.pool, 1ms, [&] { came = true; });
            EXPECT_TRUE(eventually([&] { return came.load(); }));
            EXPECT_EQ(timekeepers(), 1);
        }
        EXPECT_EQ(timekeepers(), 1);
        pilfer::timer(a).cancel();
    }
    EXPECT_TRUE(eventually([] { return timekeepers() == 0; }));
}

TEST_F(timekeeper, sleeps_while_a_worker_does_and_while_nothing_is_armed) {
    std::atomic<bool> stop{false};
    pilfer::pool pool({.workers = 2});
    auto far = pilfer::after(pool, 1h, [] {});
    const auto compute = [&] {
        while (!stop) {
            (void)pilfer::join([] { return 1; }, [] { return 2; });
        }
    };
    const auto wakes_up_within = [](std::chrono::milliseconds d) {
        const auto before = pilfer::detail::timekeeper::wake_ups();
        std::this_thread::sleep_for(d);
        return pilfer::detail::timekeeper::wake_ups() - before;
    };
    auto one = pool.async(compute); // the other worker watches, as soon as it sleeps
    EXPECT_TRUE(eventually([&] { return wakes_up_within(200ms) == 0; }));
    far.cancel();
    auto two = pool.async(compute);
    EXPECT_TRUE(eventually([&] { return wakes_up_within(200ms) == 0; }));
    stop = true;
    one.get();
    two.get();
}

TEST_F(timekeeper, sleeps_with_an_alarm_at_the_end_of_time) {
    busy_pool busy(1, &join_tree);
    auto never = pilfer::after(busy.pool, std::chrono::hours::max(), [] {});
    ASSERT_TRUE(eventually([] { return timekeepers() == 1; }));
    const auto before = pilfer::detail::timekeeper::wake_ups();
    std::this_thread::sleep_for(50ms);
    EXPECT_LE(pilfer::detail::timekeeper::wake_ups(), before + 2);
    never.cancel();
}

#if !defined(PILFER_TSAN) // which starts no threads in a child of fork()
TEST_F(timekeeper, is_made_anew_in_a_child_of_fork) {
    busy_pool busy(1, &join_tree);
    const auto far = pilfer::after(busy.pool, 1h, [] {});
    const auto result = in_child([] {
        busy_pool own(1, &join_tree);
        std::atomic<bool> ended{false};
        own.pool.submit([&] {
            pilfer::sleep_for(5ms);
            ended = true;
        });
        return eventually([&] { return ended.load(); }) && timekeepers() == 1 ? 0 : 1;
    });
    EXPECT_TRUE(result.exited_with(0)) << result;
    pilfer::timer(far).cancel();
}
#endif

} // namespace
