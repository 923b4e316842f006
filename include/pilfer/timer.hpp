// Time: tasks that sleep without a thread, and functions that run later or again and again.
#pragma once

#include <chrono>

#include <pilfer/detail/wait.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {
PILFER_API void sleep_until(instant until) noexcept;
} // namespace detail

/// The calling task sleeps for `d`: its context suspends, and the worker does other things. Any other thread
/// blocks. Never shorter; longer while all workers are inside tasks that neither end nor wait. Throws nothing.
/// Cost: a suspension and a place in a heap; no allocation.
template <class Rep, class Period>
void sleep_for(std::chrono::duration<Rep, Period> d) {
    detail::sleep_until(detail::after(d));
}
/// The same until `t`. A clock that is set meanwhile does not change when it ends.
template <class Clock, class Duration>
void sleep_until(const std::chrono::time_point<Clock, Duration>& t) {
    detail::sleep_until(detail::at(t));
}

} // namespace v0
} // namespace pilfer
