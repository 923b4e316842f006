// The operations that a parallel program needs of a runtime, and the concept that all models fulfil. The
// programs are templates over it. All runtimes thus run one text, and a difference in time is a
// difference of runtimes. Only the sort of sortlines may be the runtime's own.
#pragma once

#include <concepts>
#include <cstddef>

namespace showcase {

struct executor_settings {
    unsigned workers = 1;
    // Bytes of stack for every thread or context that runs tasks; 0: the runtime's default.
    std::size_t stack_size = 0;
};

namespace detail {
struct any_task {
    void operator()() const {}
    void operator()(std::size_t) const {}
};
} // namespace detail

/// run(f): calls f in a place that may fork, returns when it is done.
/// fork2(f, g): both may run at once, returns when both are done.
/// for_children(n, body): body(0) ... body(n - 1) may run at once, returns when all are done.
/// An executor may have sort(first, last), which sortlines then takes instead of its own merge sort.
/// None of the callables may throw: OpenMP has no way to carry an exception out of a task.
template <class X>
concept executor = std::constructible_from<X, executor_settings> &&
    requires(X x, detail::any_task f, std::size_t n) {
    x.run(f);
    X::fork2(f, f);
    X::for_children(n, f);
};

} // namespace showcase
