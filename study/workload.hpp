// The programs that the simulator can run.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "costs.hpp"

namespace study {

/// The next action of a task.
struct step {
    enum class kind : std::uint8_t {
        compute,  ///< For `value` picoseconds.
        announce, ///< The child task `value`, as join and fork do.
        call,     ///< The task `value` as a function, like the first branch of a join.
        sync,     ///< Wait for every child announced so far; run those that were not stolen, newest first.
        // Recorded graphs only, whose tasks may end before those that they have forked:
        fork,   ///< Announce `value`; no sync waits for it.
        spawn,  ///< Run `value` at once, and announce the rest of this task.
        await,  ///< Continue when the task `value` has ended.
        lock,   ///< Wait until no task holds the lock `value`, and hold it.
        unlock, ///< Hold it no longer.
        end,
    };
    kind what;
    std::uint64_t value = 0;
};

/// A program. Its tasks are numbers; a task that has begun has a second number, its place, which starts at 0.
/// Plain functions of the two: the order in which tasks are asked does not matter.
class workload {
public:
    workload() = default;
    workload(const workload&) = delete;
    workload& operator=(const workload&) = delete;
    virtual ~workload() = default;

    /// The action of `task` at `place`. The call advances `place`.
    [[nodiscard]] virtual step next(std::uint64_t task, std::uint64_t& place) const = 0;
    /// Calls put(worker, task) for each task that is there at the start. `workers` of them are there.
    virtual void begin(unsigned workers, const std::function<void(unsigned, std::uint64_t)>& put) const = 0;

    /// A task that comes from outside while the program runs. It is queued by the worker that it reaches; its
    /// number is the moment when it came.
    struct arrival {
        moment when = never; ///< never: no more of them
        unsigned worker = 0;
    };
    /// The k-th arrival, in the order of time; the first is 0.
    [[nodiscard]] virtual arrival arrives(std::uint64_t k, unsigned workers) const;
    /// Tasks with a number lower than this may be awaited.
    [[nodiscard]] virtual std::uint64_t awaitable() const { return 0; }
    /// Numbers of locks are lower than this.
    [[nodiscard]] virtual unsigned locks() const { return 0; }
    /// The line of the source at which the action of `task` at `place` was reached: an index of
    /// recorded_graph::lines(). 0: not known.
    [[nodiscard]] virtual unsigned line_at(std::uint64_t, std::uint64_t) const { return 0; }
    /// Picoseconds on one worker without any costs: the sum of all that is computed. Runs through all of it.
    [[nodiscard]] virtual moment work() const = 0;
};

/// "NAME" or "NAME:KEY=VALUE,...": see workload_help(). Throws std::invalid_argument with the known names or
/// keys, or with the range. For a graph it throws std::runtime_error with file and line.
[[nodiscard]] std::unique_ptr<workload> make_workload(std::string_view text, std::uint64_t seed);
/// One line per workload: name, keys with their defaults, description.
[[nodiscard]] std::string workload_help();

/// splitmix64's finisher (Steele, Lea and Flood 2014): a hash of one number.
[[nodiscard]] constexpr std::uint64_t mixed(std::uint64_t x) noexcept {
    x += 0x9e3779b97f4a7c15U;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
    return x ^ (x >> 31);
}
/// Uniform in (0, 1].
[[nodiscard]] constexpr double unit(std::uint64_t hash) noexcept {
    return static_cast<double>((hash >> 11) + 1) * 0x1p-53;
}

} // namespace study
