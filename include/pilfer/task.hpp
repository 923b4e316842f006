// task: a coroutine that runs in a pool, and what it can wait for.
#pragma once

#include <chrono>
#include <concepts>
#include <coroutine>
#include <exception>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include <pilfer/channel.hpp>
#include <pilfer/detail/awaiters.hpp>
#include <pilfer/detail/coroutine.hpp>
#include <pilfer/detail/detached.hpp>
#include <pilfer/detail/foreign_awaiter.hpp>
#include <pilfer/detail/outcome.hpp>
#include <pilfer/detail/wait.hpp>
#include <pilfer/error.hpp>
#include <pilfer/event.hpp>
#include <pilfer/future.hpp>
#include <pilfer/pool.hpp>
#include <pilfer/scheduler.hpp>
#include <pilfer/timer.hpp>

namespace pilfer {
inline namespace v0 {

template <class T = void>
class task;

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
        m_outcome.fail(detail::caught_error());
        m_filled = true;
    }
    /// Of one that has ended, once.
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

/// The return type of a coroutine that runs in a pool. It is lazy: its body begins when it is awaited, or
/// handed to pool::run, async or submit. Move-only; destroyed without having begun, it ends its parameters
/// and nothing runs. T may be void, a reference, or a type that can only be moved.
///
/// In its body `co_await` takes: a task, which then runs as part of this one; a future; resume_after() and
/// resume_at(); pool.schedule(); and any other awaitable, behind which it becomes a task of its pool again.
/// While it is suspended it holds no stack and no worker, and it may go on on another thread: no
/// thread-local, errno or lock of a std::mutex may be kept across a co_await. A scope may live across one if
/// no child of it is left: where one is, a co_await that suspends throws usage_error, also in a task that
/// this one awaits. Such a scope becomes shared(). No lock of the library may be held either (of a mutex or
/// shared_mutex, or by a call of a locked or monitor): a co_await that is not ready throws usage_error;
/// nothing has happened then, and the lock is held as before. Between two co_awaits the coroutine is an
/// ordinary task, and may fork, lock, wait and block.
///
/// It is below of the scopes that whoever runs it is below of (pool::run, sync_wait; through async and submit
/// of none). Where one of them is cancelled, a co_await of a time, a future, a channel or an event that waits
/// is ended, and one reached later throws: `stopped`, which arrives at whoever awaits it. schedule() throws
/// it before it moves or behind that, awaitables of others before they begin.
///
/// It belongs to the pool where it runs. A drain waits until it has ended; shutdown(drop) drops what has not
/// begun, and lets the others end, as it does with any task.
///
/// Cost: the frame, which the compiler allocates. Chains and loops of co_await take no stack.
template <class T>
class [[nodiscard]] task : private detail::task_owner<T> {
public:
    using promise_type = detail::task_promise<T>;
    using value_type = T;
    using pilfer_awaitable = void;

    /// Empty.
    task() noexcept = default;
    /// False: it was moved from, or handed to somebody. Whatever is done with it then throws usage_error.
    using detail::task_owner<T>::valid;

    /// Runs it; gives its result or rethrows. The frame ends with the full expression. On a named task:
    /// co_await std::move(t).
    [[nodiscard]] detail::task_awaiter<T> operator co_await() && noexcept {
        return detail::task_awaiter<T>(std::move(*this));
    }

    /// For the library.
    explicit task(std::coroutine_handle<promise_type> h) noexcept : detail::task_owner<T>(h) {}
    [[nodiscard]] promise_type& promise() const { return detail::task_owner<T>::promise(); }
};

namespace detail {

template <class T>
task<T> task_promise<T>::get_return_object() noexcept {
    const auto h = std::coroutine_handle<task_promise>::from_promise(*this);
    this->handle = h;
    return task<T>(h);
}
inline task<void> task_promise<void>::get_return_object() noexcept {
    const auto h = std::coroutine_handle<task_promise>::from_promise(*this);
    this->handle = h;
    return task<void>(h);
}

/// The future of a coroutine.
template <class T>
class coroutine_future final : public future_state<T>, public coroutine_root {
public:
    explicit coroutine_future(task<T>&& t)
        : future_state<T>(future_source::coroutine, 2), m_task(std::move(t)) {
        this->run = &coroutine_future::run_root;
        m_task.promise().then = this;
    }
    void start(pool_core& p) {
        this->belongs_in(p);
        PILFER_TRY { detail::hand_to(p, this); }
        PILFER_CATCH_ALL {
            this->release(); // the announcement's reference
            PILFER_RETHROW;
        }
    }

private:
    ~coroutine_future() override = default;
    void execute() noexcept override {}
    void break_promise() noexcept override {}

