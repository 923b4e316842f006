// The start of a task whose result a future holds.
#pragma once

#include <type_traits>
#include <utility>

#include <pilfer/detail/future/future_state.hpp>
#include <pilfer/detail/fwd.hpp>
#include <pilfer/detail/task/task_options.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

template <class F>
auto async_in(pool_core& p, const task_options& o, F&& f) -> future<std::invoke_result_t<std::decay_t<F>&>> {
    using result = std::invoke_result_t<std::decay_t<F>&>;
    detail::refuse_coroutines<std::decay_t<F>>();
    check(o);
    return with_name(o, std::forward<F>(f), [&](auto&& function) {
        auto* task =
            new async_task<std::decay_t<decltype(function)>>(std::forward<decltype(function)>(function));
        future<result> handle(task);
        task->start(p, o);
        return handle;
    });
}

} // namespace detail
} // namespace v0
} // namespace pilfer
