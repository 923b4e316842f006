// Shared by the tests of primitives.
#pragma once

#include <atomic>
#include <chrono>
#include <pilfer/pilfer.hpp>
#include <thread>
#include <vector>

#include "support/harness.hpp"
#include "support/process.hpp"

namespace sync_tests {

using namespace std::chrono_literals;

/// Longer than any test takes.
inline constexpr auto for_ever = 1h;

class over_workers : public support::over_workers {};

/// Runs body(i) for i in [0, tasks) as tasks of a pool, and for i in [tasks, tasks + threads) on threads, all
/// at once.
template <class Body>
void all_at_once(pilfer::pool& pool, unsigned tasks, unsigned threads, Body body) {
    std::vector<pilfer::future<void>> asyncs;
    std::vector<std::thread> others;
    for (unsigned i = 0; i < threads; ++i) {
        others.emplace_back([&body, i, tasks] { body(tasks + i); });
    }
    for (unsigned i = 0; i < tasks; ++i) {
        asyncs.push_back(pool.async([&body, i] { body(i); }));
    }
    for (auto& f : asyncs) {
        f.get();
    }
    for (auto& t : others) {
        t.join();
    }
}

/// The calling task makes way for others.
inline void let_others_run() { pilfer::sleep_for(2us); } // yield() would not leave an only task

/// Waits until so many frames of the pool are suspended. They stay so until another task resumes them.
inline void until_suspended(pilfer::pool& pool, std::uint64_t n) {
    ASSERT_TRUE(support::eventually([&] {
        const auto c = pool.counters();
        return c.suspends - c.resumes >= n;
    }));
}

} // namespace sync_tests
