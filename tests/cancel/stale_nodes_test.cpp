// Waits at scopes that are gone, or that leave out of turn: a cancellation finds what is below it all the
// same.
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <new>
#include <optional>
#include <thread>

#include <pilfer/first_result_scope.hpp>
#include <pilfer/mutex.hpp>
#include <pilfer/pool.hpp>
#include <pilfer/scope.hpp>
#include <pilfer/stop.hpp>
#include <pilfer/timer.hpp>
#include <pilfer/yield.hpp>

#include "support/harness.hpp"

namespace {

using namespace std::chrono_literals;

/// Begins a scope below a shield. The scope outlives the shield, and its child waits. `held`: taken before
/// the shield ends, and given back after the child has ended.
void expect_stopped_when_the_shield_ends(pilfer::mutex* held) {
    support::watchdog dog(30);
    pilfer::pool pool({.workers = 2});
    const auto value = pool.run([held] {
        pilfer::first_result_scope<int> first;
        first.fork([&first, held] {
            std::optional<pilfer::scope> outer; // begins after the shield and ends after it
            std::atomic<bool> begun{false};
            std::atomic<bool> ended{false};
            struct at_end {
                std::atomic<bool>& flag;
                ~at_end() { flag = true; }
            };
            (void)first.exit([&] {
                outer.emplace();
                outer->fork([&begun, &ended] {
                    const at_end end{ended};
                    begun = true;
                    pilfer::sleep_for(1h);
                });
                while (!begun) {
                    pilfer::yield();
                }
                pilfer::sleep_for(20ms); // until the child waits, which the shield keeps from being stopped
                if (held != nullptr) {
                    held->lock();
                }
                return 1;
            });
            while (!ended) {
                std::this_thread::yield();
            }
            if (held != nullptr) {
                held->unlock();
            }
        });
        return first.sync();
    });
    EXPECT_EQ(value, 1);
}

TEST(waits_out_of_turn, a_child_that_waits_below_a_shield_is_stopped_when_the_shield_ends) {
    expect_stopped_when_the_shield_ends(nullptr);
}

TEST(waits_out_of_turn, a_lock_that_is_younger_than_the_scope_does_not_delay_that) {
    pilfer::mutex younger;
    expect_stopped_when_the_shield_ends(&younger);
}

TEST(waits_out_of_turn, a_stop_token_made_under_a_lock_leaves_no_trace_at_the_scope) {
    support::watchdog dog(30);
    pilfer::pool pool({.workers = 1});
    pool.run([] {
        alignas(pilfer::scope) std::array<std::byte, sizeof(pilfer::scope)> memory;
        pilfer::mutex lock;
        std::optional<pilfer::stop_on_cancel> never_requested;
        auto* const gone = ::new (memory.data()) pilfer::scope;
        lock.lock();
        never_requested.emplace();
        lock.unlock();
        std::destroy_at(gone);

        pilfer::scope cancelled;
        cancelled.fork([&memory] {
            auto* const inner =
                ::new (memory.data()) pilfer::scope; // at the address of the scope that is gone
            inner->fork([] { pilfer::sleep_for(1h); });
            std::destroy_at(inner); // waits for the child
        });
        const pilfer::timer canceller = pilfer::after(20ms, [&cancelled] { cancelled.cancel(); });
        cancelled.sync();
    });
}

} // namespace
