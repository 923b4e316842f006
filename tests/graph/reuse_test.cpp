// Graphs that are run again after failures, nested, deep, or destroyed.
#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <pilfer/pilfer.hpp>

#include "support/harness.hpp"

namespace {

using namespace support;
using namespace std::chrono_literals;

class graph_reuse : public over_workers {};

TEST_P(graph_reuse, a_limit_that_was_given_up_in_a_failed_run_is_free_later) {
    pilfer::pool pool(with_workers());
    pilfer::graph_limit first(1);
    pilfer::graph_limit second(1);
    pilfer::graph g;
    bool fails = true;
    std::atomic<int> ran{0};
    const auto t = g.task([&] {
        if (fails) {
            throw std::runtime_error("fails");
        }
        ++ran;
    });
    const auto u = g.task([&] { ++ran; });
    t.limited_by(first);
    u.limited_by(first);
    EXPECT_THROW(g.run(pool), std::runtime_error);
    fails = false;
    for (pilfer::graph_limit* l : {&second, &first, &second}) {
        t.limited_by(*l);
        u.limited_by(*l);
        ran = 0;
        g.run(pool);
        EXPECT_EQ(ran, 2);
    }
}

/// A value whose copies take time.
class slow_to_copy {
public:
    struct record {
        std::atomic<const slow_to_copy*> copied{nullptr};
        std::atomic<bool> seen{false}; // by the condition
        std::atomic<bool> destroyed_meanwhile{false};
    };
    explicit slow_to_copy(record& r) : m_record(&r) {}
    slow_to_copy(const slow_to_copy& other) : m_record(other.m_record) {
        m_record->copied = &other;
        for (int k = 0; k < 10'000 && !m_record->seen; ++k) {
            pilfer::sleep_for(1ms);
        }
        pilfer::sleep_for(20ms);
        m_record->copied = nullptr;
    }
    slow_to_copy& operator=(const slow_to_copy&) = delete;
    ~slow_to_copy() {
        if (m_record->copied == this) {
            m_record->destroyed_meanwhile = true;
        }
    }

private:
    record* m_record;
};

TEST_P(graph_reuse, a_value_stays_while_a_result_that_refers_to_it_is_copied) {
    PILFER_NOT_ON_ONE_LOCK("a child is a plain call there, so that no other one ends its wait");
    pilfer::pool pool(with_workers());
    slow_to_copy::record r;
    pilfer::graph g;
    const auto value = g.task([&] { return slow_to_copy(r); });
    const auto copy = g.task([](const slow_to_copy& v) -> const slow_to_copy& { return v; }, value);
    const auto again = g.condition(
        [&](const slow_to_copy&) {
            for (int k = 0; k < 10'000 && r.copied == nullptr && !r.seen; ++k) {
                pilfer::sleep_for(1ms);
            }
            r.seen = true;
            return 0;
        },
        value);
    again.chooses(value);
    const auto enter = g.condition([] { return 0; });
    enter.chooses(value);
    EXPECT_THROW(g.run(pool), pilfer::usage_error);
    EXPECT_TRUE(r.seen); // the condition has run
    EXPECT_FALSE(r.destroyed_meanwhile);
    (void)copy;
}

TEST_P(graph_reuse, a_task_that_leaves_by_stopped_cancels_the_others) {
    PILFER_NOT_ON_ONE_LOCK("a child is a plain call there, so that no other one ends its wait");
    pilfer::pool pool(with_workers());
    pilfer::event never;
    pilfer::graph g;
    const auto leaves = g.task([] { throw pilfer::stopped(); });
    (void)g.task([&] { never.set(); }, leaves);
    (void)g.task([&] { never.wait(); });
    EXPECT_THROW(g.run(pool), pilfer::stopped);
}

/// Each step of the ladder makes a leaf and the next step ready, the leaf first.
void run_ladder(pilfer::pool& pool, int steps) {
    pilfer::graph g;
    std::atomic<int> ran{0};
    auto at = g.task([&] { ++ran; });
    for (int i = 1; i < steps; ++i) {
        (void)g.task([&] { ++ran; }, at);
        at = g.task([&] { ++ran; }, at);
    }
    for (int round = 1; round <= 2; ++round) {
        g.run(pool);
        EXPECT_EQ(ran, round * (2 * steps - 1));
    }
}

TEST_P(graph_reuse, a_long_ladder_needs_no_deep_stack) {
    pilfer::pool pool(with_workers());
    run_ladder(pool, 50'000);
    pilfer::pool calls({.workers = GetParam(), .backend = pilfer::backend::one_lock});
    run_ladder(calls, 50'000);
}

TEST_P(graph_reuse, many_roots_and_many_edges_on_one_lock) {
    pilfer::pool pool({.workers = GetParam(), .backend = pilfer::backend::one_lock});
    pilfer::graph g;
    std::atomic<int> ran{0};
    const auto root = g.task([&] { ++ran; });
    for (int i = 0; i < 10'000; ++i) {
        (void)g.task([&] { ++ran; });
        (void)g.task([&] { ++ran; }, root);
    }
    g.run(pool);
    EXPECT_EQ(ran, 20'001);
}

TEST(graph_end, values_are_destroyed_before_those_that_they_were_made_of) {
    struct database {
        std::shared_ptr<bool> open = std::make_shared<bool>(true);
        database() = default;
        database(const database&) = delete;
        database& operator=(const database&) = delete;
        ~database() { *open = false; }
    };
    struct transaction {
        explicit transaction(const database& d, bool& ok) : open(d.open), saw_open(&ok) {}
        transaction(const transaction&) = delete;
        transaction& operator=(const transaction&) = delete;
        ~transaction() { *saw_open = *open; }
        std::shared_ptr<bool> open;
        bool* saw_open;
    };
    bool saw_open = false;
    {
        pilfer::graph g;
        const auto db = g.task([] { return database(); });
        (void)g.task([&](const database& d) { return transaction(d, saw_open); }, db);
        g.run();
    }
    EXPECT_TRUE(saw_open);
}

TEST(graph_end, a_graph_that_is_contained_in_many_ways_is_looked_at_once) {
    constexpr std::size_t levels = 60;
    std::vector<std::unique_ptr<pilfer::graph>> all;
    for (std::size_t i = 0; i < levels; ++i) {
        all.push_back(std::make_unique<pilfer::graph>());
        (void)all.back()->task([] {});
        if (i != 0) {
            (void)all[i]->subgraph(*all[i - 1]);
            (void)all[i]->subgraph(*all[i - 1]); // 2^60 ways
        }
    }
    EXPECT_THROW((void)all[0]->subgraph(*all[levels - 1]), pilfer::usage_error);
}

PILFER_OVER_WORKERS(graph_reuse);

} // namespace
