// pipeline: the values between stages are moved at most, never copied, and destroyed once.
#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/allocations.hpp"
#include "support/harness.hpp"

namespace {

using namespace support;

class pipeline_values : public over_workers {};
class pipeline_misuse : public guarded {};

int calls = 0; // plain: the source is serial
std::optional<int> three_times() { return calls < 3 ? std::optional<int>(++calls) : std::nullopt; }

struct frame {
    int number = 0;
    [[nodiscard]] int twice() const { return 2 * number; }
};

TEST_P(pipeline_values, values_that_can_only_be_moved) {
    pilfer::pool pool(with_workers());
    int given = 0;
    long sum = 0;
    pilfer::pipeline(
        pool, 4, pilfer::serial_in_order([&]() -> std::optional<std::unique_ptr<int>> {
            if (given == 500) {
                return std::nullopt;
            }
            return std::make_unique<int>(given++);
        }),
        pilfer::parallel_stage([](std::unique_ptr<int> p) { return std::make_unique<long>(*p); }),
        pilfer::serial_out_of_order([](std::unique_ptr<long>&& p) { return std::move(p); }),
        pilfer::serial_in_order([&](const std::unique_ptr<long>& p) { sum += *p; }));
    EXPECT_EQ(sum, 500 * 499 / 2);
}

struct immovable {
    explicit immovable(int v) : value(v) {}
    immovable(const immovable&) = delete;
    immovable& operator=(const immovable&) = delete;
    int value;
};

TEST_P(pipeline_values, values_that_cannot_be_moved) {
    pilfer::pool pool(with_workers());
    int given = 0;
    int sum = 0;
    pilfer::pipeline(pool, 3, pilfer::serial_in_order([&]() -> std::optional<immovable> {
                         if (given == 100) {
                             return std::nullopt;
                         }
                         return std::optional<immovable>(std::in_place, given++);
                     }),
                     pilfer::parallel_stage([](const immovable& v) { return immovable(v.value * 2); }),
                     pilfer::serial_in_order([&](immovable&& v) { sum += v.value; }));
    EXPECT_EQ(sum, 100 * 99);
}

TEST_P(pipeline_values, values_of_a_large_alignment_and_of_many_sizes) {
    struct alignas(256) wide {
        int value;
    };
    pilfer::pool pool(with_workers());
    int given = 0;
    long sum = 0;
    std::atomic<int> crooked{0};
    const auto is_aligned = [&crooked](const wide& w) {
        if (reinterpret_cast<std::uintptr_t>(&w) % alignof(wide) != 0) {
            ++crooked;
        }
    };
    pilfer::pipeline(pool, 5, pilfer::serial_in_order([&]() -> std::optional<char> {
                         return given == 100 ? std::nullopt : std::optional<char>(static_cast<char>(given++));
                     }),
                     pilfer::parallel_stage([](char c) { return wide{c}; }),
                     pilfer::parallel_stage([&](const wide& w) {
                         is_aligned(w);
                         std::array<int, 300> many{};
                         many[299] = w.value;
                         return many;
                     }),
                     pilfer::parallel_stage([](const std::array<int, 300>& many) { return wide{many[299]}; }),
                     pilfer::serial_in_order([&](const wide& w) {
                         is_aligned(w);
                         sum += w.value;
                     }));
    EXPECT_EQ(sum, 100 * 99 / 2);
    EXPECT_EQ(crooked, 0);
}

TEST_P(pipeline_values, an_optional_of_a_later_stage_is_an_ordinary_value) {
    pilfer::pool pool(with_workers());
    int given = 0;
    int full = 0;
    int empty = 0;
    pilfer::pipeline(pool, 4, pilfer::serial_in_order([&]() -> std::optional<std::optional<int>> {
                         if (given == 90) {
                             return std::nullopt;
                         }
                         return std::optional<std::optional<int>>(std::in_place, given++);
                     }),
                     pilfer::parallel_stage([](std::optional<int> i) {
                         return *i % 3 == 0 ? std::optional<int>() : i; // a filter
                     }),
                     pilfer::serial_in_order([&](std::optional<int> i) { ++(i ? full : empty); }));
    EXPECT_EQ(full, 60);
    EXPECT_EQ(empty, 30);
}

TEST_P(pipeline_values, functions_members_and_references_to_functions_are_stages) {
    pilfer::pool pool(with_workers());
    struct counter {
        int sum = 0;
        void operator()(int i) { sum += i; }
    } count;
    int given = 0;
    pilfer::pipeline(pool, 4, pilfer::serial_in_order([&]() -> std::optional<frame> {
                         return given == 100 ? std::nullopt : std::optional<frame>(frame{given++});
                     }),
                     pilfer::parallel_stage(&frame::twice), pilfer::serial_in_order(std::ref(count)));
    EXPECT_EQ(count.sum, 100 * 99);
}

TEST_F(pipeline_misuse, a_plain_function_is_a_source) {
    int sum = 0;
    calls = 0;
    pilfer::pipeline(2, pilfer::serial_in_order(three_times), pilfer::serial_in_order([&](int i) {
                         sum += i;
                         return "dropped";
                     }));
    EXPECT_EQ(sum, 6);
}

TEST_F(pipeline_misuse, no_token_is_an_error) {
    pilfer::pool pool(workers(2));
    bool called = false;
    const auto source = [&]() -> std::optional<int> {
        called = true;
        return std::nullopt;
    };
    EXPECT_THROW(
        pilfer::pipeline(pool, 0, pilfer::serial_in_order(source), pilfer::parallel_stage([](int) {})),
        std::invalid_argument);
    try {
        pilfer::pipeline(0, pilfer::serial_in_order(source), pilfer::parallel_stage([](int) {}));
        ADD_FAILURE() << "nothing was thrown";
    } catch (const std::invalid_argument& e) {
        EXPECT_NE(std::string(e.what()).find("token"), std::string::npos);
    }
    EXPECT_FALSE(called);
}

TEST_F(pipeline_misuse, more_tokens_than_memory) {
    pilfer::pool pool(workers(2));
    const auto source = []() -> std::optional<int> { return std::nullopt; };
    std::vector<std::size_t> numbers{SIZE_MAX, SIZE_MAX / 2};
    if (!sanitized) { // a sanitizer ends the program at a request that its malloc cannot grant
        numbers.push_back(SIZE_MAX / 1024);
    }
    for (const std::size_t tokens : numbers) {
        EXPECT_THROW(pilfer::pipeline(pool, tokens, pilfer::serial_in_order(source),
                                      pilfer::serial_in_order([](int) {})),
                     std::bad_alloc);
    }
}

TEST_F(pipeline_misuse, a_closed_pool) {
    pilfer::pool pool(workers(2));
    pool.shutdown();
    EXPECT_THROW(pilfer::pipeline(pool, 1, pilfer::serial_in_order([]() -> std::optional<int> { return {}; }),
                                  pilfer::parallel_stage([](int) {})),
                 pilfer::pool_closed);
}

TEST_F(pipeline_misuse, items_cost_no_allocation) {
    if (!counts_allocations) {
        GTEST_SKIP() << "a sanitizer has its own malloc";
    }
    pilfer::pool pool(workers(1));
    const auto calls_for = [&pool](int n) {
        int given = 0;
        const std::uint64_t before = allocations();
        pilfer::pipeline(pool, 8, pilfer::serial_in_order([&]() -> std::optional<int> {
                             return given == n ? std::nullopt : std::optional<int>(given++);
                         }),
                         pilfer::parallel_stage([](int i) { return i; }),
                         pilfer::serial_out_of_order([](int i) { return i; }),
                         pilfer::serial_in_order([](int) {}));
        return allocations() - before;
    };
    (void)calls_for(10);
    const std::uint64_t few = calls_for(10);
    EXPECT_EQ(calls_for(10'000), few);
    EXPECT_LE(few, 10U);
}

PILFER_OVER_WORKERS(pipeline_values);

} // namespace
