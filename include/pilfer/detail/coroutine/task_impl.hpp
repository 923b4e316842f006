// Running of tasks that are coroutines: pool::run, async and submit.
#pragma once

#include <exception>
#include <memory>
#include <utility>

#include <pilfer/detail/coroutine/task_promise.hpp>
#include <pilfer/detail/pool/detached.hpp>
#include <pilfer/future.hpp>
#include <pilfer/task.hpp>
#include <pilfer/timer.hpp>

namespace pilfer {
inline namespace v0 {
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

/// Ends the frame of `t`, which unlocks if a parameter or the result has the lock. Returns the error of
/// `root`.
template <class T>
[[nodiscard]] std::exception_ptr end_with_lock(task<T>& t, const coroutine_root& root) noexcept {
    std::exception_ptr own = t.promise().error();
    t = task<T>();
    return detail::lock_kept_error(root, std::move(own));
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
    [[nodiscard]] const void* coroutine() const noexcept override {
        return static_cast<const coroutine_frame*>(this);
    }

    static suspension* run_root(spark* self, worker* w) noexcept {
        auto* f = static_cast<coroutine_future*>(static_cast<submission*>(self));
        (void)f->begin();
        if (detail::dropping(w)) {
            count_dropped(w);
            f->m_outcome.fail(detail::dropped_error());
            return f->leave();
        }
        return drive_as_task(f->m_task.promise());
    }
    suspension* over(worker* /*w*/) noexcept override {
        if (this->locks != 0) [[unlikely]] {
            this->m_outcome.fail(detail::end_with_lock(m_task, *this));
            return leave();
        }
        auto take = [this]() -> T { return m_task.promise().take(); };
        this->m_outcome.fill(take);
        return leave();
    }
    /// The frame ends before the result is seen, as the function of an async does.
    suspension* leave() noexcept {
        m_task = task<T>();
        this->end();
        this->release(); // may run code of the user, which is part of the task
        end_outstanding(this_worker());
        return nullptr;
    }

    task<T> m_task;
};

/// A coroutine for which no task waits.
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
        return drive_as_task(d->m_task.promise());
    }
    suspension* over(worker* /*w*/) noexcept override {
        if (this->locks != 0) [[unlikely]] {
            nobody_waits_for(this_worker(), detail::end_with_lock(m_task, *this));
            return leave();
        }
        PILFER_TRY { (void)m_task.promise().take(); }
        PILFER_CATCH_ALL { nobody_waits_for(this_worker(), detail::caught_error()); }
        return leave();
    }
    suspension* leave() noexcept {
        delete this;
        end_outstanding(this_worker());
        return nullptr;
    }

    task<T> m_task;
};

/// The caller's parameter `t` lives to the end of the full-expression, so a result may refer to the frame.
template <class T>
T run_and_take(pool_core& p, task<T>& t) {
    waited_root root;
    root.run_in(p, t.promise());
    if (root.locks != 0) [[unlikely]] {
        std::rethrow_exception(detail::end_with_lock(t, root)); // while the root is there to count
    }
    return t.promise().take();
}
} // namespace detail

template <class T>
T pool::run(task<T> t) {
    return detail::run_and_take(*m_core, t);
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

template <class T>
future<T> async(task<T> t) {
    detail::pool_core& pool = detail::own_or_common(); // throws before there is a state
    auto* state = new detail::coroutine_future<T>(std::move(t));
    future<T> handle(state);
    state->start(pool);
    return handle;
}

template <class T>
T sync_wait(task<T> t) {
    return detail::run_and_take(detail::own_or_common(), t);
}
template <class T>
T sync_wait(pool& p, task<T> t) {
    return detail::run_and_take(p.core(), t); // not run(), whose parameter ends before this call
}

} // namespace v0
} // namespace pilfer
