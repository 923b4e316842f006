// Exceptions of tasks and cancellations: what stops, what ends, and the next run.
#include <atomic>
#include <stdexcept>
#include <string>
#include <vector>

#include <pilfer/graph.hpp>

#include "support/harness.hpp"
#include "support/process.hpp"

namespace {

using namespace support;

class graph_failures : public over_workers {};

TEST_P(graph_failures, each_task_in_turn) {
    pilfer::pool pool(with_workers());
    pilfer::graph g;
    const int n = 60;
    int bad = -1;
    std::atomic<int> inside{0};
    std::vector<pilfer::node<int>> tasks;
    for (int i = 0; i < n; ++i) {
        const auto f = [&bad, &inside, i](auto...) {
            ++inside;
            const bool fails = i == bad;
            --inside;
            if (fails) {
                throw std::out_of_range(std::to_string(i));
            }
            return i;
        };
        const auto at = [&](int back) { return tasks[static_cast<std::size_t>(i - back)]; };
        tasks.push_back(i < 7 ? g.task(f) : g.task(f, at(7), at(3)));
    }
    for (bad = 0; bad < n; ++bad) {
        try {
            g.run(pool);
            ADD_FAILURE() << "nothing was thrown";
        } catch (const std::out_of_range& e) {
            EXPECT_EQ(e.what(), std::to_string(bad));
        }
        EXPECT_EQ(inside, 0);
        EXPECT_THROW((void)tasks[static_cast<std::size_t>(bad)].value(), pilfer::usage_error);
        for (int i = bad + 7; i < n; i += 7) {
            EXPECT_THROW((void)tasks[static_cast<std::size_t>(i)].value(), pilfer::usage_error) << i;
        }
        const int again = bad;
        bad = -1;
        g.run(pool);
        bad = again;
        EXPECT_EQ(tasks.back().value(), n - 1);
    }
}

TEST_P(graph_failures, one_of_many_exceptions_is_rethrown) {
    pilfer::pool pool(with_workers());
    pilfer::graph g;
    std::atomic<unsigned> thrown{0};
    bool fails = true;
    auto start = g.task([] {});
    for (int i = 0; i < 50; ++i) {
        (void)g.task(
            [&] {
                ++thrown;
                if (fails) {
                    throw std::runtime_error("bad");
                }
            },
            start);
    }
    for (int round = 0; round < 10; ++round) {
        fails = true;
        EXPECT_THROW(g.run(pool), std::runtime_error);
        fails = false;
        thrown = 0;
        g.run(pool);
        EXPECT_EQ(thrown, 50U);
    }
}

TEST_P(graph_failures, tasks_that_run_end_first) {
    PILFER_NOT_ON_ONE_LOCK("a child is a plain call there, so that no other one ends its wait");
    pilfer::pool pool(with_workers());
    pilfer::graph g;
    std::atomic<bool> ended{false};
    pilfer::event started;
    std::atomic<bool> throws{false};
    (void)g.task([&] {
        started.set();
        if (GetParam() > 1) { // one worker cannot run the other task meanwhile
            EXPECT_TRUE(eventually([&] { return throws.load(); }));
        }
        for (int i = 0; i < 100; ++i) {
            std::this_thread::yield(); // no call of the library, so that nothing stops it
        }
        ended = true;
    });
    (void)g.task([&] {
        started.wait();
        throws = true;
        throw std::runtime_error("bad");
    });
    EXPECT_THROW(g.run(pool), std::runtime_error);
    EXPECT_TRUE(ended);
}

TEST_P(graph_failures, a_wait_of_another_task_is_stopped) {
    PILFER_NOT_ON_ONE_LOCK("a child is a plain call there, so that no other one ends its wait");
    pilfer::pool pool(with_workers());
    pilfer::graph g;
    pilfer::event never;
    std::atomic<int> waiting{0};
    for (int i = 0; i < 20; ++i) {
        (void)g.task([&] {
            ++waiting;
            never.wait();
            ADD_FAILURE() << "the wait has ended";
        });
    }
    (void)g.task([&] { throw std::runtime_error("bad"); });
    EXPECT_THROW(g.run(pool), std::runtime_error);
    EXPECT_THROW(g.run(pool), std::runtime_error);
}

TEST_P(graph_failures, a_cancelled_scope_stops_the_graph) {
    PILFER_NOT_ON_ONE_LOCK("a child is a plain call there, so that no other one ends its wait");
    pilfer::pool pool(with_workers());
    pilfer::graph g;
    pilfer::event started;
    pilfer::event never;
    std::atomic<int> late{0};
    bool waits = true;
    auto a = g.task([&] {
        started.set();
        if (waits) {
            never.wait();
        }
    });
    auto b = g.task(
        [&] {
            ++late;
            return 1;
        },
        a);
    pool.run([&] {
        std::atomic<bool> left{false};
        pilfer::scope s;
        s.fork([&] {
            try {
                g.run();
                ADD_FAILURE() << "the run has ended";
            } catch (const pilfer::stopped&) {
                left = true;
                throw;
            }
        });
        s.fork([&] {
            started.wait();
            s.cancel();
        });
        s.sync();
        EXPECT_TRUE(left);
    });
    EXPECT_EQ(late, 0);
    EXPECT_THROW((void)b.value(), pilfer::usage_error);
    waits = false;
    g.run(pool);
    EXPECT_EQ(b.value(), 1);
}

TEST_P(graph_failures, a_long_chain_is_cancelled_between_two_tasks) {
    pilfer::pool pool(with_workers());
    pilfer::graph g;
    std::atomic<bool> go{false};
    std::atomic<int> calls{0};
    int turn = 0;
    // A loop without an end, that no task of the library interrupts.
    auto c = g.condition([&] {
        ++calls;
        if (++turn == 100) {
            go = true;
        }
        return 0;
    });
    c.succeed(g.task([&] { turn = 0; }));
    c.chooses(c);
    std::thread canceller;
    pool.run([&] {
        pilfer::scope s;
        canceller = std::thread([&] {
            while (!go) {
                std::this_thread::yield();
            }
            s.cancel();
        });
        s.fork([&] { g.run(); });
        s.sync();
        canceller.join();
    });
    EXPECT_GE(calls, 100);
}

TEST_P(graph_failures, a_task_that_leaves_by_stopped_stops_the_run) {
    pilfer::pool pool(with_workers());
    pilfer::graph g;
    std::atomic<int> late{0};
    bool leaves = true;
    auto a = g.task([&] {
        if (leaves) {
            throw pilfer::stopped();
        }
    });
    (void)g.task([&] { ++late; }, a);
    EXPECT_THROW(g.run(pool), pilfer::stopped);
    EXPECT_EQ(late, 0);
    leaves = false;
    g.run(pool);
    EXPECT_EQ(late, 1);
}

PILFER_OVER_WORKERS(graph_failures);

} // namespace
