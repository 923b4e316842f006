// scope::fork: the caller continues, the child is offered.
#include <atomic>
#include <memory>
#include <vector>

#include "support/allocations.hpp"
#include "support/child.hpp"
#include "support/harness.hpp"
#include "support/peaks.hpp"
#include "support/process.hpp"

namespace {

using namespace support;

class scope_fork : public over_workers {};

TEST_P(scope_fork, computes_fib) {
    pilfer::pool pool(with_workers());
    EXPECT_EQ(pool.run([] { return fib_fork(18); }), fib(18));
}

TEST_P(scope_fork, every_child_runs_once) {
    pilfer::pool pool(with_workers());
    for (int round = 0; round < 5; ++round) {
        std::vector<std::atomic<int>> ran(3000);
        pool.run([&] {
            pilfer::scope s;
            for (auto& r : ran) {
                s.fork([&r] { r.fetch_add(1); });
            }
            s.sync();
        });
        for (auto& r : ran) {
            ASSERT_EQ(r, 1);
        }
    }
}

TEST_P(scope_fork, the_destructor_waits) {
    pilfer::pool pool(with_workers());
    pool.run([] {
        for (int round = 0; round < 200; ++round) {
            std::atomic<int> ran{0};
            {
                pilfer::scope s;
                for (int i = 0; i < 5; ++i) {
                    s.fork([&] { ran.fetch_add(1); });
                }
            }
            ASSERT_EQ(ran, 5);
        }
    });
}

TEST_P(scope_fork, functions_are_moved_and_destroyed_once) {
    pilfer::pool pool(with_workers());
    pool.run([] {
        const auto shared = std::make_shared<int>(5);
        std::atomic<int> sum{0};
        {
            pilfer::scope s;
            for (int i = 0; i < 100; ++i) {
                auto unique = std::make_unique<int>(i);
                s.fork([&sum, shared, mine = std::move(unique)] { sum.fetch_add(*shared + *mine); });
            }
            s.sync();
        }
        EXPECT_EQ(sum, 100 * 5 + 99 * 50);
        EXPECT_EQ(shared.use_count(), 1);
    });
}

PILFER_OVER_WORKERS(scope_fork);

class fork_order : public guarded {};

TEST_F(fork_order, parent_first_then_the_newest_child) {
    pilfer::pool pool(workers(1));
    std::vector<int> trace;
    pool.run([&] {
        pilfer::scope s;
        for (int i = 0; i < 5; ++i) {
            s.fork([&trace, i] { trace.push_back(i); });
            trace.push_back(100 + i);
        }
        s.sync();
        trace.push_back(200);
    });
    EXPECT_EQ(trace, (std::vector<int>{100, 101, 102, 103, 104, 4, 3, 2, 1, 0, 200}));
}

TEST_F(fork_order, a_million_forks_in_one_loop) {
    if (!support::counts_allocations) {
        GTEST_SKIP() << "a sanitizer has the allocator";
    }
    const std::uint64_t forks = emulated ? hundredth_of(1'000'000) : 1'000'000;
    for (const unsigned n : {1U, 2U}) {
        // In a process of its own: memory of earlier cases would count as resident, or be reused.
        const auto result = in_child([=] {
            pilfer::pool pool(workers(n));
            std::atomic<std::uint64_t> ran{0};
            const auto loop = [&] {
                pool.run([&] {
                    pilfer::scope s;
                    for (std::uint64_t i = 0; i < forks; ++i) {
                        s.fork([&] { ran.fetch_add(1, std::memory_order_relaxed); });
                    }
                    s.sync();
                });
            };
            meet_all(pool);
            loop();
            if (n == 1) { // each loop has an equal backlog
                const auto before = allocations();
                loop();
                EXPECT_EQ(allocations(), before);
            } else { // the less the thief takes, the longer it is
                expect_steady(pool, loop);
                expect_steady(pool, loop);
            }
            EXPECT_EQ(ran, (n == 1 ? 2 : 3) * forks);
            // One for each fork, and those that the workers keep.
            EXPECT_LE(peaks::of(pool).records, forks + n * 2 * pilfer::detail::most_free_records);
            if (!emulated) {
                EXPECT_LT(status_kib("VmHWM"), 160U << 10) << n << " workers";
            }
            return ::testing::Test::HasFailure() ? 1 : 0;
        });
        EXPECT_TRUE(result.exited_with(0)) << result;
    }
}

} // namespace
