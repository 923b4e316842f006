// The times of a chain by place: what copies and replacements keep, and that a chain does not grow with the
// program.
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <random>

#include "profile/chain.hpp"
#include "support/harness.hpp"

namespace {

using namespace support;
using pilfer::v0::profile::at_place;
using pilfer::v0::profile::chain;

using sums = std::map<std::uint32_t, std::pair<std::uint64_t, std::uint64_t>>;
sums sums_of(const chain& c, std::size_t* entries = nullptr) {
    sums all;
    c.each([&](const at_place& e) {
        all[e.place].first += e.ns;
        all[e.place].second += e.burden_ns;
        if (entries != nullptr) {
            ++*entries;
        }
    });
    return all;
}

class chain_of_places : public guarded {};

TEST_F(chain_of_places, adds_up_by_place_and_copies_go_their_own_ways) {
    chain a;
    EXPECT_TRUE(sums_of(a).empty());
    a.add(1, 10, 0);
    a.add(2, 20, 5);
    a.add(1, 1, 2);
    chain b = a;
    b.add(1, 100, 0);
    a.add(3, 7, 0);
    EXPECT_EQ(sums_of(a), (sums{{1, {11, 2}}, {2, {20, 5}}, {3, {7, 0}}}));
    EXPECT_EQ(sums_of(b), (sums{{1, {111, 2}}, {2, {20, 5}}}));
    a = b;
    b = {};
    EXPECT_EQ(sums_of(a), (sums{{1, {111, 2}}, {2, {20, 5}}}));
    EXPECT_TRUE(sums_of(b).empty());
}

TEST_F(chain_of_places, does_not_grow_with_the_program) {
    chain task;
    for (int i = 0; i < 100'000; ++i) { // forks a child, waits for it, and continues from either of them
        task.add(1, 1, 0);
        chain child = task;
        task.add(2, 1, 0);
        child.add(3, 1, 1);
        if (i % 2 == 0) {
            task = child;
        }
    }
    std::size_t entries = 0;
    EXPECT_EQ(sums_of(task, &entries), (sums{{1, {100'000, 0}}, {2, {50'000, 0}}, {3, {50'000, 50'000}}}));
    EXPECT_LT(entries, 20U);
}

TEST_F(chain_of_places, with_many_places_does_not_grow_with_the_program) {
    chain task;
    for (std::uint32_t i = 0; i < 100'000; ++i) {
        task.add(i % 10, 1, 0);
        chain child = task;
        task.add(10 + i % 10, 1, 0);
        child.add(20 + i % 7, 1, 1);
        if (i % 2 == 0) {
            task = child;
        }
    }
    std::size_t entries = 0;
    std::uint64_t all = 0;
    for (const auto& [place, sum] : sums_of(task, &entries)) {
        all += sum.first;
    }
    EXPECT_EQ(all, 200'000U);
    EXPECT_LT(entries, 200U);
}

TEST_F(chain_of_places, random_programs_agree_with_maps) {
    std::mt19937 dice(7);
    std::vector<std::pair<chain, sums>> all(8);
    for (int i = 0; i < 20'000; ++i) {
        auto& [c, s] = all[dice() % all.size()];
        if (dice() % 4 == 0) {
            const auto& other = all[dice() % all.size()];
            s = other.second;
            c = other.first;
        } else {
            const auto place = static_cast<std::uint32_t>(dice() % 9);
            const std::uint64_t ns = dice() % 100;
            c.add(place, ns, ns / 3);
            s[place].first += ns;
            s[place].second += ns / 3;
        }
    }
    for (const auto& [c, s] : all) {
        EXPECT_EQ(sums_of(c), s);
    }
}

} // namespace
