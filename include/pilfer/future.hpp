// async and future: a result that any number of callers fetch later, or continue with.
#pragma once

#include <chrono>
#include <concepts>
#include <type_traits>
#include <utility>

#include <pilfer/detail/base/test_point.hpp>
#include <pilfer/detail/future/async.hpp>
#include <pilfer/detail/future/future_state.hpp>
#include <pilfer/pool.hpp>

namespace pilfer {
inline namespace v0 {

/// The result of a wait with a time limit.
enum class future_status {
    ready,   ///< the result or the exception is there
    timeout, ///< the time was over first
};

/// A handle to a result that a task or a promise brings. Copies refer to the same result. A default-made
/// future refers to none: any call but valid() throws usage_error.
template <class T>
class future {
public:
    future() noexcept = default;
    /// Makes another handle to the same result.
    future(const future& other) noexcept : m_state(other.m_state) {
        if (m_state != nullptr) {
            m_state->retain();
        }
    }
    /// Takes over the handle of `other`.
    future(future&& other) noexcept : m_state(std::exchange(other.m_state, nullptr)) {}
    /// Replaces the handle.
    future& operator=(future other) noexcept {
        std::swap(m_state, other.m_state);
        return *this;
    }
    ~future() {
        if (m_state != nullptr) {
            m_state->release();
        }
    }

    /// False if it refers to no task; most calls then throw usage_error.
    [[nodiscard]] bool valid() const noexcept { return m_state != nullptr; }
    /// True if the result or the exception is there.
    [[nodiscard]] bool ready() const {
        PILFER_TEST_POINT("looks whether a future is ready", m_state);
#if defined(PILFER_RACE)
        if (state().is_done()) {
            detail::race::acquire(static_cast<detail::future_core*>(m_state));
        }
#endif
        return state().is_done();
    }
    /// Waits until the result is there. A worker of the task's pool runs a task that has not started here;
    /// otherwise the calling task suspends. A thread that is no worker blocks.
    void wait() const { state().wait(); }
    /// Waits, then returns a copy of the result (a reference if T is one) or rethrows the exception of the
    /// task; broken_promise if it was dropped. May be called again, and by several threads at once. For a T
    /// that cannot be copied there is take().
    T get() const {
        static_assert(std::is_void_v<T> || std::is_reference_v<T> || std::copy_constructible<T>,
                      "future<T>::get() copies the result, and this T cannot be copied: use take()");
        state().wait();
        if constexpr (std::is_void_v<T>) {
            (void)state().look();
        } else if constexpr (std::is_reference_v<T>) {
            return static_cast<T>(*state().look());
        } else {
            return state().look();
        }
    }
    /// As get(), but moves the result out. Call it once, as the last use of the result.
    T take() requires(!std::is_void_v<T> && !std::is_reference_v<T>) {
        state().wait();
        return state().take();
    }

    /// Waits at most `d`. Unlike wait() it never runs the task itself, which might take longer. A wait of 0
    /// or less lets other tasks go first, as yield() does. Throws std::bad_alloc: the first such wait for a
    /// result allocates. Cost: a list under a lock and an alarm.
    template <class Rep, class Period>
    future_status wait_for(std::chrono::duration<Rep, Period> d) const {
        return state().wait_until(detail::after(d)) ? future_status::ready : future_status::timeout;
    }
    /// As wait_for(), until `t` by the present reading of its clock.
    template <class Clock, class Duration>
    future_status wait_until(const std::chrono::time_point<Clock, Duration>& t) const {
        return state().wait_until(detail::at(t)) ? future_status::ready : future_status::timeout;
    }

    /// Runs f(result) as a task when the result is there; returns the future of what f returns or throws.
    ///
    /// f gets a const reference to the result: T itself if that is a reference, nothing if it is void. f
    /// never runs on the stack of the task or thread that sets the result. If this future holds an exception,
    /// f is not called and the exception is passed on. The task belongs to the pool of this future. If the
    /// future has none, the task belongs to the pool of the caller or to the common pool. A pool that is
    /// closed by then leaves pool_closed in the future. Throws std::bad_alloc and what moving f throws. One
    /// allocation.
    template <class F>
    auto then(F&& f) const
        -> future<typename detail::followed<T, detail::follows::value, std::decay_t<F>>::type> {
        return follow<detail::follows::value>(nullptr, std::forward<F>(f));
    }
    /// As then(f), as a task of `p`.
    template <class F>
    auto then(pool& p, F&& f) const
        -> future<typename detail::followed<T, detail::follows::value, std::decay_t<F>>::type> {
        return follow<detail::follows::value>(&p.core(), std::forward<F>(f));
    }
    /// As then(), but f is called with this future, which is ready, also if it holds an exception: to handle
    /// errors, and to take() a result that can only be moved.
    template <class F>
    auto continue_with(F&& f) const
        -> future<typename detail::followed<T, detail::follows::handle, std::decay_t<F>>::type> {
        return follow<detail::follows::handle>(nullptr, std::forward<F>(f));
    }
    /// As continue_with(f), as a task of `p`.
    template <class F>
    auto continue_with(pool& p, F&& f) const
        -> future<typename detail::followed<T, detail::follows::handle, std::decay_t<F>>::type> {
        return follow<detail::follows::handle>(&p.core(), std::forward<F>(f));
    }

    /// For the library.
    explicit future(detail::future_state<T>* adopted) noexcept : m_state(adopted) {}
    /// For the library.
    [[nodiscard]] detail::future_core& core() const { return state(); }

private:
    [[nodiscard]] detail::future_state<T>& state() const {
        if (m_state == nullptr) {
            PILFER_THROW(usage_error("pilfer: this future refers to no task"));
        }
        return *m_state;
    }
    template <detail::follows How, class F>
    auto follow(detail::pool_core* p, F&& f) const {
        using task_type = detail::following_task<T, How, std::decay_t<F>>;
        auto* task = new task_type(state(), std::forward<F>(f));
        future<typename task_type::value> handle(task);
        task->start(p);
        return handle;
    }
    detail::future_state<T>* m_state = nullptr;
};

template <class F>
auto pool::async(F&& f) -> future<std::invoke_result_t<std::decay_t<F>&>> {
    using result = std::invoke_result_t<std::decay_t<F>&>;
    detail::refuse_coroutines<std::decay_t<F>>();
    auto* task = new detail::async_task<std::decay_t<F>>(std::forward<F>(f));
    future<result> handle(task);
    task->start(*m_core);
    return handle;
}

template <class F>
auto pool::async(const task_options& o, F&& f) -> future<std::invoke_result_t<std::decay_t<F>&>> {
    return detail::async_in(*m_core, o, std::forward<F>(f));
}

/// Runs f as a task of the pool of the calling worker, or of pool::common(). See pool::async.
template <class F>
auto async(F&& f) -> future<std::invoke_result_t<std::decay_t<F>&>> {
    using result = std::invoke_result_t<std::decay_t<F>&>;
    detail::refuse_coroutines<std::decay_t<F>>();
    detail::worker* w = detail::this_worker();
    detail::pool_core& pool =
        w != nullptr ? *w->pool : detail::common_core(); // throws before there is a task
    auto* task = new detail::async_task<std::decay_t<F>>(std::forward<F>(f));
    future<result> handle(task);
    task->start(pool);
    return handle;
}

/// As async(f), with options. Throws std::invalid_argument, too.
template <class F>
auto async(const task_options& o, F&& f) -> future<std::invoke_result_t<std::decay_t<F>&>> {
    detail::worker* w = detail::this_worker();
    return detail::async_in(w != nullptr ? *w->pool : detail::common_core(), o, std::forward<F>(f));
}

} // namespace v0
} // namespace pilfer
