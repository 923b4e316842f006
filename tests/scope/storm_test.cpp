// Deep trees of scopes that are cancelled, and trees in which tasks fail, cancel and exit at the same time.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <random>
#include <stdexcept>
#include <thread>

#include "support/harness.hpp"

namespace {

using namespace std::chrono_literals;

class storm : public support::over_workers {};
PILFER_OVER_WORKERS(storm);

struct count {
    std::atomic<unsigned> begun{0};
    std::atomic<unsigned> ended{0};
};
struct visit {
    count& of;
    explicit visit(count& c) : of(c) { ++of.begun; }
    visit(const visit&) = delete;
    visit& operator=(const visit&) = delete;
    ~visit() { ++of.ended; }
};

/// Scopes inside of each other, each with a task beside the way down that sleeps until it is stopped.
struct chain {
    count& tasks;
    unsigned depth;
    unsigned middle; ///< the level of the scope in `found`
    std::atomic<pilfer::scope*>& found;
    std::atomic<unsigned>& stopped;
    std::atomic<bool>& at_the_end;

    void level(unsigned at) const {
        const visit v(tasks);
        if (at == depth) {
            at_the_end = true;
            pilfer::sleep_for(1h);
            return;
        }
        pilfer::scope s;
        if (at % 100 == 0) {
            s.fork([this] {
                const visit beside(tasks);
                pilfer::sleep_for(1h);
            });
        }
        if (at == middle) {
            found = &s;
        }
        s.spawn([this, at] { level(at + 1); });
        try {
            s.sync();
        } catch (const pilfer::stopped&) {
            ++stopped;
            throw;
        }
        EXPECT_EQ(at, middle) << "only the owner of the cancelled scope goes on";
    }
};

TEST_P(storm, a_deep_tree_is_cancelled_from_a_thread) {
    const unsigned depth = support::sanitized ? 500 : 10'000;
    for (const unsigned middle : {0U, depth / 2, depth - 1}) {
        pilfer::pool pool(with_workers());
        count tasks;
        std::atomic<pilfer::scope*> found{nullptr};
        std::atomic<unsigned> stopped{0};
        std::atomic<bool> at_the_end{false};
        std::atomic<bool> over{false};
        std::thread canceller([&] {
            while (!at_the_end) {
                std::this_thread::sleep_for(1ms);
            }
            found.load()->cancel();
        });
        pool.run([&] {
            const chain all{tasks, depth, middle, found, stopped, at_the_end};
            all.level(middle);
            over = true;
        });
        canceller.join();
        EXPECT_TRUE(over);
        EXPECT_EQ(tasks.begun, tasks.ended);
        EXPECT_EQ(stopped, depth - middle - 1);
    }
}

struct failure : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// A tree whose nodes throw, cancel an enclosing scope, exit, sleep, or continue. A row of numbers decides.
struct tree {
    count& tasks;
    pilfer::first_result_scope<unsigned>& root;

    void node(unsigned depth, std::uint64_t seed, pilfer::scope& parent) const {
        const visit v(tasks);
        std::minstd_rand random(static_cast<unsigned>(seed * 2'654'435'761U >> 3) + 1);
        (void)random();
        if (depth == 0) {
            switch (random() % 16) {
            case 0:
                throw failure("a leaf");
            case 1:
                parent.cancel();
                break;
            case 2:
                (void)root.exit([&] {
                    pilfer::scope own;
                    unsigned ran = 0;
                    own.spawn([&] { ++ran; });
                    own.sync();
                    return ran;
                });
                break;
            case 3:
                pilfer::sleep_for(1us);
                break;
            case 4: {
                pilfer::first_result_scope<int> inner;
                inner.spawn([&] { (void)inner.exit([]() -> int { throw failure("a value"); }); });
                inner.fork([&] { (void)inner.exit_value(1); });
                (void)inner.sync();
                break;
            }
            default:
                break;
            }
            return;
        }
        pilfer::scope s;
        for (unsigned i = 0; i < 4; ++i) {
            const std::uint64_t next = seed * 5 + i + 1;
            const auto child = [this, depth, next, &s] { node(depth - 1, next, s); };
            i % 2 == 0 ? s.spawn(child) : s.fork(child);
            if (random() % 64 == 0) {
                s.cancel();
            }
            if (random() % 128 == 0) {
                throw failure("a node with children");
            }
        }
        s.sync();
    }
};

TEST_P(storm, failures_cancellations_and_exits_at_the_same_time) {
    pilfer::pool pool(with_workers());
    unsigned thrown = 0;
    unsigned values = 0;
    unsigned nothing = 0;
    const std::uint64_t rounds = support::hundredth_of(30'000, 20);
    for (std::uint64_t round = 0; round < rounds; ++round) {
        count tasks;
        pool.run([&] {
            pilfer::first_result_scope<unsigned> root;
            root.spawn([&] {
                pilfer::scope s;
                tree{tasks, root}.node(4, round + 1, s);
            });
            root.fork([&] {
                pilfer::scope s;
                tree{tasks, root}.node(3, round + 7, s);
            });
            try {
                if (const auto value = root.sync()) {
                    EXPECT_EQ(*value, 1U) << "what makes the value is excepted";
                    ++values;
                } else {
                    ++nothing;
                }
            } catch (const failure&) {
                ++thrown;
            }
            EXPECT_FALSE(pilfer::cancelled());
            // The scope is as new.
            unsigned ran = 0;
            root.spawn([&] { ++ran; });
            EXPECT_FALSE(root.sync().has_value());
            EXPECT_EQ(ran, 1U);
        });
        ASSERT_EQ(tasks.begun, tasks.ended) << "round " << round;
    }
    EXPECT_EQ(thrown + values + nothing, rounds);
    EXPECT_GT(thrown, 0U);
    EXPECT_GT(values, 0U);
}

} // namespace
