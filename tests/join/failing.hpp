// A pool in which the second branch of a join is stolen and throws, as the first one says.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>
#include <utility>

#include "support/harness.hpp"

namespace join_tests {

struct broken : std::runtime_error {
    broken() : std::runtime_error("a stolen branch") {}
};

class failing : public testing::TestWithParam<unsigned> {
protected:
    support::watchdog limit{support::patience};
    pilfer::pool pool{{.workers = GetParam()}};
    std::atomic<bool> stolen{false};
    std::atomic<bool> go_on{false};

    void SetUp() override {
        if (GetParam() < 2) {
            GTEST_SKIP() << "the first branch spins until somebody else has taken the other";
        }
    }
    /// Nothing is cancelled any more, and what was is gone: the usual things work.
    void TearDown() override {
        if (GetParam() < 2) {
            return;
        }
        pool.run([&] {
            using pilfer::detail::tripwire;
            EXPECT_FALSE(pilfer::detail::this_worker()->deque.trip().has(
                tripwire<pilfer::detail::std_atom>::stop)); // no cancellation is counted
            EXPECT_EQ(pilfer::join([] { return 1; }, [] { return 2; }), std::tuple(1, 2));
            pilfer::scope s;
            std::atomic<int> ran{0};
            s.spawn([&] { ++ran; });
            s.fork([&] { ++ran; });
            s.sync();
            EXPECT_EQ(ran, 2);
            pilfer::sleep_for(std::chrono::seconds(0));
        });
    }

    static void until(const std::atomic<bool>& holds) {
        while (!holds) {
            std::this_thread::yield();
        }
    }
    /// As the second branch of a join: fails once the first one says so.
    [[nodiscard]] auto fails() {
        return [this] {
            stolen = true;
            until(go_on);
            throw broken();
        };
    }
    /// As the first one: waits until the other is stolen, then f.
    template <class F>
    [[nodiscard]] auto beside(F f) {
        return [this, f = std::move(f)] {
            until(stolen);
            f();
            ADD_FAILURE() << "not stopped";
        };
    }
    void rearm() {
        stolen = false;
        go_on = false;
    }
};

} // namespace join_tests
