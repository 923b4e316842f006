// Time: tasks that sleep without a thread, and functions that run later or again and again.
#pragma once

#include <chrono>
#include <concepts>
#include <functional>
#include <memory>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include <pilfer/detail/alarm.hpp>
#include <pilfer/detail/runtime.hpp>
#include <pilfer/pool.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

PILFER_API void sleep_until(instant until);

/// What a timer runs: the function, its alarm between two runs, and its place in the submission queue. Stages
/// and edges: src/timer/README.md.
class PILFER_API timed_task : public submission {
public:
    timed_task(const timed_task&) = delete;
    timed_task& operator=(const timed_task&) = delete;

    void retain() noexcept { m_references.fetch_add(1, rlx); }
    void release() noexcept {
        if (m_references.fetch_sub(1, acq_rel) == 1) {
            delete this;
        }
    }
    /// Runs for the first time at `first`, then every `period` nanoseconds; 0: never again. Throws
    /// pool_closed.
    void start(pool_core& p, instant first, instant period);
    [[nodiscard]] bool cancel() noexcept;
    [[nodiscard]] bool is_over() const noexcept;
    /// Before start(): the function belongs to the library, is short and does not throw. The worker that
    /// fires it runs it before other tasks. If all workers are busy the timekeeper's thread runs it.
    void is_prompt() noexcept { m_prompt = true; }
    /// By the timekeeper, which has fired it.
    void run_by_timekeeper() noexcept;
    /// By the end of its pool, which it had outlived in a queue.
    void pool_has_ended() noexcept;
    void wait_for_canceller() const noexcept;

protected:
    timed_task() noexcept;
    virtual ~timed_task() = default;
    /// Runs the function; false: not again.
    virtual bool execute() = 0;
    /// It will not run again. Once.
    virtual void end_function() noexcept = 0;

private:
    struct clock : alarm {
        timed_task* task = nullptr;
    };
    static void time_has_come(alarm& self) noexcept;
    static void pool_ends(alarm& self) noexcept;
    static suspension* run_task(spark* self, worker* w) noexcept;
    [[nodiscard]] bool execute_once(worker* w) noexcept;
    void arm_again(worker* w, std::uint64_t word) noexcept;
    void settle_arming(std::uint64_t word) noexcept;
    void end() noexcept;

    std::atomic<std::uint64_t> m_stage{0};
    std::atomic<std::uint32_t> m_references{2}; // the handle's, and the one of whatever makes it run
    pool_core* m_pool = nullptr;                // where it runs; not to be touched once it is over
    instant m_due = never;
    instant m_period = 0;
    bool m_prompt = false;
    clock m_clock;
};

template <class F>
class timed_function final : public timed_task {
public:
    template <class G>
    // NOLINTNEXTLINE(bugprone-forwarding-reference-overload): made from functions only
    explicit timed_function(G&& g) : m_function(std::forward<G>(g)) {}

private:
    ~timed_function() override {} // NOLINT(modernize-use-equals-default): the function has ended before
    bool execute() override {
        if constexpr (is_named<F>) {
            return m_function.call_or(true, [] { nobody_waits_for(this_worker(), detail::caught_error()); });
        } else if constexpr (std::same_as<std::invoke_result_t<F&>, bool>) {
            return std::invoke(m_function);
        } else {
            std::invoke(m_function);
            return true;
        }
    }
    void end_function() noexcept override { std::destroy_at(&m_function); }
    union {
        F m_function;
    };
};

[[nodiscard]] inline pool_core& own_or_common() {
    const worker* w = this_worker();
    return w != nullptr ? *w->pool : common_core();
}

} // namespace detail

/// The calling task sleeps for `d`: its context suspends, and the worker does other things. Any other thread
/// blocks. Never shorter; longer while every worker is inside a function that neither ends nor waits nor
/// forks: nobody goes on with the task then. Where `d` is not above 0 a task lets others go first, as by
/// yield(). Throws stopped if the task is (scope::cancel), and nothing else. Cost: a suspension and a place
/// in a heap; no allocation.
template <class Rep, class Period>
void sleep_for(std::chrono::duration<Rep, Period> d) {
    detail::sleep_until(detail::after(d));
}
/// The same until `t`. A clock that is set meanwhile does not change when it ends.
template <class Clock, class Duration>
void sleep_until(const std::chrono::time_point<Clock, Duration>& t) {
    detail::sleep_until(detail::at(t));
}

