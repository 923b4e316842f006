// A thread that is stopped for good, for reports of tests.
#pragma once

#if defined(PILFER_TEST)

#include <array>
#include <cstdint>

namespace pilfer {
inline namespace v0 {
namespace os {

/// From now on stop_thread() can stop the calling thread.
void may_be_stopped() noexcept;

/// Stops a thread: it waits in a signal handler, whatever it was doing before, until let_thread_go(), or else
/// until the process ends. Writes the return addresses of its stack, innermost first, and their number to
/// `count`. False: the thread has not reacted for a minute. One thread at a time.
[[nodiscard]] bool stop_thread(std::uintptr_t thread, const void** frames, unsigned most,
                               unsigned& count) noexcept;
/// The thread that stop_thread() has stopped last goes on.
void let_thread_go() noexcept;

/// The code whose locks a process needs to go on: the C library with its allocator, the loader, and
/// allocators in libraries of their own. By the names of the loaded files, so not of a program that contains
/// them.
class code_with_locks {
public:
    code_with_locks() noexcept;
    /// True if one of these return addresses is in such code. Takes no lock.
    [[nodiscard]] bool has(const void* const* frames, unsigned depth) const noexcept;

private:
    struct range {
        std::uintptr_t from;
        std::uintptr_t to;
    };
    static constexpr unsigned most = 16;
    std::array<range, most> m_ranges{};
    unsigned m_count = 0;
};

} // namespace os
} // namespace v0
} // namespace pilfer

#endif
