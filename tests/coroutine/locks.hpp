// What tests of coroutines that lock mutexes share.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>

#include "coroutine/support.hpp"

namespace coroutine_tests {

using namespace std::chrono_literals;

using mutex_guard = pilfer::coroutine_lock<pilfer::mutex>;

class coroutine_lock_ends : public guarded {};

/// A plain count, and a flag that is set while a lock is held.
struct guarded_count {
    pilfer::mutex mutex;
    long count = 0;
    std::atomic<bool> inside{false};
    void enter() { EXPECT_FALSE(inside.exchange(true)) << "two holders"; }
    void leave() {
        ++count;
        inside = false;
    }
};

/// Some holds suspend: for a moment, or behind all that is queued.
inline task<> counts(pilfer::pool& p, guarded_count& c, int rounds) {
    for (int i = 0; i < rounds; ++i) {
        auto guard = co_await pilfer::scoped_lock(c.mutex);
        c.enter();
        if (i % 8 == 3) {
            co_await p.schedule();
        } else if (i % 32 == 5) {
            co_await pilfer::resume_after(1us);
        }
        c.leave();
        if (i % 2 == 0) {
            guard.unlock();
            EXPECT_FALSE(guard.owns_lock());
        }
    }
}

inline task<> waits_for_lock(pilfer::mutex& m, std::atomic<int>& begun, int& got) {
    ++begun;
    const auto guard = co_await pilfer::scoped_lock(m);
    ++got;
}

} // namespace coroutine_tests
