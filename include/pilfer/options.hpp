// How a pool is set up: plain values, which the pool's constructor checks. docs/guides/options.md explains
// each one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <string>

#include <pilfer/balance.hpp>

namespace pilfer {
inline namespace v0 {

/// Where a task resumes after a wait.
enum class resume {
    anywhere,   ///< On the worker that completed what the task waited for: the default, and the fastest.
    own_thread, ///< On the thread that it was suspended on, for thread-locals. Other tasks run there
                ///< meanwhile.
    elsewhere,  ///< On another worker after every join: a test mode.
};

/// Whether each worker stays on one CPU.
enum class pinning {
    automatic, ///< The environment variable PILFER_PIN: off, compact or spread. Off if it is not set.
    off,       ///< The operating system places the workers: best on a machine that other programs share.
    compact,   ///< Packages and caches are filled one after the other.
    spread,    ///< Packages in turn, and caches in turn: most memory bandwidth and cache for few workers.
};

/// Whether a pool gives way if other programs need its CPUs.
enum class governing {
    automatic, ///< The environment variable PILFER_GOVERNOR: off or on. Off if it is not set.
    off,       ///< The operating system shares the CPUs out.
    on,        ///< A thread of the pool suspends workers that wait long for a CPU. Off if it cannot measure.
};

/// How long a worker that finds no work searches before it sleeps.
enum class idle {
    automatic, ///< The environment variable PILFER_SPIN: latency, balanced or battery. Balanced if not set.
    latency,   ///< About 20 times as long as balanced: about a millisecond.
    balanced,  ///< A few times the cost of a sleep and a wake-up; hardly at all if workers outnumber CPUs.
    battery,   ///< One look at every worker.
};

/// The scheduler under a pool.
enum class backend {
    automatic, ///< The environment variable PILFER_BACKEND: work_stealing or one_lock. Else work_stealing.
    work_stealing, ///< This library's runtime.
    one_lock,      ///< One mutex and threads that block, to compare results: see src/backend/README.md.
};

/// How a submission meets a full queue.
enum class when_full {
    grow, ///< The queue has no bound.
    wait, ///< The submitter waits for room: a task suspends, a thread blocks.
    fail, ///< The submitter gets queue_full.
};

/// Reports, records and checks of a pool.
struct debug_options {
    /// Says on a stack overflow which option to raise, by a handler of SIGSEGV and SIGBUS. False: no handler.
    bool overflow_message = true;
    /// Milliseconds without progress until the pool prints which tasks wait for what. 0 is off; at most
    /// 86,400,000. Cost: a timer while an idle pool has suspended tasks.
    unsigned stall_report = 10'000;
    /// The signal on which the pool writes dump() to standard error; 0: none. Cost: a thread that sleeps.
    int dump_signal = 0;
    /// Counts announced and inline tasks exactly, at a cost on the fast path. The checked build always does.
    bool count_all = false;
    /// Events that each worker keeps for write_trace(): 0, or a power of two from 64 to 2^24. 16 bytes each.
    /// PILFER_TRACE=FILE makes 0 mean 65,536. Cost if 0: one branch per search for work.
    std::size_t trace_events = 0;
    /// Records work and span for pool::profile(). Cost: the pool has one worker, and a task about 300 ns
    /// more.
    bool profile = false;
};

/// How a pool is made. `0` and `automatic` mean that the library chooses.
struct options {
    /// Threads that run tasks, from 1 to 4,096. 0: PILFER_WORKERS if it is set, else as many as the affinity
    /// mask and the cgroup quota allow.
    unsigned workers = 0;
    /// The most workers that pool::resize() may ask for, from `workers` to 4,096. 0: as many as the pool
    /// starts with. Each one costs about 4 KB, and a look in each search.
    unsigned max_workers = 0;
    /// Bytes of stack per context, from 16 KiB to 1 GiB. 0: PILFER_STACK if it is set, else 256 KiB. Only
    /// touched pages use memory.
    std::size_t stack_size = 0;
    /// Contexts alive at once, at most 2^31; 0: as many as memory allows. Tasks that wait for later tasks can
    /// deadlock at the limit: see "Memory" in docs/guides/options.md.
    std::size_t max_contexts = 0;
    /// Threads that replace workers inside blocking(), at most 4,096. 0: blocking() blocks its worker.
    unsigned max_extra_workers = 8;
    /// Makes no thread but the workers, whatever the environment says. Not with a governor, advice or
    /// debug.dump_signal.
    bool only_workers = false;
    /// Outside threads that may work for the pool at once, at most 64: see pool::attach(). Each one costs a
    /// look in each search. Only with resume::anywhere, or with one_lock. They just block with debug.profile
    /// and one_lock.
    unsigned attachable = 0;
    /// Which CPU each worker stays on. Cost if not off: some milliseconds per pool.
    pinning pin = pinning::automatic;
    /// Whether the pool gives way to other programs. Cost if on: a thread that wakes up 20 times a second.
    governing governor = governing::automatic;
    /// Returns how many workers should take work, 0 for no opinion. A thread of the pool calls it 20 times a
    /// second. It must not end the pool. Empty: PILFER_ADVICE may name a file that holds the number.
    std::function<unsigned()> advice{};
    /// How long an idle worker searches before it sleeps. A longer search costs CPU time and saves wake-ups.
    idle spin = idle::automatic;
    /// Worker i is the system's thread `name/i`. At most 10 bytes, no control characters. Empty: pilfer.
    std::string name{};
    /// Called on worker i with i before its first task. The pool's constructor passes on an exception of it.
    std::function<void(unsigned)> on_start{};
    /// Called on worker i with i after its last task. The program ends if it throws.
    std::function<void(unsigned)> on_stop{};
    /// Added to the nice value of each worker, from -20 to 19. Below 0 needs a privilege.
    int priority = 0;
    /// Where a task resumes after a wait. `anywhere` is the fastest.
    pilfer::v0::resume resume = pilfer::v0::resume::anywhere;
    /// Tasks that the queue of submissions holds, from 1 to 2^31. Only threads and tasks outside the pool are
    /// held back. No effect with when_full::grow. Cost of a bound: a shared count per submission.
    std::size_t queue_capacity = 65'536;
    /// How a submission meets a full queue.
    pilfer::v0::when_full when_full = pilfer::v0::when_full::grow;
    /// Gets the exception of a task without a waiter, on its worker. It must not throw. Empty: the program
    /// prints the exception and ends.
    std::function<void(std::exception_ptr)> on_error{};
    /// The scheduler under the pool; one_lock is for tests.
    pilfer::v0::backend backend = pilfer::v0::backend::automatic;
    /// How tasks spread over the workers.
    balance_options balance{};
    /// Reports, records and checks.
    debug_options debug{};
};

} // namespace v0
} // namespace pilfer
