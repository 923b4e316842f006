// How work spreads: how much a thief takes, from whom, and when tasks become visible to thieves.
// Plain values for options.balance. docs/investigations/steal-fraction.md says which default is best, and
// why.
#pragma once

#include <cstdint>

#include <pilfer/detail/base/platform.hpp>

namespace pilfer {
inline namespace v0 {

/// How much a thief takes of all that its victim has, private and shared: the oldest tasks, at least one. A
/// part is taken of the weight of the tasks: as many of the oldest as come nearest to it.
struct steal_amount {
    /// The kinds of amounts.
    enum class rule {
        automatic,   ///< The amount in PILFER_BALANCE, else the default.
        one,         ///< The oldest task.
        part,        ///< The part numerator / denominator, rounded up if every task weighs 1.
        all_but_one, ///< All tasks but the newest.
        adaptive,    ///< One task; doubled, up to half, while stolen tasks bring no further work.
    };
    /// The kind of amount.
    rule what = rule::automatic;
    /// The p of a part p / q: 1 <= p <= q <= 65,536.
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

/// Which worker a thief tries first. Before it sleeps it looks at every other worker once, whatever the rule.
enum class victim {
    automatic, ///< The victim in PILFER_BALANCE, else the default.
    random,    ///< Any other worker, uniformly.
    sticky,    ///< The last one that had work, then round robin.
    ring,      ///< The worker before this one in the ring.
    nearest,   ///< At random among those that share a cache, then a socket, then all. Needs options.pin.
    longest,   ///< The worker whose tasks weigh most. Each attempt reads every worker's queue.
};

/// When tasks move from a worker's private part to its shared part, which thieves see. All but `on_demand`
/// make every push and pop take the slow path.
enum class exposure {
    automatic,     ///< The exposure in PILFER_BALANCE, else the default: on_demand.
    on_demand,     ///< When a thief asks. Costs nothing while no thief does.
    always_public, ///< At every announcement: the classic deque, for comparison.
    threshold,     ///< When enough is private and little is shared: see exposure_threshold.
    doubling,      ///< One task; twice as many each time that all of them are found stolen.
    short_eager,   ///< While the shared part holds fewer than balance_options::eager tasks.
    waiter_first,  ///< One task as soon as a worker is idle and no task is shared.
};

/// The numbers of exposure::threshold. Weights are those of task_options, else 1.
struct exposure_threshold {
    /// Tasks move if the private ones weigh at least this much. From 1 to 2^62.
    std::uint64_t at_least = 8;
    /// Tasks move if the shared ones weigh less than this. From 1 to 2^62.
    std::uint64_t below = 2;
    /// Number of tasks that move, oldest first, at most 2^62. 0: the part numerator / denominator.
    std::uint64_t count = 0;
    /// The p of the part p / q of the weight that moves: 1 <= p <= q <= 65,536.
    std::uint32_t numerator = 1;
    /// The q of the part p / q that moves.
    std::uint32_t denominator = 2;
    /// Compares all members.
    friend bool operator==(const exposure_threshold&, const exposure_threshold&) = default;
};

/// How many of its own shared tasks a worker makes private again at a time.
enum class unshare {
    one, ///< The newest: the default.
    all, ///< All that no thief has taken.
};

/// How tasks spread over the workers. Automatic members come from the environment variable PILFER_BALANCE,
/// else from the defaults: see "Balance" in docs/guides/options.md.
struct balance_options {
    /// How much a thief takes.
    steal_amount steal{};
    /// Which worker a thief tries first.
    pilfer::v0::victim victim = pilfer::v0::victim::automatic;
    /// When tasks become visible to thieves.
    pilfer::v0::exposure exposure = pilfer::v0::exposure::automatic;
    /// The numbers of exposure::threshold.
    exposure_threshold threshold{};
    /// Tasks that exposure::short_eager keeps shared, from 1 to 65,536.
    std::uint64_t eager = 4;
    /// How many shared tasks an owner makes private again at a time.
    pilfer::v0::unshare unshare = pilfer::v0::unshare::one;
};

} // namespace v0
} // namespace pilfer
