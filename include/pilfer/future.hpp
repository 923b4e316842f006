// async and future: a task whose result is fetched later, by as many as like.
#pragma once

#include <atomic>
#include <concepts>
#include <type_traits>
#include <utility>

#include <pilfer/detail/future_state.hpp>
#include <pilfer/pool.hpp>

namespace pilfer {
inline namespace v0 {

/// A handle to a result that somebody computes. Copies refer to the same result. A default-made future
/// refers to none; calling anything but valid() on it throws usage_error.
template <class T>
class future {
public:
    future() noexcept = default;
    future(const future& other) noexcept : m_state(other.m_state) {
        if (m_state != nullptr) {
            m_state->retain();
        }
    }
    future(future&& other) noexcept : m_state(std::exchange(other.m_state, nullptr)) {}
    future& operator=(future other) noexcept {
        std::swap(m_state, other.m_state);
        return *this;
    }
    ~future() {
        if (m_state != nullptr) {
            m_state->release();
        }
    }

    [[nodiscard]] bool valid() const noexcept { return m_state != nullptr; }
    [[nodiscard]] bool ready() const { return state().is_done(); }
    /// Waits until the result is there. On a worker of the task's pool: a task that nobody has started is
    /// claimed and run here; otherwise the context suspends. On a foreign thread: blocks.
    void wait() const { state().wait(); }
    /// Waits, then returns a copy of the result (a reference if T is one) or rethrows: what the task
    /// threw, or broken_promise if it was dropped. May be called again and by several threads at once.
    /// A T that cannot be copied has take() instead.
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
    /// As get(), but moves the result out; for results that cannot be copied. Call it once, and last.
    T take() requires(!std::is_void_v<T> && !std::is_reference_v<T>) {
        state().wait();
        return state().take();
    }

    /// For the library.
    explicit future(detail::future_state<T>* adopted) noexcept : m_state(adopted) {}

private:
    [[nodiscard]] detail::future_state<T>& state() const {
        if (m_state == nullptr) {
            throw usage_error("pilfer: this future refers to no task");
        }
        return *m_state;
    }
    detail::future_state<T>* m_state = nullptr;
};

template <class F>
auto pool::async(F&& f) -> future<std::invoke_result_t<std::decay_t<F>&>> {
    using result = std::invoke_result_t<std::decay_t<F>&>;
    auto* task = new detail::async_task<std::decay_t<F>>(std::forward<F>(f));
    future<result> handle(task);
    task->start(*m_core);
    return handle;
}

template <class F>
auto pool::async(weight heavy, F&& f) -> future<std::invoke_result_t<std::decay_t<F>&>> {
    using result = std::invoke_result_t<std::decay_t<F>&>;
    auto* task = new detail::async_task<std::decay_t<F>>(std::forward<F>(f));
    future<result> handle(task);
    task->start(*m_core, heavy);
    return handle;
}

/// Runs f as a task of the pool of the calling worker, or of pool::common(). See pool::async.
template <class F>
auto async(F&& f) -> future<std::invoke_result_t<std::decay_t<F>&>> {
    using result = std::invoke_result_t<std::decay_t<F>&>;
    detail::worker* w = detail::this_worker();
    auto* task = new detail::async_task<std::decay_t<F>>(std::forward<F>(f));
    future<result> handle(task);
    task->start(w != nullptr ? *w->pool : detail::common_core());
    return handle;
}

template <class F>
auto async(weight heavy, F&& f) -> future<std::invoke_result_t<std::decay_t<F>&>> {
    using result = std::invoke_result_t<std::decay_t<F>&>;
    detail::worker* w = detail::this_worker();
    auto* task = new detail::async_task<std::decay_t<F>>(std::forward<F>(f));
    future<result> handle(task);
    task->start(w != nullptr ? *w->pool : detail::common_core(), heavy);
    return handle;
}

} // namespace v0
} // namespace pilfer
