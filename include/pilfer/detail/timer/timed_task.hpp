// Functions that run at a later time.
#pragma once

#include <concepts>
#include <functional>
#include <memory>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include <pilfer/detail/base/outcome.hpp>
#include <pilfer/detail/pool/detached.hpp>
#include <pilfer/detail/task/runtime.hpp>
#include <pilfer/detail/timer/alarm.hpp>

namespace pilfer {
inline namespace v0 {

class timer;

namespace detail {

PILFER_API void sleep_until(instant until);

/// The task of a timer: its function, its alarm between two runs, and its place in the submission queue.
/// Stages and edges: src/timer/README.md.
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
    /// Runs it, on the timekeeper's thread, which has fired it.
    void run_by_timekeeper() noexcept;
    /// Called at the end of its pool, if it was still in a queue.
    void pool_has_ended() noexcept;
    void wait_for_canceller() const noexcept;
#if defined(PILFER_TEST)
    /// True if `s` is a run of a timer. Its test_origin() is that of the timer.
    [[nodiscard]] static bool is_run(const spark& s) noexcept { return s.run == &run_task; }
#endif

protected:
    timed_task() noexcept;
    virtual ~timed_task() = default;
    /// Runs the function. False: do not run it again.
    virtual bool execute() = 0;
    /// Called once, when the function will not run again.
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
    std::atomic<std::uint32_t> m_references{2}; // the handle's, and that of what makes it run
    pool_core* m_pool = nullptr;                // its pool; not to be touched once it is over
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
    void end_function() noexcept override { std::destroy_at(std::addressof(m_function)); }
    union {
        F m_function;
    };
};

[[nodiscard]] inline pool_core& own_or_common() {
    const worker* w = this_worker();
    return w != nullptr ? *w->pool : common_core();
}

/// Starts a timer and returns its handle. `Handle`: timer, which is incomplete here.
template <class F, class Handle = timer>
[[nodiscard]] Handle start_timer(pool_core& p, F&& f, instant first, instant period) {
    detail::refuse_coroutines<std::decay_t<F>>();
    auto* task = new timed_function<std::decay_t<F>>(std::forward<F>(f));
    Handle handle(task);
    task->start(p, first, period);
    return handle;
}
/// For deadlines: see timed_task::is_prompt().
template <class F, class Handle = timer>
[[nodiscard]] Handle start_prompt(F f, instant when) {
    pool_core& pool = own_or_common(); // throws before there is a task
    auto* task = new timed_function<F>(std::move(f));
    task->is_prompt();
    Handle handle(task);
    task->start(pool, when, 0);
    return handle;
}
template <class Rep, class Period, class F, class Handle = timer>
[[nodiscard]] Handle start_every(pool_core& p, std::chrono::duration<Rep, Period> d, F&& f) {
    constexpr long double century = 100 * 31'557'600.0L;
    const long double seconds = std::chrono::duration_cast<std::chrono::duration<long double>>(d).count();
    if (!(seconds >= 1e-9L && seconds <= century)) {
        PILFER_THROW(std::invalid_argument("pilfer: every() takes a period from 1 ns to 100 years"));
    }
    const auto period = std::chrono::duration_cast<std::chrono::nanoseconds>(d).count();
    return start_timer(p, std::forward<F>(f), after(d), static_cast<instant>(period));
}

} // namespace detail
} // namespace v0
} // namespace pilfer
