// The two counters of a join: in every order of arrival exactly one party resumes the frame.
#include <gtest/gtest.h>

#include <pilfer/detail/task/completion.hpp>

#include "support/protocol_support.hpp"

namespace {

using namespace pilfer_test;
using completion = pilfer::detail::completion<pilfer::detail::std_atom>;
using counter = pilfer::detail::child_counter<pilfer::detail::std_atom>;

constexpr completion::word waiter = 0x1000;

TEST(Handover, TheChildFirst) {
    completion h;
    EXPECT_FALSE(h.is_done());
    EXPECT_EQ(h.complete(), 0U) << "nobody to resume";
    EXPECT_TRUE(h.is_done());
    EXPECT_FALSE(h.publish(waiter)) << "the waiter has to go on by itself";
}

TEST(Handover, TheWaiterFirst) {
    completion h;
    EXPECT_TRUE(h.publish(waiter));
    EXPECT_FALSE(h.is_done());
    EXPECT_EQ(h.complete(), waiter);
    EXPECT_TRUE(h.is_done());
}

TEST(Handover, ExactlyOneContinuesAndSeesTheOthersWrites) {
    const watchdog dog("a hand-over");
    struct frame {
        completion h;
        std::int64_t result = 0;    // written by the child
        std::int64_t registers = 0; // written by the waiter
        std::atomic<int> went_on{0};
    };
    const std::int64_t rounds = scaled(100'000);
    std::vector<frame> frames(static_cast<std::size_t>(rounds));
    std::atomic<std::int64_t> round[2] = {0, 0};
    std::atomic<int> wrong{0};
    together(2, [&](unsigned i) {
        for (std::int64_t r = 0; r < rounds; ++r) {
            frame& f = frames[static_cast<std::size_t>(r)];
            round[i].store(r + 1);
            wait_until([&] { return round[1 - i].load() > r; });
            if (i == 0) {
                f.result = r + 1;
                if (const auto who = f.h.complete()) {
                    wrong.fetch_add(who != waiter || f.registers != r + 2 ? 1 : 0);
                    f.went_on.fetch_add(1);
                }
            } else {
                f.registers = r + 2;
                if ((r % 2 == 0 && f.h.is_done()) || !f.h.publish(waiter)) {
                    wrong.fetch_add(f.result != r + 1 ? 1 : 0);
                    f.went_on.fetch_add(1);
                }
            }
        }
    });
    EXPECT_EQ(wrong.load(), 0);
    for (const auto& f : frames) {
        ASSERT_EQ(f.went_on.load(), 1);
    }
}

TEST(ChildCounter, UntouchedUntilAChildIsCounted) {
    counter c;
    EXPECT_TRUE(c.untouched());
    EXPECT_TRUE(c.all_done());
    c.add();
    EXPECT_FALSE(c.untouched());
    EXPECT_EQ(c.pending(), 1);
    EXPECT_FALSE(c.all_done());
    c.complete();
    EXPECT_TRUE(c.untouched());
    EXPECT_TRUE(c.all_done());
}

/// Every interleaving of one waiter and k children on one thread: the position of publish among them.
TEST(ChildCounter, EveryOrderOfArrival) {
    for (int children = 0; children <= 4; ++children) {
        for (int before = 0; before <= children; ++before) {
            SCOPED_TRACE(testing::Message() << before << " of " << children << " before the waiter");
            counter c;
            for (int i = 0; i < children; ++i) {
                c.add();
            }
            for (int i = 0; i < before; ++i) {
                ASSERT_FALSE(c.finish_one()) << "nobody waits yet";
            }
            ASSERT_EQ(c.all_done(), before == children);
            ASSERT_EQ(c.publish(), before < children);
            for (int i = before; i < children; ++i) {
                ASSERT_EQ(c.finish_one(), i + 1 == children) << "the last one resumes the waiter";
            }
            c.reset();
            ASSERT_TRUE(c.untouched());
            ASSERT_TRUE(c.all_done());
        }
    }
}

TEST(ChildCounter, ChildrenOfDescendantsAreCountedAtTheirEnd) {
    counter c;
    c.add();
    c.announce_from_below();
    c.announce_from_below();
    EXPECT_EQ(c.pending(), 1);
    EXPECT_FALSE(c.finish_one());
    EXPECT_FALSE(c.all_done()) << "two from below are left";
    EXPECT_TRUE(c.publish());
    EXPECT_FALSE(c.finish_one());
    EXPECT_TRUE(c.finish_one());
    c.reset();
    EXPECT_TRUE(c.untouched());
}

/// One parent and `children` persistent threads, one scope reused at once, round after round. Now and then a
/// child announces a grandchild, which ends after it.
void rounds_of(unsigned children) {
    SCOPED_TRACE(testing::Message() << children << " children");
    const watchdog dog("a parent and its children");
    const std::int64_t rounds = scaled(30'000) / children + 1;
    counter c;
    struct alignas(128) cell {
        std::int64_t value = 0; // plain: worker.J3 must publish it
    };
    std::vector<cell> results(children);
    std::int64_t registers = 0; // plain: worker.J4 must publish them
    std::atomic<std::int64_t> go{0};
    std::atomic<std::int64_t> resumed{0};
    std::atomic<int> wrong{0};
    std::atomic<std::int64_t> went_on{0};
    together(children + 1, [&](unsigned i) {
        for (std::int64_t r = 1; r <= rounds; ++r) {
            if (i > 0) {
                wait_until([&] { return go.load() >= r; });
                const bool twice = (r + i) % 3 == 0;
                if (twice) {
                    c.announce_from_below();
                }
                results[i - 1].value = r;
                bool last = c.finish_one();
                if (twice && !last) {
                    last = c.finish_one();
                }
                if (last) {
                    wrong.fetch_add(registers != r ? 1 : 0);
                    went_on.fetch_add(1);
                    resumed.store(r);
                }
                continue;
            }
            for (unsigned k = 0; k < children; ++k) {
                c.add();
            }
            go.store(r);
            registers = r;
            if ((r % 2 == 0 && c.all_done()) || !c.publish()) {
                went_on.fetch_add(1);
            } else {
                wait_until([&] { return resumed.load() == r; });
            }
            c.reset();
            for (const auto& one : results) {
                wrong.fetch_add(one.value != r ? 1 : 0);
            }
            wrong.fetch_add(c.untouched() ? 0 : 1);
        }
    });
    EXPECT_EQ(wrong.load(), 0);
    EXPECT_EQ(went_on.load(), rounds);
}

TEST(ChildCounter, ExactlyOneContinuesInEachRound) {
    for (const unsigned children : {1U, 2U, 3U, 8U}) {
        rounds_of(children);
    }
}

} // namespace
