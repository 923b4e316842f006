// Waits of tests that have an end.
#pragma once

#include <chrono>
#include <thread>

#include <gtest/gtest.h>

#include <time.h>

/// Of the calling thread.
inline std::chrono::nanoseconds cpu_time() {
    timespec t{};
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return std::chrono::seconds(t.tv_sec) + std::chrono::nanoseconds(t.tv_nsec);
}

/// Waits until `done()`. A failure that says so after 60 seconds without it, in which this thread has had a
/// CPU for 5: beside other load all threads of the test may stand still for a minute.
template <class Done>
testing::AssertionResult comes(Done done) {
    constexpr std::chrono::seconds limit(60);
    const auto end = std::chrono::steady_clock::now() + limit;
    const auto used = cpu_time() + std::chrono::seconds(5);
    while (!done()) {
        if (std::chrono::steady_clock::now() > end && cpu_time() > used) {
            return testing::AssertionFailure() << "waited " << limit.count() << " s for this, in vain";
        }
        std::this_thread::yield();
    }
    return testing::AssertionSuccess();
}
