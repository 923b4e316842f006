// Calls of synchronized and monitor by coroutines.
#pragma once

#include <chrono>
#include <concepts>
#include <cstddef>
#include <functional>
#include <tuple>
#include <type_traits>
#include <utility>

#include <pilfer/detail/objects/co_call.hpp>
#include <pilfer/monitor.hpp>
#include <pilfer/synchronized.hpp>
#include <pilfer/task.hpp>

namespace pilfer {
inline namespace v0 {

/// co_await call(object, f): as object.call(f), but waits for the lock without a stack, in turn with tasks
/// and threads. f is an ordinary function and runs in the coroutine's task.
///
/// A cancelled coroutine leaves the wait by `stopped`, before f has run. Throws what f and scoped_lock()
/// throw. Awaited once. Allocates as scoped_lock().
template <class T, class Lock, class F>
[[nodiscard]] auto call(synchronized<T, Lock>& object, F f) {
    using result = detail::call_result_t<F, T>;
    return detail::object_call<Lock, false, synchronized<T, Lock>, F, result>(
        object, std::move(f),
        [](synchronized<T, Lock>& o, F& g) -> result { return detail::object_access::call(o, g); });
}
/// co_await read(object, f): as object.read(f); otherwise as call().
template <class T, class Lock, class F>
[[nodiscard]] auto read(const synchronized<T, Lock>& object, F f) {
    using result = detail::call_result_t<F, const T>;
    return detail::object_call<Lock, true, const synchronized<T, Lock>, F, result>(
        object, std::move(f),
        [](const synchronized<T, Lock>& o, F& g) -> result { return detail::object_access::read(o, g); });
}
/// As call() of a synchronized object. The caller then serves the calls that wait, as object.call(f) does.
template <class T, class F>
[[nodiscard]] auto call(monitor<T>& object, F f) {
    using result = detail::call_result_t<F, T>;
    return detail::object_call<mutex, false, monitor<T>, F, result>(
        object, std::move(f),
        [](monitor<T>& o, F& g) -> result { return detail::object_access::call(o, g); });
}
/// As read() of a synchronized object.
template <class T, class F>
[[nodiscard]] auto read(const monitor<T>& object, F f) {
    using result = detail::call_result_t<F, const T>;
    return detail::object_call<mutex, false, const monitor<T>, F, result>(
        object, std::move(f),
        [](const monitor<T>& o, F& g) -> result { return detail::object_access::read(o, g); });
}

/// co_await call_when(object, ready, f): as object.call_when(ready, f), but waits without a stack. f always
/// runs in the coroutine's task; `ready` may be called by any task or thread that uses the object.
///
/// A cancelled coroutine leaves the waits by `stopped`, before f has run. Throws what `ready`, f and
/// scoped_lock() throw. Cost: the frame of a task; otherwise as object.call_when(), for a caller of another
/// pool.
template <class T, class C, class F>
requires std::predicate<C&, const T&> task<detail::call_result_t<F, T>> call_when(monitor<T>& object, C ready,
                                                                                  F f) {
    using detail::never;
    using detail::no_limit;
    (void)co_await detail::object_entry<mutex, no_limit>{detail::object_access::lock(object), never};
    if (!detail::object_access::is_ready(object, ready)) {
        (void)co_await detail::condition_of_call<T, C, no_limit>{object, ready, never};
    }
    co_return detail::object_access::call(object, f);
}

/// co_await call_all(std::tie(a, b), f): as call_all(f, a, b), but waits for the locks without a stack, in
/// turn with tasks and threads. f is an ordinary function and runs in the coroutine's task.
///
/// A cancellation ends the wait for the first lock by `stopped`. After that the coroutine is a holder, which
/// no cancellation reaches before its end. Throws usage_error if an object is named twice, and what f and
/// scoped_lock() throw; then no lock is held. Cost: the frame of a task.
template <class F, class... Ts, class... Locks>
requires(sizeof...(Ts) > 0) task<typename detail::all_result<F, Ts...>::type> call_all(
    std::tuple<synchronized<Ts, Locks>&...> objects, F f) {
    detail::locks_of_all<sizeof...(Ts)> locks(objects);
    for (std::size_t i = 0; i < sizeof...(Ts); ++i) {
        if (mutex* const alone = locks.parts[i].alone) {
            locks.alone[i] = co_await scoped_lock(*alone);
        } else {
            locks.shared[i] = co_await scoped_lock(*locks.parts[i].shared);
        }
    }
    const detail::inside_all guard = locks.enter();
    co_return std::apply(
        [&f](auto&... o) { return std::invoke(f, detail::synchronized_access::value(o)...); }, objects);
}

/// co_await try_call_for(object, d, f): as object.try_call_for(d, f), but waits without a stack. Gives a
/// std::optional, which is empty if the lock was not free within `d`, counted from the call. A void result
/// becomes std::monostate. Otherwise as call().
template <class T, class Lock, class Rep, class Period, class F>
[[nodiscard]] detail::limited_call<T, Lock, F> try_call_for(synchronized<T, Lock>& object,
                                                            std::chrono::duration<Rep, Period> d, F f) {
    return {object, std::move(f), &detail::object_access::tried<T, Lock, F>, detail::after(d)};
}
/// As try_call_for(), until `t`.
template <class T, class Lock, class Clock, class Duration, class F>
[[nodiscard]] detail::limited_call<T, Lock, F>
try_call_until(synchronized<T, Lock>& object, const std::chrono::time_point<Clock, Duration>& t, F f) {
    return {object, std::move(f), &detail::object_access::tried<T, Lock, F>, detail::at(t)};
}
/// co_await try_call_when_for(object, d, ready, f): as call_when(), but within `d`, counted from the call.
/// Gives a std::optional, which is empty if the condition did not hold in time; then f has not run. A void
/// result becomes std::monostate.
template <class T, class Rep, class Period, class C, class F>
requires std::predicate<C&, const T&>
[[nodiscard]] task<detail::tried_t<F, T>>
try_call_when_for(monitor<T>& object, std::chrono::duration<Rep, Period> d, C ready, F f) {
    return detail::call_within(object, detail::after(d), std::move(ready), std::move(f));
}
/// As try_call_when_for(), until `t`.
template <class T, class Clock, class Duration, class C, class F>
requires std::predicate<C&, const T&>
[[nodiscard]] task<detail::tried_t<F, T>>
try_call_when_until(monitor<T>& object, const std::chrono::time_point<Clock, Duration>& t, C ready, F f) {
    return detail::call_within(object, detail::at(t), std::move(ready), std::move(f));
}

} // namespace v0
} // namespace pilfer
