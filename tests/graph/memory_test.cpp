// Memory: no allocation in the second run, bytes for each task, and memory that is not there.
#include <malloc.h>

#include <atomic>
#include <cstddef>
#include <vector>

#include <pilfer/graph.hpp>

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

TEST_F(graph_bytes, at_most_96_for_a_task_beside_its_function) {
    if (!counts_allocations) {
        GTEST_SKIP() << "a sanitizer has its own malloc";
    }
    const std::size_t n = 100'000;
    const std::size_t before = mallinfo2().uordblks + mallinfo2().hblkhd;
    pilfer::graph g;
    auto at = g.task([] {});
    std::vector<pilfer::node<>> before_last(2, at);
    for (std::size_t i = 1; i < n; ++i) {
        // Two edges to each task and two from it.
        auto t = g.task([] {}, before_last[0], before_last[1]);
        before_last[i % 2] = t;
    }
    const std::size_t after = mallinfo2().uordblks + mallinfo2().hblkhd;
    EXPECT_LE((after - before) / n, 96U);
    RecordProperty("bytes", static_cast<int>((after - before) / n));
}

PILFER_OVER_WORKERS(graph_memory);

} // namespace
