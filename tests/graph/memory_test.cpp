// Memory: no allocation in the second run, bytes for each task, and memory that is not there.
#include <malloc.h>

#include <atomic>
#include <cstddef>
#include <vector>

#include <pilfer/graph.hpp>
#include <pilfer/parallel/for_each.hpp>

#include "support/allocations.hpp"
#include "support/harness.hpp"

namespace {

using namespace support;

class graph_memory : public over_workers {};
class graph_bytes : public guarded {};

TEST_P(graph_memory, the_second_run_allocates_nothing) {
    if (!counts_allocations) {
        GTEST_SKIP() << "a sanitizer has its own malloc";
    }
    PILFER_NOT_ON_ONE_LOCK("its queue allocates");
    pilfer::pool pool(with_workers());
    pilfer::graph inner;
    std::atomic<int> calls{0};
    auto x = inner.task([&] { ++calls; });
    (void)inner.task([&] { ++calls; }, x);
    pilfer::graph g;
    pilfer::graph_limit l(2);
    auto root = g.task([] { return 1; });
    auto end = g.task([] {});
    for (int i = 0; i < 300; ++i) {
        auto t = g.task([&](int v) { calls += v; }, root);
        auto u = g.task([&] { ++calls; }, t);
        u.precede(end);
        if (i % 5 == 0) {
            u.limited_by(l);
        }
    }
    auto part = g.subgraph(inner, end);
    int turn = 0;
    auto more = g.condition([&] { return ++turn % 10 == 0 ? 1 : 0; }, part);
    more.chooses(part);
    pool.run([&] {
        g.run();
        // Which worker needs how many records is chance, so that a later run may be the first that needs
        // none.
        std::uint64_t fewest = UINT64_MAX;
        for (int round = 0; round < 50 && fewest != 0; ++round) {
            const std::uint64_t before = allocations();
            g.run();
            fewest = std::min(fewest, allocations() - before);
        }
        EXPECT_EQ(fewest, 0U);
    });
}

TEST_F(graph_bytes, the_second_run_of_one_worker_allocates_nothing) {
    if (!counts_allocations) {
        GTEST_SKIP() << "a sanitizer has its own malloc";
    }
    pilfer::pool pool(workers(1));
    pilfer::graph g;
    auto root = g.task([] { return 1; });
    int sum = 0;
    for (int i = 0; i < 1000; ++i) {
        (void)g.task([&](int v) { sum += v; }, root);
    }
    g.run(pool);
    const std::uint64_t before = allocations();
    g.run(pool);
    EXPECT_EQ(allocations() - before, 0U);
    EXPECT_EQ(sum, 2000);
}

constexpr std::size_t mebibyte = std::size_t{1} << 20;

/// Bytes that malloc has given out.
[[nodiscard]] std::size_t bytes_in_use() {
    const struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

void add_tasks(pilfer::graph& g, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) {
        (void)g.task([] {});
    }
}

/// While it lives, no memory is left by the graphs of tests before.
class takes_what_is_left {
public:
    takes_what_is_left() { add_tasks(m_graph, 70 * mebibyte / 64); }

private:
    pilfer::graph m_graph;
};

TEST_F(graph_bytes, at_most_96_for_a_task_beside_its_function) {
    if (!counts_allocations) {
        GTEST_SKIP() << "a sanitizer has its own malloc";
    }
    const takes_what_is_left first;
    const std::size_t n = 100'000;
    const std::size_t before = bytes_in_use();
    pilfer::graph g;
    auto at = g.task([] {});
    std::vector<pilfer::node<>> before_last(2, at);
    for (std::size_t i = 1; i < n; ++i) {
        // Two edges to each task and two from it.
        auto t = g.task([] {}, before_last[0], before_last[1]);
        before_last[i % 2] = t;
    }
    EXPECT_LE((bytes_in_use() - before) / n, 96U);
    RecordProperty("bytes", static_cast<int>((bytes_in_use() - before) / n));
}

/// Bytes of malloc that a graph of n tasks and its end add.
[[nodiscard]] std::size_t bytes_left_by_a_graph_of(std::size_t n) {
    const std::size_t before = bytes_in_use();
    {
        pilfer::graph g;
        add_tasks(g, n);
    }
    return bytes_in_use() - before;
}

TEST_F(graph_bytes, a_large_graph_leaves_its_memory_to_the_next_one) {
    if (!counts_allocations) {
        GTEST_SKIP() << "a sanitizer has its own malloc, and no block is kept";
    }
    const takes_what_is_left first;
    const std::size_t small = bytes_left_by_a_graph_of(1000);
    EXPECT_LT(small, mebibyte / 16);
    // 12 MiB; the blocks of a mebibyte are kept.
    const std::size_t left = bytes_left_by_a_graph_of(200'000);
    EXPECT_GE(left, 10 * mebibyte);
    EXPECT_LE(left, 14 * mebibyte);
    const std::uint64_t before = allocations();
    EXPECT_LT(bytes_left_by_a_graph_of(200'000), mebibyte / 16);
    EXPECT_LE(allocations() - before, 12U); // blocks of less than a mebibyte
    // 122 MiB; 64 are kept.
    EXPECT_LE(left + bytes_left_by_a_graph_of(2'000'000), 65 * mebibyte);
}

TEST_P(graph_memory, large_graphs_of_several_tasks_share_what_is_left) {
    pilfer::pool pool(with_workers());
    pool.run([] {
        pilfer::for_each(0, 8, [](int i) {
            for (int round = 0; round < 3; ++round) {
                pilfer::graph g;
                std::uint64_t sum = 0;
                auto last = g.task([] { return std::uint64_t{0}; });
                for (int k = 0; k < 20'000; ++k) {
                    last =
                        g.task([i](std::uint64_t before) { return before + static_cast<unsigned>(i); }, last);
                }
                (void)g.task([&](std::uint64_t all) { sum = all; }, last);
                g.run();
                EXPECT_EQ(sum, 20'000U * static_cast<unsigned>(i));
            }
        });
    });
}

PILFER_OVER_WORKERS(graph_memory);

} // namespace
