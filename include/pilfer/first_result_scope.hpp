// first_result_scope: the first task that has a result ends all others.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <type_traits>
#include <utility>

#include <pilfer/detail/scope/exit_shield.hpp>
#include <pilfer/scope.hpp>

namespace pilfer {
inline namespace v0 {

/// A scope that any task below it may leave with a value; all other tasks are cancelled then, as by
/// scope::cancel(). The rules of scope hold: it is a local object, and its owner calls spawn and sync.
template <class T>
class first_result_scope {
    static_assert(std::is_object_v<T> && std::is_move_constructible_v<T>, "the value of an exit is moved");

public:
    first_result_scope() noexcept = default;
    first_result_scope(const first_result_scope&) = delete;
    first_result_scope& operator=(const first_result_scope&) = delete;

    /// See scope.
    template <class F>
    PILFER_ALWAYS_INLINE void spawn(F&& f) {
        m_scope.spawn(std::forward<F>(f));
    }
    /// As scope::fork().
    template <class F>
    PILFER_ALWAYS_INLINE void fork(F&& f) {
        m_scope.fork(std::forward<F>(f));
    }

    /// Leaves the scope with the value of make(). Returns true if this call was the first since the last
    /// sync(): all tasks below were cancelled before make() is called. Returns false without calling make()
    /// if another call was first, or if the scope was cancelled or a child has failed.
    ///
    /// make() may wait, and spawn into scopes that it opens: they are shielded, unless a scope further out is
    /// cancelled. Then `stopped` leaves make() and this call, and there is no value. A calling task that is
    /// not the owner is cancelled as soon as this has returned, but not while it holds a lock. An exception
    /// of make() leaves this call; the exit stays claimed without a value. Allowed to the owner and to every
    /// task below. Cost of the first call: that of scope::cancel(); of others a load.
    template <class F>
    [[nodiscard]] bool exit(F&& make) {
        if (m_claimed.load(detail::rlx) || m_claimed.exchange(true, detail::rlx)) {
            return false;
        }
        if (m_scope.cancelled()) {
            return false; // by a child that failed: no value could leave sync()
        }
        {
            const detail::exit_shield shield(m_scope);
            m_scope.cancel();
            m_value.emplace(std::invoke(std::forward<F>(make)));
        }
        (void)cancelled(); // marks the scopes between: each sync of theirs throws
        return true;
    }
    /// As above, with a value.
    [[nodiscard]] bool exit_value(T value) {
        return exit([&value]() -> T { return std::move(value); });
    }
    /// Cancels all tasks below without a value, unless a task has claimed the exit. Allowed to the owner and
    /// to every task below.
    void cancel() noexcept {
        if (!m_claimed.exchange(true, detail::rlx)) {
            m_scope.cancel();
        }
    }

    /// Waits for all children; returns the value of the exit, or nothing. Rethrows the first exception of a
    /// child; a value is lost then. Throws stopped if the owner is cancelled, usage_error if the caller is
    /// not the owner. The scope may be used again.
    [[nodiscard]] std::optional<T> sync() {
        if (!detail::scope_access::is_owner(m_scope)) {
            m_scope.sync(); // throws usage_error
        }
        const struct next_round {
            first_result_scope& self;
            ~next_round() {
                self.m_value.reset();
                self.m_claimed.store(false, detail::rlx);
            }
        } at_end{*this};
        m_scope.sync();
        return std::move(m_value); // written by a child: it has ended (worker.J3)
    }

private:
    std::atomic<bool> m_claimed{false};
    std::optional<T> m_value; // of the claimer, then of the owner
    scope m_scope;            // ends first: its children use the others
};

} // namespace v0
} // namespace pilfer
