// graph: values along edges, the order of tasks, repeated runs, long chains and wide graphs.
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <pilfer/graph.hpp>

#include "support/harness.hpp"

namespace {

using namespace support;

class graph : public over_workers {};

TEST_P(graph, values_go_along_edges) {
    pilfer::pool pool(with_workers());
    pilfer::graph g;
    auto a = g.task([] { return 20; });
    auto b = g.task([](const int& x) { return std::to_string(x + 1); }, a);
    auto c = g.task([](int x, const std::string& y) { return x + std::stoi(y); }, a, b);
    EXPECT_EQ(g.size(), 3U);
    g.run(pool);
    EXPECT_EQ(a.value(), 20);
    EXPECT_EQ(b.value(), "21");
    EXPECT_EQ(c.value(), 41);
}

TEST_P(graph, an_input_without_a_value_passes_nothing) {
    pilfer::pool pool(with_workers());
    pilfer::graph g;
    int plain = 0; // each task sees the writes of those before it
    auto first = g.task([&] { plain = 1; });
    auto one = g.task([&] { return plain + 1; }, first);
    auto last = g.task(
        [&](int x) {
            plain += x;
            return plain;
        },
        first, one, first);
    g.run(pool);
    EXPECT_EQ(last.value(), 3);
}

TEST_P(graph, values_that_only_move_are_read_by_reference) {
    pilfer::pool pool(with_workers());
    pilfer::graph g;
    auto a = g.task([] { return std::make_unique<int>(5); });
    auto b = g.task([](const std::unique_ptr<int>& p) { return p.get(); }, a);
    auto c = g.task([](const std::unique_ptr<int>& p) { return *p; }, a);
    auto owned = std::make_unique<int>(2); // a function that only moves
    auto d = g.task([owned = std::move(owned)](int x) { return std::make_unique<int>(x + *owned); }, c);
    g.run(pool);
    EXPECT_EQ(a.value().get(), b.value());
    EXPECT_EQ(*d.value(), 7);
}

struct pinned {
    explicit pinned(int v) : value(v) {}
    pinned(const pinned&) = delete;
    pinned& operator=(const pinned&) = delete;
    int value;
    [[nodiscard]] int get() const { return value; }
};

TEST_P(graph, values_that_do_not_move_and_other_callables) {
    pilfer::pool pool(with_workers());
    pilfer::graph g;
    auto a = g.task([] { return pinned(4); });
    auto b = g.task(&pinned::get, a);
    static int global = 9;
    auto c = g.task([]() -> int& { return global; }); // a copy is stored
    int calls = 0;
    auto d = g.task([n = 0, &calls]() mutable {
        calls = ++n;
        return calls;
    });
    g.run(pool);
    g.run(pool);
    EXPECT_EQ(b.value(), 4);
    EXPECT_EQ(c.value(), 9);
    EXPECT_NE(&c.value(), &global);
    EXPECT_EQ(d.value(), 2);
}

TEST_P(graph, eight_inputs) {
    pilfer::pool pool(with_workers());
    pilfer::graph g;
    std::array<pilfer::node<int>, 8> in;
    for (int i = 0; i < 8; ++i) {
        in[static_cast<std::size_t>(i)] = g.task([i] { return 1 << i; });
    }
    auto sum =
        g.task([](auto... x) { return (x + ...); }, in[0], in[1], in[2], in[3], in[4], in[5], in[6], in[7]);
    g.run(pool);
    EXPECT_EQ(sum.value(), 255);
}

TEST_P(graph, diamonds_follow_each_other) {
    pilfer::pool pool(with_workers());
    pilfer::graph g;
    auto at = g.task([] { return std::uint64_t{1}; });
    for (int i = 0; i < 50; ++i) {
        auto left = g.task([](std::uint64_t x) { return x * 3; }, at);
        auto right = g.task([](std::uint64_t x) { return x + 7; }, at);
        at = g.task([](std::uint64_t x, std::uint64_t y) { return x ^ (y << 1); }, left, right);
    }
    std::uint64_t expected = 1;
    for (int i = 0; i < 50; ++i) {
        expected = (expected * 3) ^ ((expected + 7) << 1);
    }
    for (int round = 0; round < 20; ++round) {
        g.run(pool);
        EXPECT_EQ(at.value(), expected);
    }
}

TEST_P(graph, order_without_values) {
    pilfer::pool pool(with_workers());
    pilfer::graph g;
    std::vector<pilfer::node<>> tasks;
    std::vector<unsigned> plain(100, 0); // task i writes i and reads i - 1
    for (unsigned i = 0; i < 100; ++i) {
        tasks.push_back(g.task([&plain, i] { plain[i] = i == 0 ? 1 : plain[i - 1] + 1; }));
    }
    for (unsigned i = 99; i > 0; --i) {
        if (i % 2 == 0) {
            tasks[i].succeed(tasks[i - 1]);
        } else {
            tasks[i - 1].precede(tasks[i]);
        }
    }
    tasks[0].precede(tasks[50], tasks[60], tasks[70]);
    for (int round = 0; round < 10; ++round) {
        std::fill(plain.begin(), plain.end(), 0U);
        g.run(pool);
        EXPECT_EQ(plain[99], 100U);
    }
}

TEST_P(graph, an_edge_from_a_later_task_to_an_earlier_one) {
    pilfer::pool pool(with_workers());
    pilfer::graph g;
    int plain = 0;
    auto second = g.task([&] { return plain; });
    auto first = g.task([&] { plain = 3; });
    first.precede(second);
    g.run(pool);
    EXPECT_EQ(second.value(), 3);
}

TEST_P(graph, each_task_runs_once_in_each_run) {
    pilfer::pool pool(with_workers());
    pilfer::graph g;
    const unsigned n = 1000;
    std::vector<std::atomic<unsigned>> seen(n);
    auto root = g.task([] {});
    auto end = g.task([] {});
    for (unsigned i = 0; i < n; ++i) {
        auto t = g.task([&seen, i] { ++seen[i]; });
        if (i % 2 == 0) {
            t.succeed(root);
        }
        if (i % 3 == 0) {
            t.precede(end);
        }
    }
    for (unsigned round = 1; round <= 20; ++round) {
        g.run(pool);
        for (const auto& s : seen) {
            ASSERT_EQ(s, round);
        }
    }
}

TEST_P(graph, grows_between_two_runs) {
    pilfer::pool pool(with_workers());
    pilfer::graph g;
    g.run(pool); // empty
    auto at = g.task([] { return 0; });
    for (int i = 1; i <= 30; ++i) {
        g.run(pool);
        EXPECT_EQ(at.value(), i - 1);
        auto before = at;
        at = g.task([](int x) { return x + 1; }, at);
        EXPECT_EQ(before.value(), i - 1); // of the run before
    }
}

TEST_P(graph, runs_from_tasks_of_several_pools) {
    pilfer::pool pool(with_workers());
    pilfer::pool other(workers(2));
    pilfer::graph g;
    std::atomic<int> calls{0};
    auto a = g.task([&] { return ++calls; });
    auto b = g.task([](int x) { return x; }, a);
    pool.run([&] { g.run(); });
    EXPECT_EQ(b.value(), 1);
    pool.run([&] { g.run(other); });
    EXPECT_EQ(b.value(), 2);
    g.run(); // in the common pool
    EXPECT_EQ(b.value(), 3);
}

TEST_P(graph, many_graphs_at_once) {
    pilfer::pool pool(with_workers());
    pool.run([&] {
        pilfer::for_each(0, 50, [](int i) {
            pilfer::graph g;
            auto a = g.task([i] { return i; });
            auto b = g.task([](int x) { return 2 * x; }, a);
            auto c = g.task([](int x) { return 3 * x; }, a);
            auto d = g.task([](int x, int y) { return x + y; }, b, c);
            for (int round = 0; round < 5; ++round) {
                g.run();
                EXPECT_EQ(d.value(), 5 * i);
            }
        });
    });
}

TEST_P(graph, tasks_fork_and_run_loops) {
    pilfer::pool pool(with_workers());
    pilfer::graph g;
    auto a = g.task([] { return fib_join(15); });
    auto b = g.task([](std::uint64_t x) { return x + fib_spawn(12); }, a);
    auto c = g.task(
        [](std::uint64_t x) {
            return x + pilfer::reduce(
                           0, 100, std::uint64_t{0}, [](int i) { return static_cast<std::uint64_t>(i); },
                           std::plus<>());
        },
        a);
    auto d = g.task([](std::uint64_t x, std::uint64_t y) { return x + y; }, b, c);
    g.run(pool);
    EXPECT_EQ(d.value(), 2 * fib(15) + fib(12) + 4950);
}

TEST_P(graph, a_chain_of_a_million_tasks) {
    pilfer::pool pool(with_workers());
    pilfer::graph g;
    const int n = sanitized ? 50'000 : 1'000'000;
    auto last = g.task([] { return 0; });
    for (int i = 0; i < n; ++i) {
        last = g.task([](int x) { return x + 1; }, last);
    }
    for (int round = 0; round < 2; ++round) {
        g.run(pool);
        EXPECT_EQ(last.value(), n);
    }
}

TEST_P(graph, a_hundred_thousand_tasks_start_at_once) {
    pilfer::pool pool(with_workers());
    pilfer::graph g;
    const unsigned n = sanitized ? 5'000 : 100'000;
    std::atomic<unsigned> calls{0};
    for (unsigned i = 0; i < n; ++i) {
        (void)g.task([&] { calls.fetch_add(1, std::memory_order_relaxed); });
    }
    g.run(pool);
    EXPECT_EQ(calls, n);
}

TEST_P(graph, a_task_with_a_hundred_thousand_successors) {
    pilfer::pool pool(with_workers());
    pilfer::graph g;
    const unsigned n = sanitized ? 5'000 : 100'000;
    std::atomic<unsigned> calls{0};
    auto root = g.task([] { return 1U; });
    auto end = g.task([&] { return calls.load(); });
    for (unsigned i = 0; i < n; ++i) {
        end.succeed(g.task([&](unsigned x) { calls.fetch_add(x, std::memory_order_relaxed); }, root));
    }
    g.run(pool);
    EXPECT_EQ(end.value(), n);
}

TEST_P(graph, a_wavefront) {
    pilfer::pool pool(with_workers());
    pilfer::graph g;
    std::size_t n = sanitized ? 20 : 100;
    std::vector<std::uint32_t> cell(n * n, 0); // plain: each task reads its two neighbours
    std::vector<pilfer::node<>> tasks;
    for (std::size_t i = 0; i < n * n; ++i) {
        tasks.push_back(g.task([&cell, i, n] {
            const std::uint32_t above = i >= n ? cell[i - n] : 1;
            const std::uint32_t left = i % n != 0 ? cell[i - 1] : 1;
            cell[i] = (above * 31 + left) % 1'000'003;
        }));
        if (i >= n) {
            tasks[i - n].precede(tasks[i]);
        }
        if (i % n != 0) {
            tasks[i - 1].precede(tasks[i]);
        }
    }
    std::vector<std::uint32_t> expected(n * n, 0);
    for (std::size_t i = 0; i < n * n; ++i) {
        expected[i] = ((i >= n ? expected[i - n] : 1) * 31 + (i % n != 0 ? expected[i - 1] : 1)) % 1'000'003;
    }
    for (int round = 0; round < 3; ++round) {
        std::fill(cell.begin(), cell.end(), 0U);
        g.run(pool);
        EXPECT_EQ(cell, expected);
    }
}

/// Random graphs whose tasks combine the values of up to four earlier ones, with more edges for the order.
TEST_P(graph, random_graphs_give_what_a_serial_evaluation_gives) {
    pilfer::pool pool(with_workers());
    const std::uint64_t rounds = hundredth_of(10'000, 20);
    for (std::uint64_t seed = 1; seed <= rounds; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        std::mt19937_64 random(seed);
        const auto up_to = [&](std::uint64_t n) { return random() % n; };
        const std::size_t n = 1 + up_to(120);
        pilfer::graph g;
        std::vector<pilfer::node<std::uint64_t>> tasks;
        std::vector<std::uint64_t> expected;
        std::vector<std::atomic<bool>> ended(n);
        std::atomic<unsigned> early{0};
        const auto mix = [](std::uint64_t a, std::uint64_t b) {
            return (a ^ (b >> 3)) * 0x9E3779B97F4A7C15U + 1;
        };
        for (std::size_t i = 0; i < n; ++i) {
            std::vector<std::size_t> from(i == 0 ? 0 : up_to(5));
            for (std::size_t& f : from) {
                f = up_to(i);
            }
            std::uint64_t value = i;
            for (const std::size_t f : from) {
                value = mix(value, expected[f]);
            }
            expected.push_back(value);
            std::vector<std::size_t> order; // of edges without a value; checked by the flags
            for (std::uint64_t k = i == 0 ? 0 : up_to(4); k > 0; --k) {
                order.push_back(up_to(i));
            }
            const auto f = [&ended, &early, i, mix, order](auto... in) {
                for (const std::size_t o : order) {
                    early += !ended[o];
                }
                std::uint64_t v = i;
                ((v = mix(v, in)), ...);
                ended[i] = true;
                return v;
            };
            switch (from.size()) {
            case 0:
                tasks.push_back(g.task(f));
                break;
            case 1:
                tasks.push_back(g.task(f, tasks[from[0]]));
                break;
            case 2:
                tasks.push_back(g.task(f, tasks[from[0]], tasks[from[1]]));
                break;
            case 3:
                tasks.push_back(g.task(f, tasks[from[0]], tasks[from[1]], tasks[from[2]]));
                break;
            default:
                tasks.push_back(g.task(f, tasks[from[0]], tasks[from[1]], tasks[from[2]], tasks[from[3]]));
            }
            for (const std::size_t o : order) {
                tasks[i].succeed(tasks[o]);
            }
        }
        for (int round = 0; round < 3; ++round) {
            for (auto& e : ended) {
                e = false;
            }
            g.run(pool);
            ASSERT_EQ(early, 0U);
            for (std::size_t i = 0; i < n; ++i) {
                ASSERT_EQ(tasks[i].value(), expected[i]) << "task " << i << " of " << n;
            }
        }
    }
}

PILFER_OVER_WORKERS(graph);

} // namespace
