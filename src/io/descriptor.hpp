// The begin of a wait for a descriptor, for frames and for functions that wait without a stack.
#pragma once

#include <cerrno>

#include "io/readiness.hpp"
#include "platform/poll.hpp"
#include "pool/pool_core.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {

using descriptors = descriptor_waits<std_atom, futex_park, os::poller>;

/// Finds the waits for `fd` in the pool of `io`. Returns 0 or an errno.
[[nodiscard]] inline int slot_of(readiness& io, int fd, descriptors::slot*& s) noexcept {
    s = io.waits.slot_if_made(fd);
    if (s == nullptr) {
        // io::close() holds the same lock: either it finds the slot, or this thread finds `fd` closed.
        const registry::all_pools lock;
        // The number decides how much memory is made: an invalid number must not.
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