/// A handle to a function that runs later. Copies refer to the same one; it runs also if no handle is left. A
/// default-made one refers to none.
class timer {
public:
    timer() noexcept = default;
    timer(const timer& other) noexcept : m_task(other.m_task) {
        if (m_task != nullptr) {
            m_task->retain();
        }
    }
    timer(timer&& other) noexcept : m_task(std::exchange(other.m_task, nullptr)) {}
    timer& operator=(timer other) noexcept {
        std::swap(m_task, other.m_task);
        return *this;
    }
    ~timer() {
        if (m_task != nullptr) {
            m_task->release();
        }
    }

    [[nodiscard]] bool valid() const noexcept { return m_task != nullptr; }
    /// True: thanks to this call it does not begin (again); a run that has begun goes on. False: it would not
    /// have anyway, because it has begun for the last time, was cancelled before, or ended with its pool, or
    /// this handle refers to none. Any thread, its own function included. Cost: a lock.
    bool cancel() noexcept { return m_task != nullptr && m_task->cancel(); }
    /// Nothing runs any more, and nothing will.
    [[nodiscard]] bool over() const noexcept { return m_task == nullptr || m_task->is_over(); }

    /// For the library.
    explicit timer(detail::timed_task* adopted) noexcept : m_task(adopted) {}

private:
    detail::timed_task* m_task = nullptr;
};

namespace detail {

template <class F>
[[nodiscard]] timer start_timer(pool_core& p, F&& f, instant first, instant period) {
    auto* task = new timed_function<std::decay_t<F>>(std::forward<F>(f));
    timer handle(task);
    task->start(p, first, period);
    return handle;
}
/// For deadlines: see timed_task::is_prompt().
template <class F>
[[nodiscard]] timer start_prompt(F f, instant when) {
    auto* task = new timed_function<F>(std::move(f));
    task->is_prompt();
    timer handle(task);
    task->start(own_or_common(), when, 0);
    return handle;
}
template <class Rep, class Period, class F>
[[nodiscard]] timer start_every(pool_core& p, std::chrono::duration<Rep, Period> d, F&& f) {
    constexpr long double century = 100 * 31'557'600.0L;
    const long double seconds = std::chrono::duration_cast<std::chrono::duration<long double>>(d).count();
    if (!(seconds >= 1e-9L && seconds <= century)) {
        PILFER_THROW(std::invalid_argument("pilfer: every() takes a period from 1 ns to 100 years"));
    }
    const auto period = std::chrono::duration_cast<std::chrono::nanoseconds>(d).count();
    return start_timer(p, std::forward<F>(f), after(d), static_cast<instant>(period));
}

} // namespace detail

/// Runs f() as a task of `p`, in `d` from now or later. No thread and no stack waits for that. What f throws
/// goes to options.on_error. shutdown(drain) waits until it has run, shutdown(drop) drops and counts it.
/// Throws pool_closed, std::bad_alloc. Cost: one allocation, a place in a heap, a submission.
template <class Rep, class Period, class F>
timer after(pool& p, std::chrono::duration<Rep, Period> d, F&& f) {
    return detail::start_timer(p.core(), std::forward<F>(f), detail::after(d), 0);
}
/// The same in the pool of the calling worker, or in pool::common().
template <class Rep, class Period, class F>
timer after(std::chrono::duration<Rep, Period> d, F&& f) {
    return detail::start_timer(detail::own_or_common(), std::forward<F>(f), detail::after(d), 0);
}

/// Runs f() as a task of `p` every `d`, for the first time in `d` from now, until it is cancelled, f returns
/// false (if it returns bool) or the pool is shut down. It never overlaps itself: the next run begins when it
/// is due and the one before has ended. Runs are due on a grid of `d` that lateness does not shift; up to 16
/// that could not begin in time are made up for, more are left out. Between two runs it has no stack. What f
/// throws goes to options.on_error, and it goes on. Throws std::invalid_argument unless `d` is at least a
/// nanosecond and at most 100 years, pool_closed, std::bad_alloc. Cost: one allocation for all runs, each a
/// submission.
template <class Rep, class Period, class F>
timer every(pool& p, std::chrono::duration<Rep, Period> d, F&& f) {
    return detail::start_every(p.core(), d, std::forward<F>(f));
}
/// The same in the pool of the calling worker, or in pool::common().
template <class Rep, class Period, class F>
timer every(std::chrono::duration<Rep, Period> d, F&& f) {
    return detail::start_every(detail::own_or_common(), d, std::forward<F>(f));
}

} // namespace v0
} // namespace pilfer
