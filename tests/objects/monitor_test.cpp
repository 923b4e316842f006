// monitor: the oldest call that can go is next, and each takes place once.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <numeric>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "objects/entered.hpp"
#include "sync/support.hpp"

namespace {

using namespace sync_tests;
using support::workers;

class monitor_calls : public over_workers {};
class drinking_philosophers : public over_workers {};
PILFER_OVER_WORKERS(monitor_calls);
INSTANTIATE_TEST_SUITE_P(workers, drinking_philosophers, ::testing::Values(2U, 3U, 8U, 64U),
                         ::testing::PrintToStringParamName());

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

} // namespace
