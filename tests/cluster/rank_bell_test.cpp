// Datagrams that end the sleep of another rank.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include <pilfer/cluster/archive.hpp>

#include "jobqueue/rank_bell.hpp"

namespace {

using pilfer::detail::rank_bell;

constexpr std::uint64_t hour = 3'600'000'000'000;

TEST(rank_bell, datagram_ends_the_sleep_of_another_rank) {
    rank_bell one;
    rank_bell other;
    for (rank_bell* b : {&one, &other}) {
        b->meet({one.address(), other.address()});
    }
    for (int i = 0; i < 3; ++i) {
        EXPECT_FALSE(one.take_rung());
        other.ring_at(0);
        while (!one.take_rung()) {
            one.wait(hour);
        }
        EXPECT_FALSE(one.take_rung()) << "once";
    }
    one.ring_at(1);
    while (!other.take_rung()) {
        other.wait(hour);
    }
}

TEST(rank_bell, ring_of_this_process_is_none_of_another_rank) {
    rank_bell bell;
    bell.ring();
    bell.wait(hour); // ends at once
    EXPECT_FALSE(bell.take_rung());
}

TEST(rank_bell, rank_without_an_address_is_passed_over) {
    rank_bell bell;
    bell.ring_at(0); // before meet()
    bell.meet({bell.address()});
    bell.ring_at(1);
    bell.wait(1);
    EXPECT_FALSE(bell.take_rung());
}

TEST(rank_bell, damaged_address_is_refused) {
    rank_bell bell;
    auto bytes = bell.address();
    bytes.pop_back();
    EXPECT_THROW(bell.meet({bytes}), pilfer::cluster::archive_error);
}

} // namespace
