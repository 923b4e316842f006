// The message for a task that runs off its stack.
#pragma once

#include <pilfer/detail/context/context.hpp>

namespace pilfer {
inline namespace v0 {
namespace overflow {

/// Returns the context on whose stack the calling thread is, null for none. Called from the signal handler.
using current_context = const detail::context* (*)() noexcept;

/// Installs the SIGSEGV and SIGBUS handler once per process; other faults go to the handler before it.
void install(current_context current) noexcept;

/// Gives the calling thread an alternate signal stack: the handler cannot run on the one that is full.
class thread_stack {
public:
    thread_stack() noexcept;
    ~thread_stack();
    thread_stack(const thread_stack&) = delete;
    thread_stack& operator=(const thread_stack&) = delete;

private:
    void* m_memory = nullptr;
};

} // namespace overflow
} // namespace v0
} // namespace pilfer
