// Real programs under every amount, victim and exposure: nothing is lost or run twice, and the books balance.
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "balance/text.hpp"
#include "support/harness.hpp"

namespace {

using namespace support;
using pilfer::exposure;
using pilfer::steal_amount;
using pilfer::victim;

constexpr steal_amount amounts[] = {steal_amount::one(),         steal_amount::part(1, 4),
                                    steal_amount::half(),        steal_amount::part(1, 1),
                                    steal_amount::all_but_one(), steal_amount::adaptive()};
constexpr victim victims[] = {victim::random, victim::sticky, victim::ring, victim::nearest, victim::longest};

/// A program whose tasks are numbered: task lo runs, with its descendants lo + 1 .. hi - 1. They are forked
/// in groups, in all possible ways, some with weights. A hash of lo decides.
class program {
public:
    program(std::uint64_t seed, std::uint32_t tasks, bool futures)
        : m_seed(seed), m_tasks(tasks), m_futures(futures),
          m_ran(std::make_unique<std::atomic<std::uint8_t>[]>(tasks)) {}
    void operator()() { walk(0, m_tasks); }

    /// How many tasks ran; every failure to run exactly once, but for `dropped` of them, is a failure.
    void expect_all(std::uint64_t dropped) const {
        std::uint64_t ran = 0;
        for (std::uint32_t i = 0; i < m_tasks; ++i) {
            ASSERT_LE(m_ran[i], 1U) << "task " << i << " ran twice";
            ran += m_ran[i];
        }
        EXPECT_EQ(ran + dropped, m_tasks);
    }

private:
    [[nodiscard]] std::uint64_t hash(std::uint64_t of) const {
        std::uint64_t x = m_seed + of * 0x9e3779b97f4a7c15ULL;
        x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
        x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
        return x ^ (x >> 31);
    }
    void mark(std::uint32_t i) { m_ran[i].fetch_add(1, std::memory_order_relaxed); }

    void walk(std::uint32_t lo, std::uint32_t hi) {
        if (lo == hi) {
            return;
        }
        mark(lo);
        ++lo;
        if (hi - lo < 2) {
            walk(lo, hi);
            return;
        }
        const std::uint64_t h = hash(lo);
        // Half of all splits are even, so that the depth stays small.
        const std::uint32_t middle =
            lo + ((h & 1) != 0 ? (hi - lo) / 2 : 1 + static_cast<std::uint32_t>((h >> 32) % (hi - lo - 1)));
        switch ((h >> 1) % 8) {
        case 0:
            (void)pilfer::join([=, this] { walk(lo, middle); }, [=, this] { walk(middle, hi); });
            break;
        case 1: {
            pilfer::scope s;
            if ((h & 16) != 0) {
                s.spawn({.weight = hi - middle}, [=, this] { walk(lo, middle); });
            } else {
                s.spawn([=, this] { walk(lo, middle); });
            }
            s.spawn([=, this] { walk(middle, hi); });
            s.sync();
            break;
        }
        case 2: {
            pilfer::scope s;
            if ((h & 16) != 0) {
                s.fork({.weight = middle - lo + 1}, [=, this] { walk(lo, middle); });
            } else {
                s.fork([=, this] { walk(lo, middle); });
            }
            walk(middle, hi);
            s.sync();
            break;
        }
        case 3:
            futures(lo, middle, hi);
            break;
        case 4:
            pilfer::for_each(lo, hi, [this](std::uint32_t i) { mark(i); });
            break;
        case 5: {
            pilfer::scope s;
            for (std::uint32_t i = lo; i < hi; ++i) {
                if ((h & 16) != 0 && i % 3 == 0) {
                    s.fork({.weight = i % 64 + 1}, [=, this] { mark(i); });
                } else {
                    s.fork([=, this] { mark(i); });
                }
            }
            s.sync();
            break;
        }
        case 6: {
            // The last function throws: the first one has run, runs, or is dropped. It would be stopped, too,
            // if it had any point at which it could leave.
            const auto both = [&] {
                (void)pilfer::join([=, this] { mark(lo); },
                                   [=, this] {
                                       walk(lo + 1, hi);
                                       throw lo;
                                   });
            };
            EXPECT_THROW(both(), std::uint32_t);
            break;
        }
        default:
            dropping(lo, hi);
        }
    }
    void futures(std::uint32_t lo, std::uint32_t middle, std::uint32_t hi) {
        if (!m_futures) {
            walk(lo, hi);
            return;
        }
        auto first = pilfer::async({.weight = middle - lo + 1}, [=, this] { walk(lo, middle); });
        auto second = pilfer::async([=, this] { walk(middle, hi); });
        first.get();
        second.get();
    }
    /// Some of these run, one throws, the others are dropped and counted.
    void dropping(std::uint32_t lo, std::uint32_t hi) {
        const auto all = [&] {
            pilfer::scope s;
            for (std::uint32_t i = lo; i < hi; ++i) {
                s.fork([=, this] {
                    mark(i);
                    if (i == hi - 2) {
                        throw i;
                    }
                });
            }
            s.sync();
        };
        EXPECT_THROW(all(), std::uint32_t);
    }

