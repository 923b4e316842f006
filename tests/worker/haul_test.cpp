// The exact number of tasks of one theft, under every exposure policy, and the fate of the other tasks.
#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "support/harness.hpp"
#include "worker/stand_still.hpp"

namespace {

using namespace support;
using pilfer::steal_amount;

/// Every exposure policy, threshold with several sizes. None of them is the amount that a thief of half
/// wants.
[[nodiscard]] std::vector<pilfer::options> every_exposure(const pilfer::options& base) {
    using pilfer::exposure;
    std::vector<pilfer::options> all;
    for (const auto policy : {exposure::on_demand, exposure::always_public, exposure::threshold,
                              exposure::doubling, exposure::short_eager, exposure::waiter_first}) {
        all.push_back(base);
        all.back().balance.exposure = policy;
    }
    for (const std::uint64_t count : {1U, 3U, 7U}) {
        all.push_back(base);
        all.back().balance.exposure = exposure::threshold;
        all.back().balance.threshold = {.at_least = 2, .below = 8, .count = count};
    }
    all.push_back(base);
    all.back().balance.exposure = exposure::short_eager;
    all.back().balance.eager = 1;
    return all;
}

/// Worker `rich` has announced tasks 1 .. `tasks`, the others nothing.
[[nodiscard]] stand_still::announce_function on_one(unsigned rich, unsigned tasks,
                                                    std::function<void(unsigned)> task) {
    return [=](unsigned me, pilfer::scope& s) {
        for (unsigned k = 1; me == rich && k <= tasks; ++k) {
            s.fork([task, k] { task(k); });
        }
    };
}

/// One theft after the other around a ring of four: the tasks that each worker ran and kept.
struct spread {
    std::array<std::int64_t, 4> queued{}; // from the rich one on
    std::array<unsigned, 3> running{};    // the thieves, in the order of their thefts
    std::uint64_t thefts = 0;
    std::uint64_t stolen = 0;
    friend bool operator==(const spread&, const spread&) = default;
    friend std::ostream& operator<<(std::ostream& out, const spread& s) {
        out << "queued";
        for (const auto q : s.queued) {
            out << " " << q;
        }
        out << ", running";
        for (const auto r : s.running) {
            out << " " << r;
        }
        return out << ", thefts " << s.thefts << ", stolen " << s.stolen;
    }
};

[[nodiscard]] spread spread_around(pilfer::options o, unsigned rich) {
    o.workers = 4;
    o.balance.victim = pilfer::victim::ring;
    spread result;
    std::atomic<unsigned> started{0};
    std::atomic<bool> end{false};
    std::array<std::atomic<unsigned>, 3> running{};
    {
        stand_still s(o, on_one(rich, 8, [&](unsigned task) {
                          const unsigned turn = started.load();
                          if (turn < 3) {
                              running[turn] = task;
                          }
                          count(started);
                          wait(end);
                      }));
        for (unsigned thief = 1; thief < 4; ++thief) {
            s.let_go(rich + thief);
            wait(started, thief);
        }
        for (unsigned i = 0; i < 4; ++i) {
            result.queued[i] = s.queued(rich + i);
        }
        for (unsigned i = 0; i < 3; ++i) {
            result.running[i] = running[i];
        }
        const auto c = s.pool().counters();
        result.thefts = c.run_stolen;
        result.stolen = c.tasks_stolen;
        open(end);
    }
    EXPECT_EQ(started, 8U) << "lost, or run twice";
    return result;
}

class steal_amounts : public guarded {};

TEST_F(steal_amounts, half_of_eight_in_a_ring_of_four_leaves_four_two_one_one) {
    for (unsigned rich = 0; rich < 4; ++rich) {
        pilfer::options half;
        half.balance.steal = steal_amount::half();
        for (const auto& o : every_exposure(half)) {
            // Each thief runs the oldest task of its theft. The amounts are 4, 2, 1 and 0: the second thief
            // gets 2 and 3 of the first one's tasks 2 to 4, and the third thief gets 3.
            EXPECT_EQ(spread_around(o, rich), (spread{{4, 1, 0, 0}, {1, 2, 3}, 3, 4 + 2 + 1}))
                << "exposure " << static_cast<int>(o.balance.exposure);
        }
    }
}

TEST_F(steal_amounts, every_amount_is_exact_under_every_exposure) {
    const std::pair<steal_amount, spread> rows[] = {
        // The third thief finds its neighbour's queue empty, and the next one's.
        {steal_amount::one(), {{5, 0, 0, 0}, {1, 2, 3}, 3, 3}},
        {steal_amount::part(1, 4), {{4, 0, 0, 1}, {1, 2, 3}, 3, 2 + 1 + 2}},
        {steal_amount::part(3, 4), {{2, 1, 0, 2}, {1, 2, 3}, 3, 6 + 4 + 3}},
        {steal_amount::part(1, 1), {{0, 0, 0, 5}, {1, 2, 3}, 3, 8 + 7 + 6}},
        {steal_amount::all_but_one(), {{1, 1, 1, 2}, {1, 2, 3}, 3, 7 + 5 + 3}},
        {steal_amount::adaptive(), {{5, 0, 0, 0}, {1, 2, 3}, 3, 3}},
    };
    for (const auto& [amount, expected] : rows) {
        pilfer::options base;
        base.balance.steal = amount;
        for (const auto& o : every_exposure(base)) {
            EXPECT_EQ(spread_around(o, 1), expected)
                << "amount " << static_cast<int>(amount.what) << " " << amount.numerator << "/"
                << amount.denominator << ", exposure " << static_cast<int>(o.balance.exposure);
        }
    }
}

/// One thief takes `tasks` tasks from a worker that does nothing. Returns the number of its thefts.
[[nodiscard]] std::uint64_t thefts_for(steal_amount amount, unsigned tasks,
                                       const std::function<void(unsigned)>& task) {
    pilfer::options o = workers(2);
    o.balance.steal = amount;
    std::atomic<unsigned> ran{0};
    stand_still s(o, on_one(0, tasks, [&](unsigned k) {
                      task(k);
                      count(ran);
                  }));
    s.let_go(1);
    wait(ran, tasks);
    const auto c = s.pool().counters();
    EXPECT_EQ(c.tasks_stolen, tasks);
    return c.run_stolen;
}

TEST_F(steal_amounts, tasks_per_steal_in_a_flat_loop) {
    const auto nothing = [](unsigned) {};
    EXPECT_EQ(thefts_for(steal_amount::one(), 64, nothing), 64U);
    EXPECT_EQ(thefts_for(steal_amount::half(), 64, nothing), 7U); // 32, 1 in turn, 16, 8, 4, 2, 1
    EXPECT_EQ(thefts_for(steal_amount::part(1, 1), 64, nothing), 1U);
    EXPECT_EQ(thefts_for(steal_amount::all_but_one(), 64, nothing), 2U);
}

TEST_F(steal_amounts, adaptive_doubles_while_stolen_tasks_fork_nothing) {
    // 1, 2, 4, 8, one in turn, and half of the 48 that are left: 24, 12, 6, 3, 2, 1
    EXPECT_EQ(thefts_for(steal_amount::adaptive(), 64, [](unsigned) {}), 11U);
    EXPECT_EQ(thefts_for(steal_amount::adaptive(), 64, [](unsigned) { (void)pilfer::join([] {}, [] {}); }),
              64U);
    EXPECT_EQ(thefts_for(steal_amount::adaptive(), 64,
                         [](unsigned) {
                             pilfer::scope s;
                             s.spawn([] {});
                             s.sync();
                         }),
              64U);
}

TEST_F(steal_amounts, a_theft_larger_than_the_ring_makes_it_grow) {
    for (const auto amount : {steal_amount::half(), steal_amount::part(1, 1)}) {
        std::vector<std::atomic<int>> ran(3000);
        // A thief with work of its own robs in turn as well, one task at most every 64 ends.
        EXPECT_LE(thefts_for(amount, 3000, [&](unsigned k) { ran[k - 1].fetch_add(1); }),
                  13U + 3000 / 64 + 1);
        for (const auto& times : ran) {
            ASSERT_EQ(times, 1);
        }
    }
}

} // namespace
