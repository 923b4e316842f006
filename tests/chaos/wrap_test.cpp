// Counters that begin near their wraps: real pools pass 2^31, 2^32, 2^47, 2^64 and zero within moments.
#include <gtest/gtest.h>

#include <set>
#include <vector>

#include <pilfer/detail/base/chaos.hpp>

#include "pool/pool_core.hpp"
#include "support/harness.hpp"
#include "support/process.hpp"

namespace {

using namespace support;
namespace detail = pilfer::detail;
namespace chaos = pilfer::detail::chaos;

/// Beginnings of one seed, for the life of this object; nothing is disturbed.
class near_wraps {
public:
    explicit near_wraps(std::uint64_t seed) { chaos::configure({seed, 0, true}); }
    near_wraps(const near_wraps&) = delete;
    near_wraps& operator=(const near_wraps&) = delete;
    ~near_wraps() { chaos::configure({1, 0, false}); }
};

class chaos_wrap : public guarded {};

TEST_F(chaos_wrap, without_it_everything_begins_at_zero) {
    for (int i = 0; i < 100; ++i) {
        EXPECT_EQ(chaos::start_word(64), 0U);
        EXPECT_EQ(chaos::start_index(256), 0);
        EXPECT_EQ(chaos::start_children(), 0);
    }
}

TEST_F(chaos_wrap, counts_begin_right_before_every_boundary) {
    const near_wraps on(7);
    std::set<unsigned> word_edges;
    std::set<int> index_edges;
    for (int i = 0; i < 2000; ++i) {
        const std::uint64_t w = chaos::start_word(64);
        bool found = false;
        for (const unsigned edge : {8U, 16U, 31U, 32U, 47U, 48U, 63U, 64U}) {
            const std::uint64_t end = edge == 64 ? 0 : std::uint64_t{1} << edge;
            if (end - w <= 255) {
                word_edges.insert(edge);
                found = true;
            }
        }
        EXPECT_TRUE(found) << w;
        EXPECT_LE(chaos::start_word(32), UINT32_MAX);
        const std::int64_t index = chaos::start_index(256);
        // The limit after the first ring must fit into the signal word.
        EXPECT_GE(index + 255, 0);
        EXPECT_LE(index, detail::signal_word<detail::std_atom>::limit_mask - (std::int64_t{1} << 39));
        for (const int edge : {16, 31, 32, 47, 48, 52, 57}) {
            if ((std::int64_t{1} << edge) - index >= 0 && (std::int64_t{1} << edge) - index < 128) {
                index_edges.insert(edge);
            }
        }
        if (index <= 0) {
            index_edges.insert(0);
        }
        if (index > std::int64_t{1} << 57) {
            index_edges.insert(58);
        }
    }
    EXPECT_EQ(word_edges, (std::set<unsigned>{8, 16, 31, 32, 47, 48, 63, 64}));
    EXPECT_EQ(index_edges, (std::set<int>{0, 16, 31, 32, 47, 48, 52, 57, 58}));
}

/// The first index of a deque that nothing was pushed to: its signal word hits from the limit of the ring on.
[[nodiscard]] std::int64_t first_index(pilfer::pool& pool) {
    auto& deque = pool.core().at(0).deque;
    std::int64_t low = 0;          // misses: no first ring ends there
    std::int64_t high = INT64_MAX; // hits
    while (high - low > 1) {
        const std::int64_t middle = low + (high - low) / 2;
        (deque.signal().pending(middle) ? high : low) = middle;
    }
    return high - (deque.owner().capacity() - 1);
}

TEST_F(chaos_wrap, deques_of_a_pool_begin_there_and_pass_the_edge) {
#if defined(PILFER_CHECKED)
    GTEST_SKIP()
        << "the signal_word of a checked pool, which counts all, does not tell where its deque begins";
#endif
    std::set<std::int64_t> edges_passed;
    for (std::uint64_t seed = 1; seed <= 100; ++seed) {
        const near_wraps on(seed);
        pilfer::pool pool(workers(1)); // alone: no other worker sets a bit in its signal word
        const std::int64_t first = first_index(pool);
        constexpr std::int64_t n = 300; // beyond the edge, and beyond the first ring
        std::atomic<std::int64_t> ran{0};
        pool.run([&] {
            pilfer::scope s;
            for (std::int64_t i = 0; i < n; ++i) {
                s.fork([&] { ran.fetch_add(1); });
            }
            EXPECT_EQ(ran.load(), 0) << "they lie in the deque all at once";
            EXPECT_GT(pool.core().at(0).deque.owner().capacity(), n);
            s.sync();
        });
        EXPECT_EQ(ran.load(), n);
        for (const int edge : {16, 31, 32, 47, 48, 52, 57}) {
            const std::int64_t position = std::int64_t{1} << edge;
            if (first <= position && position < first + n) {
                edges_passed.insert(edge);
            }
        }
        if (first < 0) {
            edges_passed.insert(0);
        }
    }
    EXPECT_EQ(edges_passed, (std::set<std::int64_t>{0, 16, 31, 32, 47, 48, 52, 57}));
}

TEST_F(chaos_wrap, counters_report_differences_from_their_start) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        const near_wraps on(seed);
        pilfer::options o = workers(3);
        o.debug.count_all = true;
        pilfer::pool pool(o);
        EXPECT_EQ(pool.run([] { return fib_join(12); }), fib(12));
        EXPECT_EQ(pool.run([] { return fib_spawn(12); }), fib(12));
        pool.shutdown();
        const auto c = pool.counters();
        EXPECT_EQ(c.announced, 2 * 232U) << "fib(12) forks 232 times";
        EXPECT_EQ(c.announced, c.run_inline + c.run_own + c.run_stolen);
        EXPECT_EQ(c.suspends, c.resumes);
        EXPECT_EQ(c.run_submitted, 2U);
        EXPECT_LT(c.sleeps + c.wakes + c.steals_tried + c.steals_failed, 1U << 30);
    }
}

