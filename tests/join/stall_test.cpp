// A join whose other half was stolen suspends, and nothing foreign runs on top of it; where it goes on.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>

#include "support/harness.hpp"
#include "support/process.hpp"

namespace {

using namespace support;
using namespace std::chrono_literals;

class row_A6_stall : public over_workers {};

TEST_P(row_A6_stall, joins_suspend_and_none_is_lost) {
    pilfer::pool pool(with_workers());
    // An unbalanced tree: halves wait for each other in every way.
    struct tree {
        static std::uint64_t count(std::uint64_t n) {
            if (n <= 1) {
                return n;
            }
            const std::uint64_t small = 1 + n % 5 % (n - 1);
            auto [a, b] = pilfer::join([=] { return count(n - small); }, [=] { return count(small); });
            return a + b;
        }
    };
    const std::uint64_t leaves = 500;
    for (std::uint64_t done = 0; done < hundredth_of(10'000'000 / 5, leaves); done += leaves) {
        ASSERT_EQ(pool.run([=] { return tree::count(leaves); }), leaves);
    }
}

TEST_P(row_A6_stall, the_worker_of_a_stalled_join_does_other_work) {
    if (GetParam() == 1) {
        GTEST_SKIP() << "nobody steals from one worker";
    }
    pilfer::options o;
    o.workers = 2;
    pilfer::pool pool(o);
    std::atomic<bool> stolen{false};
    std::atomic<bool> other_ran{false};
    auto stalled = pool.async([&] {
        (void)pilfer::join(
            [&] {
                while (!stolen) {
                    std::this_thread::yield();
                }
            },
            [&] {
                stolen = true;
                while (!other_ran) {  // ends only when the worker of the stalled join runs the other task
                    std::this_thread::yield();
                }
            });
    });
    while (!stolen) {
        std::this_thread::yield();
    }
    pool.run([&] { other_ran = true; });
    stalled.get();
    EXPECT_GE(pool.counters().suspends, 1U);
    EXPECT_EQ(pool.counters().suspends, pool.counters().resumes);
}

/// Marks the frames that wait on each stack: nobody else may begin above them.
TEST_P(row_A6_stall, no_foreign_task_on_top_of_a_waiting_frame) {
    pilfer::pool pool(with_workers());
    struct checker {
        std::atomic<std::uint64_t> wrong{0};
        std::atomic<std::uintptr_t> deepest{0};
        void tree(unsigned depth, std::uintptr_t root) {
            char here;
            const auto at = reinterpret_cast<std::uintptr_t>(&here);
            // On one stack: no deeper than the program's own recursion needs.
            if (root > at && root - at < (256U << 10) && root - at > 40'000) {
                wrong.fetch_add(1);
            }
            if (depth == 0) {
                if (at % 7 == 0) {
                    std::this_thread::sleep_for(10us);
                }
                return;
            }
            (void)pilfer::join([=, this] { tree(depth - 1, root); }, [=, this] { tree(depth - 1, root); });
        }
    } c;
    for (int i = 0; i < 5; ++i) {
        pool.run([&] {
            char base;
            c.tree(sanitized ? 8 : 11, reinterpret_cast<std::uintptr_t>(&base));
        });
    }
    EXPECT_EQ(c.wrong, 0U);
}

PILFER_OVER_WORKERS(row_A6_stall);

class row_A12_resume : public over_workers {};

TEST_P(row_A12_resume, own_thread_keeps_the_thread_across_joins) {
    pilfer::options o = with_workers();
    o.resume = pilfer::resume::own_thread;
    pilfer::pool pool(o);
    std::atomic<int> moved{0};
    struct tree {
        static void grow(unsigned depth, std::atomic<int>& moved) {
            if (depth == 0) {
                return;
            }
            const long before = thread_id();
            (void)pilfer::join([&] { grow(depth - 1, moved); }, [&] { grow(depth - 1, moved); });
            moved += thread_id() != before;
        }
    };
    for (int i = 0; i < 20; ++i) {
        pool.run([&] { tree::grow(9, moved); });
    }
    EXPECT_EQ(moved, 0);
}

TEST_P(row_A12_resume, own_thread_keeps_the_thread_across_sync_and_get) {
    pilfer::options o = with_workers();
    o.resume = pilfer::resume::own_thread;
    pilfer::pool pool(o);
    std::atomic<int> moved{0};
    struct tree {
        static void grow(unsigned depth, std::atomic<int>& moved) {
            if (depth == 0) {
                return;
            }
            pilfer::scope s;
            s.defer([&, depth] { grow(depth - 1, moved); });
            s.spawn([&, depth] { grow(depth - 1, moved); });
            auto f = pilfer::async([&, depth] { grow(depth - 1, moved); });
            long before = thread_id();
            s.sync();
            moved += thread_id() != before;
            before = thread_id();
            f.get();
            moved += thread_id() != before;
        }
    };
    for (int i = 0; i < 10; ++i) {
        pool.run([&] { tree::grow(5, moved); });
    }
    EXPECT_EQ(moved, 0);
}

TEST_P(row_A12_resume, own_thread_keeps_the_thread_when_the_other_half_ends_late) {
    if (GetParam() == 1) {
        GTEST_SKIP() << "nobody steals from one worker";
    }
    pilfer::options o = with_workers();
    o.resume = pilfer::resume::own_thread;
    pilfer::pool pool(o);
    std::atomic<bool> stolen{false};
    pool.run([&] {
        const long before = thread_id();
        (void)pilfer::join(
            [&] {
                while (!stolen) {
                    std::this_thread::yield();
                }
            },
            [&] {
                stolen = true;
                std::this_thread::sleep_for(20ms);
            });
        EXPECT_EQ(before, thread_id());
    });
    EXPECT_GE(pool.counters().suspends, 1U);
}

TEST_P(row_A12_resume, elsewhere_moves_every_join) {
    pilfer::options o = with_workers();
    o.resume = pilfer::resume::elsewhere;
    pilfer::pool pool(o);
    int stayed = 0;
    constexpr int rounds = 300;
    pool.run([&] {
        for (int i = 0; i < rounds; ++i) {
            long before = 0;
            (void)pilfer::join([&] { before = thread_id(); }, [] {});
            stayed += thread_id() == before;
        }
    });
    if (GetParam() == 1) {
        EXPECT_EQ(stayed, rounds);
    } else {
        // A join whose other half was stolen and has ended already has nothing to wait for.
        EXPECT_LE(static_cast<std::uint64_t>(stayed), pool.counters().run_stolen);
        EXPECT_LT(stayed, rounds);
    }
    EXPECT_EQ(pool.run([] { return fib_join(14); }), fib(14));
    EXPECT_EQ(pool.run([] { return fib_spawn(12); }), fib(12));
    EXPECT_EQ(pool.run([] { return fib_defer(12); }), fib(12));
}

PILFER_OVER_WORKERS(row_A12_resume);

}  // namespace
