// A job of blocking(), as a back-end knows it.
#pragma once

#include <pilfer/detail/wait/wait.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

/// In the frame that waits for it.
struct blocking_job {
    void (*run)(blocking_job& self) noexcept;
    waiters::entry done;
};

} // namespace detail
} // namespace v0
} // namespace pilfer
