// The promise of a task, its owner and its awaiter.
#pragma once

#include <concepts>
#include <coroutine>
#include <exception>
#include <type_traits>
#include <utility>

#include <pilfer/detail/base/outcome.hpp>
#include <pilfer/detail/coroutine/awaiters.hpp>
#include <pilfer/detail/coroutine/coroutine.hpp>
#include <pilfer/detail/coroutine/foreign_awaiter.hpp>
#include <pilfer/detail/fwd.hpp>
#include <pilfer/detail/pool/detached.hpp>
#include <pilfer/detail/wait/wait.hpp>
#include <pilfer/error.hpp>

namespace pilfer {
inline namespace v0 {

namespace detail {

// ---- the coroutine ----------------------------------------------------------------------------

class task_promise_base : public coroutine_frame {
    struct at_end {
        [[nodiscard]] bool await_ready() const noexcept { return false; }
        template <class Promise>
        void await_suspend(std::coroutine_handle<Promise> h) const noexcept {
            h.promise().driver->next = h.promise().then;
        }
        void await_resume() const noexcept {}
    };

public:
    [[nodiscard]] std::suspend_always initial_suspend() const noexcept { return {}; }
    [[nodiscard]] at_end final_suspend() const noexcept { return {}; }
    template <class A>
    [[nodiscard]] decltype(auto) await_transform(A&& a) const {
        static_assert(!std::is_lvalue_reference_v<A> || !is_coroutine<std::remove_cvref_t<A>>,
                      "pilfer: a task is awaited once: co_await std::move(t), or a temporary");
        if constexpr (is_own_awaitable<std::remove_cvref_t<A>>) {
            return static_cast<A&&>(a);
        } else {
            return foreign_awaiter<A>(static_cast<A&&>(a));
        }
    }
};

template <class T>
class task_result : public task_promise_base {
public:
    task_result() = default;
    task_result(const task_result&) = delete;
    task_result& operator=(const task_result&) = delete;
    ~task_result() {
        if (m_filled) {
            m_outcome.discard();
        }
    }
    void unhandled_exception() noexcept {
        if (m_filled) { // a destructor has thrown after `co_return`
            m_outcome.discard();
        }
        m_outcome.fail(detail::caught_error());
        m_filled = true;
    }
    /// The exception of a coroutine that has ended, or null. Called before take().
    [[nodiscard]] std::exception_ptr error() const noexcept {
        return m_filled && m_outcome.failed() ? m_outcome.error() : nullptr;
    }
    /// The result of a coroutine that has ended; called once.
    [[nodiscard]] T take() {
        m_filled = false;
        if constexpr (std::is_void_v<T>) {
            (void)m_outcome.take();
        } else {
            return m_outcome.take();
        }
    }

protected:
    template <class Make>
    void fill(Make make) {
        m_outcome.fill(make);
        m_filled = true;
    }

private:
    outcome<regular_t<T>> m_outcome;
    bool m_filled = false;
};

template <class T>
class task_promise final : public task_result<T> {
public:
    task<T> get_return_object() noexcept;
    template <class U = T>
    requires std::convertible_to<U&&, T>
    void return_value(U&& value) {
        this->fill([&value]() -> T { return static_cast<U&&>(value); });
    }
};
template <>
class task_promise<void> final : public task_result<void> {
public:
    task<void> get_return_object() noexcept;
    void return_void() noexcept {
        fill([] {});
    }
};

template <class T>
class task_owner {
public:
    using handle = std::coroutine_handle<task_promise<T>>;

    task_owner() noexcept = default;
    explicit task_owner(handle h) noexcept : m_handle(h) {}
    task_owner(task_owner&& other) noexcept : m_handle(std::exchange(other.m_handle, nullptr)) {}
    task_owner& operator=(task_owner&& other) noexcept {
        task_owner moved(std::move(other));
        std::swap(m_handle, moved.m_handle);
        return *this;
    }
    ~task_owner() {
        if (m_handle) {
            m_handle.destroy();
        }
    }
    [[nodiscard]] bool valid() const noexcept { return static_cast<bool>(m_handle); }
    [[nodiscard]] task_promise<T>& promise() const {
        if (!m_handle) {
            PILFER_THROW(usage_error("pilfer: this task is empty: it was moved from or has been awaited"));
        }
        return m_handle.promise();
    }

private:
    handle m_handle;
};

template <class T>
class task_awaiter {
public:
    explicit task_awaiter(task_owner<T>&& t) noexcept : m_task(std::move(t)) {}
    [[nodiscard]] bool await_ready() const {
        (void)m_task.promise();
        return false;
    }
    template <class Promise>
    void await_suspend(std::coroutine_handle<Promise> h) const {
        static_assert(std::derived_from<Promise, coroutine_frame>,
                      "a pilfer::task is awaited in a pilfer::task; coroutines of other kinds can await the "
                      "future that pool::async(task) gives");
        coroutine_frame& parent = h.promise();
        coroutine_frame& child = m_task.promise();
        child.then = &parent;
        parent.driver->next = &child;
    }
    T await_resume() const { return m_task.promise().take(); }

private:
    task_owner<T> m_task;
};

} // namespace detail
} // namespace v0
} // namespace pilfer
