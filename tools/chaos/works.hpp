// The works that the soak and the selftest combine. Each runs something in a pool and compares the outcome
// with the expected one: every task exactly once, every result and every exception at its own caller.
#pragma once

#include <array>
#include <cstdint>
#include <stdexcept>

#include <pilfer/pilfer.hpp>

#include "dice.hpp"

namespace tools {

/// A wrong result: what() names the work, the place and the numbers.
struct wrong_result : std::runtime_error {
    using runtime_error::runtime_error;
};

/// The pool and the machine that a work may assume.
struct bench {
    pilfer::pool& pool;
    dice& random;
    /// Stacks are not limited: tasks may wait for each other in other ways than joins and scopes do.
    bool many_stacks;
    /// Sizes are divided by it: under chaos a task costs many times as much, and on a busy machine a work of
    /// full size took longer than the watchdog's patience.
    std::uint64_t shrink = 1;
};

struct work {
    char const* name;
    bool needs_stacks;
    /// Returns how many tasks ran. Throws wrong_result.
    std::uint64_t (*run)(bench&);
};

/// All of them.
[[nodiscard]] std::array<work, 14> const& works();

} // namespace tools
