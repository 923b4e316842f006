// How a pool is set up. Plain values; pool's constructor checks them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <string>

#include <pilfer/balance.hpp>

namespace pilfer {
inline namespace v0 {

/// Where a frame goes on that was suspended at a join.
enum class resume {
    anywhere, ///< on the worker that completed what it waited for (default, fastest)
    /// On the thread it was suspended on: for thread-locals, errno, std::mutex across a join. Other
    /// tasks run on that thread meanwhile and must not lock that mutex. The rest of a spawn still moves, with
    /// all frames below it on the stack.
    own_thread,
    elsewhere, ///< test mode: every join goes on on another worker
};

/// How many of its own exposed tasks a worker makes private again at a time.
enum class take_back {
    one, ///< the newest (default)
    all, ///< all that no thief has taken
};

/// Whether each worker stays on one CPU.
enum class pinning {
    automatic, ///< PILFER_PIN=off, compact or spread if set, else off
    off,       ///< the operating system places the workers: best unless the machine is the program's own
    compact,   ///< packages and caches are filled one after the other
    spread,    ///< packages in turn, in them caches in turn: most memory bandwidth and cache for few workers
};

/// Whether a pool gives way where other programs need its CPUs.
enum class governing {
    automatic, ///< PILFER_GOVERNOR=off or on if set, else off
    off,       ///< the operating system shares the CPUs out
    /// A thread of the pool looks twenty times a second, while the pool works, for how long its workers had
    /// to wait for CPUs. Where that is a third of a CPU's time it sends one away, as resize() does, and tries
    /// later whether there is room again. Off where the kernel does not tell (settings() says so, and `pilfer
    /// info`).
    on,
};

/// How long a worker that finds no work goes on looking before it sleeps.
enum class idle {
    automatic, ///< PILFER_SPIN=latency, balanced or battery if set, else balanced
    /// Some 20 times as long as balanced, about a millisecond on CPUs of its own, with a yield to other
    /// threads in between: a task that comes within that time pays no wake-up.
    latency,
    balanced, ///< a few times what a sleep and a wake-up cost; where workers outnumber CPUs next to nothing
    battery,  ///< one look at everybody, then sleep
};

/// What a pool's tasks wait in, and how its threads wait.
enum class backend {
    automatic,     ///< PILFER_BACKEND=work_stealing or one_lock if set, else work_stealing
    work_stealing, ///< this library's runtime
    /// The same interface over one mutex, one list per thread and threads that block: so simple that its
    /// results can be trusted, to compare the other one with. What runs how on it: src/onelock/README.md.
    one_lock,
};

/// What a shutdown does with tasks that have not started.
enum class shutdown_mode {
    drain, ///< everything that was accepted runs
    drop,  ///< accepted tasks that have not started are dropped and counted
};

/// What becomes of a task that is handed to a pool whose queue is full: see options.queue_capacity.
enum class when_full {
    grow, ///< the queue has no bound
    wait, ///< its submitter waits for room: a task suspends, a thread blocks
    fail, ///< its submitter gets queue_full
};

/// How a pool is made. Each member has a default; `0` and `automatic` mean that the library chooses.
struct options {
    /// Threads. 0: PILFER_WORKERS if set, else the smaller of the affinity mask and the cgroup quota,
    /// rounded up. Range 1 .. 4,096, also above the number of CPUs.
    unsigned workers = 0;
    /// To how many workers pool::resize() may raise that. 0: to as many as the pool begins with. Else from
    /// `workers` to 4,096; with an automatic number of workers no more than this begin. Each that is not
    /// there yet costs some 4 KB and a line to look at in each search.
    unsigned max_workers = 0;
    /// Bytes of stack per context, rounded up to pages. 0: PILFER_STACK if set, which may end with K, M or G
    /// for powers of 1,024, else 256 KiB. Range 16 KiB .. 1 GiB. Only touched pages use memory.
    std::size_t stack_size = 0;
    /// Contexts alive at once; 0: memory is the limit. Above it `spawn` runs its child as a plain call
    /// and thieves start no new tasks; a task that waits when the last context is in use runs others on
    /// top of itself, up to half of its stack. A task that waits beyond that half takes one context above the
    /// limit. So tasks that start on top should need less than half a stack. What is awaited down there (a
    /// future, a lock, a channel, an event, another pool's run() that comes back into this pool) can need a
    /// frame below, and then nobody goes on. So it is, too, when all contexts wait for what only a task could
    /// bring that comes later, or is of a lower priority: a submission, after(), every(). Give tasks that
    /// wait in such ways (not: joins and scopes) one context per wait, and one more. Range 0 .. 2^31.
    std::size_t max_contexts = 0;
    /// Threads beside the workers, made when blocking() needs them and ended when it does not. 0: it blocks
    /// its worker. With backend::one_lock: threads that are made when all others block and tasks are ready,
    /// and end when none are. Range 0 .. 4,096.
    unsigned max_extra_workers = 8;
    /// No thread but the workers, whatever the environment says: max_extra_workers is 0, the governor is off,
    /// and PILFER_GOVERNOR and PILFER_ADVICE are not looked at. Not with governing::on, advice or
    /// dump_signal.
    bool only_workers = false;
    /// Threads outside that can work for this pool at the same time while they wait: pool::attach(),
    /// pool::run_until(). Each is a seat beside the workers, which others look at as at a worker's. 0:
    /// nobody. With resume::anywhere only. A pool that records (options.profile) or has backend::one_lock has
    /// no seats: an attached thread blocks, and run_until() asks after each notify(). Range 0 .. 64.
    unsigned attachable = 0;
    /// How much a thief takes, from whom, and when there is something for it to take. What is automatic comes
    /// from the environment variable PILFER_BALANCE, which names any of an amount, a victim and an exposure,
    /// separated by commas: one, half, all-but-one, adaptive, P/Q; random, sticky, ring, nearest, longest;
    /// on-demand, always-public, threshold:N:M:A (A a count or P/Q), doubling, short-eager:K, waiter-first.
    steal_amount steal{};
    /// Whom a thief robs.
    pilfer::v0::victim victim = pilfer::v0::victim::automatic;
    /// When tasks become visible to thieves.
    pilfer::v0::exposure exposure = pilfer::v0::exposure::automatic;
    /// For exposure::threshold.
    exposure_threshold threshold{};
    /// Tasks, for exposure::short_eager. Range 1 .. 65,536.
    std::uint64_t eager = 4;
    /// CPUs are taken from the affinity mask of the thread that makes the pool: cores before their SMT
    /// siblings, fast cores before slow ones. Workers with numbers next to each other share caches. More
    /// workers than CPUs are dealt out evenly. A worker whose CPU is refused, say because it went offline,
    /// runs unpinned; dump() names the CPU of the others. Threads that a task starts inherit its worker's
    /// CPU, pools do not. Cost where it is on: hwloc reads the machine once per pool, some milliseconds;
    /// without it CPUs count as cores of one package.
    pinning pin = pinning::automatic;
    /// With `workers` 0, and without PILFER_WORKERS, it also follows the cgroup quota when it changes, up
    /// to `max_workers`, and the affinity mask where that of all threads does (taskset -a). No effect with
    /// backend::one_lock and where the pool records; a pool that can make no thread for it does without,
    /// and settings() say so.
    governing governor = governing::automatic;
    /// Advice from outside: at most how many workers should take work now, 0 for no opinion. Asked twenty
    /// times a second while the pool works, on a thread of the pool's own, with or without a governor; what
    /// it throws is no opinion. The end of the pool waits for it, so it must not end the pool (a shutdown
    /// by it throws usage_error) nor the program. Where no thread can be made settings() have none. The
    /// environment variable PILFER_ADVICE names a (regular) file that holds such a number, for each pool.
    std::function<unsigned()> advice{};
    /// What an idle worker does before it sleeps; keep_warm keeps it from sleeping for a time. With
    /// backend::one_lock without effect: those threads sleep at once. How long a thread outside looks before
    /// it waits for a task is not changed by it.
    idle spin = idle::automatic;
    /// Worker i is the thread `name/i` of the system (debuggers, top -H, /proc); empty: pilfer. At most 10
    /// bytes without control characters: with `/4095` behind them they are the 15 that Linux keeps. Threads
    /// of blocking() are called `name/blocking`, cut at 15.
    std::string name{};
    /// Called on the thread of worker i, with i: before its first task and after its last one. Not on a
    /// task's stack: for thread-locals, for libraries that want to know each thread. By several threads at
    /// once. They are threads outside of this pool there: they may use others, but must not wait for this
    /// one; a shutdown of it in there throws usage_error. The constructor of the pool returns when on_start
    /// has returned everywhere. If one throws there, it throws the first such exception on, once the workers
    /// have ended, with on_stop where on_start had returned. Whatever else these two throw ends the program,
    /// which says what it was. on_stop runs before shutdown() returns, with drop, too. Temporary threads of
    /// backend::one_lock call both, each time one begins and ends, with a number from `workers` on. Threads
    /// of blocking() call neither.
    std::function<void(unsigned)> on_start{};
    /// As on_start, after the last task of a worker.
    std::function<void(unsigned)> on_stop{};
    /// Added to the nice value that the thread has which makes the pool, for each worker: above 0 the workers
    /// give way to others, below 0 it is the other way round, which takes a privilege (see RLIMIT_NICE).
    /// Where the system refuses it a worker runs as before; dump() says so, or what it has become. Threads of
    /// blocking() have it as well, where a worker makes them. Range -20 .. 19. 0: nothing is asked for.
    int priority = 0;
    /// Where a task may go on after a wait.
    pilfer::v0::resume resume = pilfer::v0::resume::anywhere;
    /// How many shared tasks an owner takes back at once.
    pilfer::v0::take_back take_back = pilfer::v0::take_back::one;
    /// Install a SIGSEGV and SIGBUS handler that names the stack size and the option when a task
    /// overflows its stack, and chains every other fault. False: leave the signals alone.
    bool overflow_message = true;
    /// What may lie in the queue of submissions, not begun: what threads outside, and tasks of other pools,
    /// give to submit(), async(), run() and to scopes of this pool's tasks. Not looked at with
    /// when_full::grow. pool::common() has no bound. What alarms, futures and coroutines queue when they go
    /// on counts, but neither waits nor fails. Nor does the pool itself: what its own tasks hand to it goes
    /// to their worker's deque, what a blocking() of it does to the queue, beyond the bound if need be; so
    /// none of its tasks waits for its own queue. Two bounded pools whose tasks submit to each other need
    /// contexts for it: with max_contexts both may stand still. A shutdown gives pool_closed to those who
    /// wait. They wait first come, first served. Range 1 .. 2^31. Cost, where there is a bound: one shared
    /// count that each submission and each start of one changes.
    std::size_t queue_capacity = 65'536;
    /// What a submission does if the queue is full.
    pilfer::v0::when_full when_full = pilfer::v0::when_full::grow;
    /// Milliseconds. A pool whose workers have had nothing to run for so long, while contexts are
    /// suspended that nothing can wake any more, prints once who waits for what, to standard error, and
    /// goes on. So does one whose workers are all inside blocking() beside a ready task. Waiting for another
    /// pool that works is no stall, nor is a task that computes, a sleep or a wait with a time limit, or one
    /// for the end of such a task; while a timer (after(), every(), a deadline) is due within that time
    /// nothing is said. Cost: none while anything runs, a timer while contexts wait in an idle pool. 0: off.
    /// Range 0 .. 86,400,000.
    unsigned stall_report = 10'000;
    /// A signal upon which the pool writes dump() to standard error; 0: none. Any signal that can be caught
    /// and is no fault. Its handler is installed for as long as the pool lives, and calls the one that was
    /// there before; a thread that sleeps until the signal comes does the writing, so that it works when
    /// every worker is busy or blocked. At least one thread that is no worker has to let the signal through.
    int dump_signal = 0;
    /// What is done with the exception of a task that nobody waits for: submit(), after(), every(), on(). It
    /// is called on the worker, as the end of that task, by several at once, and must not throw. Empty: the
    /// program says what was thrown, and terminates.
    std::function<void(std::exception_ptr)> on_error{};
    /// Exact counts of announced and inline tasks, at a cost on the fast path. Always on in the checked
    /// build.
    bool count_all = false;
    /// Events that each worker keeps for write_trace(), the newest win: a power of two from 64 to 2^24, 16
    /// bytes each once they are written; 0: no trace, no memory, one branch per look for work. The
    /// environment variable PILFER_TRACE=FILE makes 0 mean 65,536 for every pool of the program and writes
    /// FILE when the pool ends (see src/trace/README.md).
    std::size_t trace_events = 0;
    /// Record how parallel the program is: see pool::profile(). The pool then has one worker, runs in the
    /// serial order, and each task costs some 300 ns more; `workers` must be 0 or 1. The environment variable
    /// PILFER_PROFILE=FILE does it for every pool of the program, whatever its `workers`, and writes FILE
    /// when the pool ends; PILFER_PROFILE_GRAPH=FILE writes the graph of its tasks, and
    /// PILFER_PROFILE_BURDEN=THEFT,RESUMPTION says what those cost in ns (see src/profile/README.md).
    bool profile = false;
    /// For tests. With one_lock `resume` becomes own_thread (elsewhere is an error, and so is `profile`,
    /// however it was asked for, and a `when_full` other than grow), tasks run on the stacks of the threads,
    /// and what concerns contexts, deques and thefts is without effect.
    pilfer::v0::backend backend = pilfer::v0::backend::automatic;
};

} // namespace v0
} // namespace pilfer
