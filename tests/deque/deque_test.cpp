// The split deque, one step after the other: orders, boundaries, and a model that every step is held to.
#include <gtest/gtest.h>

#include <deque>
#include <vector>

#include <pilfer/detail/deque/deque.hpp>

#include "deque/rings.hpp"
#include "support/protocol_support.hpp"

namespace {

using namespace pilfer_test;
using detail::std_atom;
using detail::steal_status;
using tested = tested_deque<std_atom>;
using popped = tested::owner_end::popped;

constexpr std::int64_t everything = INT64_MAX / 4;

/// The first index of each run: 0, one ring before a power of two, and the last that the limit allows.
constexpr std::int64_t last_start = detail::signal_word<std_atom>::limit_mask - 4096;

class Deque : public testing::TestWithParam<std::tuple<bool, std::int64_t>> {
protected:
    tested d{8, std::get<0>(GetParam()), std::get<1>(GetParam())};
    tested::deque_type::owner_end own = d.deque.owner();
    tested::deque_type::thief_end thief = d.deque.thief();
};
INSTANTIATE_TEST_SUITE_P(PinnedAndStart, Deque,
                         testing::Combine(testing::Bool(),
                                          testing::Values(std::int64_t{0}, (std::int64_t{1} << 32) - 3,
                                                          last_start)));

TEST_P(Deque, EmptyGivesNothing) {
    EXPECT_EQ(own.peek(), 0U);
    EXPECT_EQ(own.pop(1), 0U);
    EXPECT_EQ(own.pop(everything), 0U);
    EXPECT_EQ(own.expose(5), 0);
    EXPECT_EQ(thief.steal(any_task).status, steal_status::empty);
    EXPECT_EQ(thief.force_expose(3), 0);
    EXPECT_FALSE(thief.has_any());
    EXPECT_EQ(thief.look().shared, 0);
    EXPECT_EQ(own.private_size(), 0);
    EXPECT_EQ(own.shared_size(), 0);
}

TEST_P(Deque, OwnerTakesTheNewestFirst) {
    for (task_word t = 1; t <= 6; ++t) {
        d.push(t);
    }
    for (task_word t = 6; t >= 1; --t) {
        EXPECT_EQ(own.peek(), t);
        EXPECT_EQ(own.pop(1), t);
    }
    EXPECT_EQ(own.pop(1), 0U);
}

TEST_P(Deque, ThievesTakeTheOldestFirstAndOnlyWhatIsShared) {
    for (task_word t = 1; t <= 5; ++t) {
        d.push(t);
    }
    EXPECT_TRUE(thief.has_any());
    EXPECT_EQ(thief.steal(any_task).status, steal_status::empty);
    EXPECT_EQ(own.expose(3), 3);
    EXPECT_EQ(own.private_size(), 2);
    EXPECT_EQ(own.shared_size(), 3);
    for (task_word t = 1; t <= 3; ++t) {
        const auto got = thief.steal(any_task);
        ASSERT_EQ(got.status, steal_status::success);
        EXPECT_EQ(got.task, t);
    }
    EXPECT_EQ(thief.steal(any_task).status, steal_status::empty);
    EXPECT_EQ(own.expose(everything), 2);
    EXPECT_EQ(own.expose(1), 0);
}

TEST_P(Deque, AnInsistingThiefTakesPrivateTasksAndLearnsOfARefusal) {
    const auto nothing = [](task_word) { return false; };
    std::vector<steal_status> told;
    const auto tell = [&](steal_status status) { told.push_back(status); };
    EXPECT_EQ(thief.steal_until_settled(any_task, tell), 0U);
    EXPECT_TRUE(told.empty());
    d.push(1);
    d.push(2);
    EXPECT_EQ(thief.steal_until_settled(any_task, tell), 1U);
    EXPECT_EQ(thief.steal_until_settled(nothing, tell), 0U);
    EXPECT_EQ(thief.steal_until_settled(any_task, tell), 2U);
    EXPECT_EQ(thief.steal_until_settled(any_task, tell), 0U);
    using enum steal_status;
    EXPECT_EQ(told, (std::vector{empty, success, empty, refused, success}));
}

TEST_P(Deque, ADecliningThiefLeavesTheTask) {
    d.push(42);
    own.expose(1);
    EXPECT_EQ(thief.steal([](task_word) { return false; }).status, steal_status::refused);
    EXPECT_EQ(thief.steal(any_task).task, 42U);
}

TEST_P(Deque, TheOwnerReclaimsOneAtATime) {
    for (task_word t = 1; t <= 4; ++t) {
        d.push(t);
    }
    own.expose(4);
    EXPECT_EQ(own.pop(1), 4U);
    EXPECT_EQ(own.shared_size(), 3) << "no more than one was to become private";
    EXPECT_EQ(own.private_size(), 0);
    EXPECT_EQ(thief.steal(any_task).task, 1U);
    EXPECT_EQ(own.pop(1), 3U);
    EXPECT_EQ(own.pop(1), 2U) << "the task at top is taken by compare-and-swap";
    EXPECT_EQ(own.pop(1), 0U);
    EXPECT_EQ(thief.steal(any_task).status, steal_status::empty);
}

TEST_P(Deque, TheOwnerReclaimsAllButTheOneAtTop) {
    for (task_word t = 1; t <= 5; ++t) {
        d.push(t);
    }
    own.expose(5);
    EXPECT_EQ(own.pop(everything), 5U);
    EXPECT_EQ(own.shared_size(), 1) << "the task at top stays contested";
    EXPECT_EQ(own.private_size(), 3);
    EXPECT_EQ(thief.steal(any_task).task, 1U);
    EXPECT_EQ(thief.steal(any_task).status, steal_status::empty);
    for (task_word t = 4; t >= 2; --t) {
        EXPECT_EQ(own.pop(everything), t);
    }
    EXPECT_EQ(own.pop(everything), 0U);
}

TEST_P(Deque, PopIfTakesTheNewestOnly) {
    const auto pop_if = [&](task_word task) {
        const auto got = own.pop_if(task);
        return got == popped::slow ? own.pop_slow(1) : got == popped::taken ? task : 0;
    };
    d.push(1);
    d.push(2);
    EXPECT_EQ(own.pop_if(1), popped::gone) << "a stranger's task is on top";
    EXPECT_EQ(own.peek(), 2U) << "and was left where it was";
    EXPECT_EQ(pop_if(2), 2U);
    EXPECT_EQ(pop_if(2), 0U);
    EXPECT_EQ(pop_if(1), 1U);
}

TEST_P(Deque, AStaleSlotThatMatchesIsDetected) {
    d.push(7);
    own.expose(1);
    EXPECT_EQ(thief.steal(any_task).task, 7U);
    // The slot and the look still have 7; the guard does not.
    ASSERT_EQ(own.pop_if(7), popped::slow);
    EXPECT_EQ(own.pop_slow(1), 0U);
    EXPECT_FALSE(thief.has_any());
    d.push(8);
    EXPECT_EQ(own.pop(1), 8U) << "bottom was not restored";
}

TEST_P(Deque, PopIfOfASharedTaskReclaimsIt) {
    d.push(1);
    d.push(2);
    own.expose(2);
    ASSERT_EQ(own.pop_if(2), popped::slow);
    EXPECT_EQ(own.pop_slow(1), 2U);
    EXPECT_EQ(own.shared_size(), 1);
    ASSERT_EQ(own.pop_if(1), popped::slow);
    EXPECT_EQ(own.pop_slow(1), 1U);
    EXPECT_EQ(thief.steal(any_task).status, steal_status::empty);
}

TEST_P(Deque, AReachExposesTasksOfASilentOwner) {
    for (task_word t = 1; t <= 5; ++t) {
        d.push(t);
    }
    EXPECT_EQ(thief.force_expose(2), 2);
    EXPECT_EQ(thief.steal(any_task).task, 1U);
    EXPECT_EQ(thief.steal(any_task).task, 2U);
    EXPECT_EQ(thief.steal(any_task).status, steal_status::empty);
    EXPECT_EQ(thief.force_expose(100), 3) << "no more than there is";
    EXPECT_EQ(thief.force_expose(1), 0);
    EXPECT_EQ(own.pop(1), 5U);
    EXPECT_EQ(thief.steal(any_task).task, 3U);
}

TEST_P(Deque, ARingOfEightHoldsEightAndTripsAtTheLast) {
    for (task_word t = 1; t <= 7; ++t) {
        EXPECT_EQ(own.push(t), own.pinned()) << "push " << t;
    }
    EXPECT_TRUE(own.push(8)) << "the last slot has to trip the wire";
    EXPECT_FALSE(own.make_room());
    own.expose(1);
    EXPECT_EQ(thief.steal(any_task).task, 1U);
    EXPECT_TRUE(own.make_room()) << "the thief has freed a slot";
    EXPECT_TRUE(own.push(9));
    EXPECT_FALSE(own.make_room());
    for (task_word t = 9; t >= 2; --t) {
        EXPECT_EQ(own.pop(1), t);
    }
}

TEST_P(Deque, GrowingKeepsEverythingInOrder) {
    for (task_word t = 1; t <= 3; ++t) {
        d.push(t);
    }
    own.expose(3);
    EXPECT_EQ(thief.steal(any_task).task, 1U);
    for (task_word t = 4; t <= 1000; ++t) {
        d.push(t);
    }
    EXPECT_EQ(own.capacity(), 1024);
    unsigned chain = 0;
    for (const auto* r = own.rings(); r != nullptr; r = r->previous) {
        ++chain;
    }
    EXPECT_EQ(chain, 8U) << "8, 16, .. 1024: old rings stay readable";
    EXPECT_EQ(thief.steal(any_task).task, 2U);
    for (task_word t = 1000; t >= 3; --t) {
        ASSERT_EQ(own.pop(1), t);
    }
    EXPECT_EQ(own.pop(1), 0U);
}

TEST(DequeSmallest, ARingOfOneTripsAtEveryPushAndGrows) {
    tested d(1);
    auto own = d.deque.owner();
    EXPECT_TRUE(own.push(1));
    EXPECT_FALSE(own.make_room());
    EXPECT_EQ(own.pop(1), 1U);
    EXPECT_TRUE(own.make_room());
    d.push(1);
    d.push(2);
    d.push(3);
    EXPECT_EQ(own.pop(1), 3U);
    EXPECT_EQ(own.pop(1), 2U);
    EXPECT_EQ(own.pop(1), 1U);
}

TEST_P(Deque, TheLimitFollowsThievesOverManyRounds) {
    // 4,000 indices through 8 slots; from `last_start` this ends 96 short of the last index there is.
    task_word next = 1;
    task_word oldest = 1;
    while (next <= 4000) {
        d.push(next++);
        own.expose(1);
        if (next % 5 == 0) {
            for (const task_word until = next; oldest < until; ++oldest) {
                ASSERT_EQ(thief.steal(any_task).task, oldest);
            }
        }
    }
    EXPECT_EQ(own.capacity(), 8) << "there was room all the time";
}

/// Every step is done on the deque and on a list with a mark; they must agree in everything.
TEST_P(Deque, AgreesWithAModelAtEveryStep) {
    dice random(static_cast<std::uint64_t>(std::get<1>(GetParam())) + 5);
    std::deque<task_word> model; // front is the oldest
    std::int64_t shared = 0;
    task_word next = 1;
    std::int64_t taken_from_top = 0;
    for (std::int64_t step = 0; step < 20'000 && taken_from_top < 3'000; ++step) {
        switch (random.below(8)) {
        case 0:
        case 1:
        case 2:
            if (model.size() < 60) {
                d.push(next);
                model.push_back(next++);
            }
            break;
        case 3: {
            const auto most = random.below(2) == 0 ? std::int64_t{1} : everything;
            const auto size = static_cast<std::int64_t>(model.size());
            const task_word expected = model.empty() ? 0 : model.back();
            ASSERT_EQ(own.pop(most), expected) << "step " << step;
            if (expected == 0) {
                break;
            }
            if (shared == size) { // no private ones
                shared = size == 1 ? 0 : (most == 1 ? size - 1 : 1);
                taken_from_top += size == 1 ? 1 : 0;
            }
            model.pop_back();
            break;
        }
        case 4: {
            const auto count = static_cast<std::int64_t>(random.below(4));
            const auto moved = std::min(count, static_cast<std::int64_t>(model.size()) - shared);
            ASSERT_EQ(own.expose(count), moved) << "step " << step;
            shared += moved;
            break;
        }
        case 5: {
            const auto count = static_cast<std::int64_t>(1 + random.below(3));
            const auto moved = std::min(count, static_cast<std::int64_t>(model.size()) - shared);
            ASSERT_EQ(thief.force_expose(count), moved) << "step " << step;
            shared += moved;
            break;
        }
        default: {
            const auto got = thief.steal(any_task);
            ASSERT_EQ(got.status, shared > 0 ? steal_status::success : steal_status::empty)
                << "step " << step;
            if (shared > 0) {
                ASSERT_EQ(got.task, model.front());
                model.pop_front();
                --shared;
                ++taken_from_top;
            }
        }
        }
        ASSERT_EQ(own.shared_size(), shared) << "step " << step;
        ASSERT_EQ(own.private_size(), static_cast<std::int64_t>(model.size()) - shared) << "step " << step;
        ASSERT_EQ(thief.has_any(), !model.empty());
        ASSERT_EQ(own.peek(), model.empty() ? 0 : model.back());
    }
}

} // namespace
