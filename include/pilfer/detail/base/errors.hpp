// Exceptions as values: what a task has thrown, and what a dropped task throws at its getter.
#pragma once

#include <exception>

#include <pilfer/detail/base/platform.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

/// The exception for the waiter of a dropped task: broken_promise, or bad_alloc if there is no memory for
/// one. The callers are noexcept, so neither may be thrown here.
[[nodiscard]] PILFER_API std::exception_ptr dropped_error() noexcept;
/// As dropped_error(): for a task that a closed pool did not accept, and for a promise that can no longer be
/// set.
[[nodiscard]] PILFER_API std::exception_ptr closed_error() noexcept;
[[nodiscard]] PILFER_API std::exception_ptr unset_error() noexcept;
/// In a handler at the end of a task: the exception that it handles. The C library may unwind a task that has
/// called pthread_exit() or whose thread was cancelled. This ends the program with a message, because the
/// thread is the worker's, and the task's stack is not that thread's.
[[nodiscard]] PILFER_API PILFER_COLD std::exception_ptr caught_error() noexcept;

} // namespace detail
} // namespace v0
} // namespace pilfer
