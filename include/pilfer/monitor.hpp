// monitor: an object whose calls may wait for a state of it.
#pragma once

#include <chrono>
#include <concepts>
#include <functional>
#include <optional>
#include <type_traits>
#include <utility>

#include <pilfer/detail/base/race.hpp>
#include <pilfer/detail/objects/objects_core.hpp>

namespace pilfer {
inline namespace v0 {

/// A T that several tasks and threads share, with calls that wait for a state of it.
///
/// call_when(ready, f) runs f(T&) under the object's lock as soon as ready(const T&) holds: `put` when a
/// buffer is not full, `get` when it is not empty. Until then its caller suspends if it is a task, else
/// blocks. Each call that may have changed the object serves the waiting calls whose conditions hold now: the
/// oldest first, before any later call. Coroutines use <pilfer/co_call.hpp>.
///
/// f may run on the stack of the task that made its condition true: no thread-locals, and it should not wait.
/// `ready` is called by any task or thread that uses the object, and changes nothing. An exception of either
/// leaves its own caller's call. A caller that is cancelled while it waits leaves by `stopped`.
///
/// A call inside a call of the same object throws usage_error. Inside a call of another object it may wait;
/// the other object stays locked meanwhile.
///
/// Cost: a mutex's lock and unlock, two stores and the condition; for each change, up to n conditions of n
/// waiting calls. Source: conditional critical regions (Hoare, Brinch Hansen, 1972), served as in flat
/// combining (Hendler and others, SPAA 2010).
template <class T>
class monitor {
    static_assert(std::is_object_v<T> && !std::is_const_v<T>, "an object that calls may change");

public:
    /// Makes the T from `args`.
    template <class... Args>
    requires std::constructible_from<T, Args...>
    explicit(sizeof...(Args) != 0) monitor(Args&&... args) : m_value(std::forward<Args>(args)...) {}
    monitor(const monitor&) = delete;
    monitor& operator=(const monitor&) = delete;
    /// No call may wait any more; the checked build aborts otherwise. Calls with a time limit, and calls of
    /// tasks below a scope or in a branch of a join, must have returned.
    ~monitor() = default;

    /// Returns f(T&), once the lock is the caller's.
    template <class F>
    detail::call_result_t<F, T> call(F&& f) {
        m_core.lock().enter();
        return changing(f);
    }
    /// Returns f(const T&), alone in the object. Conditions of waiting calls are not evaluated afterwards.
    template <class F>
    detail::call_result_t<F, const T> read(F&& f) const {
        m_core.lock().enter();
        detail::race::acquire(&m_core);
        const unchanged guard{m_core};
        return std::invoke(f, m_value);
    }
    /// Returns f(T&), once ready(const T&) holds.
    template <class C, class F>
    requires std::predicate<C&, const T&> detail::call_result_t<F, T> call_when(C&& ready, F&& f) {
        m_core.lock().enter();
        if (is_ready(ready)) {
            return changing(f);
        }
        waiting<C, F> self(*this, ready, f);
        if (m_core.wait(self, detail::never) == ending::given) {
            return changing(f);
        }
        detail::race::acquire(&m_core);
        return static_cast<detail::call_result_t<F, T>>(self.result.take());
    }
    /// call_when() without a wait: returns nothing if a call is inside, or ready(const T&) does not hold.
    /// A void f gives std::monostate.
    template <class C, class F>
    requires std::predicate<C&, const T&>
    [[nodiscard]] detail::tried_t<F, T> try_call_when(C&& ready, F&& f) {
        if (!m_core.lock().try_enter()) {
            return std::nullopt;
        }
        if (!is_ready(ready)) {
            m_core.lock().leave();
            return std::nullopt;
        }
        return tried(f);
    }
    /// call_when() within the time `d`: returns nothing if the condition did not hold in time, and f has not
    /// run. A call that is being served when its time is over takes place.
    template <class Rep, class Period, class C, class F>
    requires std::predicate<C&, const T&>
    [[nodiscard]] detail::tried_t<F, T> try_call_when_for(std::chrono::duration<Rep, Period> d, C&& ready,
                                                          F&& f) {
        return call_within(detail::after(d), ready, f);
    }
    /// As try_call_when_for(), until `t`.
    template <class Clock, class Duration, class C, class F>
    requires std::predicate<C&, const T&>
    [[nodiscard]] detail::tried_t<F, T> try_call_when_until(const std::chrono::time_point<Clock, Duration>& t,
                                                            C&& ready, F&& f) {
        return call_within(detail::at(t), ready, f);
    }

private:
    friend struct detail::object_access;
    using core = detail::monitor_core;
    using ending = core::ending;
    using queue = detail::monitor_call::queue;

    struct changed {
        core& object;
        ~changed() {
            detail::race::release(&object);
            object.leave();
        }
    };
    struct unchanged {
        core& object;
        ~unchanged() {
            detail::race::release(&object);
            object.lock().leave();
        }
    };

    /// A call that waits; in its caller's frame, and so are `ready` and `f`.
    template <class C, class F>
    struct waiting : detail::monitor_call {
        monitor& object;
        C& ready;
        F& f;
        detail::outcome<detail::regular_t<detail::call_result_t<F, T>>> result;

        waiting(monitor& o, C& c, F& g) noexcept : object(o), ready(c), f(g) { look = &decide; }

        static queue::verdict decide(detail::monitor_call& self, bool here) noexcept {
            auto& c = static_cast<waiting&>(self);
            detail::race::acquire(&c.object.m_core);
            PILFER_TRY {
                if (!std::invoke(c.ready, std::as_const(c.object.m_value))) {
                    return queue::verdict::waits;
                }
            }
            PILFER_CATCH_ALL {
                c.result.fail(detail::caught_error());
                return queue::verdict::served;
            }
            if (!here) {
                return queue::verdict::given;
            }
            auto run = [&c]() -> decltype(auto) { return std::invoke(c.f, c.object.m_value); };
            c.result.fill(run);
            return queue::verdict::served;
        }
    };

    /// Inside. Leaves where the condition throws.
    template <class C>
    [[nodiscard]] bool is_ready(C& ready) {
        struct leave_if_thrown {
            core* object;
            ~leave_if_thrown() {
                if (object != nullptr) {
                    object->lock().leave();
                }
            }
        } guard{&m_core};
        detail::race::acquire(&m_core);
        const bool holds = std::invoke(ready, std::as_const(m_value));
        guard.object = nullptr;
        return holds;
    }
    /// Inside. Leaves after f.
    template <class F>
    detail::call_result_t<F, T> changing(F& f) {
        detail::race::acquire(&m_core);
        const changed guard{m_core};
        return std::invoke(f, m_value);
    }
    template <class F>
    [[nodiscard]] detail::tried_t<F, T> tried(F& f) {
        detail::race::acquire(&m_core);
        const changed guard{m_core};
        return detail::tried(f, m_value);
    }
    template <class C, class F>
    [[nodiscard]] detail::tried_t<F, T> call_within(detail::instant until, C& ready, F& f) {
        if (!m_core.lock().enter_until(until)) {
            return std::nullopt;
        }
        if (is_ready(ready)) {
            return tried(f);
        }
        waiting<C, F> self(*this, ready, f);
        switch (m_core.wait(self, until)) {
        case ending::given:
            return tried(f);
        case ending::served:
            detail::race::acquire(&m_core);
            return self.result.take();
        case ending::over:
            break;
        }
        return std::nullopt;
    }

    mutable core m_core;
    T m_value;
};

} // namespace v0
} // namespace pilfer
