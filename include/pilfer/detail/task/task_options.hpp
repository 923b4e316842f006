// Templates for task_options: the function with its name, and the checks.
#pragma once

#include <type_traits>
#include <utility>

#include <pilfer/named.hpp>
#include <pilfer/task_options.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

/// Throws std::invalid_argument for a level or a weight out of range. The copy of the name is checked.
PILFER_API void check(const task_options& o);
/// As check(), for a child of a scope: it has no priority.
PILFER_API void check_child(const task_options& o);

/// Returns start(f), or, if the task has a name, start(f with its name). Both return the same type.
template <class F, class Start>
decltype(auto) with_name(const task_options& o, F&& f, Start start) {
    if (o.name.empty()) {
        return start(std::forward<F>(f));
    }
    return start(named_function<std::decay_t<F>>(checked_name(o.name), std::forward<F>(f)));
}

} // namespace detail
} // namespace v0
} // namespace pilfer
