// Mutexes, shared mutexes and condition variables between tasks, between threads, and mixed.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <pilfer/pilfer.hpp>
#include <thread>
#include <vector>

#include "support/harness.hpp"
#include "support/process.hpp"

namespace {

using namespace std::chrono_literals;
using support::workers;

/// Runs body(i) for i in [0, tasks) as tasks of a pool, and for i in [tasks, tasks + threads) on threads, all
/// at once.
template <class Body>
void all_at_once(pilfer::pool& pool, unsigned tasks, unsigned threads, Body body) {
    std::vector<pilfer::future<void>> asyncs;
    std::vector<std::thread> others;
    for (unsigned i = 0; i < threads; ++i) {
        others.emplace_back([&body, i, tasks] { body(tasks + i); });
    }
    for (unsigned i = 0; i < tasks; ++i) {
        asyncs.push_back(pool.async([&body, i] { body(i); }));
    }
    for (auto& f : asyncs) {
        f.get();
    }
    for (auto& t : others) {
        t.join();
    }
}

/// The calling task makes way for others.
void let_others_run() { pilfer::sleep_for(1ns); }

class row_C3_mutex : public support::over_workers {};
class row_C3_condition : public support::over_workers {};

TEST_P(row_C3_mutex, excludes_tasks_and_threads_from_each_other) {
    pilfer::pool pool(with_workers());
    pilfer::mutex m;
    std::uint64_t plain = 0;
    const auto rounds = support::hundredth_of(100'000);
    all_at_once(pool, 6, 2, [&](unsigned) {
        for (std::uint64_t i = 0; i < rounds; ++i) {
            const std::lock_guard hold(m);
            ++plain;
        }
    });
    EXPECT_EQ(plain, 8 * rounds);
}

TEST_P(row_C3_mutex, may_be_held_across_a_wait) {
    pilfer::pool pool(with_workers());
    pilfer::mutex m;
    std::uint64_t plain = 0;
    std::atomic<int> inside{0};
    all_at_once(pool, 16, 1, [&](unsigned) {
        for (int i = 0; i < 20; ++i) {
            const std::unique_lock hold(m);
            EXPECT_EQ(inside.fetch_add(1), 0);
            const auto before = plain;
            let_others_run();
            plain = before + 1;
            inside.fetch_sub(1);
        }
    });
    EXPECT_EQ(plain, 17U * 20U);
}

INSTANTIATE_TEST_SUITE_P(workers, row_C3_mutex, ::testing::Values(1U, 2U, 3U, 8U, 64U),
                         ::testing::PrintToStringParamName());

TEST_P(row_C3_condition, predicate_between_tasks_and_threads) {
    pilfer::pool pool(with_workers());
    pilfer::mutex m;
    pilfer::condition_variable changed;
    unsigned turn = 0;
    constexpr unsigned all = 5;
    std::vector<unsigned> order;
    all_at_once(pool, 3, 2, [&](unsigned self) {
        for (unsigned round = 0; round < 20; ++round) {
            std::unique_lock hold(m);
            changed.wait(hold, [&] { return turn % all == self; });
            order.push_back(self);
            ++turn;
            changed.notify_all();
        }
    });
    ASSERT_EQ(order.size(), 100U);
    for (unsigned i = 0; i < 100; ++i) {
        EXPECT_EQ(order[i], i % all);
    }
}

INSTANTIATE_TEST_SUITE_P(workers, row_C3_condition, ::testing::Values(1U, 2U, 3U, 8U, 64U),
                         ::testing::PrintToStringParamName());

} // namespace
