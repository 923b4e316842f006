// Shared by the tests of cancellations.
#pragma once

#include <atomic>
#include <chrono>

#include <pilfer/pilfer.hpp>

#include "support/harness.hpp"

namespace cancel_tests {

using namespace std::chrono_literals;

/// Spins until it holds, up to a minute; other tasks run meanwhile.
template <class F>
[[nodiscard]] bool soon(F holds) {
    const auto end = std::chrono::steady_clock::now() + 60s;
    while (!holds()) {
        if (std::chrono::steady_clock::now() > end) {
            return false;
        }
        pilfer::yield();
    }
    return true;
}

class over_few_workers : public testing::TestWithParam<unsigned> {
protected:
    pilfer::pool pool{{.workers = GetParam()}};
};
#define PILFER_OVER_FEW_WORKERS(fixture)                                                                     \
    INSTANTIATE_TEST_SUITE_P(workers, fixture, testing::Values(1U, 2U, 3U, 8U))

/// A child that runs until it is stopped, and must not reach its end.
struct endless {
    std::atomic<int> begun{0};
    std::atomic<int> unwound{0};
    std::atomic<int> reached_the_end{0};
    struct guard {
        std::atomic<int>& n;
        ~guard() { ++n; }
    };
    template <class F>
    void operator()(F step) {
        const guard g{unwound};
        ++begun;
        (void)soon([&] {
            step();
            return false;
        });
        ++reached_the_end;
    }
};

} // namespace cancel_tests