    static suspension* run_root(spark* self, worker* w) noexcept {
        auto* f = static_cast<coroutine_future*>(static_cast<submission*>(self));
        (void)f->begin();
        if (detail::dropping(w)) {
            count_dropped(w);
            f->m_outcome.fail(detail::dropped_error());
            return f->leave();
        }
        return drive_as_unit(f->m_task.promise());
    }
    suspension* over(worker* /*w*/) noexcept override {
        auto take = [this]() -> T { return m_task.promise().take(); };
        this->m_outcome.fill(take);
        return leave();
    }
    /// The frame ends before the result is seen, as the function of an async does.
    suspension* leave() noexcept {
        m_task = task<T>();
        this->end();
        this->release(); // may run code of the user, which is part of the unit
        unit_ends(this_worker());
        return nullptr;
    }

    task<T> m_task;
};

/// A coroutine that nobody waits for.
template <class T>
class detached_coroutine final : public coroutine_root, public submission {
public:
    explicit detached_coroutine(task<T>&& t) : m_task(std::move(t)) {
        run = &detached_coroutine::run_root;
        m_task.promise().then = this;
    }
    detached_coroutine(const detached_coroutine&) = delete;
    detached_coroutine& operator=(const detached_coroutine&) = delete;
    ~detached_coroutine() = default;

private:
    static suspension* run_root(spark* self, worker* w) noexcept {
        auto* d = static_cast<detached_coroutine*>(static_cast<submission*>(self));
        if (detail::dropping(w)) {
            count_dropped(w);
            return d->leave();
        }
        return drive_as_unit(d->m_task.promise());
    }
    suspension* over(worker* /*w*/) noexcept override {
        PILFER_TRY { (void)m_task.promise().take(); }
        PILFER_CATCH_ALL { nobody_waits_for(this_worker(), detail::caught_error()); }
        return leave();
    }
    suspension* leave() noexcept {
        delete this;
        unit_ends(this_worker());
        return nullptr;
    }

