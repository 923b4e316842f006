// The part of the private tasks to expose. Plain values: no atomics, no clock, no allocation.
#pragma once

#include <algorithm>
#include <cstdint>

#include <pilfer/balance.hpp>

#include "balance/amount.hpp"
#include "balance/load.hpp"

namespace pilfer {
inline namespace v0 {
namespace balance {

/// An exposure policy with its state. One per worker.
class exposer {
public:
    exposer(exposure policy, exposure_threshold threshold, std::uint64_t eager) noexcept
        : m_policy(policy), m_threshold(threshold), m_eager(eager) {}

    /// After a push: the number of private tasks to move, oldest first; 0: none. `waiting`: a thief waits for
    /// work. The threshold and its part are weights, everything else counts tasks.
    template <loads Load = load>
    [[nodiscard]] std::uint64_t after_push(const Load& now, bool waiting) noexcept {
        switch (m_policy) {
        case exposure::always_public:
            return now.own;
        case exposure::threshold:
            if (now.own_weight() < m_threshold.at_least || now.shared_weight() >= m_threshold.below) {
                return 0;
            }
            return std::min(now.own, m_threshold.count != 0
                                         ? m_threshold.count
                                         : now.oldest_own(part_of(now.own_weight(), m_threshold.numerator,
                                                                  m_threshold.denominator)));
        case exposure::doubling: {
            if (now.shared > 0) {
                m_next = 1;
                return 0;
            }
            const std::uint64_t n = std::min(now.own, m_next);
            m_next = std::min(m_next * 2, std::uint64_t{1} << 32);
            return n;
        }
        case exposure::short_eager:
            return now.shared < m_eager ? std::min(now.own, m_eager - now.shared) : 0;
        case exposure::waiter_first:
            return waiting && now.shared == 0 ? std::min<std::uint64_t>(now.own, 1) : 0;
        case exposure::automatic:
        case exposure::on_demand:
            break;
        }
        return 0;
    }
    /// After the request of a thief: the number of private tasks to move; 0 if enough is shared already. The
    /// thief's amount is counted over all tasks, so that a policy never reduces a theft.
    template <loads Load = load>
    [[nodiscard]] static std::uint64_t for_thief(const steal_batch& thief, steal_amount amount,
                                                 const Load& now) noexcept {
        const std::uint64_t wanted = now.tasks() == 0 ? 0 : thief.size(amount, now);
        return wanted > now.shared ? std::min(wanted - now.shared, now.own) : 0;
    }

private:
    exposure m_policy;
    exposure_threshold m_threshold;
    std::uint64_t m_eager;
    std::uint64_t m_next = 1; // doubling
};

} // namespace balance
} // namespace v0
} // namespace pilfer
