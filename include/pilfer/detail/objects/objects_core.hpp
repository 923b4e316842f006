// The part of `synchronized` and `monitor` that does not depend on the type they hold: see
// src/objects/README.md.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <optional>
#include <ratio>
#include <type_traits>
#include <utility>

#include <pilfer/detail/base/outcome.hpp>
#include <pilfer/detail/cancel/holding.hpp>
#include <pilfer/detail/objects/objects_queue.hpp>
#include <pilfer/detail/task/runtime.hpp>
#include <pilfer/detail/wait/wait.hpp>
#include <pilfer/mutex.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

[[noreturn]] PILFER_API PILFER_COLD void refuse_call_inside();

/// The lock of an object. It knows whose call is inside, of several readers at most one. So a second call by
/// that very task or thread is an error and not a wait for ever.
template <class Lock>
class call_lock {
public:
    /// Takes the lock. Throws usage_error if the caller is inside already.
    void enter() {
        activation* const self = outside();
        m_lock.lock();
        m_inside.store(self, rlx);
    }
    [[nodiscard]] bool try_enter() {
        activation* const self = outside();
        if (!m_lock.try_lock()) {
            return false;
        }
        m_inside.store(self, rlx);
        return true;
    }
    [[nodiscard]] bool enter_until(instant until) {
        activation* const self = outside();
        if (until == never) {
            m_lock.lock();
        } else {
            const instant t = now();
            // Not std::chrono::nanoseconds: the end may be 584 years away, and their range ends at 292.
            const std::chrono::duration<instant, std::nano> left(t < until ? until - t : 0);
            if (!m_lock.try_lock_for(left)) {
                return false;
            }
        }
        m_inside.store(self, rlx);
        return true;
    }
    void leave() noexcept {
        m_inside.store(nullptr, rlx);
        m_lock.unlock();
    }
    /// Like leave(). The caller calls gives_lock() afterwards.
    void release() noexcept {
        m_inside.store(nullptr, rlx);
        m_lock.release();
    }
    /// Names the caller as the one inside, instead of an earlier reader. Returns it for leave_shared().
    [[nodiscard]] activation* enter_shared() {
        activation* const self = outside();
        m_lock.lock_shared();
        m_inside.store(self, rlx);
        return self;
    }
    void leave_shared(activation* self) noexcept {
        if (m_inside.load(rlx) == self) {
            m_inside.store(nullptr, rlx); // perhaps over a newer reader, but its own name never stays
        }
        m_lock.unlock_shared();
    }

    /// For coroutines, which wait for the lock by themselves and then call adopt().
    [[nodiscard]] Lock& lock() noexcept { return m_lock; }
    /// For gives_lock().
    [[nodiscard]] const void* address() const noexcept { return &m_lock; }
    /// Makes `self` the activation that is inside. It runs on top of the one that has entered.
    void is_inside(activation* self) noexcept { m_inside.store(self, rlx); }
    void pass() noexcept {
        m_inside.store(nullptr, rlx);
        m_lock.pass();
    }
    void adopt() noexcept {
        m_lock.adopt();
        m_inside.store(this_activation(), rlx);
    }
    void adopt_shared() noexcept {
        m_lock.adopt_shared();
        m_inside.store(this_activation(), rlx);
    }

private:
    /// Returns the caller, which must not be inside. No other task or thread writes the caller's own name.
    [[nodiscard]] PILFER_ALWAYS_INLINE activation* outside() const {
        activation* const self = this_activation();
        if (m_inside.load(rlx) == self) [[unlikely]] {
            refuse_call_inside();
        }
        return self;
    }

    Lock m_lock;
    std::atomic<activation*> m_inside{nullptr};
};

/// A call that waits for its condition, in its caller's frame.
struct monitor_call : waiters::entry {
    using queue = call_queue<std_atom, futex_park>;
    /// Called inside the object's lock, perhaps on another stack. `here`: runs the call if its condition
    /// holds.
    queue::verdict (*look)(monitor_call&, bool here) noexcept;
    pool_core* pool = nullptr;              ///< The pool whose tasks may run it. Null: only the caller.
    scope_node* parent = nullptr;           ///< The place of the call, inside the caller's scopes.
    exception_state exceptions{nullptr, 0}; ///< Exceptions of the caller at its wait.
    unsigned uncaught = 0;                  ///< How many exceptions were in flight before the caller began.
};

class monitor_resumption;

class PILFER_API monitor_core {
public:
    using ending = monitor_call::queue::ending;

    monitor_core() noexcept = default;
    monitor_core(const monitor_core&) = delete;
    monitor_core& operator=(const monitor_core&) = delete;
    ~monitor_core();

    [[nodiscard]] call_lock<mutex>& lock() noexcept { return m_lock; }
    /// Called inside: leaves the object, which may have changed, and serves the calls that wait.
    void leave() noexcept {
        if (m_calls.nobody()) [[likely]] {
            m_lock.leave();
        } else {
            leave_and_serve();
        }
    }
    /// Called inside, if the condition of `c` does not hold: leaves and waits. Result `given`: the caller
    /// is inside again. Throws `stopped`; then the caller is outside.
    [[nodiscard]] ending wait(monitor_call& c, instant until);

private:
    friend class monitor_resumption;
    /// A call runs at most this many calls of others. Then the next one runs itself and goes on serving,
    /// so that no caller pays for a long queue alone. A mutex may be taken past a waiting task as often,
    /// too.
    static constexpr unsigned most_served = 64;

    void leave_and_serve() noexcept;
    [[nodiscard]] monitor_call::queue::verdict look(monitor_call& c, unsigned& left) noexcept;

    call_lock<mutex> m_lock;
    monitor_call::queue m_calls;
};

/// For calls of coroutines.
struct object_access;

/// The result of a call on T. It is no reference: the object's lock guards nothing that is referred to
/// from outside.
template <class F, class T>
struct call_result {
    static_assert(std::is_const_v<T> || std::is_invocable_v<F&, T&>,
                  "a call takes a reference to the object");
    static_assert(!std::is_const_v<T> || std::is_invocable_v<F&, T&>,
                  "a read() takes a constant reference to the object");
    using type = std::invoke_result_t<F&, T&>;
    static_assert(!std::is_reference_v<type>,
                  "a call returns a value: a reference would leave what the object's lock guards");
};
template <class F, class T>
using call_result_t = typename call_result<F, T>::type;
/// The result of a call that may not take place.
template <class F, class T>
using tried_t = std::optional<regular_t<call_result_t<F, T>>>;

template <class F, class T>
[[nodiscard]] tried_t<F, T> tried(F& f, T& object) {
    if constexpr (std::is_void_v<call_result_t<F, T>>) {
        std::invoke(f, object);
        return std::monostate{};
    } else {
        return tried_t<F, T>(static_cast<regular_t<call_result_t<F, T>>>(std::invoke(f, object)));
    }
}

} // namespace detail
} // namespace v0
} // namespace pilfer
