// Alarms of a worker that does something else right after it has fired or armed them.
#include <atomic>
#include <chrono>
#include <stop_token>
#include <thread>

#include <gtest/gtest.h>

#include <pilfer/pilfer.hpp>

#include "support/harness.hpp"

namespace {

using namespace support;
using namespace std::chrono_literals;

class left_alarms : public guarded {};

/// Two deadlines that one look at the alarms finds due. The first one calls first(scope of the second one) on
/// the thread that fires. `computes` is set before.
template <class First>
void two_deadlines(std::atomic<bool>& computes, First first) {
    const auto due = std::chrono::steady_clock::now() + 10ms;
    pilfer::scope a;
    pilfer::scope b;
    const pilfer::deadline of_a(a, due - 25us - std::chrono::steady_clock::now());
    const pilfer::deadline of_b(b, due - std::chrono::steady_clock::now());
    std::atomic<bool> a_is_over{false};
    a.spawn([&] {
        const pilfer::stop_on_cancel token;
        const std::stop_callback call(token.token(), [&] {
            first(b);
            a_is_over = true;
        });
        computes = true;
        while (!a_is_over) {
        }
    });
    a.sync();
    b.spawn([] {
        const pilfer::stop_on_cancel token;
        while (!token.token().stop_requested()) {
        }
    });
    b.sync();
}

/// The thread that is attached leaves the pool after the first deadline, for which it waits.
TEST_F(left_alarms, a_guest_leaves_between_two_deadlines) {
    for (int round = 0; round < 5; ++round) {
        pilfer::options o = workers(1);
        o.attachable = 1;
        pilfer::pool pool(o);
        const pilfer::attachment here = pool.attach();
        pilfer::event come;
        std::atomic<bool> computes{false};
        std::atomic<bool> over{false};
        pool.submit([&] {
            two_deadlines(computes, [&](pilfer::scope&) { come.set(); });
            over = true;
        });
        while (!computes) { // on the worker
        }
        come.wait();
        while (!over) {
        }
    }
}

TEST_F(left_alarms, a_worker_retires_between_two_deadlines) {
    for (int round = 0; round < 12; ++round) {
        pilfer::pool pool(workers(2));
        std::atomic<bool> computes{false};
        pool.run([&] { two_deadlines(computes, [&](pilfer::scope&) { pool.resize(1); }); });
    }
}

TEST_F(left_alarms, a_callback_waits_for_the_next_deadline) {
    pilfer::pool pool(workers(3));
    for (int round = 0; round < 5; ++round) {
        std::atomic<bool> computes{false};
        pool.run([&] {
            two_deadlines(computes, [&](pilfer::scope& second) {
                while (!second.cancelled()) {
                }
            });
        });
    }
}

/// A run of `every` on top of a waiting frame returns to that frame, and not to a look at the alarms.
TEST_F(left_alarms, a_period_goes_on_below_which_a_frame_computes) {
    pilfer::options o = workers(3);
    o.max_contexts = 3;
    pilfer::pool pool(o);
    pilfer::promise<void> first_run;
    auto ran_once = first_run.get_future();
    std::atomic<unsigned> begun{0};
    std::atomic<bool> due{false};
    std::atomic<bool> go{false};
    std::atomic<bool> over{false};
    std::atomic<int> runs{0};
    for (int i = 0; i < 2; ++i) { // they keep the other stacks until the first run
        pool.submit([&] {
            ++begun;
            while (!go) {
            }
        });
    }
    while (begun != 2) {
        std::this_thread::yield();
    }
    pool.submit([&] {
        ++begun;
        while (!due) {
        }
        ran_once.get(); // the first run is on top of this wait
        const int before = runs;
        const auto end = std::chrono::steady_clock::now() + 20s;
        while (runs < before + 3 && std::chrono::steady_clock::now() < end) {
        }
        EXPECT_GE(runs, before + 3);
        over = true;
    });
    while (begun != 3) {
        std::this_thread::yield();
    }
    pilfer::timer again = pilfer::every(pool, 5ms, [&] {
        if (runs++ == 0) {
            first_run.set_value();
            go = true;
            std::this_thread::sleep_for(50ms); // the other workers fall asleep, without their stacks
        }
    });
    std::this_thread::sleep_for(30ms);
    due = true;
    while (!over) {
        std::this_thread::yield();
    }
    (void)again.cancel();
    while (!again.over()) {
        std::this_thread::yield();
    }
}

} // namespace
