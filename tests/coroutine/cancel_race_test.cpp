// A cancellation races the event that a coroutine waits for.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <optional>

#include "coroutine/cancelled.hpp"

namespace {

using namespace coroutine_tests;

class coroutine_cancel_race : public in_a_pool {};
INSTANTIATE_TEST_SUITE_P(workers, coroutine_cancel_race, testing::Values(1U, 2U, 3U, 8U));

/// Both at any moment, in both orders.
template <class Succeed, class Cancel>
void race(std::uint64_t round, Succeed succeed, Cancel cancel) {
    const auto spin = [](std::uint64_t turns) {
        for (std::atomic<std::uint64_t> i{0}; i < turns;) {
            ++i;
        }
    };
    auto first = [&] {
        spin(round * 37 % 400);
        succeed();
    };
    auto second = [&] {
        spin(round * 53 % 400);
        cancel();
    };
    const auto done = pilfer::async([&] { first(); });
    second();
    done.get();
}

TEST_P(coroutine_cancel_race, exactly_one_of_success_and_cancellation) {
    const std::uint64_t rounds = support::hundredth_of(10'000) * kinds;
    std::atomic<int> went_on{0};
    std::atomic<int> left{0};
    for (std::uint64_t round = 0; round < rounds; ++round) {
        const auto what = static_cast<kind>(round % kinds);
        pool.run([&] {
            things all;
            std::atomic<int> alive{0};
            std::atomic<bool> begun{false};
            std::optional<int> got;
            bool was_stopped = false;
            pilfer::scope s;
            s.fork([&] {
                begun = true;
                try {
                    got = what == a_time ? pool.run([](std::atomic<int>& n) -> task<int> {
                        const witness here(n);
                        co_await pilfer::resume_after(2us);
                        co_return 1;
                    }(alive))
                                         : pool.run(waits_below(all, what, 1, alive));
                } catch (const pilfer::stopped&) {
                    was_stopped = true;
                    throw;
                }
            });
            until([&] { return begun.load(); }); // by the owner, which is never cancelled
            race(
                round,
                [&] {
                    switch (what) {
                    case a_result:
                    case a_copied_result:
                        all.promise.set_value(1);
                        break;
                    case a_value:
                        (void)all.empty.try_send(2);
                        break;
                    case room:
                        EXPECT_EQ(all.full.try_receive().value_or(-1), 0);
                        break;
                    case an_event:
                        all.event.set();
                        break;
                    default:
                        break;
                    }
                },
                [&] { s.cancel(); });
            s.sync();
            EXPECT_NE(got.has_value(), was_stopped) << what;
            EXPECT_EQ(alive, 0);
            (got ? went_on : left)++;
            if (what == room) { // there, if and only if it was sent
                EXPECT_EQ(all.full.try_receive().value_or(0), got.value_or(1) - 1) << "sent, or lost";
                EXPECT_EQ(all.full.size(), 0U);
            }
            if (what != a_result && what != a_copied_result) {
                all.promise.set_value(0);
            }
        });
    }
    EXPECT_EQ(went_on + left, static_cast<int>(rounds));
}

// A value that was handed over is received, also if a cancellation comes at that moment.
TEST_P(coroutine_cancel_race, handed_over_or_stopped_never_both) {
    struct local {
        static task<> sends(pilfer::channel<int>& c, std::atomic<int>& n) {
            for (;;) {
                const bool is_sent = co_await pilfer::send(c, 1);
                n += is_sent ? 1 : 0;
            }
        }
        static task<> receives(pilfer::channel<int>& c, std::atomic<int>& n) {
            for (;;) {
                const auto got = co_await pilfer::receive(c);
                n += got.has_value() ? 1 : 0;
            }
        }
    };
    for (std::uint64_t round = 0; round < support::hundredth_of(5'000); ++round) {
        pool.run([&] {
            pilfer::channel<int> c(0);
            std::atomic<int> sent{0};
            std::atomic<int> received{0};
            pilfer::scope s;
            for (int i = 0; i < 3; ++i) {
                s.fork([&] { pool.run(local::receives(c, received)); });
                s.fork([&] { pool.run(local::sends(c, sent)); });
            }
            s.fork([&] {
                until([&] { return received >= 20; });
                s.cancel();
            });
            s.sync();
            EXPECT_EQ(sent, received);
        });
    }
}

} // namespace
