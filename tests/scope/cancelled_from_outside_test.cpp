// Cancellations by time limits and stop tokens, of threads outside, and on the back-end with one lock.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <stop_token>
#include <thread>

#include "scope/cancelling.hpp"

namespace {

using namespace cancel_tests;

class cancelled_from_outside : public over_few_workers {};
PILFER_OVER_FEW_WORKERS(cancelled_from_outside);

// ---- time limits and stop tokens --------------------------------------------------------------------

TEST_P(cancelled_from_outside, deadline) {
    pool.run([] {
        endless tasks;
        pilfer::scope s;
        for (int i = 0; i < 10; ++i) {
            s.fork([&] { tasks([] { pilfer::sleep_for(1h); }); });
        }
        {
            const pilfer::deadline limit(s, 1ms);
            s.sync();
        }
        EXPECT_EQ(tasks.unwound, tasks.begun);
        EXPECT_EQ(tasks.reached_the_end, 0);
        {
            const pilfer::deadline limit(s, 1h);
            s.spawn([&] { ++tasks.reached_the_end; });
            s.sync();
        }
        EXPECT_EQ(tasks.reached_the_end, 1);
    });
}

TEST(cancelled_thread, a_deadline_of_a_thread) {
    endless tasks;
    pilfer::scope s;
    const pilfer::deadline limit(s, 1ms);
    s.spawn([&] { tasks([] { pilfer::sleep_for(1h); }); });
    s.sync();
    EXPECT_EQ(tasks.unwound, tasks.begun); // none began if the deadline came before
    EXPECT_EQ(tasks.reached_the_end, 0);
}

TEST_P(cancelled_from_outside, stop_tokens_in_both_directions) {
    pool.run([] {
        std::stop_source from;
        std::atomic<int> waiting{0};
        std::atomic<int> told{0};
        pilfer::scope s;
        const pilfer::cancel_on link(s, from.get_token());
        for (int i = 0; i < 8; ++i) {
            s.fork([&] {
                const pilfer::stop_on_cancel to;
                const std::stop_callback hears(to.token(), [&] { ++told; });
                EXPECT_FALSE(to.token().stop_requested());
                ++waiting;
                try {
                    pilfer::sleep_for(1h);
                } catch (const pilfer::stopped&) {
                    // The canceller calls back after the end of the wait.
                    EXPECT_TRUE(soon([&] { return to.token().stop_requested(); }));
                    const pilfer::stop_on_cancel late;
                    EXPECT_TRUE(late.token().stop_requested());
                    throw;
                }
            });
        }
        const pilfer::stop_on_cancel owner;
        s.fork([&] {
            EXPECT_TRUE(soon([&] { return waiting == 8; }));
            from.request_stop();
        });
        s.sync();
        EXPECT_EQ(told, 8);
        EXPECT_FALSE(owner.token().stop_requested());
    });
}

TEST(cancelled_thread, a_token_of_a_thread_is_never_requested) {
    std::stop_source requested;
    requested.request_stop();
    pilfer::scope s;
    const pilfer::cancel_on link(s, requested.get_token());
    EXPECT_TRUE(s.cancelled());
    const pilfer::stop_on_cancel to;
    EXPECT_FALSE(to.token().stop_requested());
}

// ---- one lock ---------------------------------------------------------------------------------------

// With one lock, children and branches are calls of their parent. A cancellation is seen at the usual points.
TEST(cancel_one_lock, leaves_at_the_next_call) {
    for (const unsigned workers : {1U, 2U, 8U}) {
        pilfer::pool pool{{.workers = workers, .backend = pilfer::backend::one_lock}};
        const auto leaves = [&pool](auto step) {
            endless tasks;
            pool.run([&] {
                pilfer::scope s;
                std::thread from_outside([&] {
                    while (tasks.begun == 0) {
                        std::this_thread::yield();
                    }
                    s.cancel();
                });
                s.fork([&] { tasks(step); });
                EXPECT_TRUE(soon([&] { return s.cancelled(); }));
                s.spawn([&] { ++tasks.reached_the_end; });
                s.sync();
                from_outside.join();
                EXPECT_FALSE(pilfer::cancelled());
                s.spawn([&] { ++tasks.begun; });
                s.sync();
            });
            EXPECT_EQ(tasks.begun, 2);
            EXPECT_EQ(tasks.unwound, 1);
            EXPECT_EQ(tasks.reached_the_end, 0);
        };
        leaves([] {
            pilfer::scope own;
            own.spawn([] {});
            own.sync();
        });
        leaves([] {
            pilfer::scope own;
            own.fork([] {});
            own.sync();
        });
        leaves([] { (void)pilfer::join([] {}, [] {}); });
        leaves([] { pilfer::for_each(0, 1000, [](int) {}); });
        leaves([] { pilfer::sleep_for(1h); });
        leaves([] {
            pilfer::channel<int> none(0);
            (void)none.receive();
        });
        leaves([] {
            std::atomic<int> ran{0};
            while (!pilfer::cancelled()) {
                pilfer::yield();
            }
            pilfer::scope own; // it has seen no cancellation yet
            own.spawn([&] { ++ran; });
            ADD_FAILURE() << "a spawn of a stopped task returned";
        });
    }
}

TEST(cancel_one_lock, a_first_result_scope_works) {
    for (const unsigned workers : {1U, 2U, 8U}) {
        pilfer::pool pool{{.workers = workers, .backend = pilfer::backend::one_lock}};
        pool.run([] {
            pilfer::first_result_scope<int> s;
            std::atomic<int> late{0};
            s.fork([&] {
                EXPECT_TRUE(s.exit([] {
                    auto [a, b] = pilfer::join([] { return 1; }, [] { return 2; });
                    return a + b;
                }));
                EXPECT_FALSE(s.exit_value(4));
                pilfer::sleep_for(1h);
                ++late;
            });
            s.spawn([&] { ++late; });
            EXPECT_EQ(s.sync(), 3);
            EXPECT_EQ(late, 0);
        });
    }
}

} // namespace
