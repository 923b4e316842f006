// Whom a thief tries: a histogram or the very sequence for each rule.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "balance/victim.hpp"
#include "support/harness.hpp"

namespace {

using namespace support;
using pilfer::victim;
using pilfer::balance::chooser;
using pilfer::balance::group;
using pilfer::balance::random;
using pilfer::balance::random_other;

constexpr auto nobody_asks = [](unsigned) -> std::uint64_t {
    ADD_FAILURE() << "only `longest` reads queues";
    return 0;
};

/// The victims of `count` tries. Each try finds nothing.
template <class Length>
[[nodiscard]] std::vector<unsigned> tries(chooser& c, random& r, unsigned count, Length length) {
    std::vector<unsigned> all;
    for (unsigned i = 0; i < count; ++i) {
        all.push_back(c.next(r, length));
        c.failed(all.back());
    }
    return all;
}
[[nodiscard]] std::vector<unsigned> histogram(const std::vector<unsigned>& chosen, unsigned n) {
    std::vector<unsigned> counts(n);
    for (const unsigned v : chosen) {
        ++counts.at(v);
    }
    return counts;
}
using numbers = std::vector<unsigned>;

class victim_chooser : public guarded {};

TEST_F(victim_chooser, random_draws_what_random_other_draws) {
    for (const unsigned n : {2U, 3U, 64U}) {
        random mine(7);
        random other(7);
        chooser c(victim::random, 1, n);
        c.succeeded(0); // remembers nothing
        for (const unsigned v : tries(c, mine, 1000, nobody_asks)) {
            ASSERT_EQ(v, random_other(other, 1, n));
        }
    }
}

TEST_F(victim_chooser, sticky_stays_at_a_victim_with_work_and_then_goes_around) {
    random r(1);
    chooser c(victim::sticky, 2, 5);
    EXPECT_EQ(tries(c, r, 8, nobody_asks), (numbers{1, 3, 4, 0, 1, 3, 4, 0})) << "itself it leaves out";
    c.succeeded(4);
    EXPECT_EQ(c.next(r, nobody_asks), 4U);
    c.succeeded(4);
    EXPECT_EQ(tries(c, r, 5, nobody_asks), (numbers{4, 0, 1, 3, 4}));
    chooser of_two(victim::sticky, 0, 2);
    EXPECT_EQ(tries(of_two, r, 3, nobody_asks), (numbers{1, 1, 1}));
}

TEST_F(victim_chooser, ring_takes_the_previous_worker) {
    random r(1);
    for (const unsigned n : {2U, 3U, 64U}) {
        for (unsigned self = 0; self < n; ++self) {
            chooser c(victim::ring, self, n);
            EXPECT_EQ(histogram(tries(c, r, 10, nobody_asks), n)[(self + n - 1) % n], 10U);
        }
    }
}

TEST_F(victim_chooser, nearest_begins_near_and_goes_further_with_each_failure) {
    // Worker 5 shares a core with 4, a socket with 4 .. 7, and the machine with 0 .. 15.
    const group near[] = {{4, 6}, {4, 8}, {0, 16}};
    random r(3);
    chooser c(victim::nearest, 5, 16, near);
    std::vector<unsigned> of_core;
    std::vector<unsigned> of_socket;
    std::vector<unsigned> of_all;
    for (int round = 0; round < 400; ++round) {
        const numbers t = tries(c, r, 12, nobody_asks);
        of_core.push_back(t[0]);
        of_socket.insert(of_socket.end(), t.begin() + 1, t.begin() + 4);
        of_all.insert(of_all.end(), t.begin() + 4, t.end());
        c.succeeded(9); // after any success the next search begins near again
    }
    EXPECT_EQ(histogram(of_core, 16)[4], 400U);
    const auto socket = histogram(of_socket, 16);
    for (const unsigned v : {4U, 6U, 7U}) {
        EXPECT_NEAR(socket[v], 400, 100) << v;
    }
    EXPECT_EQ(socket[4] + socket[6] + socket[7], 1200U);
    const auto all = histogram(of_all, 16);
    EXPECT_EQ(all[5], 0U);
    for (unsigned v = 0; v < 16; ++v) {
        if (v != 5) {
            EXPECT_NEAR(all[v], 3200.0 / 15, 100) << v;
        }
    }
}

TEST_F(victim_chooser, nearest_without_success_keeps_asking_all_workers) {
    const group near[] = {{0, 2}, {0, 64}};
    random r(5);
    chooser c(victim::nearest, 1, 64, near);
    const auto all = histogram(tries(c, r, 20'000, nobody_asks), 64);
    EXPECT_EQ(all[1], 0U);
    EXPECT_TRUE(std::all_of(all.begin() + 2, all.end(), [](unsigned n) { return n > 0; }));
    EXPECT_GT(all[0], 1000U);
}

TEST_F(victim_chooser, longest_takes_from_the_worker_with_most_tasks) {
    std::vector<std::uint64_t> queue(8, 3);
    const auto length = [&](unsigned v) {
        EXPECT_NE(v, 2U) << "its own queue";
        return queue[v];
    };
    random r(1);
    chooser c(victim::longest, 2, 8);
    // Equals: each has its turn.
    const auto equal = histogram(tries(c, r, 7000, length), 8);
    for (unsigned v = 0; v < 8; ++v) {
        EXPECT_NEAR(equal[v], v == 2 ? 0 : 1000, v == 2 ? 0 : 200) << v;
    }
    queue[2] = 100;
    queue[6] = 4;
    EXPECT_EQ(histogram(tries(c, r, 100, length), 8)[6], 100U);
    queue[0] = 5;
    EXPECT_EQ(histogram(tries(c, r, 100, length), 8)[0], 100U);
}

} // namespace
