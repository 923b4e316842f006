// Tests of programs that use pilfer: a function runs under many schedules, which are chosen and repeatable.
//
// Link the target pilfer::test instead of pilfer::pilfer. docs/guides/testing.md explains what is found.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <source_location>
#include <stdexcept>
#include <string>

#include <pilfer/detail/base/platform.hpp>
#include <pilfer/detail/base/same_sanitizer.h>
#include <pilfer/detail/base/test_point.hpp>
#include <pilfer/test_atomic.hpp>
#include <pilfer/test_atomic_ref.hpp>

namespace pilfer {
inline namespace v0 {
namespace test {

/// How schedules are chosen.
enum class strategy {
    mixed,  ///< Random and pct in turn.
    random, ///< Each choice by chance.
    pct,    ///< By random priorities that change `depth - 1` times (Burckhardt and others, ASPLOS 2010).
    /// All of them, depth first, as far as the number of schedules reaches. Before them a tenth of that
    /// number, at most 50, runs by chance for result::estimate.
    exhaustive,
};

/// How schedules() works.
struct options {
    /// How schedules are chosen.
    test::strategy strategy = test::strategy::mixed;
    /// Equal seeds choose equal schedules.
    std::uint64_t seed = 1;
    /// pct: an error that needs this many orders to be right is found with a known probability. 1 to 1,000.
    unsigned depth = 3;
    /// The most preemptions of a schedule. Errors rarely need more than two.
    std::uint64_t preemptions = UINT64_MAX;
    /// A schedule that makes more steps fails: it does not end. At least 1.
    std::uint64_t steps = 100'000;
    /// The most faults of a schedule: calls of fault() that return true, and calls of
    /// atomic::compare_exchange_weak() that fail without a reason.
    std::uint64_t faults = 0;
    /// Faults are also: pilfer's own allocations throw std::bad_alloc, and so does operator new in a program
    /// with PILFER_TEST_NEW (<pilfer/test_new.hpp>).
    bool memory_faults = false;
    /// Faults are also: calls of pilfer::io transfer one byte, are interrupted, would block, or fail with
    /// ECONNRESET.
    bool io_faults = false;
    /// A schedule fails if a task holds the only thread for so long of real time, asleep or computing,
    /// without an operation of the library. Time in which the thread waits for a processor does not count. 0:
    /// never.
    std::chrono::nanoseconds patience = std::chrono::seconds(60);
    /// A failing schedule is repeated without each of its preemptions in turn, as long as it fails.
    bool minimise = true;
    /// The steps of a failure, and the waits of a deadlock, name files and lines. It needs a program with
    /// debug information (-g), and the command llvm-addr2line or addr2line, which gets a minute. Otherwise
    /// they name functions.
    bool lines = true;
    /// result::schedule of an earlier call, or the text of a recording: only that one runs. It fails if it
    /// does not fit the program. Empty: the environment variable PILFER_SCHEDULE, if it is set.
    std::string replay{};
};

/// The findings of schedules().
struct result {
    /// True if no schedule has failed.
    bool passed = true;
    /// Schedules that ran, without repetitions of the failing one. If `complete`: as many as there are.
    std::uint64_t schedules = 0;
    /// False: options::replay is of another program, or of another version. So it says nothing about this
    /// one, and `passed` is false.
    bool fits = true;
    /// The number of the schedule that failed, from 0.
    std::uint64_t failed = 0;
    /// The failure, with the waits of a deadlock. Empty if nothing has failed.
    std::string message{};
    /// The failing schedule, for options::replay and PILFER_SCHEDULE: at most 4,096 characters. Empty if an
    /// exhaustive search finds one that needs more.
    std::string schedule{};
    /// The steps of the failing schedule, a line for each.
    std::string trace{};
    /// strategy::exhaustive: true if all schedules have run.
    bool complete = false;
    /// strategy::exhaustive: about how many schedules there are; 0: not known.
    double estimate = 0;

    /// passed.
    explicit operator bool() const noexcept { return passed; }
    /// Writes everything that a person needs to know.
    friend PILFER_API std::ostream& operator<<(std::ostream& out, const result& r);
};

/// Runs `body` under `n` schedules, or until one fails. Each time `body` is a task of a pool with one thread,
/// and everything that it starts runs there: children, futures, timers. `body` makes all that its tasks
/// share.
///
/// At each operation of the library, and at each operation of test::atomic, another task may go on. Time
/// stands still while anything can run, and then jumps to the next alarm.
///
/// A schedule fails if an exception leaves `body` or a task without a waiter, or if require() is false. It
/// fails if tasks wait for ever, also after the end of `body`. Then their memory is lost. It fails after
/// options::steps steps, and if a task holds the thread for options::patience.
///
/// Throws std::invalid_argument for `n` = 0, wrong options or a malformed schedule, usage_error inside a
/// task, and what making a pool throws. A call waits while another thread is in one.
#if defined(PILFER_TEST)
[[nodiscard]] PILFER_API result schedules(std::uint64_t n, const options& o,
                                          const std::function<void()>& body);
#else
template <bool Test = false>
[[nodiscard]] result schedules(std::uint64_t, const options&, const std::function<void()>&) {
    static_assert(Test, "<pilfer/test.hpp> needs the target pilfer::test, which defines PILFER_TEST");
    return {};
}
#endif
/// schedules() with the usual options.
template <class Body>
[[nodiscard]] result schedules(std::uint64_t n, const Body& body) {
    return test::schedules(n, options{}, body);
}

/// How record() works.
struct record_options {
    /// The workers of the pool. 0: as many as a usual pool has.
    unsigned workers = 0;
    /// The recording is written to this file as it grows, so that it is there even if the program dies.
    /// Empty: to none.
    std::string file{};
};

/// One run on several workers, and the order of its operations.
struct recording {
    /// True if the run has not failed.
    bool passed = true;
    /// The failure, as in result::message.
    std::string message{};
    /// The recording, for options::replay. It begins with "recorded 1".
    std::string schedule{};

    /// passed.
    explicit operator bool() const noexcept { return passed; }
};

/// Runs `body` once, as a task of a pool with several workers, and records the order of the operations that
/// are listed in docs/guides/testing.md. schedules() with options::replay repeats that order on one thread.
///
/// Operations take a lock in turn. Code that only forks and joins runs as fast as without. Returns when all
/// tasks have ended, or when all wait for ever. A run fails for the same reasons as a schedule, except those
/// of options::steps and options::patience.
///
/// Throws std::invalid_argument for an empty `body`, std::system_error if there is no such file, usage_error
/// inside a task, and what making a pool throws. A call waits while another thread is in one, or in
/// schedules().
#if defined(PILFER_TEST)
[[nodiscard]] PILFER_API recording record(const record_options& o, const std::function<void()>& body);
#else
template <bool Test = false>
[[nodiscard]] recording record(const record_options&, const std::function<void()>&) {
    static_assert(Test, "<pilfer/test.hpp> needs the target pilfer::test, which defines PILFER_TEST");
    return {};
}
#endif

/// The exception of require(). Its what() says where.
class PILFER_API failure : public std::runtime_error {
public:
    /// With the text of what().
    explicit failure(const std::string& text) : std::runtime_error(text) {}
};

/// If `holds` is false, the schedule has failed, even if a handler catches the exception. Throws failure.
PILFER_API void require(bool holds, const char* what = "",
                        const std::source_location& where = std::source_location::current());

/// Another task may go on here. `what` is for the trace, and must outlive the call of schedules(). Does
/// nothing in a program with the usual library.
inline void point([[maybe_unused]] const char* what = "is at a point") noexcept {
    PILFER_TEST_POINT(what, nullptr);
}

/// For functions that may fail: true at some of its calls, by choice, in at most options::faults of a
/// schedule. `what` is for the trace, and must outlive the call of schedules(). False outside of explored
/// tasks, and in a program with the usual library.
[[nodiscard]] inline bool fault([[maybe_unused]] const char* what) noexcept {
    return PILFER_TEST_FAULT(what, nullptr);
}

/// A std::atomic_flag at whose operations other tasks may go on. Begins cleared.
class atomic_flag : private atomic<bool> {
public:
    using atomic<bool>::wait;
    using atomic<bool>::notify_one;
    using atomic<bool>::notify_all;

    /// True if it is set.
    [[nodiscard]] bool test(std::memory_order = std::memory_order_seq_cst) const noexcept { return load(); }
    /// Sets it, and returns whether it was set before.
    bool test_and_set(std::memory_order = std::memory_order_seq_cst) noexcept { return exchange(true); }
    /// Clears it.
    void clear(std::memory_order = std::memory_order_seq_cst) noexcept { store(false); }
};

} // namespace test
} // namespace v0
} // namespace pilfer
