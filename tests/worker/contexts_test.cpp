// Contexts run out, stacks are large, recursion is deep: all tasks make progress, none waits for a stack.
#include <gmock/gmock.h>
#include <sys/resource.h>

#include <array>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "pool/pool_core.hpp"
#include "support/child.hpp"
#include "support/harness.hpp"
#include "support/process.hpp"

namespace {

using namespace support;
using namespace std::chrono_literals;

void nest(std::uint64_t depth, std::atomic<std::uint64_t>& deepest) {
    if (depth == 0) {
        return;
    }
    pilfer::scope s;
    s.spawn([=, &deepest] { nest(depth - 1, deepest); });
    s.sync();
    deepest.fetch_add(1, std::memory_order_relaxed);
}
/// Spawns a leaf and recurses in the rest of the caller.
void recurse_right(std::uint64_t depth, std::atomic<std::uint64_t>& leaves) {
    if (depth == 0) {
        return;
    }
    pilfer::scope s;
    s.spawn([&leaves] { leaves.fetch_add(1, std::memory_order_relaxed); });
    recurse_right(depth - 1, leaves);
    s.sync();
}

class bounded_contexts : public over_workers {
protected:
    static void mixed_work(pilfer::pool& pool) {
        EXPECT_EQ(pool.run([] { return fib_join(14); }), fib(14));
        EXPECT_EQ(pool.run([] { return fib_spawn(12); }), fib(12));
        EXPECT_EQ(pool.run([] { return fib_fork(12); }), fib(12));
        EXPECT_EQ(pool.run([] {
            auto a = pilfer::async([] { return fib_join(8); });
            auto b = pilfer::async([] { return fib_spawn(8); });
            return a.get() + b.get();
        }),
                  2 * fib(8));
        std::atomic<int> ran{0};
        pool.run([&] {
            pilfer::scope s;
            pilfer::for_each(0, 300, [&](int) { s.fork([&] { ran.fetch_add(1); }); });
            s.sync();
        });
        EXPECT_EQ(ran, 300);
    }
};

TEST_P(bounded_contexts, few_contexts_are_enough) {
    for (const std::size_t most : {1U, 2U, 4U, 16U}) {
        pilfer::options o = with_workers();
        o.max_contexts = most;
        pilfer::pool pool(o);
        for (int round = 0; round < 5; ++round) {
            mixed_work(pool);
        }
        EXPECT_LE(pool.counters().contexts_peak, most);
    }
}

TEST_P(bounded_contexts, a_cached_context_can_be_reused) {
    pilfer::options o = with_workers();
    o.max_contexts = 1;
    pilfer::pool pool(o);
    std::this_thread::sleep_for(10ms); // all sleep before the first submission
    for (int i = 0; i < 200; ++i) {    // each lands on another worker; the only context has to follow
        ASSERT_EQ(pool.run([i] { return i; }), i);
        if (i % 50 == 0) {
            std::this_thread::sleep_for(3ms);
        }
    }
}

TEST_P(bounded_contexts, exceptions_with_few_contexts) {
    pilfer::options o = with_workers();
    o.max_contexts = 2;
    pilfer::pool pool(o);
    for (int i = 0; i < 50; ++i) {
        EXPECT_THROW(pool.run([] {
            pilfer::scope s;
            s.spawn([] { throw 1; });
            s.fork([] { throw 2; });
            (void)pilfer::join([] { return fib_spawn(5); }, [] { return fib_join(5); });
            s.sync();
        }),
                     int);
    }
    mixed_work(pool);
}

TEST_P(bounded_contexts, many_waiters_with_few_contexts) {
    pilfer::options o = with_workers();
    o.max_contexts = 4;
    pilfer::pool pool(o);
    for (int round = 0; round < 10; ++round) {
        std::vector<pilfer::future<std::uint64_t>> results;
        for (int i = 0; i < 100; ++i) {
            results.push_back(pool.async([] { return fib_join(6); }));
        }
        for (auto& f : results) {
            ASSERT_EQ(f.get(), fib(6));
        }
    }
}

TEST_P(bounded_contexts, a_child_that_another_pool_submitted_needs_no_stack_of_its_own) {
    pilfer::options o = with_workers();
    o.max_contexts = 1;
    pilfer::pool pool(o);
    pilfer::pool other(workers(1));
    for (int i = 0; i < 20; ++i) {
        std::atomic<bool> ran{false};
        pool.run([&] {
            pilfer::scope s;
            other.run([&] { s.fork([&] { ran = true; }); });
            s.sync();
        });
        ASSERT_TRUE(ran);
    }
}

PILFER_OVER_WORKERS(bounded_contexts);

void wait_until(const std::atomic<bool>& flag) {
    while (!flag) {
        std::this_thread::yield();
    }
}

/// Two workers and three stacks: one task waits without its worker, the other has both stacks that are left.
class two_workers_one_stack {
public:
    two_workers_one_stack() : pool(three_stacks()) {
        m_waiter = pool.async([this] {
            m_held = true;
            wait_until(suspend);
            m_other.run([this] { wait_until(resume); });
        });
        wait_until(m_held);
        EXPECT_TRUE(somebody_sleeps()); // or the next submission summons both workers
    }
    ~two_workers_one_stack() { m_waiter.get(); }
    /// Starts `rest` on the other worker, with a stack to spare.
    template <class F>
    [[nodiscard]] pilfer::future<void> start(F rest) {
        std::atomic<bool> ready{false};
        auto started = pool.async([&ready, rest] {
            {
                pilfer::scope s;
                s.spawn([] {});
                s.sync();
            }
            ready = true;
            rest();
        });
        wait_until(ready);
        return started;
    }

