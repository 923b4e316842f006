// A function of C as a task of the runtime: one allocation for function, arguments, result and waiters.
#pragma once

#include <cstdio>
#include <exception>
#include <utility>

#include <pilfer/detail/future/future_state.hpp>
#include <pilfer/pilfer.h>

namespace pilfer {
inline namespace v0 {
namespace capi {

/// An exception has left a function of C. It cannot be passed on: the author of the function could not handle
/// it. That includes the exception by which pthread_exit unwinds: it would end a worker.
[[noreturn]] PILFER_COLD inline void escaped() noexcept {
    std::fputs("pilfer: an exception (or pthread_exit) left a function that was given to the C interface\n",
               stderr);
    std::terminate();
}

/// Calls f(arguments...), which must return.
template <class F, class... Arguments>
PILFER_ALWAYS_INLINE auto call(F* f, Arguments... arguments) noexcept {
    try {
        return f(arguments...);
    } catch (...) {
        capi::escaped();
    }
}

/// The state of a future of C, whatever makes its result.
class result_core : public detail::future_core {
public:
    /// Once it is done (future.F2 of ../future): 0, or the code for the reason why there is no result.
    [[nodiscard]] int error() const noexcept { return m_error; }
    [[nodiscard]] void* result() const noexcept { return m_result; }

protected:
    using detail::future_core::future_core;
    ~result_core() override = default;

    // Written before the end.
    void* m_result = nullptr;
    int m_error = 0;
};

/// `Function`: a value that returns void*.
template <class Function>
class task final : public result_core {
public:
    explicit task(Function f) noexcept : m_function(std::move(f)) {}

private:
    ~task() override = default;
    void execute() noexcept override { m_result = m_function(); }
    void break_promise() noexcept override { m_error = PILFER_EBROKEN; }

    Function m_function;
};

} // namespace capi
} // namespace v0
} // namespace pilfer
