// The signal word: every bit arrives, none is taken for another, the limit moves below them.
#include <gtest/gtest.h>

#include <array>

#include <pilfer/detail/base/signal_word.hpp>

#include "support/protocol_support.hpp"

namespace {

using wire = pilfer::detail::signal_word<pilfer::detail::std_atom>;

TEST(SignalWord, OnlyComparesWithTheLimitWithoutRequests) {
    wire w(7);
    EXPECT_FALSE(w.pending(0));
    EXPECT_FALSE(w.pending(6));
    EXPECT_TRUE(w.pending(7));
    EXPECT_TRUE(w.pending(8));
    EXPECT_FALSE(w.has(wire::wanted | wire::expose | wire::yield_request | wire::pinned));
}

TEST(SignalWord, EveryBitTripsAtEveryPositionAndIsReadBack) {
    for (const auto bit : {wire::wanted, wire::expose, wire::yield_request}) {
        wire w(1000);
        w.set(bit);
        EXPECT_TRUE(w.pending(0));
        EXPECT_TRUE(w.has(bit));
        EXPECT_EQ(w.take(), bit);
    }
    wire w(1000);
    w.pin();
    EXPECT_TRUE(w.pending(0));
    EXPECT_EQ(w.take(), wire::pinned);
}

TEST(SignalWord, TakeClearsOneShotBitsAndTheSignWithThem) {
    wire w(10);
    w.set(wire::expose | wire::yield_request);
    EXPECT_EQ(w.take(), wire::expose | wire::yield_request);
    EXPECT_EQ(w.take(), 0);
    EXPECT_FALSE(w.pending(9)) << "the sign stayed behind";
    EXPECT_TRUE(w.pending(10));
}

TEST(SignalWord, TakeLeavesLevelsAndKeepsTripping) {
    wire w(10);
    w.set(wire::wanted);
    w.set(wire::expose);
    EXPECT_EQ(w.take(), wire::wanted | wire::expose);
    EXPECT_TRUE(w.pending(0));
    EXPECT_EQ(w.take(), wire::wanted);
    EXPECT_TRUE(w.pending(0));
    w.clear_wanted();
    EXPECT_FALSE(w.has(wire::wanted));
    EXPECT_EQ(w.take(), 0);
    EXPECT_FALSE(w.pending(0));
    w.pin();
    EXPECT_EQ(w.take(), wire::pinned);
    EXPECT_TRUE(w.pending(0));
    EXPECT_EQ(w.take(), wire::pinned) << "for good";
}

TEST(SignalWord, MovingTheLimitKeepsTheBits) {
    wire w(10);
    w.set(wire::wanted | wire::yield_request);
    w.move_limit(90);
    EXPECT_TRUE(w.has(wire::wanted));
    EXPECT_TRUE(w.has(wire::yield_request));
    EXPECT_FALSE(w.has(wire::expose));
    EXPECT_EQ(w.take(), wire::wanted | wire::yield_request);
    w.clear_wanted();
    EXPECT_EQ(w.take(), 0);
    EXPECT_FALSE(w.pending(99));
    EXPECT_TRUE(w.pending(100));
}

TEST(SignalWord, TheLastLimitDoesNotReachIntoTheBits) {
    wire w(wire::limit_mask - 8);
    EXPECT_FALSE(w.pending(wire::limit_mask - 9));
    w.move_limit(8);
    EXPECT_FALSE(w.has(wire::pinned));
    EXPECT_FALSE(w.pending(wire::limit_mask - 1));
    EXPECT_TRUE(w.pending(wire::limit_mask));
    w.set(wire::expose);
    EXPECT_TRUE(w.pending(0));
    EXPECT_EQ(w.take(), wire::expose);
    EXPECT_FALSE(w.pending(wire::limit_mask - 1)) << "taking a bit damaged the limit";
    EXPECT_TRUE(w.pending(wire::limit_mask));
}

/// Setters write a number first and set their bit afterwards. The owner takes a bit, then reads its number. A
/// lost bit leaves a number unread for ever: the setter waits for it.
void lose_no_bit(unsigned setters) {
    const pilfer_test::watchdog dog("a setter whose bit was lost");
    const std::int64_t rounds = pilfer_test::scaled(25'000) / setters + 1; // four counts of them: 100,000
    constexpr std::array bits = {wire::expose, wire::yield_request};
    struct alignas(128) box {
        std::atomic<std::int64_t> written{0};
        std::atomic<std::int64_t> seen{0};
    };
    std::vector<box> boxes(setters);
    std::atomic<unsigned> running{setters};
    wire w(1);
    std::int64_t limit = 1;
    pilfer_test::together(setters + 1, [&](unsigned i) {
        if (i < setters) {
            for (std::int64_t r = 1; r <= rounds; ++r) {
                boxes[i].written.store(r, std::memory_order_relaxed);
                w.set(bits[i % bits.size()]);
                pilfer_test::wait_until([&] { return boxes[i].seen.load(std::memory_order_relaxed) == r; });
            }
            running.fetch_sub(1);
            return;
        }
        while (running.load() != 0) {
            if (!w.pending(limit - 1)) {
                std::this_thread::yield();
                continue;
            }
            w.move_limit(1);
            ++limit;
            const auto got = w.take();
            for (unsigned k = 0; k < setters; ++k) {
                if ((got & bits[k % bits.size()]) != 0) {
                    boxes[k].seen.store(boxes[k].written.load(std::memory_order_relaxed),
                                        std::memory_order_relaxed);
                }
            }
        }
    });
    EXPECT_EQ(w.take(), 0);
    EXPECT_FALSE(w.pending(limit - 1));
    EXPECT_TRUE(w.pending(limit)) << "the limit lost a move among the bits";
}

TEST(SignalWord, ConcurrentSettersLoseNoBit) {
    for (const unsigned setters : {1U, 2U, 3U, 8U}) {
        lose_no_bit(setters);
    }
}

TEST(SignalWord, ALevelSetWhileTheOwnerClearsTheSignIsNotLost) {
    const pilfer_test::watchdog dog("a level that was lost");
    const std::int64_t rounds = pilfer_test::scaled(50'000);
    wire w(1'000'000);
    std::atomic<std::int64_t> cleared{0};
    pilfer_test::together(2, [&](unsigned i) {
        for (std::int64_t r = 1; r <= rounds; ++r) {
            if (i == 0) {
                w.set(wire::wanted);
                pilfer_test::wait_until([&] { return cleared.load() >= r; });
            } else {
                // Takes all the time, so that it is often about to clear the sign.
                pilfer_test::wait_until([&] { return w.pending(0) && (w.take() & wire::wanted) != 0; });
                w.clear_wanted();
                (void)w.take();
                cleared.store(r);
            }
        }
    });
    EXPECT_FALSE(w.pending(0));
}

} // namespace
