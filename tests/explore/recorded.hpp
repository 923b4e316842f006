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

/// The first run that fails, or that does not.
[[nodiscard]] inline recording run_that(bool passes, void (*body)()) {
    recording r;
    for (unsigned i = 0; i < 1'000; ++i) {
        r = record({.workers = 2 + i % 3}, body);
        if (r.passed == passes) {
            return r;
        }
    }
    ADD_FAILURE() << (passes ? "all runs have failed" : "no run has failed");
    return r;
}

/// Records `body` until it fails, and repeats that 100 times.
inline void fails_again(void (*body)()) {
    const recording r = run_that(false, body);
    ASSERT_EQ(r.schedule.find("\nn "), std::string::npos) << r.schedule;
    for (int i = 0; i < 100; ++i) {
        const result again = repeat(r.schedule, body);
        ASSERT_FALSE(again);
        ASSERT_TRUE(again.fits) << again.message << '\n' << r.schedule;
        ASSERT_EQ(again.message.substr(0, again.message.find('\n')),
                  r.message.substr(0, r.message.find('\n')));
    }
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

/// Adds to the sum, and then takes its time: the next task may begin before or after another one has ended.
inline void add_slowly(ordered_sum& s, std::uint64_t n) {
    s.add(n);
    if (n % 3 == 0) {
        linger();
    }
}

/// Records `run`, whose result depends on the order of its operations, and expects the same result again.
inline void has_same_order(std::uint64_t (*run)()) {
    std::uint64_t first = 0;
    for (unsigned workers = 1; workers <= 4; ++workers) {
        const recording r = record({.workers = workers}, [&] { first = run(); });
        ASSERT_TRUE(r) << r.message;
        std::uint64_t second = 0;
        const result again = repeat(r.schedule, [&] { second = run(); });
        ASSERT_TRUE(again) << again.message << '\n' << r.schedule;
        ASSERT_EQ(second, first) << r.schedule;
    }
}

/// Records runs several times, because an order that is not kept shows only now and then.
inline void keep_their_order(std::uint64_t (*run)()) {
    for (int round = 0; round < 5; ++round) {
        has_same_order(run);
    }
}

} // namespace recorded_runs
