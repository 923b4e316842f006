// The time that an idle worker looks for work before it sleeps, by counters. When all workers of a new pool
// sleep, the number of its tries depends on the policy only.
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "platform/os.hpp"
#include "support/child.hpp"
#include "support/harness.hpp"
#include "support/process.hpp"

namespace {

using namespace support;
using namespace std::chrono_literals;
using pilfer::idle;

[[nodiscard]] pilfer::options spinning(unsigned n, idle how) {
    pilfer::options o = workers(n);
    o.spin = how;
    return o;
}

/// True if each worker has gone to sleep so many times.
[[nodiscard]] bool all_slept(const pilfer::pool& pool, std::uint64_t times) {
    return eventually([&] {
        for (unsigned i = 0; i < pool.workers(); ++i) {
            if (pool.counters(i).sleeps < times) {
                return false;
            }
        }
        return true;
    });
}
/// True if each worker has tried to rob others so many times more.
[[nodiscard]] bool all_look(const pilfer::pool& pool, std::uint64_t more) {
    std::vector<std::uint64_t> before;
    for (unsigned i = 0; i < pool.workers(); ++i) {
        before.push_back(pool.counters(i).steals_tried);
    }
    return eventually([&] {
        for (unsigned i = 0; i < pool.workers(); ++i) {
            if (pool.counters(i).steals_tried < before[i] + more) {
                return false;
            }
        }
        return true;
    });
}

class spin_option : public over_workers {};

TEST_P(spin_option, looks_before_the_first_sleep_are_counted) {
    const std::uint64_t n = GetParam();
    const std::uint64_t rounds = n > pilfer::os::affinity_cpus() ? 4 : 200;
    const std::pair<idle, std::uint64_t> cases[] = {
        {idle::battery, n - 1}, {idle::balanced, rounds + n - 1}, {idle::latency, 21 * (rounds + n - 1)}};
    for (const auto& [how, tried] : cases) {
        pilfer::pool pool(spinning(GetParam(), how));
        EXPECT_EQ(pool.settings().spin, how);
        ASSERT_TRUE(all_slept(pool, 1));
        for (unsigned i = 0; i < n; ++i) {
            EXPECT_EQ(pool.counters(i).sleeps, 1U) << static_cast<int>(how);
            EXPECT_EQ(pool.counters(i).steals_tried, n == 1 ? 0 : tried) << static_cast<int>(how);
        }
    }
}

/// The looks of idle::latency count from the last find: after a task in the midst of them all of them follow
/// once more.
TEST_P(spin_option, looks_are_counted_anew_after_each_find) {
    const std::uint64_t n = GetParam();
    if (n == 1) {
        GTEST_SKIP() << "one alone robs nobody, so its looks are not counted";
    }
    const std::uint64_t rounds = n > pilfer::os::affinity_cpus() ? 4 : 200;
    pilfer::pool pool(spinning(GetParam(), idle::latency));
    ASSERT_TRUE(all_slept(pool, 1));
    const std::uint64_t look = rounds + n - 1;
    const auto begins = [&pool] {
        const unsigned who = pilfer::detail::this_worker()->index;
        return std::pair(who, pool.counters(who));
    };
    // A busy machine keeps the submitter from its CPU until the looks are over: it tries again until one of
    // its submissions has come in time.
    unsigned in_the_midst = 0;
    const auto enough = hundredth_of(20'000, 20);
    const auto end = std::chrono::steady_clock::now() + 30s;
    for (std::uint64_t k = 0; in_the_midst == 0 || (k < enough && in_the_midst < 20); ++k) {
        ASSERT_LT(std::chrono::steady_clock::now(), end) << k << " submissions, none between two looks";
        const auto [first, before] = pool.run(begins);
        while (pool.counters(first).steals_tried < before.steals_tried + 3 * look) {
            std::this_thread::yield();
        }
        const auto [who, found] = pool.run(begins);
        in_the_midst += who == first && found.sleeps == before.sleeps ? 1 : 0;
        ASSERT_TRUE(
            eventually([&, i = who, slept = found.sleeps] { return pool.counters(i).sleeps > slept; }));
        ASSERT_EQ(pool.counters(who).steals_tried - found.steals_tried, 21 * look) << "round " << k;
    }
}

TEST_P(spin_option, all_settings_complete_their_work) {
    for (const idle how : {idle::battery, idle::balanced, idle::latency}) {
        pilfer::pool pool(spinning(GetParam(), how));
        for (int i = 0; i < 10; ++i) {
            EXPECT_EQ(pool.run([] { return fib_join(14); }), fib(14));
            EXPECT_EQ(pool.run([] { return fib_spawn(10); }), fib(10));
            EXPECT_EQ(pool.run([] { return fib_fork(10); }), fib(10));
            pool.run([] { pilfer::sleep_for(100us); });
        }
    }
}

TEST_P(spin_option, no_worker_sleeps_while_the_pool_is_kept_warm) {
    for (const idle how : {idle::battery, idle::balanced}) {
        pilfer::pool pool(spinning(GetParam(), how));
        ASSERT_TRUE(all_slept(pool, 1));
        std::uint64_t slept = 0;
        {
            const pilfer::keep_warm warm(pool);
            const pilfer::keep_warm warmer(pool);
            if (GetParam() > 1) {
                ASSERT_TRUE(all_look(pool, 1)) << "they are woken";
                const auto woken = pool.counters();
                ASSERT_TRUE(all_look(pool, 1'000));
                EXPECT_EQ(pool.counters().sleeps, woken.sleeps);
            }
            const auto before = pool.counters();
            for (int i = 0; i < 200; ++i) {
                EXPECT_EQ(pool.run([] { return fib_join(8); }), fib(8));
            }
            const auto after = pool.counters();
            EXPECT_EQ(after.wakes, before.wakes) << "there was nobody to wake";
            if (GetParam() > 1) {
                EXPECT_EQ(after.sleeps, before.sleeps);
            }
            slept = pool.counters().sleeps;
        }
        ASSERT_TRUE(eventually([&] {
            return pool.counters().sleeps >= slept + (GetParam() > 1 ? GetParam() : 0);
        })) << "and sleep when it is over";
    }
}

TEST_P(spin_option, the_end_of_one_of_two_keep_warms_changes_nothing) {
    pilfer::pool pool(spinning(GetParam(), idle::balanced));
    const pilfer::keep_warm warm(pool);
    { const pilfer::keep_warm short_one(pool); }
    if (GetParam() > 1) {
        ASSERT_TRUE(all_look(pool, 1'000));
        const auto before = pool.counters().sleeps;
        ASSERT_TRUE(all_look(pool, 1'000));
        EXPECT_EQ(pool.counters().sleeps, before);
    }
}

/// Begun while workers lie down after a task: a worker that is not in the map yet must see it by itself
/// (`idle.S2`).
TEST_P(spin_option, keep_warm_begins_while_a_worker_lies_down) {
    if (GetParam() == 1) {
        GTEST_SKIP() << "one alone robs nobody, so its looks are not counted";
    }
    pilfer::pool pool(spinning(GetParam(), idle::battery));
    // In each all of them have to get a CPU.
    const auto rounds = hundredth_of(400'000) / GetParam();
    for (unsigned i = 0; i < rounds; ++i) {
        pool.run([] {});
        for (unsigned pause = 0; pause < i % 512 * 2; ++pause) {
            pilfer::detail::cpu_relax();
        }
        const pilfer::keep_warm warm(pool);
        ASSERT_TRUE(all_look(pool, 1)) << "round " << i;
    }
}

/// Duties of a sleeping worker: alarms, descriptors, the end.
TEST_P(spin_option, alarms_descriptors_and_the_end_are_handled) {
    for (const idle how : {idle::battery, idle::latency}) {
        pilfer::pool pool(spinning(GetParam(), how));
        int ends[2];
        ASSERT_EQ(pipe(ends), 0);
        ASSERT_FALSE(pilfer::io::make_nonblocking(ends[0]));
        {
            const pilfer::keep_warm warm(pool);
            for (int i = 0; i < 5; ++i) {
                pool.run([] { pilfer::sleep_for(1ms); });
                std::atomic<bool> fired{false};
                auto timer = pilfer::after(pool, 1ms, [&] { fired = true; }); // by a thread outside
                EXPECT_TRUE(eventually([&] { return fired.load(); }));
                auto waits = pool.async([&] { return pilfer::io::wait_readable(ends[0]); });
                ASSERT_EQ(write(ends[1], "x", 1), 1);
                EXPECT_FALSE(waits.get());
                char c = 0;
                ASSERT_EQ(read(ends[0], &c, 1), 1);
            }
            pool.run([&] { pilfer::io::forget(ends[0]); });
            pool.shutdown();
        }
        close(ends[0]);
        close(ends[1]);
    }
}

/// Its owner does not return to its scheduler before the alarm has fired: another worker must see to it.
TEST_P(spin_option, the_alarm_of_a_busy_worker_is_handled) {
    if (GetParam() == 1) {
        GTEST_SKIP() << "there is nobody else";
    }
    for (const idle how : {idle::battery, idle::balanced, idle::latency}) {
        pilfer::pool pool(spinning(GetParam(), how));
        const pilfer::keep_warm warm(pool);
        ASSERT_TRUE(all_look(pool, 100));
        for (int i = 0; i < 10; ++i) {
            pool.run([] {
                std::atomic<bool> fired{false};
                auto timer = pilfer::after(100us, [&] { fired = true; });
                while (!fired) {
                }
            });
        }
    }
}

TEST_P(spin_option, a_drop_ends_a_warm_pool) {
    pilfer::pool pool(spinning(GetParam(), idle::latency));
    const pilfer::keep_warm warm(pool);
    pool.submit([] {});
    pool.shutdown(pilfer::shutdown_mode::drop); // endless if warm workers do not look at it
    EXPECT_THROW(pool.submit([] {}), pilfer::pool_closed);
}

TEST_P(spin_option, many_threads_begin_and_end_keep_warm_while_others_work) {
    pilfer::pool pool(spinning(GetParam(), idle::battery));
    std::vector<std::thread> threads;
    const auto rounds = static_cast<int>(hundredth_of(20'000));
    for (int t = 0; t < 3; ++t) {
        threads.emplace_back([&] {
            for (int i = 0; i < rounds; ++i) {
                const pilfer::keep_warm warm(pool);
                EXPECT_EQ(pool.run([] { return fib_join(6); }), fib(6));
            }
        });
    }
    for (auto& t : threads) {
        t.join();
    }
    ASSERT_TRUE(all_slept(pool, 1));
}

PILFER_OVER_WORKERS(spin_option);

class spin_option_limits : public guarded {};

/// A task that waits for a stack gets the one of an idle worker, warm or not.
TEST_F(spin_option_limits, with_few_contexts) {
    for (const std::size_t contexts : {1U, 2U, 3U}) {
        pilfer::options o = spinning(3, idle::latency);
        o.max_contexts = contexts;
        pilfer::pool pool(o);
        const pilfer::keep_warm warm(pool);
        for (int i = 0; i < 20; ++i) {
            EXPECT_EQ(pool.run([] { return fib_spawn(10); }), fib(10));
            EXPECT_EQ(pool.run([] { return fib_fork(10); }), fib(10));
        }
    }
}

TEST_F(spin_option_limits, without_effect_on_one_lock) {
    pilfer::options o = spinning(2, idle::latency);
    o.backend = pilfer::backend::one_lock;
    pilfer::pool pool(o);
    const pilfer::keep_warm warm(pool);
    EXPECT_EQ(pool.run([] { return fib_join(8); }), fib(8));
    ASSERT_TRUE(all_slept(pool, 1));
}

TEST_F(spin_option_limits, the_environment_applies_without_an_option) {
    for (const auto& [text, how] :
         {std::pair{"latency", idle::latency}, std::pair{"balanced", idle::balanced},
          std::pair{"battery", idle::battery}}) {
        const auto result = in_child([text, how] {
            setenv("PILFER_SPIN", text, 1);
            const pilfer::pool automatic(workers(1));
            const pilfer::pool battery(spinning(1, idle::battery));
            const pilfer::pool latency(spinning(1, idle::latency));
            return automatic.settings().spin == how && battery.settings().spin == idle::battery &&
                           latency.settings().spin == idle::latency
                       ? 0
                       : 1;
        });
        EXPECT_TRUE(result.exited_with(0)) << text << ": " << result;
    }
    const auto result = in_child([] {
        unsetenv("PILFER_SPIN");
        return pilfer::pool(workers(1)).settings().spin == idle::balanced ? 0 : 1;
    });
    EXPECT_TRUE(result.exited_with(0)) << result;
}

} // namespace
