// scope::defer: the caller goes on, the child is offered.
#include <atomic>
#include <memory>
#include <vector>

#include "support/allocations.hpp"
#include "support/harness.hpp"
#include "support/process.hpp"

namespace {

using namespace support;

class row_A4_defer : public over_workers {};

TEST_P(row_A4_defer, computes_fib) {
    pilfer::pool pool(with_workers());
    EXPECT_EQ(pool.run([] { return fib_defer(18); }), fib(18));
}

TEST_P(row_A4_defer, every_child_runs_once) {
    pilfer::pool pool(with_workers());
    for (int round = 0; round < 5; ++round) {
        std::vector<std::atomic<int>> ran(3000);
        pool.run([&] {
            pilfer::scope s;
            for (auto& r : ran) {
                s.defer([&r] { r.fetch_add(1); });
            }
            s.sync();
        });
        for (auto& r : ran) {
            ASSERT_EQ(r, 1);
        }
    }
}

TEST_P(row_A4_defer, the_destructor_waits) {
    pilfer::pool pool(with_workers());
    pool.run([] {
        for (int round = 0; round < 200; ++round) {
            std::atomic<int> ran{0};
            {
                pilfer::scope s;
                for (int i = 0; i < 5; ++i) {
                    s.defer([&] { ran.fetch_add(1); });
                }
            }
            ASSERT_EQ(ran, 5);
        }
    });
}

TEST_P(row_A4_defer, functions_are_moved_and_destroyed_once) {
    pilfer::pool pool(with_workers());
    pool.run([] {
        const auto shared = std::make_shared<int>(5);
        std::atomic<int> sum{0};
        {
            pilfer::scope s;
            for (int i = 0; i < 100; ++i) {
                auto unique = std::make_unique<int>(i);
                s.defer([&sum, shared, mine = std::move(unique)] { sum.fetch_add(*shared + *mine); });
            }
            s.sync();
        }
        EXPECT_EQ(sum, 100 * 5 + 99 * 50);
        EXPECT_EQ(shared.use_count(), 1);
    });
}

PILFER_OVER_WORKERS(row_A4_defer);

class row_A4_order : public guarded {};

TEST_F(row_A4_order, parent_first_then_the_newest_child) {
    pilfer::pool pool(workers(1));
    std::vector<int> trace;
    pool.run([&] {
        pilfer::scope s;
        for (int i = 0; i < 5; ++i) {
            s.defer([&trace, i] { trace.push_back(i); });
            trace.push_back(100 + i);
        }
        s.sync();
        trace.push_back(200);
    });
    EXPECT_EQ(trace, (std::vector<int>{100, 101, 102, 103, 104, 4, 3, 2, 1, 0, 200}));
}

TEST_F(row_A4_order, the_second_loop_of_many_defers_allocates_nothing) {
    if (!support::counts_allocations) {
        GTEST_SKIP() << "a sanitizer has the allocator";
    }
    for (const unsigned n : {1U, 2U}) {
        pilfer::pool pool(workers(n));
        const std::uint64_t defers = hundredth_of(1'000'000 * 10, 1000);
        std::atomic<std::uint64_t> ran{0};
        const auto loop = [&] {
            pilfer::scope s;
            for (std::uint64_t i = 0; i < defers; ++i) {
                s.defer([&] { ran.fetch_add(1, std::memory_order_relaxed); });
            }
            s.sync();
        };
        const auto resident_before = resident_bytes();
        pool.run(loop);
        std::uint64_t fewest = UINT64_MAX;
        for (int again = 0; again < (n == 1 ? 1 : 100) && fewest != 0; ++again) {
            const auto before = allocations();
            pool.run(loop);
            fewest = std::min(fewest, allocations() - before);
        }
        // With a thief the backlog of one run may be longer than that of the first.
        EXPECT_EQ(fewest, 0U) << n << " workers";
        EXPECT_EQ(ran % defers, 0U);
        if (!sanitized && scale() <= 10) {
            EXPECT_LT(resident_bytes() - resident_before, 160U << 20);
        }
    }
}

} // namespace
