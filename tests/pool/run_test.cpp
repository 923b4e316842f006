// pool::run and scopes on foreign threads: the thread of each task.
#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

#include "support/harness.hpp"
#include "support/process.hpp"

namespace {

using namespace support;

class run_from_outside : public over_workers {};

TEST_P(run_from_outside, the_caller_keeps_its_thread) {
    pilfer::pool pool(with_workers());
    const long mine = thread_id();
    for (int i = 0; i < 100; ++i) {
        const long theirs = pool.run([] { return thread_id(); });
        ASSERT_NE(theirs, mine);
        ASSERT_EQ(thread_id(), mine);
        ASSERT_EQ(pool.async([] { return fib_join(8); }).get(), fib(8));
        ASSERT_EQ(thread_id(), mine);
    }
}

TEST_P(run_from_outside, results_references_and_exceptions_come_back) {
    pilfer::pool pool(with_workers());
    int value = 4;
    int& same = pool.run([&]() -> int& { return value; });
    EXPECT_EQ(&same, &value);
    EXPECT_EQ(*pool.run([] { return std::make_unique<int>(9); }), 9);
    EXPECT_THROW(pool.run([] { throw std::out_of_range("x"); }), std::out_of_range);
}

TEST_P(run_from_outside, from_its_own_worker_is_a_plain_call) {
    pilfer::pool pool(with_workers());
    pool.run([&] {
        const long here = thread_id();
        EXPECT_EQ(pool.run([] { return thread_id(); }), here);
    });
}

TEST_P(run_from_outside, many_threads_at_once) {
    pilfer::pool pool(with_workers());
    std::atomic<int> right{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 8; ++t) {
        threads.emplace_back([&, t] {
            for (int i = 0; i < 200; ++i) {
                right += pool.run([=] { return t * 1000 + i; }) == t * 1000 + i;
            }
        });
    }
    for (auto& t : threads) {
        t.join();
    }
    EXPECT_EQ(right, 1600);
}

PILFER_OVER_WORKERS(run_from_outside);

class run_between_pools : public guarded {};

TEST_F(run_between_pools, three_pools_of_one_worker_call_in_a_circle) {
    pilfer::pool a(workers(1));
    pilfer::pool b(workers(1));
    pilfer::pool c(workers(1));
    for (int i = 0; i < 100; ++i) {
        const int depth = a.run([&] {
            const long on_a = thread_id();
            return b.run([&] {
                const long on_b = thread_id();
                return c.run([&] {
                    return a.run([&] { // its only worker is free: the caller's context has suspended
                        EXPECT_EQ(thread_id(), on_a);
                        return b.run([&] {
                            EXPECT_EQ(thread_id(), on_b);
                            return c.run([] { return 6; });
                        });
                    });
                });
            });
        });
        ASSERT_EQ(depth, 6);
    }
}

TEST_F(run_between_pools, a_calls_b_calls_a_with_forks_everywhere) {
    pilfer::pool a(workers(1));
    pilfer::pool b(workers(1));
    for (int i = 0; i < 50; ++i) {
        const auto sum = a.run([&] {
            auto [x, y] =
                pilfer::join([&] { return b.run([&] { return a.run([] { return fib_join(8); }); }); },
                             [&] { return b.run([] { return fib_spawn(8); }); });
            return x + y;
        });
        ASSERT_EQ(sum, 2 * fib(8));
    }
}

TEST_F(run_between_pools, exceptions_cross_pools) {
    pilfer::pool a(workers(1));
    pilfer::pool b(workers(2));
    EXPECT_THROW(a.run([&] { b.run([&] { a.run([] { throw std::domain_error("deep"); }); }); }),
                 std::domain_error);
}

TEST_F(run_between_pools, a_scope_of_one_pool_gets_children_from_another) {
    pilfer::pool a(workers(2));
    pilfer::pool b(workers(2));
    for (int i = 0; i < 100; ++i) {
        std::atomic<int> ran{0};
        a.run([&] {
            pilfer::scope s;
            b.run([&] { s.fork([&] { ran.fetch_add(1); }); });
            s.sync();
            ASSERT_EQ(ran, 1);
        });
    }
}

class common_pool : public guarded {};

TEST_F(common_pool, scopes_on_a_foreign_thread_use_the_common_pool) {
    const long mine = thread_id();
    for (int round = 0; round < 50; ++round) {
        std::atomic<int> ran{0};
        std::atomic<int> on_my_thread{0};
        pilfer::scope s;
        for (int i = 0; i < 10; ++i) {
            const auto child = [&] {
                ran.fetch_add(1);
                on_my_thread += thread_id() == mine;
                s.fork([&] { ran.fetch_add(1); });
            };
            s.spawn(child);
            ASSERT_EQ(thread_id(), mine);
            s.fork(child);
        }
        s.sync();
        ASSERT_EQ(thread_id(), mine);
        ASSERT_EQ(ran, 40);
        ASSERT_EQ(on_my_thread, 0);
    }
}

TEST_F(common_pool, exceptions_arrive_and_the_scope_stays_usable) {
    for (int round = 0; round < 50; ++round) {
        pilfer::scope s;
        s.spawn([] { throw 1; });
        EXPECT_THROW(s.sync(), int);
        std::atomic<int> ran{0};
        s.spawn([&] { ran = 1; });
        s.sync();
        EXPECT_EQ(ran, 1);
    }
}

TEST_F(common_pool, joins_and_loops_outside_use_the_common_pool) {
    const long mine = thread_id();
    std::vector<int> seen(1000);
    pilfer::for_each(0, 1000, [&](int i) { seen[static_cast<std::size_t>(i)] = i; });
    EXPECT_EQ(seen[999], 999);
    EXPECT_EQ(pilfer::async([] { return fib_join(10); }).get(), fib(10));
    EXPECT_EQ(fib_join(12), fib(12));
    EXPECT_EQ(fib_spawn(10), fib(10));
    EXPECT_EQ(fib_fork(10), fib(10));
    EXPECT_EQ(thread_id(), mine);
}

} // namespace
