// Conditions: branches, loops, and choices that are refused.
#include <atomic>
#include <chrono>
#include <string>
#include <vector>

#include <pilfer/graph.hpp>

#include "support/harness.hpp"

namespace {

using namespace support;
using namespace std::chrono_literals;

class graph_choices : public over_workers {};

TEST_P(graph_choices, one_branch_runs) {
    pilfer::pool pool(with_workers());
    pilfer::graph g;
    int which = 0;
    std::vector<int> calls(3, 0);
    auto a = g.task([&] { return which; });
    auto c = g.condition([](int x) { return x; }, a);
    auto x = g.task([&] { ++calls[0]; });
    auto y = g.task([&] { ++calls[1]; });
    (void)g.task([&] { ++calls[2]; }, y);
    c.chooses(x);
    c.chooses(y);
    for (which = -1; which < 4; ++which) {
        calls = {0, 0, 0};
        g.run(pool);
        EXPECT_EQ(calls, (std::vector<int>{which == 0, which == 1, which == 1})) << which;
    }
}

TEST_P(graph_choices, a_loop_ends) {
    pilfer::pool pool(with_workers());
    pilfer::graph g;
    int i = 0; // plain: the loop orders its own turns
    auto init = g.task([&] { i = 0; });
    auto body = g.task([&] { ++i; }, init);
    auto more = g.condition([&] { return i < 100; }, body);
    auto end = g.task([&] { return i; });
    more.chooses(end, body);
    for (int round = 0; round < 5; ++round) {
        g.run(pool);
        EXPECT_EQ(end.value(), 100);
    }
}

TEST_P(graph_choices, a_condition_may_choose_itself) {
    pilfer::pool pool(with_workers());
    pilfer::graph g;
    int i = 0;
    auto init = g.task([&] { i = 0; });
    auto spin = g.condition([&] { return ++i == 1000; }, init);
    auto end = g.task([&] { return i; });
    spin.chooses(spin, end);
    g.run(pool);
    EXPECT_EQ(end.value(), 1000);
}

TEST_P(graph_choices, values_in_a_loop) {
    pilfer::pool pool(with_workers());
    pilfer::graph g;
    int turn = 0;
    auto start = g.task([&] { turn = 0; });
    auto next = g.task([&] { return ++turn; }, start);
    auto square = g.task([](int x) { return x * x; }, next);
    auto sum = g.task([total = 0](int x, int y) mutable { return total += x + y; }, next, square);
    auto more = g.condition([](int, int x) { return x < 20; }, sum, next);
    auto end = g.task([] {});
    more.chooses(end, next);
    g.run(pool);
    EXPECT_EQ(sum.value(), 20 * 21 / 2 + 20 * 21 * 41 / 6);
}

TEST_P(graph_choices, loops_in_loops_with_parallel_bodies) {
    pilfer::pool pool(with_workers());
    pilfer::graph g;
    int outer = 0;
    int inner = 0;
    std::atomic<int> calls{0};
    auto start = g.task([&] { outer = 0; });
    auto begin_outer = g.task([&] { inner = 0; }, start);
    auto begin_inner = g.task([] {}, begin_outer);
    auto together = g.task([&] { ++inner; });
    for (int i = 0; i < 5; ++i) {
        auto t = g.task([&] { ++calls; }, begin_inner);
        t.precede(together);
    }
    auto more_inner = g.condition([&] { return inner < 10; }, together);
    auto end_inner = g.task([&] { ++outer; });
    more_inner.chooses(end_inner, begin_inner);
    auto more_outer = g.condition([&] { return outer < 10; }, end_inner);
    auto end = g.task([] {});
    more_outer.chooses(end, begin_outer);
    for (int round = 1; round <= 3; ++round) {
        g.run(pool);
        EXPECT_EQ(calls, round * 500);
    }
}

TEST_P(graph_choices, a_strong_edge_from_a_branch_that_is_not_taken) {
    pilfer::pool pool(with_workers());
    pilfer::graph g;
    int which = 0;
    int calls = 0;
    auto c = g.condition([&] { return which; });
    auto other = g.task([] {});
    auto x = g.task([] {});
    auto y = g.task([] {});
    (void)g.task([&] { ++calls; }, x, other);
    c.chooses(x, y);
    g.run(pool);
    EXPECT_EQ(calls, 1);
    which = 1; // only one of the edges arrives, and the next run begins anew
    g.run(pool);
    EXPECT_EQ(calls, 1);
    which = 0;
    g.run(pool);
    EXPECT_EQ(calls, 2);
}

/// The text of the usage_error that the run throws.
std::string error_of(pilfer::graph& g, pilfer::pool& pool) {
    try {
        g.run(pool);
    } catch (const pilfer::usage_error& e) {
        return e.what();
    }
    return "nothing was thrown";
}

TEST_P(graph_choices, a_task_that_runs_cannot_be_chosen) {
    PILFER_NOT_ON_ONE_LOCK("a child is a plain call there, so that no other one ends its wait");
    pilfer::pool pool(with_workers());
    for (int round = 0; round < 10; ++round) {
        pilfer::graph g;
        pilfer::event started;
        pilfer::event never;
        auto start = g.task([] {});
        auto slow = g.task(
            [&] {
                started.set();
                never.wait(); // left by `stopped`
            },
            start);
        auto waits = g.task([&] { started.wait(); }, start);
        auto c = g.condition([] { return 0; }, waits);
        slow.name("slow");
        c.chooses(slow);
        EXPECT_EQ(error_of(g, pool), "pilfer: \"slow\" was started again before it has ended");
    }
}

TEST_P(graph_choices, a_value_is_not_replaced_while_a_task_reads_it) {
    PILFER_NOT_ON_ONE_LOCK("a child is a plain call there, so that no other one ends its wait");
    pilfer::pool pool(with_workers());
    for (int round = 0; round < 10; ++round) {
        pilfer::graph g;
        pilfer::event reads;
        pilfer::event never;
        auto start = g.task([] {});
        auto value = g.task([] { return 1; }, start);
        value.name("value");
        (void)g.task(
            [&](int) {
                reads.set();
                never.wait();
            },
            value);
        auto waits = g.task([&] { reads.wait(); }, value.order_only());
        auto c = g.condition([] { return 0; }, waits);
        c.chooses(value);
        EXPECT_EQ(error_of(g, pool), "pilfer: \"value\" was started again while its value is in use");
    }
}

TEST_P(graph_choices, a_chosen_task_without_its_input) {
    pilfer::pool pool(with_workers());
    pilfer::graph g;
    bool early = false;
    auto start = g.task([] {});
    auto c = g.condition([&] { return early ? 1 : 0; }, start);
    auto value = g.task([] { return 5; });
    value.name("value");
    auto user = g.task([](int x) { return x; }, value);
    c.chooses(value, user);
    g.run(pool);
    EXPECT_EQ(user.value(), 5);
    early = true; // the value of the run before does not count
    EXPECT_EQ(error_of(g, pool), "pilfer: \"value\" has no value yet for a task that was chosen");
    early = false;
    g.run(pool);
    EXPECT_EQ(user.value(), 5);
}

TEST_P(graph_choices, an_exception_of_a_condition) {
    pilfer::pool pool(with_workers());
    pilfer::graph g;
    bool fails = true;
    auto c = g.condition([&] {
        if (fails) {
            throw std::runtime_error("c");
        }
        return 0;
    });
    auto x = g.task([] { return 1; });
    c.chooses(x);
    EXPECT_THROW(g.run(pool), std::runtime_error);
    fails = false;
    g.run(pool);
    EXPECT_EQ(x.value(), 1);
}

PILFER_OVER_WORKERS(graph_choices);

} // namespace
