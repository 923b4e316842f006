// The discrete-event simulation of a pool: workers, their deques, thefts, sleep and waking.
#pragma once

#include <cstdint>
#include <string>

#include <pilfer/balance.hpp>

#include "costs.hpp"
#include "workload.hpp"

namespace study {

struct setup {
    unsigned workers = 2; ///< 2 .. 4,096; 1 is allowed and runs everything in order
    /// Amount, victim, exposure with its numbers; nothing automatic (balance::resolve fills it in).
    pilfer::balance_options policy;
    costs price;
    std::uint64_t seed = 1;
    /// Rounds of a search before the last look at all workers; as in src/worker/scheduler.cpp.
    unsigned rounds = 200;
    /// The others sleep at the start, as in a pool that was idle; else they search.
    bool asleep = true;
    /// Before a worker sleeps it looks at all others, under any rule of victims. Without this look the
    /// examples show a rule by itself.
    bool last_look = true;
    /// The holder of a token asks whether any task is left. It looks at its victim first, and only then from
    /// deque to deque. A worker that takes task after task from its own deque answers between them. The
    /// runtime does both since this simulation showed their worth; false: as before.
    bool look_at_victim = true;
    bool attend_between = true;
    /// A woken worker first robs the victim that its waker has named. False: a victim by the rule of victims.
    bool name_victim = true;
    /// A variant of the wave that the runtime does not have: the holder of a token wakes others as soon as it
    /// has its first task, not after the whole theft.
    bool wake_before_haul = false;
    /// A second variant: it sends them to itself, not to its victim.
    bool name_itself = false;
    /// Stop at this moment, finished or not.
    moment until = never;
};

/// Sees what happens, in the order of time.
class observer {
public:
    observer() = default;
    observer(const observer&) = delete;
    observer& operator=(const observer&) = delete;
    virtual ~observer() = default;
    /// Worker `worker` begins (or ends) to be busy.
    virtual void busy(moment when, unsigned worker, bool now) = 0;
    /// Worker `worker` has so many tasks: those in its deque and the one it runs.
    virtual void holds(moment when, unsigned worker, std::uint64_t tasks) = 0;
};

struct result {
    moment makespan = 0;        ///< When the last task ended.
    moment all_reached = never; ///< When the last worker began its first task; never: a worker had none.
    moment all_busy = never;    ///< When all were busy at one time; never: that did not happen.
    moment work = 0;            ///< Computed, all workers together.
    std::uint64_t tasks = 0;    ///< Begun.
    std::uint64_t announced = 0;
    std::uint64_t steals = 0; ///< successful ones
    std::uint64_t stolen = 0; ///< tasks that they took
    std::uint64_t misses = 0;
    std::uint64_t reaches = 0;
    std::uint64_t exposures = 0;
    std::uint64_t suspends = 0;
    std::uint64_t sleeps = 0;
    std::uint64_t wakes = 0;
    unsigned wake_depth = 0; ///< longest chain of first wake-ups: who was woken by whom
    moment waited = 0;       ///< arrivals only: from coming to beginning, sum
    std::uint64_t events = 0;
    /// Work / (workers x makespan): 1 if all workers work all the time and nothing costs anything.
    [[nodiscard]] double efficiency(unsigned workers) const noexcept {
        return makespan == 0 ? 1 : static_cast<double>(work) / static_cast<double>(makespan) / workers;
    }
};

/// Runs `program`. Equal arguments give equal results. Throws std::invalid_argument for a number of workers
/// out of range or a policy that is left automatic. Cost: some 100 ns and no allocation per task, once the
/// deques have grown.
[[nodiscard]] result simulate(const setup& how, const workload& program, observer* watcher = nullptr);

} // namespace study
