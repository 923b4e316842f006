// The ways to hold a lock of the library.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <mutex>
#include <shared_mutex>

#include <pilfer/pilfer.hpp>

namespace {

/// One object of each kind, and a way to be inside of it.
struct objects {
    pilfer::mutex mutex;
    pilfer::shared_mutex shared;
    pilfer::synchronized<int> locked{0};
    pilfer::synchronized<int, pilfer::shared_mutex> readable{0};
    pilfer::monitor<int> queued{0};

    static constexpr int kinds = 10;
    void inside(int kind, const std::function<void()>& f) {
        switch (kind) {
        case 0: {
            const std::lock_guard guard(mutex);
            return f();
        }
        case 1: {
            const std::lock_guard guard(shared);
            return f();
        }
        case 2: {
            const std::shared_lock guard(shared);
            return f();
        }
        case 3:
            return locked.call([&](int&) { f(); });
        case 4:
            return readable.read([&](const int&) { f(); });
        case 5:
            return queued.call([&](int&) { f(); });
        case 6:
            return queued.call_when([](int) { return true; }, [&](int&) { f(); });
        case 7: {
            std::unique_lock guard(mutex, std::try_to_lock);
            EXPECT_TRUE(guard);
            return f();
        }
        case 8: { // in another order than the reverse
            pilfer::mutex other;
            mutex.lock();
            other.lock();
            mutex.unlock();
            f();
            return other.unlock();
        }
        default:
            EXPECT_TRUE(locked.try_call_for(std::chrono::hours(1), [&](int&) { f(); }));
        }
    }
};

} // namespace
