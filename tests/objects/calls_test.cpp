// Objects with calls: one inside at a time, the oldest call that can go is next, each is served once. An
// exception or a time limit loses no call.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <stdexcept>
#include <stop_token>
#include <string>

#include "sync/support.hpp"

namespace {

using namespace sync_tests;
using support::workers;

/// Counts calls that have asked their conditions for the first time, inside: the next call inside finds them
/// waiting. (A suspended caller may be waiting for the lock.)
class entered {
public:
    /// The condition, counted.
    template <class C>
    auto operator()(C ready) {
        return [this, ready, first = true](const auto& x) mutable {
            m_calls += std::exchange(first, false) ? 1 : 0;
            return ready(x);
        };
    }
    [[nodiscard]] bool are(unsigned calls) const { return m_calls >= calls; }
    void until(unsigned calls) const {
        ASSERT_TRUE(support::eventually([&] { return are(calls); }));
    }

private:
    std::atomic<unsigned> m_calls{0};
};

class synchronized_object : public over_workers {};
class monitor_calls : public over_workers {};
class drinking_philosophers : public over_workers {};
class waits_on_top_of_a_frame : public over_workers {};
class concurrent_objects : public support::guarded {};
PILFER_OVER_WORKERS(synchronized_object);
PILFER_OVER_WORKERS(monitor_calls);
PILFER_OVER_WORKERS(waits_on_top_of_a_frame);
INSTANTIATE_TEST_SUITE_P(workers, drinking_philosophers, ::testing::Values(2U, 3U, 8U, 64U),
                         ::testing::PrintToStringParamName());

// ---- locked -------------------------------------------------------------------------------------

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

// ---- queued -------------------------------------------------------------------------------------

TEST_P(monitor_calls, bounded_buffer) {
    for (const std::size_t room : {1U, 3U}) {
        pilfer::pool pool(with_workers());
        struct buffer {
            std::deque<std::pair<unsigned, unsigned>> values;
            unsigned producers = 5;
        };
        pilfer::monitor<buffer> b;
        std::atomic<unsigned> received{0};
        constexpr unsigned values = 60;
        // 0..3 and 8 put, 4..7 and 9 get: tasks and a thread of each.
        all_at_once(pool, 8, 2, [&](unsigned self) {
            if (self < 4 || self == 8) {
                for (unsigned i = 0; i < values; ++i) {
                    b.call_when([room](const buffer& x) { return x.values.size() < room; },
                                [&](buffer& x) { x.values.emplace_back(std::min(self, 4U), i); });
                }
                b.call([](buffer& x) { --x.producers; });
                return;
            }
            int latest[5] = {-1, -1, -1, -1, -1};
            for (;;) {
                const auto got =
                    b.call_when([](const buffer& x) { return !x.values.empty() || x.producers == 0; },
                                [room](buffer& x) -> std::optional<std::pair<unsigned, unsigned>> {
                                    EXPECT_LE(x.values.size(), room);
                                    if (x.values.empty()) {
                                        return std::nullopt;
                                    }
                                    const auto v = x.values.front();
                                    x.values.pop_front();
                                    return v;
                                });
                if (!got) {
                    return;
                }
                EXPECT_GT(static_cast<int>(got->second), latest[got->first]) << "out of order";
                latest[got->first] = static_cast<int>(got->second);
                ++received;
            }
        });
        EXPECT_EQ(received, 5 * values);
    }
}

// A box for one value that goes to and fro.
TEST_P(monitor_calls, box_of_one_value) {
    pilfer::pool pool(with_workers());
    pilfer::monitor<std::optional<int>> box;
    const auto full = [](const auto& x) { return x.has_value(); };
    const auto empty = [](const auto& x) { return !x.has_value(); };
    constexpr int rounds = 300;
    for (unsigned tasks : {1U, 2U}) { // the putter is a thread, then a task
        all_at_once(pool, tasks, 2 - tasks, [&](unsigned self) {
            for (int i = 0; i < rounds; ++i) {
                if (self == 1) {
                    box.call_when(empty, [i](auto& x) { x = i; });
                } else {
                    EXPECT_EQ(box.call_when(full, [](auto& x) { return *std::exchange(x, std::nullopt); }),
                              i);
                }
            }
        });
    }
    EXPECT_FALSE(box.read(full));
}

// Calls that can go do so in the order of their arrival. They go before later calls, also before the thread
// that makes them possible. Each caller is woken once.
TEST_P(monitor_calls, are_served_in_order_of_arrival) {
    pilfer::pool pool(with_workers());
    struct turns {
        unsigned left = 0;
        std::vector<unsigned> log;
    };
    pilfer::monitor<turns> q;
    constexpr unsigned many = 12;
    for (const bool from_outside : {false, true}) {
        std::vector<pilfer::future<void>> all;
        entered calls;
        const auto before = pool.counters();
        for (unsigned i = 0; i < many; ++i) {
            all.push_back(pool.async([&q, &calls, i] {
                q.call_when(calls([](const turns& t) { return t.left > 0; }), [i](turns& t) {
                    --t.left;
                    t.log.push_back(i);
                });
            }));
            calls.until(i + 1);
        }
        const auto allow = [&](unsigned n) {
            q.call([n](turns& t) { t.left += n; });
            q.read([](const turns& t) { EXPECT_EQ(t.left, 0U) << "somebody came before those who wait"; });
        };
        const auto make_way = [&] {
            allow(1);
            allow(2);
            allow(many - 3);
        };
        if (from_outside) {
            make_way();
        } else {
            pool.run(make_way);
        }
        for (auto& f : all) {
            f.get();
        }
        const auto log = q.call([](turns& t) { return std::exchange(t.log, {}); });
        ASSERT_EQ(log.size(), many);
        EXPECT_TRUE(std::is_sorted(log.begin(), log.end()));
        if (GetParam() == 1 && !from_outside) {
            EXPECT_EQ(pool.counters().suspends - before.suspends, many) << "somebody was woken in vain";
        }
    }
}

// Each makes the next one possible, in the reverse of their order: more than one caller serves in a row.
TEST_P(monitor_calls, make_each_other_possible_in_chains) {
    pilfer::pool pool(with_workers());
    struct chain {
        unsigned turn = 0;
        std::vector<unsigned> log;
    };
    pilfer::monitor<chain> q;
    constexpr unsigned many = 150;
    entered calls;
    std::vector<pilfer::future<void>> all;
    for (unsigned i = 0; i < many; ++i) {
        all.push_back(pool.async([&q, &calls, mine = many - i] {
            q.call_when(calls([mine](const chain& c) { return c.turn == mine; }), [mine](chain& c) {
                c.log.push_back(mine);
                ++c.turn;
            });
        }));
    }
    calls.until(many);
    pool.run([&] {
        q.call([](chain& c) { c.turn = 1; });
        q.read([](const chain& c) { EXPECT_EQ(c.turn, many + 1); });
    });
    for (auto& f : all) {
        f.get();
    }
    std::vector<unsigned> expected(many);
    std::iota(expected.begin(), expected.end(), 1U);
    EXPECT_EQ(q.call([](chain& c) { return c.log; }), expected);
}

TEST_P(monitor_calls, exceptions_go_to_their_caller) {
    pilfer::pool pool(with_workers());
    struct state {
        unsigned value = 0;
        unsigned run = 0;
    };
    pilfer::monitor<state> q;
    std::vector<pilfer::future<void>> all;
    std::atomic<unsigned> caught{0};
    constexpr unsigned many = 9;
    const auto caller = [&](unsigned i) {
        const auto ready = [i](const state& s) {
            if (s.value == 1 && i % 3 == 0) {
                throw std::out_of_range("condition");
            }
            return s.value == 1;
        };
        const auto f = [i](state& s) {
            ++s.run;
            if (i % 3 == 1) {
                throw std::length_error("call");
            }
            return i;
        };
        try {
            EXPECT_EQ(q.call_when(ready, f), i);
            EXPECT_EQ(i % 3, 2U);
        } catch (const std::out_of_range&) {
            caught += i % 3 == 0 ? 1 : 100;
        } catch (const std::length_error&) {
            caught += i % 3 == 1 ? 1 : 100;
        }
    };
    for (unsigned i = 0; i < many; ++i) {
        all.push_back(pool.async([&caller, i] { caller(i); }));
    }
    until_suspended(pool, many);
    pool.run([&] {
        // The call that makes it possible throws itself, after the change.
        EXPECT_THROW(q.call([](state& s) {
            s.value = 1;
            throw 1;
        }),
                     int);
    });
    for (auto& f : all) {
        f.get();
    }
    EXPECT_EQ(caught, 6U);
    EXPECT_EQ(q.read([](const state& s) { return s.run; }), 6U);
}

// f runs with the exceptions of its own caller. Exceptions that its server handles or unwinds for do not
// concern it. The server finds its own again, on any thread that f has taken it to.
TEST_P(monitor_calls, a_served_call_sees_the_exceptions_of_its_caller) {
    pilfer::pool pool(with_workers());
    const auto ready = [](int v) { return v == 1; };
    for (const bool server_unwinds : {false, true}) {
        for (const bool caller_handles : {false, true}) {
            pilfer::monitor<int> q(0);
            entered calls;
            const auto f = [&](int& v) {
                const bool handles = std::current_exception() != nullptr;
                EXPECT_EQ(handles, caller_handles);
                EXPECT_EQ(std::uncaught_exceptions(), 0);
                let_others_run();
                if (handles) {
                    EXPECT_THROW(throw, std::length_error);
                } else {
                    pilfer::event go;
                    pilfer::scope s;
                    s.spawn([&] { EXPECT_TRUE(go.wait_for(60s)) << "a plain call"; });
                    go.set();
                    s.sync();
                }
                v = 2;
            };
            auto caller = pool.async([&] {
                if (!caller_handles) {
                    q.call_when(calls(ready), f);
                    return;
                }
                try {
                    throw std::length_error("of the caller");
                } catch (...) {
                    q.call_when(calls(ready), f);
                    EXPECT_THROW(throw, std::length_error);
                }
            });
            calls.until(1);
            pool.run([&] {
                try {
                    if (server_unwinds) {
                        q.call([](int& v) {
                            v = 1;
                            throw std::out_of_range("of the server");
                        });
                    }
                    throw std::out_of_range("of the server");
                } catch (...) {
                    if (!server_unwinds) {
                        q.call([](int& v) { v = 1; });
                    }
                    EXPECT_EQ(std::uncaught_exceptions(), 0);
                    EXPECT_THROW(throw, std::out_of_range);
                }
                EXPECT_EQ(std::current_exception(), nullptr);
            });
            caller.get();
            EXPECT_EQ(q.read([](int v) { return v; }), 2);
        }
    }
}

// The cancelled scope is the caller's. A call that is inside, served or not, ends first. Its caller leaves
// after that, and its server, which unwinds, continues.
TEST_P(monitor_calls, a_served_call_ends_before_its_caller_is_stopped) {
    pilfer::pool pool(with_workers());
    pilfer::monitor<int> q(0);
    pilfer::event go_on;
    entered calls;
    std::atomic<pilfer::scope*> own{nullptr};
    std::atomic<bool> runs{false};
    std::atomic<bool> returned{false};
    auto caller = pool.async([&] {
        pilfer::scope s;
        own = &s;
        s.fork([&] {
            const int result = q.call_when(calls([](int v) { return v == 1; }), [&](int&) {
                runs = true;
                go_on.wait();
                EXPECT_FALSE(pilfer::cancelled());
                return 3;
            });
            EXPECT_EQ(result, 3);
            EXPECT_TRUE(pilfer::cancelled());
            returned = true;
            pilfer::sleep_for(60s);
            ADD_FAILURE() << "not stopped";
        });
        s.sync();
    });
    calls.until(1);
    auto server = pool.async([&] {
        EXPECT_THROW(q.call([](int& v) {
            v = 1;
            throw std::out_of_range("of the server");
        }),
                     std::out_of_range);
    });
    ASSERT_TRUE(support::eventually([&] { return runs.load(); }));
    own.load()->cancel();
    go_on.set();
    caller.get();
    server.get();
    EXPECT_TRUE(returned);
}

// A destructor calls while its task, which is stopped, unwinds: served or not, f is part of that, and
// `stopped` must not come out of the call.
TEST_P(monitor_calls, a_destructors_call_is_served_while_its_stopped_caller_unwinds) {
    pilfer::pool pool(with_workers());
    for (std::uint64_t round = 0; round < support::hundredth_of(1'000); ++round) {
        pilfer::monitor<int> q(0);
        entered calls;
        std::atomic<bool> through{false};
        const auto f = [&](int& v) {
            EXPECT_FALSE(pilfer::cancelled()); // inside the lock
            pilfer::sleep_for(std::chrono::microseconds(1));
            pilfer::event once;
            pilfer::scope s;
            s.spawn([] {});
            s.fork([] {});
            s.sync();
            EXPECT_FALSE(once.wait_for(std::chrono::microseconds(1)));
            EXPECT_EQ(pilfer::join([] { return 1; }, [] { return 2; }), std::tuple(1, 2));
            EXPECT_EQ(std::uncaught_exceptions(), 1);
            v = 2;
        };
        struct calls_at_its_end {
            pilfer::monitor<int>& q;
            entered& calls;
            decltype(f)& body;
            std::atomic<bool>& through;
            ~calls_at_its_end() {
                q.call_when(calls([](int v) { return v == 1; }), body);
                through = true;
            }
        };
        auto caller = pool.async([&] {
            pilfer::scope s;
            s.fork([&] {
                const calls_at_its_end guard{q, calls, f, through};
                s.cancel();
                pilfer::sleep_for(60s);
                ADD_FAILURE() << "not stopped";
            });
            s.sync();
        });
        calls.until(1);
        pool.run([&] { q.call([](int& v) { v = 1; }); });
        caller.get();
        EXPECT_TRUE(through);
        EXPECT_EQ(q.read([](int v) { return v; }), 2);
    }
}

TEST_P(monitor_calls, time_limits_race_serving_calls) {
    pilfer::pool pool(with_workers());
    pilfer::monitor<unsigned> tokens(0U);
    std::atomic<unsigned> taken{0};
    std::atomic<unsigned> given{0};
    all_at_once(pool, 8, 2, [&](unsigned self) {
        for (unsigned i = 0; i < 60; ++i) {
            if (self % 2 == 0) {
                tokens.call([](unsigned& t) { ++t; });
                ++given;
                if (i % 8 == 0) {
                    let_others_run();
                }
            } else if (tokens.try_call_when_for(
                           std::chrono::microseconds(i), [](unsigned t) { return t > 0; },
                           [](unsigned& t) { --t; })) {
                ++taken;
            }
        }
    });
    EXPECT_EQ(tokens.read([](unsigned t) { return t; }), given - taken);
}

TEST_P(monitor_calls, may_fork_and_wait) {
    pilfer::pool pool(with_workers());
    pilfer::monitor<std::uint64_t> sum(0U);
    all_at_once(pool, 6, 1, [&](unsigned self) {
        for (unsigned i = 0; i < 5; ++i) {
            pilfer::scope outer;
            outer.spawn([] { (void)support::fib_join(5); });
            sum.call_when([want = 7 * i + self](std::uint64_t s) { return s >> 32 == want; },
                          [](std::uint64_t& s) {
                              let_others_run();
                              s += (1ULL << 32) + support::fib_spawn(10) + support::fib_fork(8);
                          });
            outer.sync();
        }
    });
    EXPECT_EQ(sum.read([](std::uint64_t s) { return s; }),
              (35ULL << 32) + 35 * (support::fib(10) + support::fib(8)));
}

TEST_P(monitor_calls, work_under_every_resume_option) {
    for (const auto where :
         {pilfer::resume::anywhere, pilfer::resume::own_thread, pilfer::resume::elsewhere}) {
        pilfer::options o = with_workers();
        o.resume = where;
        o.debug.count_all = where == pilfer::resume::anywhere; // every pop by the slow path
        pilfer::pool pool(o);
        pilfer::monitor<unsigned> turn(0U);
        pool.run([&] {
            pilfer::scope s;
            for (unsigned i = 40; i-- > 0;) {
                s.spawn([&turn, i] {
                    pilfer::scope own;
                    own.fork([] { (void)support::fib_join(4); });
                    turn.call_when([i](unsigned t) { return t == i; },
                                   [](unsigned& t) {
                                       (void)support::fib_fork(5);
                                       ++t;
                                   });
                    own.sync();
                });
            }
            s.sync();
        });
        EXPECT_EQ(turn.read([](unsigned t) { return t; }), 40U);
    }
}

// The end of the last call is the end of the object: the server of that call may still be on its way out.
TEST_P(monitor_calls, object_ends_with_its_last_call) {
    pilfer::pool pool(with_workers());
    const std::uint64_t rounds = support::hundredth_of(10'000, 10);
    for (std::uint64_t round = 0; round < rounds; ++round) {
        std::optional<pilfer::monitor<int>> left(std::in_place, 3);
        const auto last = [&] { left->call([](int& n) { --n; }); };
        std::thread other(last);
        auto a = pool.async(last);
        auto b = pool.async(last);
        const auto waits = [&] {
            left->call_when([](int n) { return n == 0; }, [](int& n) { EXPECT_EQ(n, 0); });
            left.reset(); // the calls before may still be leaving: sanitizers would see it
        };
        if (round % 2 == 0) {
            pool.run(waits);
        } else {
            waits();
        }
        a.get();
        b.get();
        other.join();
    }
}

TEST_F(concurrent_objects, run_calls_on_the_documented_stack) {
    // A thread runs its own calls, also those that others make possible, and no other calls. The caller that
    // makes a task's call possible runs it, unless tasks of its pool stay on their threads.
    for (const bool own_thread : {false, true}) {
        pilfer::options o = workers(3);
        o.resume = own_thread ? pilfer::resume::own_thread : pilfer::resume::anywhere;
        pilfer::pool pool(o);
        pilfer::monitor<int> q(0);
        entered calls; // one that comes late would run itself, whatever the rule
        std::atomic<bool> begun{false};
        long servers = 0;
        auto server = pool.async([&] {
            begun = true;
            while (!calls.are(3)) { // so the callers are on other threads
                std::this_thread::yield();
            }
            q.call([&](int& v) {
                servers = support::thread_id(); // here: it may have waited for the lock
                v = 1;
            });
        });
        ASSERT_TRUE(support::eventually([&] { return begun.load(); }));
        enum { first_task = 1, thread, second_task };
        const auto caller = [&](int want) {
            const long self = support::thread_id();
            q.call_when(calls([want](int v) { return v == want; }), [&](int& v) {
                if (want == first_task && !own_thread) {
                    EXPECT_EQ(support::thread_id(), servers);
                } else if (want == thread || own_thread) {
                    EXPECT_EQ(support::thread_id(), self);
                }
                ++v;
            });
        };
        std::thread outside(caller, thread);
        auto first = pool.async([&] { caller(first_task); });
        auto second = pool.async([&] { caller(second_task); });
        outside.join();
        first.get();
        second.get();
        server.get();
        EXPECT_EQ(q.read([](int v) { return v; }), 4);
    }
}

// The order that is promised for a monitor call inside a synchronized one: the outer object stays locked.
TEST_P(monitor_calls, inside_a_synchronized_call) {
    pilfer::pool pool(with_workers());
    pilfer::synchronized<int> outer(0);
    pilfer::monitor<int> inner(0);
    auto both = pool.async([&] {
        outer.call([&](int& o) {
            o = 1;
            inner.call_when([](int v) { return v == 1; }, [&](int& v) { v = 2; });
            o = 2;
        });
    });
    until_suspended(pool, 1);
    EXPECT_FALSE(outer.try_call([](int&) {}).has_value()) << "locked while its holder waits";
    EXPECT_EQ(inner.read([](int v) { return v; }), 0) << "and the inner one is free";
    inner.call([](int& v) { v = 1; });
    EXPECT_EQ(outer.call([](int& o) { return o; }), 2);
    both.get();
    EXPECT_EQ(inner.read([](int v) { return v; }), 2);
}

// ---- shared scopes ------------------------------------------------------------------------------

TEST_F(concurrent_objects, a_synchronized_call_that_need_not_wait_shares_no_scope) {
    pilfer::pool pool(workers(2));
    pilfer::synchronized<int> l(0);
    pilfer::monitor<int> q(0);
    pool.run([&] {
        pilfer::scope outer;
        const auto caller = support::thread_id();
        for (int i = 0; i < 100; ++i) {
            l.call([&](int& v) {
                EXPECT_EQ(support::thread_id(), caller);
                ++v;
            });
            q.call_when([i](int v) { return v == i; }, [](int& v) { ++v; });
        }
        EXPECT_FALSE(outer.shared());
    });
    EXPECT_EQ(l.read([](int v) { return v; }), 100);
    EXPECT_EQ(pool.counters().scopes_shared, 0U);
}

// Another worker ends the call, and the frame resumes on its first worker: nothing else is shared.
TEST_F(concurrent_objects, a_monitor_call_shares_its_own_scope_only) {
    for (const bool leaves : {false, true}) {
        pilfer::pool pool(workers(2));
        pilfer::monitor<int> q(0);
        std::atomic<unsigned> step{0};
        const auto until = [&step](unsigned n) {
            while (step < n) {
                std::this_thread::yield();
            }
        };
        auto server = pool.async([&] {
            step = 1;
            until(2);
            q.call([](int& v) { v = 1; });
            if (!leaves) {
                until(3); // so this worker takes no frame
            }
        });
        until(1);
        long began = 0; // threads, from the system, because compilers keep the result of pthread_self()
        long served = 0;
        long ended = 0;
        auto caller = pool.async([&] {
            pilfer::scope outer;
            pilfer::scope inner;
            began = support::thread_id();
            q.call_when([](int v) { return v == 1; },
                        [&](int& v) {
                            served = support::thread_id();
                            v = 2;
                        });
            ended = support::thread_id();
            EXPECT_EQ(outer.shared(), leaves);
            EXPECT_EQ(inner.shared(), leaves);
            step = 3;
        });
        until_suspended(pool, 1);
        pilfer::future<void> busy;
        if (leaves) {
            busy = pool.async([&] {
                step = 2;
                until(3); // on the caller's first worker
            });
        } else {
            step = 2;
        }
        caller.get();
        server.get();
        if (leaves) {
            busy.get();
        }
        EXPECT_NE(began, served);
        EXPECT_EQ(began != ended, leaves);
        EXPECT_EQ(pool.counters().scopes_shared, leaves ? 3U : 1U);
    }
    pilfer::pool alone(workers(1));
    pilfer::monitor<int> q(0);
    auto caller = alone.async([&] {
        pilfer::scope outer;
        q.call_when([](int v) { return v == 1; }, [](int&) {});
        EXPECT_FALSE(outer.shared());
    });
    until_suspended(alone, 1);
    alone.run([&] { q.call([](int& v) { v = 1; }); });
    caller.get();
    EXPECT_EQ(alone.counters().scopes_shared, 0U);
}

// Scopes end out of turn while another worker walks up through them. The order of the two is not fixed, so
// this finds a walk without a lock only now and then (chaos and sanitizers help). mark_scope_cursors and
// mark_below in tests/model find it always.
TEST_P(monitor_calls, a_scope_ends_out_of_turn_while_a_served_call_forks_from_below) {
    pilfer::pool pool(with_workers());
    for (int round = 0; round < 50; ++round) {
        pilfer::monitor<int> q(0);
        std::atomic<bool> go{false};
        std::atomic<int> ran{0};
        pool.run([&] {
            pilfer::scope outer;
            outer.fork([&] {
                while (!go) {
                    std::this_thread::yield();
                }
                q.call([](int& v) { v = 1; }); // serves the call below it, most likely on another worker
            });
            std::optional<pilfer::scope> middle(std::in_place);
            pilfer::scope inner;
            inner.spawn([&] {
                pilfer::scope own;
                q.call_when([](int v) { return v == 1; },
                            [&](int& v) {
                                own.fork([&] { ++ran; });
                                v = 2;
                            });
                own.sync();
                ++ran;
            });
            go = true;
            middle.reset();
            inner.sync();
            outer.sync();
        });
        ASSERT_EQ(ran, 2);
    }
}

TEST_P(monitor_calls, a_frame_that_moved_ends_a_scope_out_of_turn_while_its_child_suspends) {
    pilfer::pool pool(with_workers());
    for (int round = 0; round < 50; ++round) {
        pilfer::monitor<int> q(0);
        pilfer::event over;
        std::atomic<bool> go{false};
        std::atomic<int> ran{0};
        pool.run([&] {
            pilfer::scope outer;
            outer.fork([&] {
                while (!go) {
                    std::this_thread::yield();
                }
                q.call([](int& v) { v = 1; });
            });
            std::optional<pilfer::scope> middle(std::in_place);
            pilfer::scope own;
            own.fork([&] {
                go = true;
                over.wait();
                ++ran;
            });
            q.call_when([](int v) { return v == 1; }, [](int& v) { v = 2; });
            middle.reset();
            over.set();
            own.sync();
            outer.sync();
            ++ran;
        });
        ASSERT_EQ(ran, 2);
    }
}

// ---- drinking philosophers ----------------------------------------------------------------------

// Each needs some of its bottles, now these, now those; a session begins when all of them are free.
TEST_P(drinking_philosophers, share_their_bottles_by_monitor_calls) {
    constexpr unsigned seats = 12;
    pilfer::pool pool(with_workers());
    struct table {
        bool taken[seats][seats] = {};
    };
    pilfer::monitor<table> t;
    std::atomic<unsigned> holders[seats][seats] = {};
    unsigned drunk[seats] = {};
    all_at_once(pool, seats - 1, 1, [&](unsigned self) {
        std::minstd_rand random(self + 1);
        for (unsigned session = 0; session < 25; ++session) {
            std::vector<std::pair<unsigned, unsigned>> bottles;
            for (const unsigned step : {1U, 2U, 5U}) {
                for (const unsigned other : {(self + step) % seats, (self + seats - step) % seats}) {
                    if (random() % 2 == 0) {
                        bottles.emplace_back(std::min(self, other), std::max(self, other));
                    }
                }
            }
            t.call_when(
                [&](const table& x) {
                    return std::none_of(bottles.begin(), bottles.end(),
                                        [&x](const auto& b) { return x.taken[b.first][b.second]; });
                },
                [&](table& x) {
                    for (const auto& [a, b] : bottles) {
                        x.taken[a][b] = true;
                    }
                });
            for (const auto& [a, b] : bottles) {
                EXPECT_EQ(holders[a][b].fetch_add(1), 0U) << "two drink from one bottle";
            }
            if (session % 5 == 0) {
                let_others_run();
            }
            for (const auto& [a, b] : bottles) {
                holders[a][b].fetch_sub(1);
            }
            t.call([&](table& x) {
                for (const auto& [a, b] : bottles) {
                    x.taken[a][b] = false;
                }
            });
            ++drunk[self];
        }
    });
    EXPECT_EQ(std::accumulate(std::begin(drunk), std::end(drunk), 0U), seats * 25);
}

// ---- waits on top of a frame --------------------------------------------------------------------

// Q is no child of the inner scope. It waits for a step that the parent takes after the end of that scope.
TEST_P(waits_on_top_of_a_frame, an_inner_sync_returns_with_the_outer_child_suspended) {
    const std::uint64_t rounds =
        std::max<std::uint64_t>(support::hundredth_of(10'000) / (GetParam() > 8 ? 4 : 1), 1);
    pilfer::pool pool(with_workers());
    for (std::uint64_t round = 0; round < rounds; ++round) {
        pool.run([&] {
            pilfer::monitor<int> go(0);
            std::atomic<bool> a_ran{false};
            std::atomic<bool> q_ran{false};
            const auto q = [&] {
                go.call_when([](int v) { return v == 1; },
                             [&](int& v) {
                                 v = 2;
                                 q_ran = true;
                             });
            };
            pilfer::scope outer;
            if (round % 3 == 0) {
                outer.fork(q); // stolen, or left in the deque
            }
            {
                pilfer::scope inner;
                inner.spawn([&] {
                    a_ran = true;
                    (void)support::fib_join(round % 2 == 0 ? 2 : 12);
                });
                if (round % 3 == 1) {
                    outer.spawn(q);
                } else if (round % 3 == 2) {
                    outer.fork(q);
                }
                inner.sync();
                EXPECT_TRUE(a_ran);
            }
            EXPECT_FALSE(q_ran);
            go.call([](int& v) { v = 1; });
            outer.sync();
            EXPECT_TRUE(q_ran);
        });
    }
}

// On top of the frame that syncs: the newest child waits for an older one, which has not started.
TEST_P(waits_on_top_of_a_frame, a_child_on_top_of_its_parent_waits_for_another_one) {
    pilfer::pool pool(with_workers());
    for (std::uint64_t round = 0; round < support::hundredth_of(10'000); ++round) {
        pool.run([] {
            pilfer::monitor<int> turn(0);
            pilfer::scope s;
            for (const int mine : {2, 0, 1}) {
                s.fork([&turn, mine] {
                    turn.call_when([mine](int v) { return v == mine; }, [](int& v) { ++v; });
                });
            }
            s.sync();
            EXPECT_EQ(turn.read([](int v) { return v; }), 3);
        });
    }
}

/// The call that leaves serves another one. After its unlock a callback of a cancelled child runs, and may
/// wait for the call that was served.
TEST_P(monitor_calls, a_callback_at_the_unlock_may_wait_for_the_call_that_was_served) {
    if (GetParam() == 1) {
        GTEST_SKIP() << "the callback holds the only worker";
    }
    pilfer::pool pool(with_workers());
    pilfer::monitor<int> object(0);
    std::atomic<bool> served{false};
    std::atomic<bool> in_time{false};
    pilfer::event leaves;
    pool.run([&] {
        entered first;
        pilfer::scope all;
        all.fork([&] {
            object.call_when(first([](const int& v) { return v > 0; }), [](int& v) { v = 0; });
            served = true;
        });
        pilfer::scope outer;
        outer.fork([&] {
            while (!first.are(1)) {
                pilfer::yield();
            }
            std::optional<pilfer::scope> s;
            pilfer::event ready;
            object.call([&](int& v) {
                s.emplace();
                s->fork([&] {
                    const pilfer::stop_on_cancel c;
                    const std::stop_callback told(
                        c.token(), [&] { in_time = support::eventually([&] { return served.load(); }); });
                    ready.set();
                    leaves.wait();
                });
                ready.wait();
                outer.cancel();
                v = 1;
            });
            s->sync();
        });
        outer.sync();
        all.sync();
    });
    EXPECT_TRUE(in_time);
}

} // namespace
