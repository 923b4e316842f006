// A thread that is stopped for good, for reports of tests.
#pragma once

#if defined(PILFER_TEST)

#include <cstdint>

namespace pilfer {
inline namespace v0 {
namespace os {

/// From now on stop_thread() can stop the calling thread.
void may_be_stopped() noexcept;

/// Stops a thread: it waits in a signal handler until the process ends, whatever it was waiting for before.
/// Writes the return addresses of its stack, innermost first, and their number to `count`. False: the thread
/// has not reacted for ten seconds. One thread at a time.
[[nodiscard]] bool stop_thread(std::uintptr_t thread, const void** frames, unsigned most,
                               unsigned& count) noexcept;

} // namespace os
} // namespace v0
} // namespace pilfer

#endif
