// How work spreads: how much a thief takes, from whom, and when a worker's tasks come within its reach.
// Plain values for pilfer::options. docs/investigations/steal-fraction.md says which default is best, and
// why.
#pragma once

#include <cstdint>

#include <pilfer/detail/base/platform.hpp>

namespace pilfer {
inline namespace v0 {

/// How much a thief takes of ALL that its victim has, private and shared, oldest first: at least one task.
/// Whoever exposes tasks for a thief exposes as many as its amount needs. A part is one of the weight of the
/// tasks: as many of the oldest as come nearest to it.
struct steal_amount {
    /// The kinds of amounts.
    enum class rule {
        automatic,   ///< PILFER_BALANCE if it names an amount, else the default
        one,         ///< the oldest
        part,        ///< numerator / denominator, rounded up where every task weighs 1
        all_but_one, ///< the victim keeps its newest
        adaptive,    ///< one; doubled, up to half, while what was stolen brought no further work with it
    };
    /// The kind of amount.
    rule what = rule::automatic;
    /// For `part`: 1 <= numerator <= denominator <= 65,536.
    std::uint32_t numerator = 1;
    /// The q of a part p / q.
    std::uint32_t denominator = 2;

    /// One task at a time.
    [[nodiscard]] static constexpr steal_amount one() noexcept { return {rule::one}; }
    /// Half of the tasks.
    [[nodiscard]] static constexpr steal_amount half() noexcept { return {rule::part, 1, 2}; }
    /// The part p / q of the tasks. Ranges: see numerator.
    [[nodiscard]] static constexpr steal_amount part(std::uint32_t p, std::uint32_t q) noexcept {
        return {rule::part, p, q};
    }
    /// All tasks but the newest.
    [[nodiscard]] static constexpr steal_amount all_but_one() noexcept { return {rule::all_but_one}; }
    /// One task; up to half while theft brings no further work.
    [[nodiscard]] static constexpr steal_amount adaptive() noexcept { return {rule::adaptive}; }
    /// Compares all members.
    friend bool operator==(const steal_amount&, const steal_amount&) = default;
};

/// Whom a thief robs. Before it sleeps it looks at every other worker once, whatever the rule.
enum class victim {
    automatic, ///< PILFER_BALANCE if it names one, else the default
    random,    ///< any other worker, uniformly
    sticky,    ///< the last one that had work, then round robin
    ring,      ///< the worker before this one in the ring
    nearest,   ///< at random among those that share a cache, then a socket, then all; the same as random
               ///< unless workers are pinned: see options.pin
    longest,   ///< whose tasks weigh most. Each attempt reads every worker's queue.
};

/// When tasks move from a worker's private part to where thieves may take them. All but `on_demand` make
/// every push and pop take the slow path.
enum class exposure {
    automatic,     ///< PILFER_BALANCE if it names one, else the default: on_demand
    on_demand,     ///< when somebody asks: costs nothing while nobody does
    always_public, ///< at every announcement: the classic deque, for comparison
    threshold,     ///< when enough is private and little is shared: see exposure_threshold
    doubling,      ///< one; twice as many each time that all of it is found gone
    short_eager,   ///< while the shared part holds fewer than options.eager tasks
    waiter_first,  ///< one as soon as somebody waits and nothing is shared
};

/// For exposure::threshold: when the private tasks weigh at least `at_least` and the shared ones less than
/// `below`, `count` of the private tasks are moved, oldest first; if `count` is 0, as many as come nearest to
/// the part numerator / denominator of their weight. A task weighs 1 unless task_options give it another
/// weight.
struct exposure_threshold {
    /// Weight of private tasks from which on tasks are moved.
    std::uint64_t at_least = 8;
    /// Weight of shared tasks below which tasks are moved.
    std::uint64_t below = 2;
    /// Number of tasks that are moved; 0: the part numerator / denominator.
    std::uint64_t count = 0;
    /// The p of the part p / q that is moved.
    std::uint32_t numerator = 1;
    /// The q of the part p / q that is moved.
    std::uint32_t denominator = 2;
    /// Compares all members.
    friend bool operator==(const exposure_threshold&, const exposure_threshold&) = default;
};

} // namespace v0
} // namespace pilfer
