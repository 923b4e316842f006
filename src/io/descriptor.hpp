// How a wait for a descriptor begins, for frames and for functions that wait without a stack.
#pragma once

#include <cerrno>

#include "base/poll.hpp"
#include "worker/pool_core.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {

using descriptors = descriptor_waits<std_atom, futex_park, os::poller>;

/// Where waits for `fd` are in the pool of `io`. 0, or an errno.
[[nodiscard]] inline int slot_of(readiness& io, int fd, descriptors::slot*& s) noexcept {
    s = io.waits.slot_if_made(fd);
    if (s == nullptr) {
        // The number says how much memory: one that somebody has made up must not.
        if (!os::is_open(fd)) {
            return EBADF;
        }
        s = io.waits.slot_for(fd);
    }
    return s != nullptr ? 0 : ENOMEM;
}

} // namespace detail
} // namespace v0
} // namespace pilfer
