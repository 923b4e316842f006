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
