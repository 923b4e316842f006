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

/// A scope that any task below of it may leave with a value: that stops all others, as scope::cancel() does.
/// What is said of scope holds: it lives in a frame, its owner spawns and syncs.
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
    template <class F>
    PILFER_ALWAYS_INLINE void fork(F&& f) {
        m_scope.fork(std::forward<F>(f));
    }

    /// Claims the exit. True: this call was the first since the last sync(); all tasks below were stopped,
    /// and make() has given the value. It may wait, and spawn into scopes that it opens: all that it does
    /// there is excepted, unless a scope further out is cancelled or exits; then `stopped` leaves make() and
    /// this call, and there is no value. In scopes that were there before nothing starts, but what a holder
    /// of a lock gives to older scopes of its own (see scope::cancel()). A calling task that is not the owner
    /// is stopped, too, as soon as this has returned, but not while it holds a lock (see scope::cancel()).
    /// False: another one was first, it was cancelled, or a child has failed, and make was not called.
    ///
    /// Allowed to the owner and to every task below. What make() throws leaves this call: the exit stays
    /// claimed without a value. Cost of the first: that of scope::cancel(); of the others one load.
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
        (void)cancelled(); // tells the scopes between: each sync of theirs throws
        return true;
    }
    /// The same with a value that is there.
    [[nodiscard]] bool exit_value(T value) {
        return exit([&value]() -> T { return std::move(value); });
    }
    /// Stops all tasks below without a value, unless one has claimed the exit: see scope::cancel(). Allowed
    /// to the owner and to every task below.
    void cancel() noexcept {
        if (!m_claimed.exchange(true, detail::rlx)) {
            m_scope.cancel();
        }
    }

    /// Waits for all children. The value of the exit, nothing if there was none. Rethrows the first exception
    /// of a child, throws stopped if the owner is, and a value is lost then. The scope may be used again.
    /// Throws usage_error if somebody else calls it than the owner; a value stays then.
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
        return std::move(m_value); // written by a child: it has ended (J3)
    }

private:
    std::atomic<bool> m_claimed{false};
    std::optional<T> m_value; // of the claimer, then of the owner
    scope m_scope;            // ends first: its children use the others
};

} // namespace v0
} // namespace pilfer
