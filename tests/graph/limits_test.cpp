// Limits, subgraphs, and tasks that wait.
#include <atomic>
#include <chrono>
#include <memory>
#include <vector>

#include <pilfer/barrier.hpp>
#include <pilfer/graph.hpp>

#include "support/harness.hpp"

namespace {

using namespace support;
using namespace std::chrono_literals;

class graph_limits : public over_workers {};
class graph_parts : public over_workers {};
class graph_waits : public over_workers {};

/// Counts the tasks that are inside at once.
struct gauge {
    std::atomic<int> inside{0};
    std::atomic<int> most{0};
    std::atomic<int> entered{0};
    void enter() {
        const int now = ++inside;
        ++entered;
        for (int seen = most; seen < now && !most.compare_exchange_weak(seen, now);) {
        }
    }
    void leave() { --inside; }
};

TEST_P(graph_limits, no_more_than_the_limit_run) {
    pilfer::pool pool(with_workers());
    for (unsigned k = 1; k <= 4; ++k) {
        pilfer::graph_limit l(k);
        pilfer::graph g;
        gauge seen;
        for (int i = 0; i < 200; ++i) {
            auto t = g.task([&] {
                seen.enter();
                pilfer::yield(); // others run meanwhile
                seen.leave();
            });
            t.limited_by(l);
        }
        for (int round = 1; round <= 3; ++round) {
            g.run(pool);
            EXPECT_EQ(seen.entered, round * 200);
        }
        EXPECT_LE(seen.most, static_cast<int>(k));
    }
}

TEST_P(graph_limits, as_many_as_the_limit_run) {
    PILFER_NOT_ON_ONE_LOCK("a child is a plain call there, so that no other one ends its wait");
    pilfer::pool pool(with_workers());
    for (unsigned k = 1; k <= 5; ++k) {
        pilfer::graph_limit l(k);
        pilfer::barrier all_are_inside(static_cast<std::ptrdiff_t>(k));
        pilfer::graph g;
        std::atomic<unsigned> ran{0};
        for (unsigned i = 0; i < 4 * k; ++i) {
            g.task([&] {
                 all_are_inside.arrive_and_wait(); // a limit that lets fewer run would wait for ever
                 ++ran;
             }).limited_by(l);
        }
        g.run(pool);
        EXPECT_EQ(ran, 4 * k);
    }
}

TEST_P(graph_limits, a_limit_of_one_is_a_lock) {
    pilfer::pool pool(with_workers());
    pilfer::graph_limit l(1);
    pilfer::graph g;
    int plain = 0; // only tasks of the limit write it
    for (int i = 0; i < 500; ++i) {
        auto t = g.task([&] { ++plain; });
        t.limited_by(l);
        (void)g.task([] {}, t);
    }
    g.run(pool);
    EXPECT_EQ(plain, 500);
}

TEST_P(graph_limits, two_limits_and_a_chain_under_each) {
    pilfer::pool pool(with_workers());
    pilfer::graph_limit one(1);
    pilfer::graph_limit two(2);
    pilfer::graph g;
    gauge a;
    gauge b;
    for (int chain = 0; chain < 20; ++chain) {
        auto at = g.task([] {});
        for (int i = 0; i < 20; ++i) {
            gauge& of = i % 2 == 0 ? a : b;
            at = g.task(
                [&of] {
                    of.enter();
                    pilfer::yield();
                    of.leave();
                },
                at);
            at.limited_by(i % 2 == 0 ? one : two);
        }
    }
    g.run(pool);
    EXPECT_EQ(a.entered, 200);
    EXPECT_EQ(b.entered, 200);
    EXPECT_LE(a.most, 1);
    EXPECT_LE(b.most, 2);
}

TEST_P(graph_limits, after_an_exception_the_limit_is_free) {
    pilfer::pool pool(with_workers());
    pilfer::graph_limit l(2);
    pilfer::graph g;
    std::atomic<int> calls{0};
    std::atomic<int> bad{0};
    for (int i = 0; i < 100; ++i) {
        auto t = g.task([&, i] {
            ++calls;
            if (i == bad) {
                throw std::runtime_error("bad");
            }
        });
        t.limited_by(l);
    }
    for (bad = 0; bad < 100; bad = bad + 9) {
        EXPECT_THROW(g.run(pool), std::runtime_error);
    }
    bad = -1;
    calls = 0;
    g.run(pool);
    EXPECT_EQ(calls, 100);
}

TEST_P(graph_limits, a_hundred_thousand_tasks_wait_without_stacks) {
    pilfer::pool pool(with_workers());
    pilfer::graph_limit l(1);
    pilfer::graph g;
    const int n = sanitized ? 2'000 : 100'000;
    int plain = 0;
    for (int i = 0; i < n; ++i) {
        auto t = g.task([&] { ++plain; });
        t.limited_by(l);
    }
    g.run(pool);
    EXPECT_EQ(plain, n);
}

TEST_P(graph_limits, in_a_loop_of_a_condition) {
    pilfer::pool pool(with_workers());
    pilfer::graph_limit l(1);
    pilfer::graph g;
    int turn = 0;
    int plain = 0;
    auto start = g.task([&] { turn = 0; });
    auto begin = g.task([] {}, start);
    auto together = g.task([&] { ++turn; });
    for (int i = 0; i < 10; ++i) {
        auto t = g.task([&] { ++plain; }, begin);
        t.limited_by(l);
        t.precede(together);
    }
    auto more = g.condition([&] { return turn < 30 ? 0 : 1; }, together);
    more.limited_by(l);
    more.chooses(begin);
    g.run(pool);
    EXPECT_EQ(plain, 300);
}

TEST_P(graph_parts, a_graph_runs_inside_another_one) {
    pilfer::pool pool(with_workers());
    pilfer::graph inner;
    int plain = 0; // ordered by the edges of both graphs
    auto x = inner.task([&] { return plain + 1; });
    auto y = inner.task([](int v) { return 2 * v; }, x);
    pilfer::graph g;
    auto before = g.task([&] { plain = 10; });
    auto part = g.subgraph(inner, before);
    auto after = g.task([&] { return plain; }, part);
    (void)g.subgraph(inner, after);
    for (int round = 0; round < 5; ++round) {
        g.run(pool);
        EXPECT_EQ(y.value(), 22);
        EXPECT_EQ(after.value(), 10);
    }
    inner.run(pool);
    EXPECT_EQ(y.value(), 22);
}

TEST_P(graph_parts, many_levels_and_many_parts) {
    pilfer::pool pool(with_workers());
    std::vector<std::unique_ptr<pilfer::graph>> graphs;
    std::atomic<int> calls{0};
    const auto make = [&](auto& self, int level) -> pilfer::graph& {
        graphs.push_back(std::make_unique<pilfer::graph>());
        pilfer::graph& g = *graphs.back();
        auto start = g.task([&] { ++calls; });
        if (level > 0) {
            for (int i = 0; i < 3; ++i) {
                (void)g.subgraph(self(self, level - 1), start);
            }
        }
        return g;
    };
    pilfer::graph& top = make(make, 4);
    top.run(pool);
    EXPECT_EQ(calls, 1 + 3 + 9 + 27 + 81);
    top.run(pool);
    EXPECT_EQ(calls, 2 * (1 + 3 + 9 + 27 + 81));
}

TEST_P(graph_parts, one_part_cannot_run_twice_at_once) {
    PILFER_NOT_ON_ONE_LOCK("a child is a plain call there, so that no other one ends its wait");
    pilfer::pool pool(with_workers());
    pilfer::graph inner;
    pilfer::event started;
    pilfer::event never;
    (void)inner.task([&] {
        started.set();
        never.wait();
    });
    pilfer::graph g;
    (void)g.subgraph(inner);
    auto waits = g.task([&] { started.wait(); });
    (void)g.subgraph(inner, waits);
    EXPECT_THROW(g.run(pool), pilfer::usage_error);
}

TEST_P(graph_parts, an_exception_leaves_both_graphs) {
    pilfer::pool pool(with_workers());
    pilfer::graph inner;
    bool fails = true;
    auto x = inner.task([&] {
        if (fails) {
            throw std::out_of_range("x");
        }
        return 1;
    });
    pilfer::graph g;
    auto part = g.subgraph(inner);
    auto after = g.task([] { return 2; }, part);
    EXPECT_THROW(g.run(pool), std::out_of_range);
    EXPECT_THROW((void)after.value(), pilfer::usage_error);
    fails = false;
    g.run(pool);
    EXPECT_EQ(x.value(), 1);
    EXPECT_EQ(after.value(), 2);
}

TEST_P(graph_waits, more_tasks_wait_than_there_are_workers) {
    PILFER_NOT_ON_ONE_LOCK("a child is a plain call there, so that no other one ends its wait");
    pilfer::pool pool(with_workers());
    pilfer::graph g;
    pilfer::event all;
    std::atomic<int> waiting{0};
    const int n = 200;
    for (int i = 0; i < n; ++i) {
        (void)g.task([&] {
            if (++waiting == n) {
                all.set();
            }
            all.wait();
        });
    }
    g.run(pool);
    EXPECT_EQ(waiting, n);
}

TEST_P(graph_waits, futures_mutexes_and_timers) {
    PILFER_NOT_ON_ONE_LOCK("a child is a plain call there, so that no other one ends its wait");
    pilfer::pool pool(with_workers());
    pilfer::graph g;
    pilfer::mutex m;
    int plain = 0;
    std::vector<pilfer::promise<int>> promises(50);
    std::atomic<int> sum{0};
    for (auto& p : promises) {
        (void)g.task([&, f = std::make_shared<pilfer::future<int>>(p.get_future())] {
            sum += f->get();
            const std::lock_guard lock(m);
            ++plain;
            pilfer::yield();
        });
    }
    auto sleeps = g.task([] { pilfer::sleep_for(1ms); });
    (void)g.task(
        [&] {
            for (auto& p : promises) {
                p.set_value(2);
            }
        },
        sleeps);
    g.run(pool);
    EXPECT_EQ(sum, 100);
    EXPECT_EQ(plain, 50);
}

PILFER_OVER_WORKERS(graph_limits);
PILFER_OVER_WORKERS(graph_parts);
PILFER_OVER_WORKERS(graph_waits);

} // namespace
