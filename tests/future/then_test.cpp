// then, continue_with, when_all, when_any.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "support/allocations.hpp"
#include "support/harness.hpp"
#include "support/process.hpp"

namespace {

using namespace support;
using namespace std::chrono_literals;

// ---- then -------------------------------------------------------------------------------------

class future_continuations : public over_workers {};

TEST_P(future_continuations, pass_on_values_references_void_and_exceptions) {
    pilfer::pool pool(with_workers());
    int object = 1;
    const auto text = pool.async([] { return 20; })
                          .then([](const int& i) { return std::to_string(i); })
                          .then([](const std::string& s) { return s + "1"; });
    EXPECT_EQ(text.get(), "201");
    const auto refers = pool.async([&]() -> int& { return object; }).then([](int& i) -> int& { return ++i; });
    EXPECT_EQ(&refers.get(), &object);
    EXPECT_EQ(object, 2);
    pool.async([] {}).then([&] { object = 3; }).get();
    EXPECT_EQ(object, 3);

    std::atomic<int> called{0};
    const auto failed =
        pool.async([]() -> int { throw std::out_of_range("no"); }).then([&](int) { ++called; }).then([&] {
            ++called;
            return 1;
        });
    EXPECT_THROW((void)failed.get(), std::out_of_range);
    EXPECT_EQ(called, 0) << "an exception skips them";
    const auto handled = failed.continue_with([](const pilfer::future<int>& f) {
        try {
            return f.get();
        } catch (const std::out_of_range&) {
            return -1;
        }
    });
    EXPECT_EQ(handled.get(), -1);
    EXPECT_THROW(handled.then([](int) { throw std::length_error("own"); }).get(), std::length_error);
    const auto moved = pool.async([] { return std::make_unique<int>(6); })
                           .continue_with([](pilfer::future<std::unique_ptr<int>> f) { return *f.take(); });
    EXPECT_EQ(moved.get(), 6);
}

TEST_P(future_continuations, many_are_attached_while_the_task_ends) {
    pilfer::pool pool(with_workers());
    for (std::uint64_t round = hundredth_of(3'000); round > 0; --round) {
        pilfer::promise<int> p;
        const auto f = p.get_future();
        std::atomic<bool> start{false};
        std::thread setter([&] {
            while (!start) {
            }
            p.set_value(1);
        });
        std::vector<pilfer::future<int>> all;
        for (int i = 0; i < 20; ++i) {
            all.push_back(f.then(pool, [i](int one) { return one + i; }));
            start = i >= 5;
        }
        for (int i = 0; i < 20; ++i) {
            ASSERT_EQ(all[static_cast<std::size_t>(i)].get(), i + 1);
        }
        setter.join();
    }
}

TEST_P(future_continuations, a_long_chain_needs_no_stack) {
    const int length = sanitized ? 10'000 : 100'000;
    pilfer::promise<int> p;
    pilfer::future<int> end = p.get_future();
    {
        pilfer::pool pool(with_workers());
        for (int i = 0; i < length; ++i) {
            end = end.then(pool, [](int n) { return n + 1; });
        }
        pool.run([&] { p.set_value(0); });
        EXPECT_EQ(end.get(), length);
    }
    end = {};
    // No worker runs these any more: they are refused, one after the other.
    pilfer::promise<int> q;
    end = q.get_future();
    {
        pilfer::pool pool(with_workers());
        for (int i = 0; i < length; ++i) {
            end = end.then(pool, [](int n) { return n + 1; });
        }
    }
    EXPECT_FALSE(end.ready());
    q.set_value(0);
    EXPECT_THROW((void)end.get(), pilfer::pool_closed);
}

TEST_P(future_continuations, a_drain_runs_continuations_of_its_tasks) {
    std::atomic<int> ran{0};
    pilfer::promise<void> never;
    pilfer::future<void> refused;
    {
        pilfer::pool pool(with_workers());
        for (int i = 0; i < 100; ++i) {
            auto f = pool.async([&ran] { ++ran; });
            for (int k = 0; k < 3; ++k) {
                f = f.then([&ran] { ++ran; });
            }
        }
        refused = never.get_future().then(pool, [&ran] { ++ran; });
    }
    EXPECT_EQ(ran, 400);
    EXPECT_FALSE(refused.ready()) << "nobody waits for a promise";
    never.set_value();
    EXPECT_THROW(refused.get(), pilfer::pool_closed);
}

TEST_P(future_continuations, continuations_of_a_destroyed_pool) {
    pilfer::future<int> f;
    {
        pilfer::pool pool(with_workers());
        f = pool.async([] { return 1; });
        pool.shutdown();
        EXPECT_THROW((void)f.then([](int i) { return i; }).get(), pilfer::pool_closed);
    }
    EXPECT_THROW((void)f.then([](int i) { return i; }).get(), pilfer::pool_closed);
    pilfer::pool other(workers(1));
    EXPECT_EQ(f.then(other, [](int i) { return i + 1; }).get(), 2);
}

TEST_P(future_continuations, continuations_of_dropped_tasks) {
    auto watched = std::make_shared<int>(1);
    pilfer::future<int> g;
    std::atomic<bool> go_on{false};
    {
        pilfer::pool pool(with_workers());
        for (unsigned i = 0; i < pool.workers(); ++i) {
            (void)pool.async([&] {
                while (!go_on) {
                    std::this_thread::yield();
                }
            });
        }
        g = pool.async([watched] { return *watched; }).then([watched](int i) { return i + *watched; });
        std::thread ender([&] { pool.shutdown(pilfer::shutdown_mode::drop); });
        EXPECT_TRUE(eventually(
            [&] {
                try {
                    (void)pool.async([] {});
                    return false;
                } catch (const pilfer::pool_closed&) {
                    return true;
                }
            },
            60s));
        go_on = true;
        ender.join();
    }
    EXPECT_THROW((void)g.get(), pilfer::broken_promise);
    EXPECT_EQ(watched.use_count(), 1);
}

TEST_P(future_continuations, a_function_that_cannot_be_stored_is_the_callers_error) {
    struct thrower {
        thrower() = default;
        thrower(const thrower&) { throw std::length_error("copied"); }
        thrower& operator=(const thrower&) = delete;
        int operator()(int i) const { return i; }
    };
    pilfer::pool pool(with_workers());
    pilfer::promise<int> p;
    const auto f = p.get_future();
    const thrower t;
    EXPECT_THROW((void)f.then(pool, t), std::length_error);
    EXPECT_THROW((void)pilfer::future<int>().then([](int) {}), pilfer::usage_error);
    p.set_value(1);
    EXPECT_EQ(f.get(), 1);
}

PILFER_OVER_WORKERS(future_continuations);

// ---- when_all, when_any -----------------------------------------------------------------------

class when_all_and_any : public over_workers {};

TEST_P(when_all_and_any, all_of_them_with_values_and_exceptions) {
    pilfer::pool pool(with_workers());
    const auto all = pilfer::when_all(pool.async([] { return 1; }), pool.async([] {}),
                                      pool.async([]() -> int { throw std::out_of_range("no"); }));
    auto [one, nothing, failed] = all.get();
    EXPECT_EQ(one.get(), 1);
    nothing.get();
    EXPECT_THROW((void)failed.get(), std::out_of_range);

    std::vector<pilfer::future<int>> many;
    for (int i = 0; i < 300; ++i) {
        many.push_back(pool.async([i] { return i; }));
    }
    const auto sum = pilfer::when_all(many).then(pool, [](const std::vector<pilfer::future<int>>& v) {
        int n = 0;
        for (const auto& f : v) {
            n += f.ready() ? f.get() : -1'000'000;
        }
        return n;
    });
    EXPECT_EQ(sum.get(), 299 * 300 / 2);
    EXPECT_EQ(pilfer::when_all(many.begin(), many.begin() + 5).get().size(), 5U);
    EXPECT_TRUE(pilfer::when_all(std::vector<pilfer::future<int>>()).ready());
    EXPECT_TRUE(pilfer::when_all().ready());
    EXPECT_THROW((void)pilfer::when_all(one, pilfer::future<int>()), pilfer::usage_error);
}

TEST_P(when_all_and_any, all_needs_the_last_one) {
    pilfer::pool pool(with_workers());
    pilfer::promise<int> p;
    auto f = pool.async([] { return 1; });
    const auto all = pilfer::when_all(f, p.get_future());
    auto seen = pool.async([all] { return std::get<1>(all.get()).get(); });
    f.get();
    EXPECT_FALSE(all.ready());
    p.set_value(2);
    EXPECT_EQ(seen.get(), 2);
}

TEST_P(when_all_and_any, any_of_a_thousand) {
    pilfer::pool pool(with_workers());
    std::vector<pilfer::promise<int>> promises(1'000);
    std::vector<pilfer::future<int>> futures;
    for (auto& p : promises) {
        futures.push_back(p.get_future());
    }
    const auto any = pilfer::when_any(futures);
    auto seen = pool.async([any] { return any.get().index; });
    EXPECT_FALSE(any.ready());
    promises[617].set_value(5);
    EXPECT_EQ(seen.get(), 617U);
    EXPECT_EQ(any.get().futures[617].get(), 5);
    EXPECT_EQ(any.get().futures.size(), 1'000U);
    // All at once: one is named, and it is ready.
    auto racing = pilfer::when_any(futures.begin(), futures.begin() + 600);
    pool.run([&] {
        pilfer::for_each(std::size_t{0}, std::size_t{600},
                         [&](std::size_t i) { promises[i].set_value(static_cast<int>(i)); });
    });
    const auto first = racing.take();
    EXPECT_EQ(first.futures.at(first.index).get(), static_cast<int>(first.index));

    EXPECT_EQ(pilfer::when_any(std::vector<pilfer::future<int>>()).get().index, static_cast<std::size_t>(-1));
    auto pair = pilfer::when_any(pilfer::promise<void>().get_future(), futures[999]);
    EXPECT_EQ(pair.get().index, 0U);
    EXPECT_THROW(std::get<0>(pair.get().futures).get(), pilfer::broken_promise);
}

TEST_P(when_all_and_any, unreferenced_futures_are_freed) {
    pilfer::pool pool(with_workers());
    auto watched = std::make_shared<int>(1);
    for (int i = 0; i < 50; ++i) {
        pilfer::promise<std::shared_ptr<int>> p;
        auto f = pool.async([watched] { return watched; });
        (void)pilfer::when_any(p.get_future(), f);
        (void)pilfer::when_all(p.get_future(), f).then(pool, [watched](const auto&) {});
        if (i % 2 == 0) {
            p.set_value(watched);
        }
    }
    pool.shutdown();
    EXPECT_EQ(watched.use_count(), 1);
}

PILFER_OVER_WORKERS(when_all_and_any);

} // namespace
