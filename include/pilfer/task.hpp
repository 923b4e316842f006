// task: a coroutine that runs in a pool, and what it can wait for.
#pragma once

#include <coroutine>
#include <utility>

#include <pilfer/co_await.hpp>
#include <pilfer/detail/coroutine/foreign_awaiter.hpp>
#include <pilfer/detail/coroutine/task_promise.hpp>
#include <pilfer/future.hpp>
#include <pilfer/pool.hpp>
#include <pilfer/scheduler.hpp>

namespace pilfer {
inline namespace v0 {

/// The return type of a coroutine that runs in a pool. It is lazy: the body begins when the task is awaited
/// or handed to pool::run, async or submit. Move-only. T may be void, a reference, or a type that can only be
/// moved.
///
/// `co_await` takes tasks, futures, resume_after(), resume_at(), pool.schedule(), channels, events, locks,
/// latches, barriers and any other awaitable. A suspended coroutine holds no stack and no worker, and may go
/// on on another thread: keep no thread-local, errno or std::mutex across a co_await, and no lock of the
/// library but that of co_await scoped_lock(m). A co_await that has to wait throws usage_error if another
/// lock of the library is held, or if a scope of the coroutine still has children. Between two co_awaits the
/// coroutine is an ordinary task, and may fork, lock, wait and block.
///
/// If an enclosing scope is cancelled, a pending co_await ends, and later ones throw `stopped`.
/// A drain waits until the coroutine has ended; shutdown(drop) drops what has not begun. The guide is
/// docs/coroutines.md. Cost: the frame, which the compiler allocates. Chains of co_await take no stack.
template <class T>
class [[nodiscard]] task : private detail::task_owner<T> {
public:
    /// For the compiler.
    using promise_type = detail::task_promise<T>;
    /// The type of the result.
    using value_type = T;
    /// Marks awaitables of this library.
    using pilfer_awaitable = void;

    /// Makes an empty task.
    task() noexcept = default;
    /// False if it was moved from or handed to a pool; any other call then throws usage_error.
    using detail::task_owner<T>::valid;

    /// Runs it, and gives its result or rethrows. The frame ends with the full expression. A task that has a
    /// name is awaited by co_await std::move(t).
    [[nodiscard]] detail::task_awaiter<T> operator co_await() && noexcept {
        return detail::task_awaiter<T>(std::move(*this));
    }

    /// For the library.
    explicit task(std::coroutine_handle<promise_type> h) noexcept : detail::task_owner<T>(h) {}
    /// For the library.
    [[nodiscard]] promise_type& promise() const { return detail::task_owner<T>::promise(); }
};

/// pool::async in the pool of the calling worker, or in pool::common().
template <class T>
future<T> async(task<T> t);
/// pool::run, in the pool of the calling worker, or in pool::common().
template <class T>
T sync_wait(task<T> t);
/// p.run(t), by the name that other libraries have for it.
template <class T>
T sync_wait(pool& p, task<T> t);

} // namespace v0
} // namespace pilfer

#include <pilfer/detail/coroutine/task_impl.hpp>
