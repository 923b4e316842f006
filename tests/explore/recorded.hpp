// Runs of a body that are recorded on several workers and repeated on one thread, and what bodies need so
// that their order counts.
#pragma once

#include "explore/bugs.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace recorded_runs {

using bugs::lock;
using pilfer::test::record;
using pilfer::test::recording;
using pilfer::test::result;
using pilfer::test::schedules;

[[nodiscard]] inline result repeat(const std::string& text, const std::function<void()>& body) {
    return schedules(1, {.replay = text}, body);
}

/// Real time passes, so that a thief comes, or another task is faster.
inline void linger() { std::this_thread::sleep_for(std::chrono::microseconds(300)); }

template <class F, class G>
void both(F f, G g) {
    (void)pilfer::join(
        [&] {
            linger();
            f();
        },
        g);
}

/// No promise says which of two results is first.
inline void order_of_futures() {
    pilfer::mutex m;
    std::vector<int> ended;
    const auto task = [&](int i) {
        linger();
        const lock l(m);
        ended.push_back(i);
    };
    auto first = pilfer::async([&] { task(1); });
    auto second = pilfer::async([&] { task(2); });
    first.get();
    second.get();
    pilfer::test::require(ended.front() == 2, "the second one is first");
}

/// The owner has come to its children in an order that the repetition does not have: see own_child.hpp.
[[nodiscard]] inline bool has_passed_over_a_child(const recording& r) {
    return r.schedule.find("\nn a child that its owner runs after an older one\n") != std::string::npos;
}

/// The first run that fails, or that does not, and can be repeated.
[[nodiscard]] inline recording run_that(bool passes, void (*body)()) {
    recording r;
    for (unsigned i = 0; i < 1'000; ++i) {
        r = record({.workers = 2 + i % 3}, body);
        if (r.passed == passes && !has_passed_over_a_child(r)) {
            return r;
        }
    }
    ADD_FAILURE() << (passes ? "all runs have failed" : "no run has failed");
    return r;
}

/// Sums up under a mutex, in an order that counts.
struct ordered_sum {
    pilfer::mutex m;
    std::uint64_t sum = 1;
    void add(std::uint64_t n) {
        const lock l(m);
        sum = sum * 31 + n;
    }
};

/// Records `run`, whose result depends on the order of its operations, and expects the same result again.
inline void has_same_order(std::uint64_t (*run)()) {
    std::uint64_t first = 0;
    for (unsigned workers = 1; workers <= 4; ++workers) {
        recording r;
        do {
            r = record({.workers = workers}, [&] { first = run(); });
            ASSERT_TRUE(r) << r.message;
        } while (has_passed_over_a_child(r));
        std::uint64_t second = 0;
        const result again = repeat(r.schedule, [&] { second = run(); });
        ASSERT_TRUE(again) << again.message << '\n' << r.schedule;
        ASSERT_EQ(second, first) << r.schedule;
    }
}

} // namespace recorded_runs
