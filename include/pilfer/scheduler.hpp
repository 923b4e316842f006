// A pool as a scheduler in the shape of std::execution (P2300R10), and its sender as something to co_await.
#pragma once

#include <concepts>
#include <type_traits>
#include <utility>

#include <pilfer/detail/coroutine/coroutine.hpp>
#include <pilfer/detail/coroutine/schedule.hpp>
#include <pilfer/error.hpp>
#include <pilfer/pool.hpp>

#if defined(PILFER_STDEXEC)
#endif

namespace pilfer {
inline namespace v0 {

/// The result of pool::schedule(): a sender without values that completes on a worker of the pool, and an
/// awaitable. Refers to the pool; copies are free.
///
/// co_await: the coroutine goes on as a task of the pool, after the tasks that were submitted before. Throws
/// pool_closed if the pool is closed; the coroutine then stays in its pool. Throws broken_promise if
/// shutdown(drop) drops it. Allocates nothing.
class schedule_sender {
public:
    /// Marks senders of std::execution.
    using sender_concept = detail::sender_mark;
    /// Marks awaitables of this library.
    using pilfer_awaitable = void;
#if defined(PILFER_STDEXEC)
    using completion_signatures =
        stdexec::completion_signatures<stdexec::set_value_t(), stdexec::set_stopped_t()>;
#endif

    /// Makes the operation that starts `r` on the pool.
    template <class Receiver>
    [[nodiscard]] auto connect(Receiver r) const noexcept(std::is_nothrow_move_constructible_v<Receiver>)
        -> detail::schedule_operation<Receiver> {
        return detail::schedule_operation<Receiver>(*m_pool, std::move(r));
    }
    /// The awaiter of a coroutine.
    [[nodiscard]] detail::schedule_awaiter operator co_await() const noexcept {
        return detail::schedule_awaiter(*m_pool);
    }

    /// The scheduler on which it completes.
    struct env {
        /// For the library.
        detail::pool_core* pool;
#if defined(PILFER_STDEXEC)
        template <class Completion>
        requires std::same_as<Completion, stdexec::set_value_t> ||
            std::same_as<Completion, stdexec::set_stopped_t>
        [[nodiscard]] pool_scheduler query(stdexec::get_completion_scheduler_t<Completion>) const noexcept;
#endif
    };
    /// The attributes of the sender.
    [[nodiscard]] env get_env() const noexcept { return env{m_pool}; }

private:
    friend class pool_scheduler;
    explicit schedule_sender(detail::pool_core& p) noexcept : m_pool(&p) {}
    detail::pool_core* m_pool;
};

/// A pool as a scheduler; two of one pool are equal. Refers to the pool, which has to outlive what is
/// scheduled.
class pool_scheduler {
public:
    /// Marks schedulers of std::execution.
    using scheduler_concept = detail::scheduler_mark;

    /// For the library.
    explicit pool_scheduler(detail::pool_core& p) noexcept : m_pool(&p) {}
    /// Makes a scheduler of `p`.
    explicit pool_scheduler(pool& p) noexcept : m_pool(&p.core()) {}
    /// A sender that completes on a worker of the pool.
    [[nodiscard]] schedule_sender schedule() const noexcept { return schedule_sender(*m_pool); }
    /// True for schedulers of one pool.
    [[nodiscard]] bool operator==(const pool_scheduler&) const noexcept = default;
#if defined(PILFER_STDEXEC)
    [[nodiscard]] stdexec::forward_progress_guarantee
    query(stdexec::get_forward_progress_guarantee_t) const noexcept {
        return stdexec::forward_progress_guarantee::parallel;
    }
#endif

private:
    detail::pool_core* m_pool;
};

#if defined(PILFER_STDEXEC)
template <class Completion>
requires std::same_as<Completion, stdexec::set_value_t> || std::same_as<Completion, stdexec::set_stopped_t>
inline pool_scheduler
schedule_sender::env::query(stdexec::get_completion_scheduler_t<Completion>) const noexcept {
    return pool_scheduler(*pool);
}
#endif

inline pool_scheduler pool::get_scheduler() noexcept { return pool_scheduler(*m_core); }
inline schedule_sender pool::schedule() noexcept { return get_scheduler().schedule(); }

} // namespace v0
} // namespace pilfer
