// Waits of tests that have an end.
#pragma once

#include <chrono>
#include <thread>

#include <gtest/gtest.h>

/// Waits until `done()`. A failure that says so after 60 seconds without it.
template <class Done>
testing::AssertionResult comes(Done done) {
    constexpr std::chrono::seconds limit(60);
    const auto end = std::chrono::steady_clock::now() + limit;
    while (!done()) {
        if (std::chrono::steady_clock::now() > end) {
            return testing::AssertionFailure() << "waited " << limit.count() << " s for this, in vain";
        }
        std::this_thread::yield();
    }
    return testing::AssertionSuccess();
}
