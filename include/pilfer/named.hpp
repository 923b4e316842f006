// Names of tasks, for reports.
#pragma once

#include <string_view>
#include <type_traits>
#include <utility>

#include <pilfer/detail/base/platform.hpp>
#include <pilfer/detail/context/context.hpp>
#include <pilfer/detail/task/named.hpp>

namespace pilfer {
inline namespace v0 {

/// Returns f as a task called `name`. pool::dump(), the report of stalls and the message about an unhandled
/// exception print the name until f has ended. For calls that take no task_options: after, every, then, join
/// and so on.
///
/// Children of the task do not inherit the name. The name is copied: 1 to 255 bytes without control
/// characters, else std::invalid_argument. Throws std::bad_alloc, and what moving f throws. Cost: a string
/// beside f (a short one needs no allocation), and two stores as it runs.
template <class F>
[[nodiscard]] detail::named_function<std::decay_t<F>> named(std::string_view name, F&& f) {
    return {detail::checked_name(name), std::forward<F>(f)};
}
/// Returns f as a task called `name`. Throws std::invalid_argument if `name` is null.
template <class F>
[[nodiscard]] detail::named_function<std::decay_t<F>> named(const char* name, F&& f) {
    return {detail::checked_name(name != nullptr ? std::string_view(name) : std::string_view()),
            std::forward<F>(f)};
}

/// The name of the innermost named function on the calling task's stack, also inside options.on_error; null
/// if there is none, or outside of pools. Valid until that function ends.
[[nodiscard]] PILFER_API const char* current_task_name() noexcept;

} // namespace v0
} // namespace pilfer
