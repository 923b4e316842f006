// Names of tasks, for reports.
#pragma once

#include <string_view>
#include <type_traits>
#include <utility>

#include <pilfer/detail/base/platform.hpp>
#include <pilfer/detail/context/context.hpp>
#include <pilfer/detail/worker/named.hpp>

namespace pilfer {
inline namespace v0 {

/// f as a task called `name`: the message about an exception that nobody waits for, pool::dump() and the
/// report of stalls say so, as long as it has not ended. For calls that take no task_options: after, every,
/// then, join and so on. Its children have names of their own, or none. The name is copied:
/// 1 to 255 bytes without control characters, else std::invalid_argument. Throws std::bad_alloc, and what
/// moving f throws. Cost: a string beside f (short ones need no allocation), and two stores as it runs.
template <class F>
[[nodiscard]] detail::named_function<std::decay_t<F>> named(std::string_view name, F&& f) {
    return {detail::checked_name(name), std::forward<F>(f)};
}
/// A null pointer throws std::invalid_argument.
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
