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

#if !defined(__cpp_lib_jthread)
#error "pilfer needs std::stop_token: add -fexperimental-library if the standard library is libc++"
#endif

namespace pilfer {
inline namespace v0 {

/// While it lives, a request on the token cancels the scope. Declare it after the scope. Its end waits for a
/// cancellation that another thread has begun. Cost: a std::stop_callback.
class cancel_on {
public:
    /// Cancels `s` when a stop is requested of `token`.
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

/// A std::stop_token for functions that a task calls: it is requested as soon as an enclosing scope is
/// cancelled.
///
/// Callbacks run in the call that cancels, or in the unlock or the end of a scope that has spared the task
/// until then. They must not wait for anything that suspends a task, not even a `mutex`. While a callback
/// runs on one thread, the destructor of its std::stop_callback blocks the thread that calls it. The object
/// is made and destroyed by the same task; a coroutine does not keep one across a co_await that leads to
/// another pool. If it is made before a lock is taken, it is requested while the lock is held, although the
/// task itself is not cancelled then. An object that is made under a lock, or on a thread that is no worker,
/// is never requested. Throws std::bad_alloc. Cost: two allocations and two short locks.
class PILFER_API stop_on_cancel {
public:
    /// Makes a source of stop requests and links it to the calling task.
    stop_on_cancel();
    stop_on_cancel(const stop_on_cancel&) = delete;
    stop_on_cancel& operator=(const stop_on_cancel&) = delete;
    ~stop_on_cancel();

    /// The token for the functions that the task calls.
    [[nodiscard]] std::stop_token token() const noexcept { return m_source.get_token(); }

private:
    std::stop_source m_source;
    std::unique_ptr<detail::stop_relay> m_relay;
};

/// Cancels a scope at a time. Declare it after the scope; its end waits for a cancellation that is under way.
/// It fires also while every worker computes: the timekeeper's thread then cancels, and runs the callbacks of
/// stop_on_cancel, which should be short. Throws what after() throws. Cost: a timer and one allocation.
class deadline {
public:
    /// Cancels `s` after `d`.
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
