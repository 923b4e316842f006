// A function of C as a task of the runtime: one allocation for function, arguments, result and waiters.
#pragma once

#include <cstdio>
#include <exception>
#include <utility>

#include <pilfer/detail/future_state.hpp>

namespace pilfer {
inline namespace v0 {
namespace capi {

/// The caller of a C function cannot be given an exception: whoever wrote the function could not say what
/// becomes of it. That includes the one by which pthread_exit unwinds: it would end a worker.
[[noreturn]] PILFER_COLD inline void escaped() noexcept {
    std::fputs("pilfer: an exception (or pthread_exit) left a function that was given to the C interface\n",
               stderr);
    std::terminate();
}

/// f(arguments...), which comes back.
template <class F, class... Arguments>
PILFER_ALWAYS_INLINE auto call(F* f, Arguments... arguments) noexcept {
    try {
        return f(arguments...);
    } catch (...) {
        capi::escaped();
    }
}

/// `Function`: a value that returns void*.
template <class Function>
class task final : public detail::future_core {
public:
    explicit task(Function f) noexcept : m_function(f) {}

    /// Whether and what: once it is done (F2 of ../future).
    [[nodiscard]] bool dropped() const noexcept { return m_dropped; }
    [[nodiscard]] void* result() const noexcept { return m_result; }

private:
    ~task() override = default;
    void execute() noexcept override { m_result = m_function(); }
    void break_promise() noexcept override { m_dropped = true; }

    Function m_function;
    void* m_result = nullptr;
    bool m_dropped = false;
};

} // namespace capi
} // namespace v0
} // namespace pilfer
