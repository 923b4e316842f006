// Calls with conditions, counted.
#pragma once

#include <atomic>
#include <utility>

#include "support/harness.hpp"
#include "support/process.hpp"

namespace sync_tests {

/// Counts calls that have asked their conditions for the first time, inside: the next call inside finds them
/// waiting. (A suspended caller may be waiting for the lock.)
class entered {
public:
    /// The condition, counted.
    template <class C>
    auto operator()(C ready) {
        return [this, ready, first = true](const auto& x) mutable {
            m_calls += std::exchange(first, false) ? 1 : 0;
            return ready(x);
        };
    }
    [[nodiscard]] bool are(unsigned calls) const { return m_calls >= calls; }
    void until(unsigned calls) const {
        ASSERT_TRUE(support::eventually([&] { return are(calls); }));
    }

private:
    std::atomic<unsigned> m_calls{0};
};

} // namespace sync_tests
