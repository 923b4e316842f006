// Recordings of graphs and pipelines: which task runs what depends on which one is the last to arrive.
#include "explore/recorded.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <pilfer/graph.hpp>
#include <pilfer/pipeline.hpp>

namespace {

using namespace recorded_runs;
using bugs::shared;
using pilfer::test::require;

// ---- graphs ---------------------------------------------------------------------------------------

/// An edge is missing: two tasks add to one account at once.
void graph_without_an_edge() {
    shared<int> account{0};
    pilfer::graph g;
    const auto deposit = [&] {
        const int before = account;
        linger();
        account = before + 1;
    };
    auto open = g.task([&] { account = 0; });
    auto close = g.task([&] { require(account == 3, "all deposits count"); });
    for (int i = 0; i < 3; ++i) {
        auto t = g.task(deposit);
        open.precede(t);
        t.precede(close);
    }
    g.run();
}

TEST(graph, that_lacks_an_edge_fails_again) { fails_again(&graph_without_an_edge); }

TEST(graph, has_the_order_of_its_tasks) {
    has_same_order([] {
        constexpr std::size_t layers = 12;
        constexpr std::size_t width = 5;
        ordered_sum s;
        pilfer::graph g;
        std::vector<std::vector<decltype(g.task([] {}))>> all(layers);
        for (std::size_t l = 0; l < layers; ++l) {
            for (std::size_t k = 0; k < width; ++k) {
                auto t = g.task([&s, l, k] { add_slowly(s, l * width + k); });
                for (std::size_t i = 0; l != 0 && i < 3; ++i) {
                    all[l - 1][(k + i) % width].precede(t);
                }
                all[l].push_back(t);
            }
        }
        g.run();
        g.run();
        return s.sum;
    });
}

/// So many forks inside of each other that tasks are kept, and other tasks that find them.
TEST(graph, has_the_order_of_tasks_that_are_kept) {
    keep_their_order([] {
        constexpr std::uint64_t depth = 60;
        ordered_sum s;
        pilfer::graph g;
        auto before = g.task([] {});
        for (std::uint64_t i = 0; i < depth; ++i) {
            (void)g.task([&s, i] { add_slowly(s, 300 + i); });
        }
        for (std::uint64_t i = 0; i < depth; ++i) {
            auto short_one = g.task([&s, i] { s.add(i); });
            auto next = g.task([&s, i] { s.add(100 + i); });
            auto leaf = g.task([&s, i] { add_slowly(s, 200 + i); });
            before.precede(leaf, short_one, next);
            before = next;
        }
        g.run();
        return s.sum;
    });
}

TEST(graph, has_the_order_of_a_limit) {
    has_same_order([] {
        ordered_sum s;
        pilfer::graph g;
        pilfer::graph_limit two(2);
        for (std::uint64_t i = 0; i < 12; ++i) {
            auto t = g.task([&s, i] { add_slowly(s, i); });
            t.limited_by(two);
        }
        g.run();
        return s.sum;
    });
}

TEST(graph, has_the_order_of_choices_and_values) {
    has_same_order([] {
        ordered_sum s;
        std::uint64_t rounds = 0;
        pilfer::graph g;
        auto begin = g.task([] {});
        auto value = g.task([&s] {
            s.add(1'000);
            return std::uint64_t{7};
        });
        begin.precede(value);
        auto end = g.condition([&] { return ++rounds < 5 ? 0 : 1; });
        for (std::uint64_t i = 0; i < 4; ++i) {
            auto t = g.task([&s, i](std::uint64_t v) { add_slowly(s, v * i); }, value);
            t.precede(end);
        }
        auto last = g.task([&s] { s.add(2'000); });
        end.chooses(value, last);
        g.run();
        return s.sum;
    });
}

TEST(graph, has_the_order_of_tasks_that_wait_and_fork) {
    has_same_order([] {
        ordered_sum s;
        pilfer::channel<std::uint64_t> c(1);
        pilfer::graph inner;
        for (std::uint64_t i = 0; i < 3; ++i) {
            (void)inner.task([&s, i] { s.add(500 + i); });
        }
        pilfer::graph g;
        for (std::uint64_t i = 0; i < 6; ++i) {
            auto sends = g.task([&c, i] {
                linger();
                (void)c.send(i);
            });
            auto receives = g.task([&] { s.add(*c.receive()); });
            auto forks = g.task([&s, i] {
                pilfer::yield();
                (void)pilfer::join([&] { s.add(100 + i); }, [&] { s.add(200 + i); });
            });
            sends.precede(forks);
            receives.precede(forks);
        }
        (void)g.subgraph(inner);
        g.run();
        return s.sum;
    });
}

// ---- pipelines ------------------------------------------------------------------------------------

[[nodiscard]] auto numbers(std::uint64_t most) {
    return pilfer::serial_in_order([n = std::uint64_t{0}, most]() mutable -> std::optional<std::uint64_t> {
        return n == most ? std::nullopt : std::optional(n++);
    });
}

/// The items are counted in a parallel stage.
void pipeline_that_counts_in_a_parallel_stage() {
    shared<int> count{0};
    pilfer::pipeline(4, numbers(6), pilfer::parallel_stage([&](std::uint64_t) {
                         const int before = count;
                         linger();
                         count = before + 1;
                     }));
    require(count == 6, "all items count");
}

TEST(pipeline, that_counts_in_a_parallel_stage_fails_again) {
    fails_again(&pipeline_that_counts_in_a_parallel_stage);
}

TEST(pipeline, has_the_order_of_its_stages) {
    keep_their_order([] {
        ordered_sum s;
        pilfer::pipeline(5, numbers(40), pilfer::parallel_stage([&](std::uint64_t i) {
                             add_slowly(s, i);
                             return i;
                         }),
                         pilfer::serial_out_of_order([&](std::uint64_t i) {
                             add_slowly(s, 100 + i);
                             return i;
                         }),
                         pilfer::parallel_stage([&](std::uint64_t i) {
                             add_slowly(s, 200 + i);
                             return i;
                         }),
                         pilfer::serial_in_order([&](std::uint64_t i) { add_slowly(s, 300 + i); }));
        return s.sum;
    });
}

TEST(pipeline, has_the_order_of_a_slow_source) {
    keep_their_order([] {
        ordered_sum s;
        pilfer::pipeline(
            3, pilfer::serial_in_order([&, n = std::uint64_t{0}]() mutable -> std::optional<std::uint64_t> {
                add_slowly(s, 500 + n);
                return n == 30 ? std::nullopt : std::optional(n++);
            }),
            pilfer::parallel_stage([&](std::uint64_t i) { add_slowly(s, 600 + 2 * i); }));
        return s.sum;
    });
}

/// So short that one task would carry them all.
TEST(pipeline, has_the_order_of_short_items) {
    keep_their_order([] {
        ordered_sum s;
        pilfer::pipeline(3, numbers(1'000), pilfer::parallel_stage([&](std::uint64_t i) {
                             if (i % 32 == 0) {
                                 s.add(i);
                             }
                         }));
        return s.sum;
    });
}

/// A task that adds first may come for the source last.
TEST(pipeline, has_the_order_in_which_tasks_come_back_to_the_source) {
    keep_their_order([] {
        ordered_sum s;
        pilfer::pipeline(4, numbers(24), pilfer::parallel_stage([&](std::uint64_t i) {
                             s.add(i);
                             for (std::uint64_t k = i % 3; k < 3; ++k) {
                                 linger();
                             }
                         }));
        return s.sum;
    });
}

TEST(pipeline, has_the_order_of_stages_that_wait_and_fork) {
    keep_their_order([] {
        ordered_sum s;
        pilfer::channel<std::uint64_t> c(1);
        pilfer::scope reader;
        reader.fork([&] {
            while (const auto i = c.receive()) {
                s.add(*i);
            }
        });
        pilfer::pipeline(4, numbers(12), pilfer::parallel_stage([&](std::uint64_t i) {
                             (void)c.send(i);
                             return i;
                         }),
                         pilfer::serial_in_order([&](std::uint64_t i) {
                             pilfer::yield();
                             (void)pilfer::join([&] { s.add(100 + i); }, [&] { s.add(200 + i); });
                         }));
        c.close();
        reader.sync();
        return s.sum;
    });
}

} // namespace
