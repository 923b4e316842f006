// Counters balance, and nothing is allocated once a program is in its stride.
#include <atomic>
#include <functional>
#include <thread>
#include <vector>

#include "support/allocations.hpp"
#include "support/harness.hpp"
#include "support/peaks.hpp"
#include "support/process.hpp"

namespace {

using namespace support;

class pool_counters : public over_workers {
protected:
    /// Runs `work` and compares the number of announced tasks with their ends.
    static void expect_balance(const std::function<void(pilfer::pool&)>& work, unsigned stacks = 0) {
        for (const auto exposure : {pilfer::exposure::on_demand, pilfer::exposure::always_public}) {
            for (const auto resume : {pilfer::resume::anywhere, pilfer::resume::elsewhere}) {
                pilfer::options o = with_workers();
                o.debug.count_all = true;
                o.balance.exposure = exposure;
                o.resume = resume;
                o.max_contexts = stacks;
                if (stacks != 0) {
                    o.stack_size = std::size_t{16} << 20; // tasks run on top of others
                }
                pilfer::pool pool(o);
                work(pool);
                pool.shutdown();
                const auto c = pool.counters();
                EXPECT_EQ(c.announced, c.run_inline + c.run_own + c.run_stolen)
                    << "inline " << c.run_inline << " own " << c.run_own << " stolen " << c.run_stolen
                    << " dropped " << c.dropped;
                EXPECT_EQ(c.suspends, c.resumes);
                EXPECT_GE(c.exposed_tasks, c.exposures);
                EXPECT_GE(c.steals_tried, c.run_stolen + c.steals_failed);
                if (GetParam() == 1) {
                    EXPECT_EQ(c.run_stolen, 0U);
                    EXPECT_EQ(c.steals_tried, 0U);
                }
            }
        }
    }
};

TEST_P(pool_counters, joins_balance) {
    expect_balance([](pilfer::pool& pool) { EXPECT_EQ(pool.run([] { return fib_join(15); }), fib(15)); });
}

TEST_P(pool_counters, spawns_and_forks_balance) {
    expect_balance([](pilfer::pool& pool) {
        EXPECT_EQ(pool.run([] { return fib_spawn(13); }), fib(13));
        EXPECT_EQ(pool.run([] { return fib_fork(13); }), fib(13));
        EXPECT_EQ(pool.counters().run_submitted, 2U);
    });
}

TEST_P(pool_counters, asyncs_and_loops_balance) {
    expect_balance([](pilfer::pool& pool) {
        pool.run([] {
            std::vector<pilfer::future<std::uint64_t>> all;
            for (int i = 0; i < 100; ++i) {
                all.push_back(pilfer::async([] { return fib_join(4); }));
            }
            for (auto& f : all) {
                EXPECT_EQ(f.get(), fib(4));
            }
            std::atomic<int> n{0};
            pilfer::for_each(0, 10'000, [&](int) { n.fetch_add(1); });
            EXPECT_EQ(n, 10'000);
        });
    });
}

TEST_P(pool_counters, failures_balance) {
    expect_balance([](pilfer::pool& pool) {
        for (int i = 0; i < 30; ++i) {
            EXPECT_THROW(pool.run([] {
                (void)pilfer::join([] { throw 1; }, [] { return fib_join(3); }, [] { return fib_join(3); });
            }),
                         int);
            EXPECT_THROW(pool.run([] {
                pilfer::scope s;
                for (int k = 0; k < 20; ++k) {
                    s.fork([k] {
                        if (k == 10) {
                            throw 2;
                        }
                    });
                }
                s.sync();
            }),
                         int);
        }
    });
}

TEST_P(pool_counters, few_stacks_balance) {
    expect_balance(
        [](pilfer::pool& pool) {
            EXPECT_EQ(pool.run([] { return fib_spawn(11) + fib_fork(11) + fib_join(11); }), 3 * fib(11));
        },
        2);
}

TEST_P(pool_counters, known_numbers_of_one_worker) {
    pilfer::options o = workers(1);
    o.debug.count_all = true;
    pilfer::pool pool(o);
    ASSERT_TRUE(eventually([&] { return pool.counters().sleeps > 0; }));
    pool.run([] {
        for (int i = 0; i < 10; ++i) {
            (void)pilfer::join([] {}, [] {}, [] {}); // two announcements each
        }
        pilfer::scope s;
        for (int i = 0; i < 7; ++i) {
            s.spawn([] {});
            s.fork([] {});
        }
        s.sync();
    });
    const auto c = pool.counters();
    EXPECT_EQ(c.announced, 34U);
    EXPECT_EQ(c.run_inline, 34U);
    EXPECT_EQ(c.run_submitted, 1U);
    EXPECT_EQ(c.run_own + c.run_stolen + c.dropped, 0U);
    // The sum over the workers is the pool's.
    EXPECT_EQ(pool.counters(0).announced, c.announced);
}

PILFER_OVER_WORKERS(pool_counters);

class steady_state : public guarded {};

TEST_F(steady_state, no_malloc_and_no_mmap) {
    if (!support::counts_allocations) {
        GTEST_SKIP() << "a sanitizer has the allocator";
    }
    for (const unsigned n : {1U, 2U, 4U}) {
        pilfer::pool pool(workers(n));
        const auto work = [&] {
            pool.run([] {
                (void)fib_join(15);
                (void)fib_spawn(14);
                (void)fib_fork(14);
                pilfer::scope s;
                for (int i = 0; i < 1000; ++i) {
                    s.fork([] { (void)fib_join(3); });
                }
                s.sync();
            });
        };
        meet_all(pool);
        work();
        for (int i = 0; i < 20; ++i) {
            expect_steady(pool, work);
        }
    }
}

TEST_F(steady_state, the_counters_of_this_test_count) {
    if (!support::counts_allocations) {
        GTEST_SKIP() << "a sanitizer has the allocator";
    }
#if defined(PILFER_TEST_COUNTS_MALLOC)
    const auto maps = mappings();
    const pilfer::pool pool(workers(1));
    EXPECT_TRUE(eventually([&] { return pool.workers() == 1; }));
    void* page = mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT_GE(mappings() - maps, 1U);
    munmap(page, 4096);
    const auto before = allocations();
    std::free(std::malloc(100));
    EXPECT_EQ(allocations() - before, 1U);
#endif
}

TEST_F(steady_state, an_async_allocates_nothing_once_its_worker_is_warm) {
    if (!support::counts_allocations) {
        GTEST_SKIP() << "a sanitizer has the allocator";
    }
    pilfer::pool pool(workers(1));
    pool.run([] {
        (void)pilfer::async([] { return 1; }).get();
        const auto before = allocations();
        for (int i = 0; i < 100; ++i) {
            (void)pilfer::async([i] { return i; }).get();
        }
        EXPECT_EQ(allocations() - before, 0U);
    });
}

} // namespace