/// Units, epochs and round robin: every way to submit and to end.
TEST_F(chaos_wrap, shutdown_counts_past_the_wrap) {
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
        const near_wraps on(seed);
        std::atomic<unsigned> ran{0};
        pilfer::pool pool(workers(static_cast<unsigned>(1 + seed % 5)));
        constexpr unsigned n = 600; // more than any distance to an edge
        for (unsigned i = 0; i < n; ++i) {
            (void)pool.async([&] { ran.fetch_add(1); });
        }
        if (seed % 2 == 0) {
            pool.run([&] { (void)pilfer::async([&] { ran.fetch_add(1); }); });
        }
        pool.shutdown(seed % 3 == 0 ? pilfer::shutdown_mode::drop : pilfer::shutdown_mode::drain);
        EXPECT_EQ(ran.load() + pool.counters().dropped, n + (seed % 2 == 0 ? 1 : 0));
    }
}

class chaos_wrap_over_workers : public over_workers {};

TEST_P(chaos_wrap_over_workers, every_kind_of_fork) {
    for (std::uint64_t seed = 1; seed <= 12; ++seed) {
        const near_wraps on(seed);
        pilfer::options o = with_workers();
        o.balance.exposure = seed % 4 == 0 ? pilfer::exposure::always_public : pilfer::exposure::on_demand;
        o.balance.unshare = seed % 3 == 0 ? pilfer::unshare::all : pilfer::unshare::one;
        o.resume = seed % 5 == 0 ? pilfer::resume::elsewhere : pilfer::resume::anywhere;
        pilfer::pool pool(o);
        EXPECT_EQ(pool.run([] { return fib_join(14); }), fib(14)) << seed;
        EXPECT_EQ(pool.run([] { return fib_spawn(14); }), fib(14)) << seed;
        EXPECT_EQ(pool.run([] { return fib_fork(14); }), fib(14)) << seed;
    }
}

PILFER_OVER_WORKERS(chaos_wrap_over_workers);

/// A scope's two halves begin far from zero: children of every kind, from the owner and from descendants.
TEST_P(chaos_wrap_over_workers, scopes_that_begin_far_from_zero) {
    const near_wraps on(3);
    pilfer::pool pool(with_workers());
    std::atomic<unsigned> ran{0};
    unsigned far = 0;
    pool.run([&] {
        for (int round = 0; round < 400; ++round) {
            detail::child_counter<detail::std_atom> probe;
            far += probe.pending() != 0;
            pilfer::scope s;
            s.spawn([&] { ran.fetch_add(1); });
            s.fork([&] {
                ran.fetch_add(1);
                s.fork([&] { ran.fetch_add(1); });
            });
            if (round % 2 == 0) {
                s.sync();
                s.fork([&] { ran.fetch_add(1); });
            }
        }
    });
    EXPECT_EQ(ran.load(), 400 * 3 + 200U);
    EXPECT_GT(far, 0U);
}

} // namespace
