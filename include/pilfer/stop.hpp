// Cancellation and the rest of the world: deadlines, and std::stop_token in both directions.
#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <stop_token>
#include <utility>

#include <pilfer/detail/fwd.hpp>
#include <pilfer/mutex.hpp>
#include <pilfer/scope.hpp>
#include <pilfer/timer.hpp>

namespace pilfer {
inline namespace v0 {

/// While it lives, a request on the token cancels the scope. It ends before the scope does, as one that is
/// declared behind it. Its end waits for a cancellation that another thread is at. Cost: a
/// std::stop_callback.
class cancel_on {
public:
    cancel_on(scope& s, std::stop_token token) : m_callback(std::move(token), canceller{&s}) {}
    cancel_on(const cancel_on&) = delete;
    cancel_on& operator=(const cancel_on&) = delete;

private:
    struct canceller {
        scope* cancelled;
        void operator()() const noexcept { cancelled->cancel(); }
    };
    std::stop_callback<canceller> m_callback;
};

/// A std::stop_token for what a task calls: requested as soon as a scope is cancelled that the calling task
/// is below of. Callbacks run in the call that cancels, behind everything else that it does: scope::cancel(),
/// or the end of a child whose exception cancels, or a join that rethrows while others run its branches, or
/// the end of a branch that throws, or a task of the pool where the tasks below of such a join are found
/// later, or the unlock that lets a cancellation reach scopes which began under the lock. They must not wait
/// for anything that suspends a task. Made and destroyed by the same task, one that is made inside
/// first_result_scope's make() before that returns; a coroutine does not keep one across a co_await that
/// leads to another pool.
///
/// Locks of the library keep the task from being stopped, but not what it calls: one that is made before the
/// lock is requested while the lock is held, so that what the holder calls is told to give up in the middle.
/// One that is made under a lock is never requested; nor is one on a thread that is no worker. Throws
/// std::bad_alloc. Cost: two allocations and two short locks.
class PILFER_API stop_on_cancel {
public:
    stop_on_cancel();
    stop_on_cancel(const stop_on_cancel&) = delete;
    stop_on_cancel& operator=(const stop_on_cancel&) = delete;
    ~stop_on_cancel();

    [[nodiscard]] std::stop_token token() const noexcept { return m_source.get_token(); }

private:
    std::stop_source m_source;
    std::unique_ptr<detail::stop_relay> m_relay;
};

/// Cancels a scope when its time has come, unless it ends before. It ends before the scope does, as one that
/// is declared after it; a cancellation that is under way is waited for. It fires also while every worker
/// computes: then the timekeeper's thread cancels, and runs callbacks of stop_on_cancel, which should be
/// short. Throws what after() throws. Cost: a timer and one allocation.
class deadline {
public:
    template <class Rep, class Period>
    deadline(scope& s, std::chrono::duration<Rep, Period> d) : m_link(std::make_shared<link>(s)) {
        m_timer = detail::start_prompt(
            [to = m_link] {
                const std::lock_guard hold(to->lock);
                if (to->cancelled != nullptr) {
                    to->cancelled->cancel();
                }
            },
            detail::after(d));
    }
    deadline(const deadline&) = delete;
    deadline& operator=(const deadline&) = delete;
    ~deadline() {
        (void)m_timer.cancel();
        const std::lock_guard hold(m_link->lock);
        m_link->cancelled = nullptr;
    }

private:
    struct link {
        explicit link(scope& s) noexcept : cancelled(&s) {}
        mutex lock;
        scope* cancelled;
    };
    std::shared_ptr<link> m_link;
    timer m_timer;
};

} // namespace v0
} // namespace pilfer
