// The rounding mode belongs to the task: it follows a frame that moves and reaches no other task.
#include <cfenv>
#include <thread>
#include <vector>

#include "context/moved.hpp"

namespace {

class rounding : public moved::with_pool {};

TEST_P(rounding, follows_a_suspended_frame) {
    pilfer::pool pool(options());
    moved::gate gate;
    int after_get = -1;
    int of_others = -1;
    std::atomic<bool> waiting{false};
    auto first = pool.async([&] {
        std::fesetround(FE_UPWARD);
        waiting.store(true);
        gate.wait();
        after_get = std::fegetround();
        std::fesetround(FE_TONEAREST);
    });
    while (!waiting.load()) {
        std::this_thread::yield();
    }
    pool.run([&] { of_others = std::fegetround(); });
    gate.open();
    first.get();
    EXPECT_EQ(after_get, FE_UPWARD);
    EXPECT_EQ(of_others, FE_TONEAREST);
}

TEST_P(rounding, of_many_tasks_is_kept_apart) {
    pilfer::pool pool(options());
    const int modes[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
    std::atomic<int> wrong{0};
    pool.run([&] {
        pilfer::scope s;
        for (int i = 0; i < 64; ++i) {
            s.spawn([&, i] {
                const int mine = modes[i % 4];
                std::fesetround(mine);
                for (int k = 0; k < 20; ++k) {
                    pilfer::scope inner;
                    inner.spawn([&] { wrong += std::fegetround() == mine ? 0 : 1; });
                    inner.sync();
                    wrong += std::fegetround() == mine ? 0 : 1;
                }
                std::fesetround(FE_TONEAREST);
            });
            wrong += std::fegetround() == FE_TONEAREST ? 0 : 1;
        }
        s.sync();
        wrong += std::fegetround() == FE_TONEAREST ? 0 : 1;
    });
    EXPECT_EQ(wrong.load(), 0);
}

TEST(rounding_of_a_thief, is_the_one_of_the_stolen_frame) {
    pilfer::options o;
    o.workers = 2;
    pilfer::pool pool(o);
    int in_child = -1;
    int after_spawn = -1;
    int after_sync = -1;
    pool.run([&] {
        std::fesetround(FE_DOWNWARD);
        moved::flag stolen;
        pilfer::scope s;
        s.spawn([&] {
            in_child = std::fegetround();
            std::fesetround(FE_UPWARD);
            stolen.spin(); // until the rest of the parent runs elsewhere
            std::fesetround(FE_DOWNWARD);
        });
        after_spawn = std::fegetround();
        stolen.raise();
        s.sync();
        after_sync = std::fegetround();
        std::fesetround(FE_TONEAREST);
    });
    EXPECT_EQ(in_child, FE_DOWNWARD);
    EXPECT_EQ(after_spawn, FE_DOWNWARD);
    EXPECT_EQ(after_sync, FE_DOWNWARD);
}

/// Tests arithmetic, not only the register of the mode: a machine may have two of them.
[[nodiscard]] bool rounds_up() {
    volatile double one = 1;
    volatile double three = 3;
    return one / three == 0x1.5555555555556p-2;
}

TEST(rounding_of_a_parent, survives_a_child_that_ends_between_two_spawns_of_one_scope) {
    pilfer::options o;
    o.workers = 1;
    pilfer::pool pool(o);
    pilfer::pool other(o);
    moved::gate last;
    moved::flag first;
    int mode = -1;
    bool up = false;
    pool.run([&] {
        pilfer::scope s;
        s.spawn([&] { other.run([&] { first.spin(); }); });
        std::fesetround(FE_UPWARD);
        s.spawn([&] {
            first.raise();
            // The only worker there then reaches the task that raises `passed`: the first child is runnable
            // again, and resumes as soon as this one waits. It leaves to the frame that the second spawn has
            // suspended.
            moved::flag passed;
            (void)other.async([&] { passed.raise(); });
            passed.spin();
            last.wait();
        });
        mode = std::fegetround();
        up = rounds_up();
        std::fesetround(FE_TONEAREST);
        last.open();
        s.sync();
    });
    EXPECT_EQ(mode, FE_UPWARD);
    EXPECT_TRUE(up);
}

INSTANTIATE_TEST_SUITE_P(all, rounding, testing::ValuesIn(moved::settings), moved::name_of);

} // namespace