    task<T> m_task;
};

} // namespace detail

// ---- futures and times ------------------------------------------------------------------------

/// co_await f: waits without a stack until the result is there; gives a reference to it that is const and
/// lives as long as a handle to it does, or T itself if that is a reference; rethrows what get() rethrows. It
/// does not run the task itself, as get() does. Throws stopped (see task), as the others do. Any number of
/// coroutines, tasks and threads may wait at once. Allocates nothing, but for the first wait below of a
/// scope, as future::wait_for() does; without memory for that a cancellation does not end the wait.
template <class T>
[[nodiscard]] detail::future_awaiter<T, false> operator co_await(const future<T>& f) {
    return detail::future_awaiter<T, false>(f);
}
/// co_await of a temporary: gives a copy; a result that cannot be copied is moved out, as by take().
template <class T>
[[nodiscard]] detail::future_awaiter<T, true> operator co_await(future<T>&& f) {
    return detail::future_awaiter<T, true>(f);
}

/// What resume_after() and resume_at() give: co_await it, once or again.
class resume_time {
public:
    using pilfer_awaitable = void;
    explicit resume_time(detail::instant due) noexcept : m_due(due) {}
    [[nodiscard]] detail::timed_awaiter operator co_await() const noexcept {
        return detail::timed_awaiter(m_due);
    }

private:
    detail::instant m_due;
};

/// co_await resume_after(d): the coroutine goes on in `d` from the call, never sooner, as a task of its pool;
/// until then it is an alarm in a heap, without a stack. Negative durations: at once, without a turn for
/// others. No allocation. Throws stopped (see task), as the others do; outside of all pools what
/// pool::common() throws. A shutdown waits for it, whichever
/// way, as for a task that sleeps.
template <class Rep, class Period>
[[nodiscard]] resume_time resume_after(std::chrono::duration<Rep, Period> d) noexcept {
    return resume_time(detail::after(d));
}
/// The same at `t`. A clock that is set meanwhile does not change when.
template <class Clock, class Duration>
[[nodiscard]] resume_time resume_at(const std::chrono::time_point<Clock, Duration>& t) noexcept {
    return resume_time(detail::at(t));
}

// ---- channels ---------------------------------------------------------------------------------

/// What send() gives: co_await it, once.
template <class T>
class [[nodiscard]] channel_send {
public:
    using pilfer_awaitable = void;
    template <class U>
    channel_send(channel<T>& c, U&& value)
        : m_channel(c), m_what(std::make_unique<detail::channel_item<T>>(std::forward<U>(value))) {}
    /// Throws usage_error for one that was awaited before.
    [[nodiscard]] detail::send_awaiter<T> operator co_await() && {
        if (m_what == nullptr) {
            PILFER_THROW(usage_error("pilfer: this send was awaited before"));
        }
        return detail::send_awaiter<T>(m_channel, std::move(m_what));
    }

private:
    channel<T>& m_channel;
    std::unique_ptr<detail::channel_item<T>> m_what;
};

/// What receive() gives: co_await it, once or again.
template <class T>
class [[nodiscard]] channel_receive {
public:
    using pilfer_awaitable = void;
    explicit channel_receive(channel<T>& c) noexcept : m_channel(c) {}
    [[nodiscard]] detail::receive_awaiter<T> operator co_await() const noexcept {
        return detail::receive_awaiter<T>(m_channel);
    }

private:
    channel<T>& m_channel;
};

/// co_await send(c, value): as c.send(value), but waits without a stack. True: accepted. False: the channel
/// is closed; the value ends with the expression. Served in turn with tasks and threads that wait for `c`,
/// which has to live until then. Throws std::bad_alloc and what making a T throws, outside of all pools what
/// pool::common() throws; then nothing was sent. Cost: one cell, one short lock, two if it waits.
template <class T, class U = T>
requires std::constructible_from<T, U&&>
[[nodiscard]] channel_send<T> send(channel<T>& c, U&& value) {
    return channel_send<T>(c, std::forward<U>(value));
}
/// co_await receive(c): as c.receive(), but waits without a stack. Nothing: closed, and everything was
/// received. What T's move throws comes out, and the value is the next to be received again.
template <class T>
[[nodiscard]] channel_receive<T> receive(channel<T>& c) noexcept {
    return channel_receive<T>(c);
}

// ---- events -----------------------------------------------------------------------------------

/// co_await e: as e.wait(), but waits without a stack, in turn with tasks and threads. Throws outside of all
/// pools what pool::common() throws. Cost: one short lock, two if it waits.
[[nodiscard]] inline detail::event_awaiter operator co_await(event& e) noexcept {
    return detail::event_awaiter(e);
}

// ---- ways in ----------------------------------------------------------------------------------

template <class T>
T pool::run(task<T> t) {
    detail::waited_root root;
    root.run_in(*m_core, t.promise());
    return t.promise().take();
}

template <class T>
future<T> pool::async(task<T> t) {
    auto* state = new detail::coroutine_future<T>(std::move(t));
    future<T> handle(state);
    state->start(*m_core);
    return handle;
}

template <class T>
void pool::submit(task<T> t) {
    auto root = std::make_unique<detail::detached_coroutine<T>>(std::move(t));
    detail::hand_to(*m_core, root.get());
    (void)root.release(); // NOLINT(bugprone-unused-return-value): it ends itself, and may have already
}

/// pool::async in the pool of the calling worker, or in pool::common().
template <class T>
future<T> async(task<T> t) {
    auto* state = new detail::coroutine_future<T>(std::move(t));
    future<T> handle(state);
    state->start(detail::own_or_common());
    return handle;
}

/// pool::run, in the pool of the calling worker, or in pool::common().
template <class T>
T sync_wait(task<T> t) {
    detail::waited_root root;
    root.run_in(detail::own_or_common(), t.promise());
    return t.promise().take();
}
/// p.run(t), by the name that other libraries have for it.
template <class T>
T sync_wait(pool& p, task<T> t) {
    return p.run(std::move(t));
}

} // namespace v0
} // namespace pilfer
