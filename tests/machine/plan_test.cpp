// Plans and neighbourhoods without hwloc: properties that hold on every machine.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "balance/victim.hpp"
#include "machine/detect.hpp"
#include "machine/plan.hpp"

namespace {

namespace balance = pilfer::balance;
namespace machine = pilfer::machine;
using pilfer::pinning;

/// Between 1 and 64 CPUs; every level has its own number of parts, every core its own speed.
[[nodiscard]] machine::topology any_machine(balance::random& dice) {
    machine::topology cpus;
    unsigned number = 0;
    unsigned core = 0;
    unsigned cache2 = 0;
    unsigned cache3 = 0;
    const unsigned packages = 1 + dice.below(3);
    for (unsigned package = 0; package < packages; ++package) {
        for (unsigned l3 = 1 + dice.below(2); l3 > 0; --l3, ++cache3) {
            for (unsigned l2 = 1 + dice.below(2); l2 > 0; --l2, ++cache2) {
                for (unsigned c = 1 + dice.below(2); c > 0; --c, ++core) {
                    const unsigned speed = dice.below(2);
                    const unsigned siblings = 1 + dice.below(2);
                    for (unsigned s = 0; s < siblings; ++s) {
                        cpus.push_back({number++, core, cache2, cache3, package, package, speed, s});
                    }
                }
            }
        }
    }
    return cpus;
}

TEST(cpu_plan, without_knowledge_in_order_of_number) {
    const unsigned mask[] = {1, 3, 4};
    const auto cpus = machine::flat(mask);
    for (const auto how : {pinning::compact, pinning::spread}) {
        EXPECT_EQ(machine::seat(1, 1, how, cpus).cpu, (std::vector<unsigned>{1}));
        EXPECT_EQ(machine::seat(3, 3, how, cpus).cpu, (std::vector<unsigned>{1, 3, 4}));
        EXPECT_EQ(machine::seat(5, 5, how, cpus).cpu, (std::vector<unsigned>{1, 1, 3, 3, 4}));
    }
}

TEST(cpu_plan, without_cpus_pinning_is_off) {
    const auto s = machine::seat(3, 3, pinning::compact, {});
    EXPECT_EQ(s.how, pinning::off);
    EXPECT_TRUE(s.cpu.empty());
}

TEST(cpu_plan, workers_that_may_come_later_share_the_cpus_of_the_first_ones) {
    const std::vector<unsigned> mask{1, 3, 4};
    const auto cpus = machine::flat(mask);
    const auto s = machine::seat(2, 5, pinning::compact, cpus);
    EXPECT_EQ(s.cpu, (std::vector<unsigned>{1, 3, 1, 3, 1}));
    for (unsigned i = 0; i < 5; ++i) {
        ASSERT_EQ(s.near.of(i).size(), 1U);
        EXPECT_EQ(s.near.of(i)[0].last, 5U) << "nobody is nearer than others";
    }
    EXPECT_EQ(machine::seat(2, 2, pinning::compact, cpus).cpu, (std::vector<unsigned>{1, 3}));
}

TEST(cpu_plan, off_pins_no_worker_and_has_no_near_groups) {
    const auto s = machine::seat(3, 3, pinning::off);
    EXPECT_TRUE(s.cpu.empty());
    EXPECT_TRUE(s.mask.empty());
    for (unsigned i = 0; i < 3; ++i) {
        ASSERT_EQ(s.near.of(i).size(), 1U);
        EXPECT_EQ(s.near.of(i)[0].first, 0U);
        EXPECT_EQ(s.near.of(i)[0].last, 3U);
    }
}

TEST(cpu_shares, each_cpu_gets_its_share_of_the_workers) {
    balance::random dice(1);
    for (int round = 0; round < 200; ++round) {
        const auto cpus = any_machine(dice);
        const auto n = static_cast<unsigned>(cpus.size());
        for (const auto how : {pinning::compact, pinning::spread}) {
            for (const unsigned workers : {1U, 2U, n, n + 1, 3 * n, 3 * n + 2}) {
                std::map<unsigned, unsigned> share;
                for (const unsigned p : machine::place(cpus, workers, how)) {
                    ++share[p];
                }
                for (unsigned p = 0; p < n; ++p) {
                    EXPECT_GE(share[p], workers / n);
                    EXPECT_LE(share[p], (workers + n - 1) / n);
                }
            }
        }
    }
}

TEST(cpu_plan, cores_before_siblings_and_fast_ones_before_slow_ones) {
    balance::random dice(2);
    for (int round = 0; round < 200; ++round) {
        const auto cpus = any_machine(dice);
        const auto rank = [&](unsigned p) { return 2 * cpus[p].sibling + 1 - cpus[p].speed; };
        for (const auto how : {pinning::compact, pinning::spread}) {
            for (unsigned workers = 1; workers < cpus.size(); ++workers) {
                const auto used = machine::place(cpus, workers, how);
                unsigned worst = 0;
                for (const unsigned p : used) {
                    worst = std::max(worst, rank(p));
                }
                for (unsigned p = 0; p < cpus.size(); ++p) {
                    if (std::find(used.begin(), used.end(), p) == used.end()) {
                        EXPECT_GE(rank(p), worst) << "left out although it is better";
                    }
                }
            }
        }
    }
}

/// Each core, cache or package is used by consecutive workers: no worker elsewhere in the ring shares one
/// with them.
TEST(worker_ring, workers_that_share_a_cache_are_consecutive) {
    balance::random dice(3);
    for (int round = 0; round < 200; ++round) {
        const auto cpus = any_machine(dice);
        const unsigned workers = 1 + dice.below(2 * static_cast<unsigned>(cpus.size()));
        const auto how = round % 2 == 0 ? pinning::compact : pinning::spread;
        const auto at = machine::place(cpus, workers, how);
        for (const auto what :
             {&machine::cpu::core, &machine::cpu::cache2, &machine::cpu::cache3, &machine::cpu::package}) {
            std::set<unsigned> over;
            for (unsigned i = 0; i < workers; ++i) {
                const unsigned here = cpus[at[i]].*what;
                if (i > 0 && here != cpus[at[i - 1]].*what) {
                    over.insert(cpus[at[i - 1]].*what);
                }
                EXPECT_FALSE(over.contains(here)) << "in two places";
            }
        }
    }
}

void expect_nested(std::span<const balance::group> groups, unsigned worker, unsigned workers) {
    ASSERT_FALSE(groups.empty());
    balance::group inner{worker, worker + 1};
    for (const balance::group& g : groups) {
        EXPECT_LE(g.first, inner.first);
        EXPECT_GE(g.last, inner.last);
        EXPECT_GT(g.last - g.first, workers == 1 ? 0 : inner.last - inner.first) << "it adds nobody";
        inner = g;
    }
    EXPECT_EQ(inner.first, 0U);
    EXPECT_EQ(inner.last, workers);
}

TEST(near_groups, groups_are_nested_and_the_last_has_all_workers) {
    balance::random dice(4);
    for (int round = 0; round < 200; ++round) {
        const auto cpus = any_machine(dice);
        const unsigned workers = 2 + dice.below(2 * static_cast<unsigned>(cpus.size()));
        const auto s = machine::seat(workers, workers, pinning::spread, cpus);
        for (unsigned i = 0; i < workers; ++i) {
            expect_nested(s.near.of(i), i, workers);
        }
    }
}

TEST(near_groups, fewer_workers_than_planned) {
    balance::random dice(5);
    for (int round = 0; round < 100; ++round) {
        const auto cpus = any_machine(dice);
        auto s = machine::seat(12, 12, pinning::compact, cpus);
        s.near.shrink(5);
        for (unsigned i = 0; i < 5; ++i) {
            balance::chooser next(pilfer::victim::nearest, i, 5, s.near.of(i));
            for (int k = 0; k < 100; ++k) {
                const unsigned v = next.next(dice, [](unsigned) { return 0; });
                ASSERT_LT(v, 5U);
                ASSERT_NE(v, i);
                next.failed(v);
            }
        }
    }
}

TEST(near_groups, the_nearest_are_asked_first) {
    machine::topology cpus;
    for (unsigned i = 0; i < 8; ++i) {
        cpus.push_back({i, i, i / 2, i / 4, 0, 0, 0, 0});
    }
    const auto s = machine::seat(8, 8, pinning::compact, cpus);
    balance::random dice(6);
    balance::chooser next(pilfer::victim::nearest, 5, 8, s.near.of(5));
    const auto ask = [&] {
        const unsigned v = next.next(dice, [](unsigned) { return 0; });
        next.failed(v);
        return v;
    };
    EXPECT_EQ(ask(), 4U);
    for (int k = 0; k < 3; ++k) {
        EXPECT_GE(ask(), 4U);
    }
    std::set<unsigned> others;
    for (int k = 0; k < 200; ++k) {
        others.insert(ask());
    }
    EXPECT_EQ(others.size(), 7U) << "far ones too, in the end";
}

TEST(detected_topology, extent_of_shared_levels) {
    balance::random dice(7);
    const auto cpus = any_machine(dice);
    const auto e = machine::extent_of(cpus);
    EXPECT_EQ(e.cores, cpus.back().core + 1);
    EXPECT_EQ(e.packages, cpus.back().package + 1);
    EXPECT_EQ(machine::extent_of(machine::flat(std::vector<unsigned>{3, 5})).cores, 2U);
}

TEST(detected_topology, this_machine_has_the_cpus_of_the_mask) {
    const std::vector<unsigned> mask = {0};
    const auto cpus = machine::this_machine(mask);
    ASSERT_EQ(cpus.size(), 1U);
    EXPECT_EQ(cpus[0].number, 0U);
    EXPECT_EQ(cpus[0].sibling, 0U);
}

TEST(pinning_names, are_read_from_the_environment) {
    EXPECT_EQ(machine::pinning_from(nullptr), pinning::off);
    for (const auto p : {pinning::off, pinning::compact, pinning::spread}) {
        EXPECT_EQ(machine::pinning_from(std::string(machine::name(p)).c_str()), p);
    }
    for (const char* wrong : {"", "on", "automatic", "Compact", "compact ", "compact,spread", "0"}) {
        EXPECT_THROW((void)machine::pinning_from(wrong), std::invalid_argument) << wrong;
    }
}

} // namespace