    [[nodiscard]] bool somebody_sleeps() {
        return eventually([this] { return pool.core().idle().anyone_asleep(); });
    }

private:
    [[nodiscard]] static pilfer::options three_stacks() {
        pilfer::options o = workers(2);
        o.max_contexts = 3;
        return o;
    }

public:
    std::atomic<bool> suspend{false};
    std::atomic<bool> resume{false};
    pilfer::pool pool;

private:
    std::atomic<bool> m_held{false};
    pilfer::pool m_other{workers(1)};
    pilfer::future<void> m_waiter;
};

class search_without_a_stack : public guarded {};

TEST_F(search_without_a_stack, a_continuation_is_taken_although_a_submission_is_queued) {
    two_workers_one_stack at;
    std::atomic<bool> spawns{false};
    auto silent = at.start([&] {
        wait_until(spawns);
        std::atomic<bool> went_on{false};
        pilfer::scope s;
        s.spawn([&] { wait_until(went_on); }); // announces nothing
        went_on = true;
        at.resume = true;
        s.sync();
    });
    auto queued = at.pool.async([] {});
    const auto before = at.pool.counters().no_context;
    at.suspend = true;
    EXPECT_TRUE(eventually([&] { return at.pool.counters().no_context > before; }));
    spawns = true;
    silent.get();
    queued.get();
}

TEST_F(search_without_a_stack, a_yield_request_is_passed_on_by_a_worker_without_a_stack) {
    for (int round = 0; round < 10; ++round) {
        two_workers_one_stack at;
        std::atomic<bool> announces{false};
        std::atomic<bool> ran{false};
        auto busy = at.start([&] {
            wait_until(announces);
            while (!ran) {
                (void)pilfer::join([] {}, [] {});
            }
            at.resume = true;
        });
        at.suspend = true;
        // Then the submission wakes it and summons no worker. It may as well look for a stack now and then.
        (void)eventually([&] { return at.pool.core().idle().anyone_asleep(); }, 20ms);
        auto queued = at.pool.async([&] { ran = true; });
        (void)eventually([&] { return ran.load(); }, 10ms); // it looks, in vain, before the other announces
        announces = true;
        busy.get(); // endless if the summons is not passed on
        queued.get();
        EXPECT_TRUE(ran);
    }
}

class plain_calls : public guarded {};

TEST_F(plain_calls, let_a_runnable_context_run) {
    pilfer::options o = workers(1);
    o.max_contexts = 2;
    pilfer::pool pool(o);
    pilfer::pool other(workers(1));
    std::atomic<bool> open{false};
    std::atomic<bool> resumed{false};
    auto waiter = pool.async([&] {
        other.run([&] {
            while (!open) {
                std::this_thread::yield();
            }
        });
        resumed = true;
    });
    ASSERT_TRUE(eventually([&] { return pool.counters().suspends > 0; }));
    pool.run([&] {
        open = true;
        while (!resumed) {
            pilfer::scope s;
            s.spawn([] {});
            s.sync();
        }
    });
    waiter.get();
}

TEST_F(plain_calls, let_a_submission_run_inside_a_catch_block) {
    pilfer::pool pool(workers(1));
    std::atomic<bool> caught{false};
    std::atomic<bool> ran{false};
    auto busy = pool.async([&] {
        try {
            throw 1;
        } catch (int) {
            caught = true;
            while (!ran) {
                pilfer::scope s;
                s.spawn([] {});
                s.sync();
            }
        }
    });
    ASSERT_TRUE(eventually([&] { return caught.load(); }));
    pool.run([&] { ran = true; });
    busy.get();
}

class deep_recursion : public guarded {};

TEST_F(deep_recursion, nested_spawns) {
    const std::uint64_t depth = hundredth_of(100'000);
    for (const unsigned n : {1U, 4U}) {
        for (const std::size_t most : {std::size_t{0}, std::size_t{10}, std::size_t{1000}}) {
            pilfer::options o = workers(n);
            o.max_contexts = most;
            o.stack_size = most != 0 ? 64U << 20 : o.stack_size;
            pilfer::pool pool(o);
            std::atomic<std::uint64_t> deepest{0};
            for (int round = 0; round < 3; ++round) {
                deepest = 0;
                pool.run([&] { nest(depth, deepest); });
                EXPECT_EQ(deepest, depth);
            }
            if (most == 10) {
                EXPECT_GT(pool.counters().no_context, 0U);
                EXPECT_LE(pool.counters().contexts_peak, 10U);
            }
            if (!sanitized) {
                EXPECT_LT(resident_bytes(), std::uint64_t{1} << 30);
            }
        }
    }
}

TEST_F(deep_recursion, memory_after_the_peak) {
    if (sanitized || emulated) {
        GTEST_SKIP() << "a sanitizer's or an emulator's own memory is in the way";
    }
    const auto result = in_child([] {
        pilfer::pool pool(workers(2));
        std::atomic<std::uint64_t> deepest{0};
        // Rings and lists grow once. Were the stacks kept as well, `before` would be as high as the peak.
        const std::uint64_t depth = std::max<std::uint64_t>(hundredth_of(100'000), 5000);
        pool.run([&] { nest(depth, deepest); });
        const auto before = resident_bytes();
        std::uint64_t peak = 0;
        struct tree {
            static void nest_and_look(std::uint64_t depth, std::uint64_t& peak) {
                if (depth == 0) {
                    peak = resident_bytes();
                    return;
                }
                pilfer::scope s;
                s.spawn([=, &peak] { nest_and_look(depth - 1, peak); });
                s.sync();
            }
        };
        pool.run([&] { tree::nest_and_look(depth, peak); });
        const auto after = resident_bytes();
        const std::string text = "before " + std::to_string(before >> 10) + " KiB, peak " +
                                 std::to_string(peak >> 10) + " KiB, after " + std::to_string(after >> 10) +
                                 " KiB\n";
        (void)!write(2, text.data(), text.size());
        // A worker that took part only now keeps its list of warm stacks.
        const std::uint64_t warm = 512 << 10;
        return peak > 4 * before && after < before + before / 10 + warm ? 0 : 1;
    });
    EXPECT_TRUE(result.exited_with(0)) << result;
}

TEST_F(deep_recursion, large_stacks_in_little_address_space) {
    if (sanitized) {
        GTEST_SKIP() << "a sanitizer needs the address space itself";
    }
    for (const unsigned n : {1U, 2U, 4U}) {
        const auto result = in_child([n] {
            const rlimit limit{std::uint64_t{1} << 30, std::uint64_t{1} << 30};
            setrlimit(RLIMIT_AS, &limit);
            pilfer::options o = workers(n);
            o.stack_size = 64U << 20;
            pilfer::pool pool(o);
            std::atomic<std::uint64_t> leaves{0};
            const std::uint64_t depth = hundredth_of(100'000);
            for (int round = 0; round < 3; ++round) {
                leaves = 0;
                pool.run([&] { recurse_right(depth, leaves); });
                if (leaves != depth) {
                    return 1;
                }
                leaves = 0;
                pool.run([&] { nest(depth, leaves); });
                if (leaves != depth) {
                    return 2;
                }
                if (pool.run([] { return fib_join(12) + fib_spawn(12) + fib_fork(12); }) != 3 * fib(12)) {
                    return 3;
                }
            }
            return 0;
        });
        EXPECT_TRUE(result.exited_with(0)) << n << " workers: " << result;
    }
}

class stack_overflow_of_a_pool : public guarded {};

/// Needs all the stack there is.
[[gnu::noinline]] int eat(int depth) {
    std::array<volatile char, 2048> frame{};
    frame[0] = static_cast<char>(depth);
    return depth == 0 ? 0 : eat(depth - 1) + frame[0];
}

TEST_F(stack_overflow_of_a_pool, a_message_and_an_abort) {
    if (sanitized) {
        GTEST_SKIP() << "a sanitizer has its own report";
    }
    for (const int kind : {0, 1, 2}) {
        const auto result = in_child([kind] {
            pilfer::options o = workers(2);
            o.stack_size = 128 * 1024;
            pilfer::pool pool(o);
            return pool.run([kind] {
                const auto body = [] { return eat(1'000'000); };
                pilfer::scope s;
                if (kind == 0) {
                    return body();
                }
                if (kind == 1) {
                    s.spawn(body);
                } else {
                    s.fork(body);
                }
                s.sync();
                return 0;
            });
        });
        EXPECT_TRUE(result.killed_by(SIGABRT)) << result;
        EXPECT_TRUE(result.said("131072")) << result;
        EXPECT_TRUE(result.said("options.stack_size")) << result;
    }
}

// These two need a process in which no other pool has installed its handler before.
TEST_F(stack_overflow_of_a_pool, without_the_message_the_signal_is_unchanged) {
    if (sanitized || emulated) {
        GTEST_SKIP() << "a sanitizer has its own report, an emulator cannot start the test again";
    }
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    const auto die = [] {
        pilfer::options o = workers(1);
        o.debug.overflow_message = false;
        pilfer::pool pool(o);
        std::exit(pool.run([] { return eat(1'000'000); }));
    };
    EXPECT_EXIT(die(), ::testing::KilledBySignal(SIGSEGV), ::testing::Not(::testing::HasSubstr("pilfer")));
}

TEST_F(stack_overflow_of_a_pool, other_faults_reach_the_previous_handler) {
    if (sanitized || emulated) {
        GTEST_SKIP() << "a sanitizer has its own report, an emulator cannot start the test again";
    }
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    const auto die = [] {
        struct sigaction mine {};
        mine.sa_handler = [](int) { _exit(42); };
        sigaction(SIGSEGV, &mine, nullptr);
        pilfer::pool pool(workers(1));
        pool.run([] {
            volatile int* volatile nowhere = nullptr;
            *nowhere = 1;
        });
    };
    EXPECT_EXIT(die(), ::testing::ExitedWithCode(42), "");
}

void nest(int deep) {
    if (deep > 0) {
        pilfer::scope s;
        s.spawn([deep] { nest(deep - 1); });
        s.sync();
    }
}

TEST(context_peaks, leave_no_more_memory_than_the_first_one) {
    pilfer::pool pool({.workers = 1});
    pool.run([] { nest(1'000); });
    const auto first = pool.counters().contexts_live;
    for (int round = 0; round < (sanitized ? 80 : 300); ++round) {
        pool.run([] { nest(1'000); });
    }
    EXPECT_LE(pool.counters().contexts_live, first + 64);
}

TEST(context_peaks, of_one_task_leave_no_more_memory_than_the_first_one) {
    pilfer::pool pool({.workers = 1});
    pool.run([&pool] {
        nest(1'000);
        const auto first = pool.counters().contexts_live;
        for (int round = 0; round < (sanitized ? 80 : 300); ++round) {
            nest(1'000);
        }
        EXPECT_LE(pool.counters().contexts_live, first + 64);
    });
}

TEST(context_peaks, of_one_worker_leave_the_limit_to_another_one) {
    pilfer::pool pool({.workers = 2, .max_contexts = 1'000});
    // Each worker in turn is inside a long task, so that the peaks are the other one's.
    std::atomic<int> held{0};
    std::atomic<bool> go[2] = {};
    const auto hold = [&](int k) {
        auto one = pool.async([&, k] {
            held = k + 1;
            while (!go[k]) {
                std::this_thread::yield();
            }
        });
        while (held != k + 1) {
            std::this_thread::yield();
        }
        return one;
    };
    auto first = hold(0);
    for (int round = 0; round < (sanitized ? 40 : 100); ++round) {
        pool.run([] { nest(900); });
    }
    auto second = hold(1);
    go[0] = true;
    first.get();
    const auto before = pool.counters().no_context;
    pool.run([] { nest(800); });
    EXPECT_EQ(pool.counters().no_context, before) << "spawns were plain calls for want of a stack";
    go[1] = true;
    second.get();
}

} // namespace
