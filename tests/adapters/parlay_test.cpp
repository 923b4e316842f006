// The four functions that parlaylib asks of a scheduler. parlaylib itself need not be there.
#include <atomic>
#include <cstddef>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include <pilfer/adapters/parlay.hpp>

#include "support/harness.hpp"

namespace {

using namespace support;

class parlay_adapter : public guarded {};

TEST_F(parlay_adapter, loops_call_each_index_once) {
    for (const std::size_t n : {0u, 1u, 2u, 1000u, 100'000u}) {
        for (const long granularity : {0L, 1L, 100L, 1'000'000L, -1L}) {
            std::vector<std::atomic<int>> calls(n + 1);
            parlay::parallel_for(
                1, n + 1, [&](std::size_t i) { ++calls[i]; }, granularity);
            for (std::size_t i = 0; i <= n; ++i) {
                ASSERT_EQ(calls[i], i == 0 ? 0 : 1);
            }
        }
    }
    parlay::parallel_for(7, 3, [](std::size_t) { FAIL() << "a reversed loop"; });
}

TEST_F(parlay_adapter, a_small_loop_is_serial_and_in_order) {
    std::vector<std::size_t> seen; // no lock: one thread
    const auto here = std::this_thread::get_id();
    parlay::parallel_for(
        0, 50,
        [&](std::size_t i) {
            seen.push_back(i);
            EXPECT_EQ(std::this_thread::get_id(), here);
        },
        50);
    ASSERT_EQ(seen.size(), 50u);
    for (std::size_t i = 0; i < 50; ++i) {
        EXPECT_EQ(seen[i], i);
    }
}

TEST_F(parlay_adapter, functions_need_not_be_copied) {
    struct once {
        std::unique_ptr<int> only = std::make_unique<int>(0);
        void operator()() && { ++*only; }
    };
    int results[2] = {};
    parlay::par_do([&] { results[0] = 1; }, [&] { results[1] = 2; });
    EXPECT_EQ(results[0] + results[1], 3);
    parlay::par_do(once{}, once{});
    std::atomic<int> sum{0};
    parlay::parallel_for(0, 10, [&, only = std::make_unique<int>(1)](std::size_t) { sum += *only; });
    EXPECT_EQ(sum, 10);
}

TEST_F(parlay_adapter, the_number_of_a_worker_belongs_to_one_body_at_a_time) {
    EXPECT_EQ(parlay::worker_id(), 0u);
    std::vector<std::atomic<int>> inside(parlay::num_workers());
    parlay::parallel_for(0, 20, [&](std::size_t) {
        parlay::parallel_for(0, 20, [&](std::size_t) {
            const std::size_t me = parlay::worker_id();
            ASSERT_LT(me, parlay::num_workers());
            EXPECT_EQ(inside[me]++, 0);
            std::this_thread::sleep_for(std::chrono::microseconds(20));
            EXPECT_EQ(parlay::worker_id(), me);
            --inside[me];
        });
    });
}

TEST_F(parlay_adapter, a_worker_of_another_pool_goes_to_the_common_one) {
    pilfer::pool other({.workers = 3});
    other.run([&] {
        EXPECT_EQ(parlay::worker_id(), 0u);
        std::atomic<int> elsewhere{0};
        parlay::parallel_for(0, 100, [&](std::size_t) {
            elsewhere += pilfer::detail::this_worker()->pool == &pilfer::pool::common().core();
        });
        EXPECT_EQ(elsewhere, 100);
        parlay::par_do([&] { ++elsewhere; }, [&] { ++elsewhere; });
        EXPECT_EQ(elsewhere, 102);
    });
}

TEST_F(parlay_adapter, exceptions_arrive) {
    const auto fail = [](std::size_t i) {
        if (i == 77) {
            throw std::runtime_error("77");
        }
    };
    EXPECT_THROW(parlay::parallel_for(0, 1000, fail), std::runtime_error);
    EXPECT_THROW(parlay::parallel_for(0, 1000, fail, 1000), std::runtime_error);
    EXPECT_THROW(parlay::par_do([&] { fail(77); }, [] {}), std::runtime_error);
    EXPECT_THROW(parlay::par_do([] {}, [&] { fail(77); }), std::runtime_error);
}

} // namespace