    std::uint64_t m_seed;
    std::uint32_t m_tasks;
    bool m_futures;
    std::unique_ptr<std::atomic<std::uint8_t>[]> m_ran;
};

class steal_policies : public testing::TestWithParam<std::tuple<unsigned, exposure>> {
protected:
    /// All that an exposure can be combined with; `tasks` each.
    void run_all(std::uint32_t tasks) {
        std::uint64_t turn = std::get<0>(GetParam());
        for (const auto amount : amounts) {
            for (const auto whom : victims) {
                ++turn;
                // So many threads for so few tasks: the short form takes one combination in three.
                if (scale() == 1 && std::get<0>(GetParam()) == 64 &&
                    (turn + static_cast<std::uint64_t>(std::get<1>(GetParam()))) % 3 != 0) {
                    continue;
                }
                pilfer::options o = workers(std::get<0>(GetParam()));
                o.balance.steal = amount;
                o.balance.victim = whom;
                o.balance.exposure = std::get<1>(GetParam());
                o.balance.eager = 1 + turn % 5;
                o.balance.threshold = {.at_least = 1 + turn % 3, .below = 1 + turn % 4, .count = turn % 6};
                o.balance.unshare = turn % 2 == 0 ? pilfer::unshare::one : pilfer::unshare::all;
                o.resume = static_cast<pilfer::resume>(turn % 3);
                o.debug.count_all = turn % 5 < 2;
                o.max_contexts = turn % 4 == 0 ? 3 : 0;
                if (o.max_contexts != 0) {
                    o.stack_size = std::size_t{16} << 20; // tasks run on top of others
                }
                SCOPED_TRACE(pilfer::balance::name(o.balance) + ", turn " + std::to_string(turn));
                run_one(o, turn, tasks);
            }
        }
    }

private:
    static void run_one(const pilfer::options& o, std::uint64_t seed, std::uint32_t tasks) {
        pilfer::pool pool(o);
        // A task that waits for a future with the last stack may wait for a frame below itself.
        program p(seed, tasks, o.max_contexts == 0);
        pool.run([&] { p(); });
        pool.shutdown();
        const auto c = pool.counters();
        p.expect_all(c.dropped);
        EXPECT_EQ(c.suspends, c.resumes);
        EXPECT_EQ(c.steals_tried, c.run_stolen + c.steals_failed + c.steals_lost);
        EXPECT_GE(c.tasks_stolen, c.run_stolen);
        if (o.balance.steal.what == steal_amount::rule::one) {
            EXPECT_EQ(c.tasks_stolen, c.run_stolen);
        }
        if (o.debug.count_all) {
            EXPECT_EQ(c.announced, c.run_inline + c.run_own + c.run_stolen);
        }
    }
    watchdog m_watchdog{20};
};

TEST_P(steal_policies, lose_nothing_and_run_nothing_twice) {
    constexpr std::uint64_t pools = std::uint64_t{5} * 6 * std::size(amounts) * std::size(victims);
    // Not fewer: a task of `dropping` with one child would have no sibling to throw.
    run_all(static_cast<std::uint32_t>(std::max<std::uint64_t>(hundredth_of(10'000'000) / pools, 100)));
}

INSTANTIATE_TEST_SUITE_P(workers, steal_policies,
                         testing::Combine(testing::Values(1U, 2U, 3U, 8U, 64U),
                                          testing::Values(exposure::on_demand, exposure::always_public,
                                                          exposure::threshold, exposure::doubling,
                                                          exposure::short_eager, exposure::waiter_first)),
                         [](const auto& one) {
                             return std::to_string(std::get<0>(one.param)) + "_exposure_" +
                                    std::to_string(static_cast<int>(std::get<1>(one.param)));
                         });

} // namespace
