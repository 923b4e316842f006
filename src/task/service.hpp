// The duties of a pool beside its tasks: alarms, descriptors, reports of standstills, its share of the CPUs.
//
// A room above this one derives from `service` or `watcher` and registers an object with the team. So the
// workers know neither clocks nor descriptors.
#pragma once

#include <atomic>
#include <cstdint>

#include <pilfer/detail/base/time.hpp>
#include <pilfer/detail/context/context.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

class scheduler;
class watcher;
struct blocking_job;

/// How long a worker that found nothing rests, and where. Each service may change it.
struct rest_plan {
    /// False: the worker is back from a rest that no waker has ended.
    bool begins = true;
    /// True: the worker retires, and watches over nothing.
    bool retires = false;
    /// A service has given the worker a token, and so has work for it. It must not rest.
    bool has_work = false;
    /// The longest rest in nanoseconds; 0: no limit.
    std::uint64_t limit = 0;
    /// The watcher in whose function sleep() the worker rests. Null: on its own word.
    watcher* place = nullptr;

    void limit_to(std::uint64_t ns) noexcept { limit = limit == 0 || ns < limit ? ns : limit; }
};

/// A wait with a time limit, in the frame that waits.
class limited_wait {
public:
    /// Returns when the wait is over.
    virtual void wait() noexcept = 0;
    /// The time is over. True: no other thread ends the wait any more, and the caller calls resume().
    [[nodiscard]] virtual bool withdraw() noexcept = 0;
    virtual void resume() noexcept = 0;

protected:
    ~limited_wait() = default;
};

/// Looks for what happens outside of the pool, in time or in the kernel. A pool has one watcher, and its
/// workers call it between two tasks. `w` is the worker that calls.
class watcher {
public:
    watcher() = default;
    watcher(const watcher&) = delete;
    watcher& operator=(const watcher&) = delete;

    /// Makes runnable what waited for something that has happened. Called before each task, from the first
    /// team::will_expect() on. `in_turn`: at every 64th call, which looks at more.
    virtual void serve(scheduler& w, bool in_turn) noexcept = 0;
    /// The last look before a rest. True: something was made runnable.
    [[nodiscard]] virtual bool look_again(scheduler& w) noexcept = 0;
    /// `w` stays awake although it has found nothing. Its next look is at everything.
    virtual void stays_awake(scheduler& w) noexcept = 0;
    /// `w` is about to run something, and hands on what it watches over.
    virtual void found_work(scheduler& w) noexcept = 0;
    /// `w` was woken, has settled its token, and is about to run something.
    virtual void settled_token(scheduler& w) noexcept = 0;
    /// The rest of `w`, as a service has planned it. `ns`: its limit; 0: none.
    virtual void sleep(scheduler& w, std::uint64_t ns) noexcept = 0;
    /// Calls wait.wait() in the task that runs on `w`, and ends that wait soon after `until`. `leaves`: the
    /// task is about to return to its scheduler.
    virtual void limit(scheduler& w, instant until, bool leaves, limited_wait& wait) noexcept = 0;
    /// `w` does not want to rest in sleep(). True: a woken worker does instead.
    [[nodiscard]] virtual bool hand_on(scheduler& w) noexcept = 0;

protected:
    ~watcher() = default;
};

/// Duties of a pool for which workers have a moment. The functions that a service does not need do nothing.
class service {
public:
    service() = default;
    service(const service&) = delete;
    service& operator=(const service&) = delete;

    // ---- on the thread of `w`, between two tasks
    /// `w` begins a task inside the scope `parent`, while some scope is cancelled.
    virtual void task_begins(scheduler& /*w*/, scope_node* /*parent*/) noexcept {}
    /// `w` begins to work, at first or after a rest.
    virtual void work_begins(scheduler& /*w*/) noexcept {}
    /// `w` is about to run a job of blocking() itself, and then runs no task.
    virtual void blocks(scheduler& /*w*/) noexcept {}
    /// `w` lacks stacks for the tasks that are there, and naps.
    virtual void naps(scheduler& /*w*/) noexcept {}
    /// `w` is in the map of sleepers, and is about to rest.
    virtual void plan_rest(scheduler& /*w*/, rest_plan& /*plan*/) noexcept {}
    /// A guest is about to leave its slot `w`.
    virtual void leaves(scheduler& /*w*/) noexcept {}

    // ---- the life of the pool
    /// The pool has its threads, and none of them runs a task yet.
    virtual void threads_are_made() noexcept {}
    /// team::stopping() has become true.
    virtual void pool_stops() noexcept {}

    // ---- any thread
    /// Takes a job of blocking(), and resumes its waiter when it has ended. False: it does not.
    [[nodiscard]] virtual bool take(blocking_job& /*job*/) noexcept { return false; }
    /// All threads of a back-end whose waits block threads have been blocked for `ns` while tasks are ready.
    virtual void threads_are_stuck(unsigned /*threads*/, unsigned /*ready*/, std::uint64_t /*ns*/) noexcept {}
    /// When the next thing is due that nothing but time brings about; never: nothing is.
    [[nodiscard]] virtual instant first_due() const noexcept { return never; }

    // ---- for a back-end whose threads look by themselves, on the stack of a scheduler
    /// Makes runnable what is due at `t`.
    virtual void fire_due(instant /*t*/) noexcept {}

protected:
    ~service() = default;

private:
    friend class team;
    service* m_next = nullptr;
};

/// The bound of a submission queue, which a taker of a submission has to know of.
class queue_bound {
public:
    /// Counts a submission that does not wait for a place.
    virtual void take_anyway() noexcept = 0;
    /// A submission was taken out: a submitter that waits for a place may continue.
    virtual void give_back() noexcept = 0;

protected:
    ~queue_bound() = default;
};

/// A thread outside that runs the tasks of a scheduler without a thread. Called on that thread, for its
/// rests.
class occupant {
public:
    /// True if the wait of the guest may be over. Called in the map of sleepers.
    [[nodiscard]] virtual bool is_stirred() noexcept = 0;
    /// Rests on `state` and on the word of its own wait.
    virtual void rest(std::atomic<std::uint32_t>& state, const rest_plan& plan) noexcept = 0;

protected:
    ~occupant() = default;
};

} // namespace detail
} // namespace v0
} // namespace pilfer
