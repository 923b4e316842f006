// A function that another thread calls while the context of its caller is suspended.
#pragma once

#include <pilfer/detail/backend/blocking_job.hpp>
#include <pilfer/detail/base/outcome.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

/// Runs the job on a thread that is no worker and waits for it. False: the caller is to run it in place.
[[nodiscard]] PILFER_API bool run_elsewhere(blocking_job& job) noexcept;

template <class F>
class blocking_call : blocking_job {
public:
    explicit blocking_call(F& f) noexcept : m_function(f) {
        run = [](blocking_job& self) noexcept {
            auto& call = static_cast<blocking_call&>(self);
            call.m_outcome.fill(call.m_function);
        };
    }
    [[nodiscard]] result_t<F> get() {
        return run_elsewhere(*this) ? m_outcome.take() : detail::invoke_regular(m_function);
    }

private:
    F& m_function;
    outcome<result_t<F>> m_outcome;
};

} // namespace detail
} // namespace v0
} // namespace pilfer
