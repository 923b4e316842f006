// The result of schedule(): an awaiter for coroutines, an operation for senders.
#pragma once

#include <coroutine>
#include <type_traits>
#include <utility>

#include <pilfer/detail/coroutine/coroutine.hpp>
#include <pilfer/error.hpp>
#include <pilfer/pool.hpp>

namespace pilfer {
inline namespace v0 {

class pool_scheduler;

namespace detail {

#if defined(PILFER_STDEXEC)
using sender_mark = stdexec::sender_t;
using scheduler_mark = stdexec::scheduler_t;
using operation_mark = stdexec::operation_state_t;
#else
struct sender_mark {};
struct scheduler_mark {};
struct operation_mark {};
#endif

/// An operation that contains its place in the pool's queue: starting allocates nothing.
template <class Receiver>
class schedule_operation : private submission {
public:
    using operation_state_concept = operation_mark;

    schedule_operation(pool_core& p, Receiver r) noexcept(std::is_nothrow_move_constructible_v<Receiver>)
        : m_pool(p), m_receiver(std::move(r)) {
        run = &schedule_operation::run_operation;
    }
    schedule_operation(const schedule_operation&) = delete;
    schedule_operation& operator=(const schedule_operation&) = delete;
    ~schedule_operation() = default;

    /// Called once. Completes as a task of the pool: set_value(), or set_stopped() if shutdown(drop) drops
    /// the task. If the pool is closed, set_stopped() is called in this call. The completion may end this
    /// object.
    void start() & noexcept {
        if (!detail::start_in(m_pool, this)) {
            std::move(m_receiver).set_stopped();
        }
    }

private:
    static suspension* run_operation(spark* self, worker* w) noexcept {
        auto& r = static_cast<schedule_operation*>(static_cast<submission*>(self))->m_receiver;
        if (detail::dropping(w)) {
            detail::count_dropped(w);
            std::move(r).set_stopped();
        } else {
            detail::note_suppressed(0); // of an earlier task on this thread
            std::move(r).set_value();
        }
        detail::end_outstanding(this_worker()); // the receiver may have moved this frame
        return nullptr;
    }

    pool_core& m_pool;
    Receiver m_receiver;
};

/// In the frame of a coroutine that moves to another pool.
class schedule_awaiter : private moving_resumption {
public:
    explicit schedule_awaiter(pool_core& p) noexcept : m_pool(p) {}
    [[nodiscard]] bool await_ready() const noexcept { return false; }
    template <class Promise>
    [[nodiscard]] bool await_suspend(std::coroutine_handle<Promise> h) {
        is_of(h);
        if (move_to(m_pool)) {
            return true; // it may be gone
        }
        m_refused = true; // no other thread has seen this
        return false;
    }
    void await_resume() {
        if (m_refused) {
            PILFER_THROW(pool_closed());
        }
        if (dropped()) {
            std::rethrow_exception(detail::dropped_error());
        }
        if (scope_node::strip(place()) != nullptr) {
            leave_if_stopped(); // cancelled while it was queued
        }
    }

private:
    pool_core& m_pool;
    bool m_refused = false;
};

} // namespace detail
} // namespace v0
} // namespace pilfer
