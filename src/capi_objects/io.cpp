// Waits for descriptors, for C. None of it throws; an error of the system becomes a code.
#include <pilfer/io.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>

#include <pilfer/pilfer.h>

#include "capi/error.hpp"

namespace {

using c_nanoseconds = std::chrono::duration<std::uint64_t, std::nano>;

/// PILFER_FOREVER is beyond the end of the clock, so it never ends.
[[nodiscard]] pilfer::io::deadline in_at_most(std::uint64_t ns) noexcept { return c_nanoseconds(ns); }

} // namespace

extern "C" {

int pilfer_io_wait_readable(int fd, uint64_t ns) {
    return pilfer::capi::code_of(pilfer::io::wait_readable(fd, in_at_most(ns)));
}

int pilfer_io_wait_writable(int fd, uint64_t ns) {
    return pilfer::capi::code_of(pilfer::io::wait_writable(fd, in_at_most(ns)));
}

int pilfer_io_read(int fd, void* to, size_t bytes, uint64_t ns, size_t* got) {
    if (got == nullptr) {
        return PILFER_EINVAL;
    }
    *got = 0;
    if (to == nullptr && bytes != 0) {
        return PILFER_EINVAL;
    }
    const pilfer::io::transferred t = pilfer::io::read(fd, to, bytes, in_at_most(ns));
    *got = t.bytes;
    return pilfer::capi::code_of(t.error);
}

int pilfer_io_write(int fd, const void* from, size_t bytes, uint64_t ns, size_t* written) {
    if (written != nullptr) {
        *written = 0;
    }
    if (from == nullptr && bytes != 0) {
        return PILFER_EINVAL;
    }
    const pilfer::io::transferred t = pilfer::io::write(fd, from, bytes, in_at_most(ns));
    if (written != nullptr) {
        *written = t.bytes;
    }
    return pilfer::capi::code_of(t.error);
}

int pilfer_io_accept(int listener, uint64_t ns, int* fd) {
    if (fd == nullptr) {
        return PILFER_EINVAL;
    }
    const pilfer::io::accepted next = pilfer::io::accept(listener, in_at_most(ns));
    *fd = next.fd;
    return pilfer::capi::code_of(next.error);
}

int pilfer_io_connect(int fd, const void* to, unsigned bytes, uint64_t ns) {
    if (to == nullptr) {
        return PILFER_EINVAL;
    }
    return pilfer::capi::code_of(
        pilfer::io::connect(fd, static_cast<const sockaddr*>(to), bytes, in_at_most(ns)));
}

int pilfer_io_make_nonblocking(int fd) { return pilfer::capi::code_of(pilfer::io::make_nonblocking(fd)); }

size_t pilfer_io_forget(int fd) { return pilfer::io::forget(fd); }

int pilfer_io_close(int fd) { return pilfer::capi::code_of(pilfer::io::close(fd)); }

} // extern "C"
