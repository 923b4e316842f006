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
    /// A schedule fails if a task holds the only thread for so long of real time, asleep or computing, without
    /// an operation of the library. Time in which the thread waits for a processor does not count. 0: never.
    std::chrono::nanoseconds patience = std::chrono::seconds(60);
    /// A failing schedule is repeated without each of its preemptions in turn, as long as it fails.
    bool minimise = true;
    /// result::schedule of an earlier call: only that one runs. It fails if it does not fit the program. Empty:
    /// the environment variable PILFER_SCHEDULE, if it is set.
    std::string replay{};
};

/// The findings of schedules().
struct result {
    /// True if no schedule has failed.
    bool passed = true;
    /// Schedules that ran, without repetitions of the failing one. If `complete`: as many as there are.
    std::uint64_t schedules = 0;
    /// False: options::replay is of another program, or of another version. So it says nothing about this one,
    /// and `passed` is false.
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

/// A std::atomic at whose operations other tasks may go on. Every order is taken for sequentially consistent.
template <class T>
class atomic {
    using order = std::memory_order;
    static constexpr order last = std::memory_order_seq_cst;

public:
    atomic() noexcept = default;
    /// Begins with `value`.
    constexpr atomic(T value) noexcept : m_value(value) {} // NOLINT(google-explicit-constructor): as std's
    atomic(const atomic&) = delete;
    atomic& operator=(const atomic&) = delete;

    /// Stores `value`.
    void store(T value, order = last) noexcept { at("stores to an atomic").store(value); }
    /// The value.
    [[nodiscard]] T load(order = last) const noexcept { return at("loads an atomic").load(); }
    /// Stores `value`, and returns the one before.
    T exchange(T value, order = last) noexcept { return at("exchanges an atomic").exchange(value); }
    /// Stores `value` if the present one is `expected`. False: it is not, and is written to `expected`.
    bool compare_exchange_strong(T& expected, T value, order = last, order = last) noexcept {
        return at("compares and exchanges an atomic").compare_exchange_strong(expected, value);
    }
    /// As compare_exchange_strong(): it never fails without a reason.
    bool compare_exchange_weak(T& expected, T value, order = last, order = last) noexcept {
        return compare_exchange_strong(expected, value);
    }
    /// Adds `by`, and returns the value before.
    template <class D>
    T fetch_add(D by, order = last) noexcept {
        return at("adds to an atomic").fetch_add(by);
    }
    /// Subtracts `by`, and returns the value before.
    template <class D>
    T fetch_sub(D by, order = last) noexcept {
        return at("subtracts from an atomic").fetch_sub(by);
    }
    /// Sets bits, and returns the value before.
    T fetch_or(T bits, order = last) noexcept { return at("sets bits of an atomic").fetch_or(bits); }
    /// Clears bits, and returns the value before.
    T fetch_and(T bits, order = last) noexcept { return at("clears bits of an atomic").fetch_and(bits); }
    /// Stores `value`, and returns it.
    T operator=(T value) noexcept { // NOLINT(misc-unconventional-assign-operator): as std's
        store(value);
        return value;
    }
    /// The value.
    operator T() const noexcept { return load(); } // NOLINT(google-explicit-constructor): as std's
    /// Adds 1, and returns the new value.
    T operator++() noexcept { return static_cast<T>(fetch_add(1) + 1); }
    /// Adds 1, and returns the value before.
    T operator++(int) noexcept { return fetch_add(1); }
    /// Subtracts 1, and returns the new value.
    T operator--() noexcept { return static_cast<T>(fetch_sub(1) - 1); }
    /// Subtracts 1, and returns the value before.
    T operator--(int) noexcept { return fetch_sub(1); }
    /// Adds `by`, and returns the new value.
    T operator+=(T by) noexcept { return static_cast<T>(fetch_add(by) + by); }
    /// Subtracts `by`, and returns the new value.
    T operator-=(T by) noexcept { return static_cast<T>(fetch_sub(by) - by); }

private:
    [[nodiscard]] std::atomic<T>& at([[maybe_unused]] const char* what) const noexcept {
        PILFER_TEST_POINT(what, this);
        return m_value;
    }
    mutable std::atomic<T> m_value{};
};

} // namespace test
} // namespace v0
} // namespace pilfer
