// Sleeping and waking: no worker polls, and every source of work wakes a sleeper.
#include <sys/resource.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "support/harness.hpp"
#include "support/process.hpp"

namespace {

using namespace support;
using namespace std::chrono_literals;

/// Waits until all workers but the `busy` ones have gone to sleep, and no more sleeps have begun since.
[[nodiscard]] bool settles(const pilfer::pool& pool, unsigned busy = 0) {
    std::uint64_t sleeps = 0;
    unsigned looks = 0;
    return eventually([&] {
        std::this_thread::sleep_for(20ms);
        std::uint64_t now = 0;
        unsigned slept = 0;
        for (unsigned i = 0; i < pool.workers(); ++i) {
            const std::uint64_t mine = pool.counters(i).sleeps;
            now += mine;
            slept += mine > 0 ? 1 : 0;
        }
        looks = slept + busy >= pool.workers() && now == sleeps ? looks + 1 : 0;
        sleeps = now;
        return looks == 3; // a busy machine easily stops for one look
    });
}

[[nodiscard]] std::chrono::microseconds cpu_time() {
    rusage use{};
    getrusage(RUSAGE_SELF, &use);
    return std::chrono::seconds(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
           std::chrono::microseconds(use.ru_utime.tv_usec + use.ru_stime.tv_usec);
}

class idle_workers : public over_workers {};

TEST_P(idle_workers, an_idle_pool_sleeps) {
    pilfer::pool pool(with_workers());
    EXPECT_EQ(pool.run([] { return fib_join(12); }), fib(12));
    ASSERT_TRUE(settles(pool));
    const auto before = pool.counters();
    const auto cpu = cpu_time();
    std::this_thread::sleep_for(200ms);
    const auto after = pool.counters();
    EXPECT_EQ(after.sleeps, before.sleeps);
    EXPECT_EQ(after.steals_tried, before.steals_tried);
    EXPECT_LT(cpu_time() - cpu, 20ms);
}

TEST_P(idle_workers, the_others_sleep_while_one_computes) {
    pilfer::pool pool(with_workers());
    std::atomic<bool> stop{false};
    auto busy = pool.async([&] {
        while (!stop) {
        }
    });
    if (GetParam() > 1) {
        ASSERT_TRUE(settles(pool, 1));
    }
    const auto before = pool.counters();
    std::this_thread::sleep_for(100ms);
    const auto after = pool.counters();
    EXPECT_EQ(after.sleeps, before.sleeps);
    EXPECT_EQ(after.steals_tried, before.steals_tried);
    stop = true;
    busy.get();
}

PILFER_OVER_WORKERS(idle_workers);

class wake_up : public over_workers {};

TEST_P(wake_up, by_a_submission) {
    pilfer::pool pool(with_workers());
    for (int i = 0; i < 3; ++i) {
        ASSERT_TRUE(settles(pool));
        EXPECT_EQ(pool.run([i] { return i; }), i);
    }
    // And without a pause: the race between going to sleep and submitting.
    const auto rounds = static_cast<int>(hundredth_of(100'000));
    for (int i = 0; i < rounds; ++i) {
        ASSERT_EQ(pool.run([i] { return i; }), i);
    }
}

TEST_P(wake_up, by_a_local_push) {
    if (GetParam() == 1) {
        GTEST_SKIP() << "there is nobody to wake";
    }
    pilfer::pool pool(with_workers());
    for (int kind = 0; kind < 3; ++kind) {
        const auto before = pool.counters();
        for (int round = 0; round < 3; ++round) {
            pool.run([&] {
                ASSERT_TRUE(settles(pool, 1)); // all others sleep
                std::atomic<bool> ran{false};
                const auto wait = [&] {
                    while (!ran) {
                        std::this_thread::yield();
                    }
                };
                const auto set = [&] { ran = true; };
                pilfer::scope s;
                if (kind == 0) {
                    s.fork(set);
                    wait();
                } else if (kind == 1) {
                    s.spawn(wait);
                    set();
                } else {
                    (void)pilfer::join(wait, set);
                }
                s.sync();
            });
            ASSERT_FALSE(HasFatalFailure()) << "kind " << kind;
        }
        // Of three: a worker on its way to bed finds the task by itself.
        EXPECT_GE(pool.counters().wakes - before.wakes, 1U) << "kind " << kind;
    }
}

TEST_P(wake_up, by_local_pushes_that_race_with_going_to_sleep) {
    if (GetParam() == 1) {
        GTEST_SKIP() << "there is nobody to wake";
    }
    pilfer::pool pool(with_workers());
    const auto rounds = static_cast<int>(hundredth_of(100'000));
    pool.run([&] {
        for (int i = 0; i < rounds; ++i) {
            std::atomic<bool> ran{false};
            pilfer::scope s;
            s.fork([&] { ran = true; });
            for (int k = 0; k < i % 50; ++k) {
                std::atomic_signal_fence(std::memory_order_seq_cst);
            }
            while (!ran) { // never awaited by its owner: another worker must come
                std::this_thread::yield();
            }
            EXPECT_TRUE(ran);
        }
    });
}

TEST_P(wake_up, by_a_runnable_context) {
    for (const auto how : {pilfer::resume::anywhere, pilfer::resume::own_thread, pilfer::resume::elsewhere}) {
        pilfer::options o = with_workers();
        o.resume = how;
        pilfer::pool pool(o);
        pilfer::pool other(workers(1));
        for (int round = 0; round < 2; ++round) {
            std::atomic<bool> open{false};
            auto gate = other.async([&] {
                while (!open) {
                    std::this_thread::sleep_for(100us);
                }
                return 5;
            });
            auto waiter = pool.async([gate] { return gate.get() + 1; });
            ASSERT_TRUE(settles(pool));
            EXPECT_FALSE(waiter.ready());
            open = true;
            EXPECT_EQ(waiter.get(), 6);
        }
        const auto rounds = static_cast<int>(hundredth_of(20'000));
        for (int i = 0; i < rounds; ++i) {
            ASSERT_EQ(pool.run([&] { return other.run([i] { return i; }); }), i);
        }
    }
}

TEST_P(wake_up, a_wave_reaches_everybody) {
    pilfer::pool pool(with_workers());
    ASSERT_TRUE(settles(pool));
    std::atomic<unsigned> arrived{0};
    // Each child waits for all others, so each needs a worker of its own.
    pool.run([&] {
        const auto child = [&] {
            arrived.fetch_add(1);
            while (arrived < GetParam()) {
                std::this_thread::sleep_for(20us);
            }
        };
        pilfer::scope s;
        for (unsigned i = 1; i < GetParam(); ++i) {
            s.fork(child);
        }
        child();
        s.sync();
    });
    EXPECT_EQ(arrived, GetParam());
}

TEST_P(wake_up, by_shutdown) {
    for (const auto mode : {pilfer::shutdown_mode::drain, pilfer::shutdown_mode::drop}) {
        pilfer::pool pool(with_workers());
        ASSERT_TRUE(settles(pool));
        pool.shutdown(mode);
    }
    for (int i = 0; i < 100 / static_cast<int>(1 + GetParam() / 8); ++i) {
        pilfer::pool pool(with_workers()); // while its workers still fall asleep
        if (i % 2 == 0) {
            std::this_thread::sleep_for(std::chrono::microseconds(i * 5));
        }
    }
}

PILFER_OVER_WORKERS(wake_up);

class wake_up_at_a_distance : public guarded {};

TEST_F(wake_up_at_a_distance, the_only_sleeper_far_from_the_publisher) {
    pilfer::pool pool(workers(8));
    for (int round = 0; round < 5; ++round) {
        std::atomic<int> busy{0};
        std::atomic<bool> stop{false};
        std::vector<pilfer::future<void>> others;
        for (int i = 0; i < 6; ++i) {
            others.push_back(pool.async([&] {
                busy.fetch_add(1);
                while (!stop) {
                    std::this_thread::sleep_for(50us); // inside a long task: wakes no worker
                }
            }));
        }
        ASSERT_TRUE(eventually([&] { return busy == 6; }));
        pool.run([&] {
            ASSERT_TRUE(settles(pool, 7));
            std::atomic<bool> ran{false};
            pilfer::scope s;
            s.fork([&] { ran = true; });
            while (!ran) {
                std::this_thread::yield();
            }
        });
        stop = true;
        for (auto& f : others) {
            f.get();
        }
        ASSERT_FALSE(HasFatalFailure());
    }
}

} // namespace
