// pipeline: the order of items, one item at a time in serial stages, and the number of items in flight.
#include <atomic>
#include <cstdint>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <thread>
#include <vector>

#include "support/harness.hpp"

namespace {

using namespace support;

class pipeline_order : public over_workers {};

/// A source of the numbers below n; `given` is plain, because a source is a serial stage.
[[nodiscard]] auto numbers(std::uint64_t n) {
    return pilfer::serial_in_order([n, given = std::uint64_t{0}]() mutable -> std::optional<std::uint64_t> {
        if (given == n) {
            return std::nullopt;
        }
        return given++;
    });
}

void work_a_little(std::uint64_t i) {
    for (volatile std::uint64_t n = i * 2654435761U % 64; n > 0;) {
        n = n - 1;
    }
}

TEST_P(pipeline_order, an_ordered_stage_gets_the_items_in_the_order_of_the_source) {
    pilfer::pool pool(with_workers());
    for (const std::size_t tokens : {1U, 2U, 3U, 8U, 100U}) {
        std::vector<std::uint64_t> seen;
        const std::uint64_t n = hundredth_of(100'000, 300);
        pilfer::pipeline(pool, tokens, numbers(n), pilfer::parallel_stage([](std::uint64_t i) {
                             work_a_little(i);
                             return i;
                         }),
                         pilfer::serial_in_order([&](std::uint64_t i) { seen.push_back(i); }));
        std::vector<std::uint64_t> all(n);
        std::iota(all.begin(), all.end(), std::uint64_t{0});
        ASSERT_EQ(seen, all) << tokens << " tokens";
    }
}

TEST_P(pipeline_order, several_ordered_stages_follow_each_other) {
    pilfer::pool pool(with_workers());
    const std::uint64_t n = hundredth_of(100'000, 300);
    for (const std::size_t tokens : {1U, 2U, 7U, 64U}) {
        struct check { // plain, and one for each stage: two stages run at once
            std::uint64_t expected = 0;
            bool ok = true;
        } first, second, third;
        const auto spread = [] {
            return pilfer::parallel_stage([](std::uint64_t i) {
                work_a_little(i);
                return i;
            });
        };
        const auto next_is = [](check& c) {
            return pilfer::serial_in_order([&c](std::uint64_t i) {
                c.ok = c.ok && i == c.expected;
                ++c.expected;
                return i;
            });
        };
        pilfer::pipeline(pool, tokens, numbers(n), next_is(first), spread(), next_is(second), spread(),
                         next_is(third), spread());
        for (const check& c : {first, second, third}) {
            EXPECT_TRUE(c.ok) << tokens << " tokens";
            EXPECT_EQ(c.expected, n);
        }
    }
}

TEST_P(pipeline_order, an_unordered_stage_gets_each_item_once) {
    pilfer::pool pool(with_workers());
    const std::uint64_t n = hundredth_of(100'000, 300);
    for (const std::size_t tokens : {1U, 2U, 8U, 100U}) {
        std::vector<unsigned> seen(n);
        pilfer::pipeline(pool, tokens, numbers(n), pilfer::parallel_stage([](std::uint64_t i) {
                             work_a_little(i);
                             return i;
                         }),
                         pilfer::serial_out_of_order([&](std::uint64_t i) {
                             ++seen[i]; // plain
                             return i;
                         }),
                         pilfer::parallel_stage([](std::uint64_t i) { work_a_little(i); }));
        ASSERT_EQ(seen, std::vector<unsigned>(n, 1)) << tokens << " tokens";
    }
}

TEST_P(pipeline_order, a_serial_stage_has_one_item_at_a_time) {
    pilfer::pool pool(with_workers());
    const std::uint64_t n = hundredth_of(100'000, 300);
    std::uint64_t given = 0; // plain, as are the sums: ThreadSanitizer sees whether the calls are ordered
    std::uint64_t sum_in_order = 0;
    std::uint64_t sum_as_they_come = 0;
    std::uint64_t sum_at_the_end = 0;
    std::atomic<int> inside[4] = {};
    std::atomic<int> twice{0};
    const auto alone = [&](int stage, auto f) {
        if (inside[stage]++ != 0) {
            ++twice;
        }
        f();
        --inside[stage];
    };
    pilfer::pipeline(
        pool, 8, pilfer::serial_out_of_order([&]() -> std::optional<std::uint64_t> {
            std::optional<std::uint64_t> i;
            alone(0, [&] {
                if (given < n) {
                    i = given++;
                }
            });
            return i;
        }),
        pilfer::parallel_stage([](std::uint64_t i) {
            work_a_little(i);
            return i;
        }),
        pilfer::serial_out_of_order([&](std::uint64_t i) {
            alone(1, [&] { sum_as_they_come += i; });
            return i;
        }),
        pilfer::parallel_stage([](std::uint64_t i) {
            work_a_little(i + 7);
            return i;
        }),
        pilfer::serial_in_order([&](std::uint64_t i) {
            alone(2, [&] { sum_in_order += i; });
            return i;
        }),
        pilfer::serial_out_of_order([&](std::uint64_t i) { alone(3, [&] { sum_at_the_end += i; }); }));
    EXPECT_EQ(twice, 0);
    EXPECT_EQ(sum_as_they_come, n * (n - 1) / 2);
    EXPECT_EQ(sum_in_order, n * (n - 1) / 2);
    EXPECT_EQ(sum_at_the_end, n * (n - 1) / 2);
}

TEST_P(pipeline_order, tokens_are_the_most_items_in_flight) {
    pilfer::pool pool(with_workers());
    for (const std::size_t tokens : {1U, 2U, 3U, 5U, 8U, 20U}) {
        std::atomic<std::size_t> in_flight{0};
        std::atomic<std::size_t> most{0};
        const auto n = static_cast<int>(hundredth_of(20'000, 100));
        int given = 0;
        pilfer::pipeline(pool, tokens, pilfer::serial_in_order([&]() -> std::optional<int> {
                             if (given == n) {
                                 return std::nullopt;
                             }
                             const std::size_t now = ++in_flight;
                             std::size_t before = most;
                             while (before < now && !most.compare_exchange_weak(before, now)) {
                             }
                             return given++;
                         }),
                         pilfer::parallel_stage([](int i) {
                             if (i % 16 == 0) {
                                 pilfer::yield();
                             }
                             return i;
                         }),
                         pilfer::serial_in_order([](int i) { return i; }),
                         pilfer::parallel_stage([&](int) { --in_flight; }));
        EXPECT_LE(most, tokens);
        EXPECT_EQ(in_flight, 0U);
    }
}

TEST_P(pipeline_order, as_many_items_wait_at_once_as_there_are_tokens) {
    pilfer::pool pool(with_workers());
    constexpr std::ptrdiff_t tokens = 20;
    pilfer::barrier all(tokens); // no item passes before 20 are in the stage, whatever the number of workers
    std::atomic<int> through{0};
    pilfer::pipeline(pool, tokens, numbers(tokens * 3), pilfer::parallel_stage([&](std::uint64_t) {
                         all.arrive_and_wait();
                         ++through;
                     }));
    EXPECT_EQ(through, tokens * 3);
}

TEST_P(pipeline_order, short_inputs) {
    pilfer::pool pool(with_workers());
    for (std::uint64_t n = 0; n < 20; ++n) {
        for (const std::size_t tokens : {1U, 2U, 4U, 1000U}) {
            std::uint64_t calls = 0;
            pilfer::pipeline(pool, tokens, numbers(n),
                             pilfer::serial_in_order([&](std::uint64_t) { ++calls; }));
            ASSERT_EQ(calls, n);
        }
    }
}

TEST_P(pipeline_order, many_items) {
    pilfer::pool pool(with_workers());
    const std::uint64_t n = sanitized ? 10'000 : 100'000;
    std::uint64_t sum = 0;
    pilfer::pipeline(pool, 16, numbers(n), pilfer::parallel_stage([](std::uint64_t i) { return 2 * i; }),
                     pilfer::serial_in_order([&](std::uint64_t i) { sum += i; }));
    EXPECT_EQ(sum, n * (n - 1));
}

TEST_P(pipeline_order, the_source_is_not_called_after_its_end) {
    pilfer::pool pool(with_workers());
    for (int round = 0; round < 50; ++round) {
        int calls = 0;
        pilfer::pipeline(pool, 8, pilfer::serial_in_order([&]() -> std::optional<int> {
                             ++calls;
                             return calls <= 30 ? std::optional<int>(calls) : std::nullopt;
                         }),
                         pilfer::parallel_stage([](int) {}));
        ASSERT_EQ(calls, 31);
    }
}

TEST_P(pipeline_order, many_tokens_need_no_deep_stack_under_one_lock) {
    pilfer::pool pool({.workers = GetParam(), .backend = pilfer::backend::one_lock});
    constexpr std::uint64_t items = 200'000;
    std::uint64_t given = 0;
    std::uint64_t came = 0;
    bool in_order = true;
    pilfer::pipeline(pool, 100'000, pilfer::serial_in_order([&]() -> std::optional<std::uint64_t> {
                         return given < items ? std::optional(given++) : std::nullopt;
                     }),
                     pilfer::parallel_stage([](std::uint64_t i) { return i; }),
                     pilfer::serial_out_of_order([](std::uint64_t i) { return i; }),
                     pilfer::serial_in_order([&](std::uint64_t i) {
                         in_order = in_order && i == came;
                         ++came;
                     }));
    EXPECT_EQ(came, items);
    EXPECT_TRUE(in_order);
}

TEST_P(pipeline_order, a_pool_that_takes_everything_under_one_lock) {
    pilfer::options o = with_workers();
    o.backend = pilfer::backend::one_lock;
    pilfer::pool pool(o);
    const std::uint64_t n = hundredth_of(100'000, 300);
    std::uint64_t expected = 0;
    bool ok = true;
    pilfer::pipeline(pool, 8, numbers(n), pilfer::parallel_stage([](std::uint64_t i) {
                         if (i % 32 == 0) {
                             pilfer::yield();
                         }
                         return i;
                     }),
                     pilfer::serial_in_order([&](std::uint64_t i) { ok = ok && i == expected++; }));
    EXPECT_TRUE(ok);
    EXPECT_EQ(expected, n);
}

TEST_P(pipeline_order, both_kinds_of_parallel_work_share_the_workers) {
    pilfer::pool pool(with_workers());
    std::uint64_t sum = 0;
    pilfer::pipeline(pool, 4, numbers(40), pilfer::parallel_stage([](std::uint64_t i) {
                         return fib_join(static_cast<unsigned>(i % 15));
                     }),
                     pilfer::serial_in_order([&](std::uint64_t f) { sum += f; }));
    std::uint64_t right = 0;
    for (unsigned i = 0; i < 40; ++i) {
        right += fib(i % 15);
    }
    EXPECT_EQ(sum, right);
}

PILFER_OVER_WORKERS(pipeline_order);

} // namespace
