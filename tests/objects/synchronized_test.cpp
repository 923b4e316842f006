// synchronized, and what synchronized and monitor share: one inside at a time, errors, time limits, nested
// calls.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>

#include "sync/support.hpp"

namespace {

using namespace sync_tests;
using support::workers;

class synchronized_object : public over_workers {};
class concurrent_objects : public support::guarded {};
PILFER_OVER_WORKERS(synchronized_object);

TEST_P(synchronized_object, one_at_a_time) {
    pilfer::pool pool(with_workers());
    pilfer::synchronized<std::pair<unsigned, unsigned>> two(0U, 0U);
    all_at_once(pool, 8, 2, [&](unsigned self) {
        for (unsigned i = 0; i < 200; ++i) {
            two.call([&](auto& t) {
                ++t.first;
                if (i % 50 == self) {
                    let_others_run(); // the lock stays held
                }
                ++t.second;
                EXPECT_EQ(t.first, t.second);
            });
        }
    });
    EXPECT_EQ(two.read([](const auto& t) { return t.second; }), 2000U);
}

TEST_P(synchronized_object, readers_run_at_the_same_time_without_a_writer) {
    pilfer::pool pool(with_workers());
    pilfer::synchronized<std::pair<unsigned, unsigned>, pilfer::shared_mutex> two(0U, 0U);
    pilfer::latch all_inside(4);
    all_at_once(pool, 3, 1, [&](unsigned) {
        two.read([&](const auto&) { all_inside.arrive_and_wait(); }); // each waits for the others inside
    });
    all_at_once(pool, 6, 2, [&](unsigned self) {
        for (unsigned i = 0; i < 100; ++i) {
            if ((self + i) % 4 == 0) {
                two.call([](auto& t) {
                    ++t.first;
                    ++t.second;
                });
            } else {
                EXPECT_TRUE(two.read([](const auto& t) { return t.first == t.second; }));
            }
        }
    });
    EXPECT_EQ(two.read([](const auto& t) { return t.first; }), 200U);
}

// Transfers between accounts in both directions. Each takes both locks in one order, so no cycle of waiters
// arises.
TEST_P(synchronized_object, bank_accounts) {
    pilfer::pool pool(with_workers());
    std::deque<pilfer::synchronized<long>> accounts;
    for (int i = 0; i < 6; ++i) {
        accounts.emplace_back(100);
    }
    all_at_once(pool, 8, 2, [&](unsigned self) {
        std::minstd_rand random(self + 1);
        for (unsigned i = 0; i < 150; ++i) {
            auto& from = accounts[random() % 6];
            auto& to = accounts[random() % 6];
            if (&from == &to) {
                EXPECT_THROW(pilfer::call_all([](long&, long&) {}, from, to), pilfer::usage_error);
                continue;
            }
            const bool done = pilfer::call_all(
                [&](long& a, long& b) {
                    const long some = static_cast<long>(random() % 50);
                    if (a < some) {
                        return false;
                    }
                    a -= some;
                    b += some;
                    return true;
                },
                from, to);
            (void)done;
            const auto sum = [](auto&... each) { return (each + ...); };
            EXPECT_EQ(pilfer::call_all(sum, accounts[5], accounts[1], accounts[0], accounts[4], accounts[2],
                                       accounts[3]),
                      600);
        }
    });
    for (auto& a : accounts) {
        EXPECT_GE(a.read([](long v) { return v; }), 0);
    }
}

TEST_F(concurrent_objects, results_errors_and_tries) {
    pilfer::synchronized<std::unique_ptr<int>> l(std::make_unique<int>(7));
    EXPECT_EQ(*l.call([](auto& p) { return std::move(p); }), 7);
    EXPECT_TRUE(l.read([](const auto& p) { return p == nullptr; }));
    EXPECT_THROW(l.call([](auto& p) {
        p = std::make_unique<int>(8);
        throw std::out_of_range("x");
    }),
                 std::out_of_range);
    EXPECT_EQ(l.try_call([](auto& p) { return *p; }), std::optional(8)) << "left as it was, and unlocked";
    EXPECT_TRUE(l.try_call([](auto& p) { p.reset(); }).has_value());
    l.call([&](auto&) {
        std::thread([&] {
            EXPECT_FALSE(l.try_call([](auto&) { return 1; }).has_value());
            EXPECT_FALSE(l.try_call_for(1ms, [](auto&) {}).has_value());
            EXPECT_FALSE(l.try_call_until(std::chrono::steady_clock::now() - 1s, [](auto&) {}).has_value());
        }).join();
    });
    EXPECT_TRUE(l.try_call_for(for_ever, [](auto&) {}).has_value());

    pilfer::monitor<int> q(1);
    const auto one = [](int v) { return v == 1; };
    const auto two = [](int v) { return v == 2; };
    EXPECT_EQ(q.call([](int& v) { return v; }), 1);
    EXPECT_EQ(q.read([](const int& v) { return v; }), 1);
    EXPECT_EQ(q.call_when(one, [](int& v) { return std::to_string(v); }), "1");
    EXPECT_EQ(q.try_call_when(one, [](int& v) { return v; }), std::optional(1));
    EXPECT_FALSE(q.try_call_when(two, [](int& v) { return v; }).has_value());
    EXPECT_FALSE(q.try_call_when_for(1ms, two, [](int&) { ADD_FAILURE(); }).has_value());
    EXPECT_FALSE(q.try_call_when_until(std::chrono::steady_clock::now(), two, [](int&) {}).has_value());
    EXPECT_TRUE(q.try_call_when_for(for_ever, one, [](int& v) { v = 2; }).has_value());
    const auto throws = [](int) -> bool { throw std::out_of_range("condition"); };
    EXPECT_THROW(q.call_when(throws, [](int&) {}), std::out_of_range);
    EXPECT_THROW((void)q.try_call_when(throws, [](int&) {}), std::out_of_range);
    EXPECT_THROW(q.call_when(two, [](int&) { throw 5; }), int);
    EXPECT_EQ(q.try_call_when(two, [](int& v) { return v; }), std::optional(2)) << "free again";
}

// Longer than std::chrono::nanoseconds can represent, shorter than the limit that means for ever.
TEST_F(concurrent_objects, time_limits_of_centuries) {
    constexpr auto centuries = std::chrono::hours(24 * 365) * 300;
    pilfer::pool pool(workers(2));
    const auto waits_for = [&](auto& object, auto call) {
        pilfer::future<bool> other;
        object.call([&](int&) {
            other = pool.async(call);
            EXPECT_TRUE(support::eventually([&] {
                const auto c = pool.counters();
                return other.ready() || c.suspends - c.resumes >= 1;
            }));
            EXPECT_FALSE(other.ready()) << "gave up at once";
        });
        EXPECT_TRUE(other.get());
    };
    pilfer::synchronized<int> l(0);
    waits_for(l, [&] { return l.try_call_for(centuries, [](int&) {}).has_value(); });
    pilfer::synchronized<int, pilfer::shared_mutex> s(0);
    waits_for(s, [&] { return s.try_call_for(centuries, [](int&) {}).has_value(); });
    pilfer::monitor<int> q(0);
    const auto always = [](int) { return true; };
    waits_for(q, [&] { return q.try_call_when_for(centuries, always, [](int&) {}).has_value(); });
}

TEST_F(concurrent_objects, nested_calls) {
    const auto misuse = [] {
        pilfer::synchronized<int, pilfer::shared_mutex> l(0);
        pilfer::synchronized<int, pilfer::shared_mutex> other(0);
        l.call([&](int&) {
            EXPECT_THROW(l.call([](int&) {}), pilfer::usage_error);
            EXPECT_THROW(l.read([](int) {}), pilfer::usage_error);
            EXPECT_THROW((void)l.try_call([](int&) {}), pilfer::usage_error);
            EXPECT_THROW((void)l.try_call_for(1s, [](int&) {}), pilfer::usage_error);
            EXPECT_THROW(pilfer::call_all([](int&, int&) {}, other, l), pilfer::usage_error);
            EXPECT_EQ(other.call([](int& v) { return ++v; }), 1) << "left again";
        });
        EXPECT_TRUE(l.try_call([](int&) {}).has_value());
        l.read([&](int) {
            EXPECT_THROW((void)l.try_call([](int&) {}), pilfer::usage_error);
            EXPECT_THROW((void)l.try_call_for(1s, [](int&) {}), pilfer::usage_error);
            EXPECT_THROW(l.call([](int&) {}), pilfer::usage_error);
            EXPECT_THROW(l.read([](int) {}), pilfer::usage_error);
            EXPECT_THROW(pilfer::call_all([](int&, int&) {}, other, l), pilfer::usage_error);
            EXPECT_EQ(other.read([](int v) { return v; }), 1);
        });
        EXPECT_TRUE(l.try_call([](int&) {}).has_value());
        pilfer::monitor<int> q(0);
        const auto always = [](int) { return true; };
        q.call([&](int&) {
            EXPECT_THROW(q.call([](int&) {}), pilfer::usage_error);
            EXPECT_THROW(q.read([](int) {}), pilfer::usage_error);
            EXPECT_THROW(q.call_when(always, [](int&) {}), pilfer::usage_error);
            EXPECT_THROW((void)q.try_call_when(always, [](int&) {}), pilfer::usage_error);
            EXPECT_THROW((void)q.try_call_when_for(1s, always, [](int&) {}), pilfer::usage_error);
        });
        const auto calls = [&](int) { return q.read([](int v) { return v == 0; }); };
        EXPECT_THROW(q.call_when(calls, [](int&) {}), pilfer::usage_error);
        EXPECT_TRUE(q.try_call_when(always, [](int&) {}).has_value());
    };
    misuse();
    pilfer::pool pool(workers(2));
    pool.run(misuse);
    // Served on another one's stack, it is still inside.
    pilfer::monitor<int> q(0);
    auto served = pool.async([&] {
        q.call_when([](int v) { return v == 1; },
                    [&](int& v) {
                        EXPECT_THROW(q.call([](int&) {}), pilfer::usage_error);
                        v = 2;
                    });
    });
    until_suspended(pool, 1);
    pool.run([&] { q.call([](int& v) { v = 1; }); });
    served.get();
    EXPECT_EQ(q.read([](int v) { return v; }), 2);
}

} // namespace
