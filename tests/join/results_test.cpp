// join: all functions run, all results come back, nothing is allocated.
#include <memory>
#include <string>
#include <type_traits>
#include <variant>

#include "support/allocations.hpp"
#include "support/harness.hpp"
#include "support/peaks.hpp"
#include "support/process.hpp"

namespace {

using namespace support;

class join_results : public over_workers {};

TEST_P(join_results, gives_every_result_in_order) {
    pilfer::pool pool(with_workers());
    pool.run([] {
        for (int i = 0; i < 1000; ++i) {
            const auto all =
                pilfer::join([i] { return i; }, [i] { return std::to_string(i); }, [i] { return 0.5 * i; },
                             [i] { return static_cast<char>('a' + i % 26); });
            static_assert(std::is_same_v<decltype(all), const std::tuple<int, std::string, double, char>>);
            ASSERT_EQ(all, std::make_tuple(i, std::to_string(i), 0.5 * i, static_cast<char>('a' + i % 26)));
        }
    });
}

TEST_P(join_results, computes_fib) {
    pilfer::pool pool(with_workers());
    EXPECT_EQ(pool.run([] { return fib_join(20); }), fib(20));
}

TEST_P(join_results, void_gives_monostate) {
    pilfer::pool pool(with_workers());
    int left = 0;
    int right = 0;
    const auto all = pool.run([&] { return pilfer::join([&] { left = 1; }, [&] { right = 2; }); });
    static_assert(std::is_same_v<decltype(all), const std::tuple<std::monostate, std::monostate>>);
    EXPECT_EQ(left + right, 3);
}

TEST_P(join_results, results_that_only_move) {
    pilfer::pool pool(with_workers());
    pool.run([] {
        for (int i = 0; i < 200; ++i) {
            auto [a, b, c] = pilfer::join([i] { return std::make_unique<int>(i); },
                                          [i] { return std::make_unique<int>(i + 1); },
                                          [i] { return std::make_unique<int>(i + 2); });
            ASSERT_EQ(*a + *b + *c, 3 * i + 3);
        }
    });
}

TEST_P(join_results, references_stay_references) {
    pilfer::pool pool(with_workers());
    int one = 1;
    int two = 2;
    const int three = 3;
    pool.run([&] {
        auto all = pilfer::join([&]() -> int& { return one; }, [&]() -> int& { return two; },
                                [&]() -> const int& { return three; });
        static_assert(std::is_same_v<decltype(all), std::tuple<int&, int&, const int&>>);
        std::get<0>(all) = 10;
        std::get<1>(all) = 20;
        EXPECT_EQ(&std::get<2>(all), &three);
    });
    EXPECT_EQ(one, 10);
    EXPECT_EQ(two, 20);
}

TEST_P(join_results, constant_results) {
    pilfer::pool pool(with_workers());
    const auto name = []() -> const std::string { return "a text that is too long for the object"; };
    const auto only_moved = []() -> const std::unique_ptr<int> { return std::make_unique<int>(3); };
    EXPECT_EQ(pool.run(name), name());
    EXPECT_EQ(*pool.run(only_moved), 3);
    pool.run([&] {
        const auto both = pilfer::join(name, only_moved);
        EXPECT_EQ(std::get<0>(both), name());
        EXPECT_EQ(*std::get<1>(both), 3);
        EXPECT_EQ(pilfer::async(name).get(), name());
        EXPECT_EQ(*pilfer::async(only_moved).take(), 3);
        EXPECT_EQ(pilfer::async(name).then([](const std::string& s) -> const std::string { return s; }).get(),
                  name());
        pilfer::monitor<int> m(1);
        EXPECT_EQ(m.call_when([](int) { return true; }, [&](int&) -> const std::string { return name(); }),
                  name());
    });
}

TEST_P(join_results, functions_with_state_are_not_copied) {
    struct counting {
        int calls = 0;
        counting() = default;
        counting(const counting&) = delete;
        counting& operator=(const counting&) = delete;
        int operator()() { return ++calls; }
    };
    pilfer::pool pool(with_workers());
    counting f;
    counting g;
    pool.run([&] {
        for (int i = 0; i < 100; ++i) {
            (void)pilfer::join(f, g);
        }
    });
    EXPECT_EQ(f.calls, 100);
    EXPECT_EQ(g.calls, 100);
}

TEST_P(join_results, stolen_results_come_back) {
    if (GetParam() == 1) {
        GTEST_SKIP() << "nobody steals from one worker";
    }
    pilfer::pool pool(with_workers());
    std::atomic<bool> started{false};
    const long caller_thread = pool.run([&] {
        long left = 0;
        auto [ignored, right] = pilfer::join(
            [&] {
                left = thread_id();
                while (!started.load()) { // holds this worker until the other half runs elsewhere
                    std::this_thread::yield();
                }
                return std::string("left");
            },
            [&] {
                started = true;
                return std::make_unique<long>(thread_id());
            });
        EXPECT_EQ(ignored, "left");
        EXPECT_NE(*right, left);
        return left;
    });
    EXPECT_NE(caller_thread, 0);
    EXPECT_GE(pool.counters().run_stolen, 1U);
}

PILFER_OVER_WORKERS(join_results);

class join_memory : public guarded {};

TEST_F(join_memory, joins_allocate_nothing) {
    if (!support::counts_allocations) {
        GTEST_SKIP() << "a sanitizer has the allocator";
    }
    for (const unsigned n : {1U, 2U, 3U}) {
        pilfer::pool pool(workers(n));
        meet_all(pool);
        for (int round = 0; round < 10; ++round) {
            expect_steady(pool, [&] { EXPECT_EQ(pool.run([] { return fib_join(22); }), fib(22)); });
        }
        // A worker keeps 64 and takes 32; every level of the recursion may wait once on each.
        EXPECT_LE(peaks::of(pool).stacks, n * (64 + 32 + 22 + 1));
    }
}

TEST_F(join_memory, the_counter_counts) {
    if (!support::counts_allocations) {
        GTEST_SKIP() << "a sanitizer has the allocator";
    }
    const auto before = allocations();
    const auto kept = std::make_unique<std::string>(1000, 'x');
    EXPECT_GE(allocations() - before, 2U);
}

TEST_F(join_memory, outside_a_pool_the_common_pool_joins) {
    auto [a, b] = pilfer::join([] { return fib_join(12); }, [] { return std::make_unique<int>(7); });
    EXPECT_EQ(a, fib(12));
    EXPECT_EQ(*b, 7);
}

} // namespace
