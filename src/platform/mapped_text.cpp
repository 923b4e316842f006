#include "platform/mapped_text.hpp"

#if defined(PILFER_TEST)

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <limits>
#include <new>
#include <system_error>

namespace pilfer {
inline namespace v0 {
namespace os {
namespace {

/// The file gets its blocks in pieces of this size. A write to a page without a block would end the program
/// on a full disk.
constexpr std::size_t piece = std::size_t{256} << 10;

/// Opens and empties the file of a text. No other process may have a text there, because a store to its
/// memory would raise SIGBUS after the file became shorter. A child of fork() does not have the lock. The
/// last bytes that a file may have are not locked: those belong to the lock of `pilfer record`.
[[nodiscard]] int open_empty(const char* file) noexcept {
    const int fd = open(file, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0) {
        return -1;
    }
    struct flock all {};
    all.l_type = F_WRLCK;
    all.l_whence = SEEK_SET;
    all.l_len = std::numeric_limits<off_t>::max() / 2;
    const bool is_busy = fcntl(fd, F_SETLK, &all) < 0 && (errno == EACCES || errno == EAGAIN);
    if (is_busy || ftruncate(fd, 0) < 0) {
        const int error = is_busy ? EBUSY : errno;
        (void)::close(fd);
        errno = error;
        return -1;
    }
    return fd;
}

[[noreturn]] void cannot_write(int error, const std::string& file) {
    throw std::system_error(error, std::generic_category(), "pilfer: " + file);
}

} // namespace

mapped_text::mapped_text(const std::string& file, std::size_t most) : m_most(most) {
    int how = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    if (!file.empty()) {
        m_file = open_empty(file.c_str());
        if (m_file < 0) {
            cannot_write(errno, file);
        }
        how = MAP_SHARED;
    }
    void* const p = mmap(nullptr, most, PROT_READ | PROT_WRITE, how, m_file, 0);
    const int error = errno;
    if (p == MAP_FAILED) {
        if (m_file < 0) {
            throw std::bad_alloc();
        }
        (void)::close(m_file);
        cannot_write(error, file);
    }
    m_at = static_cast<char*>(p);
    if (!grow(reserved)) {
        (void)munmap(m_at, m_most);
        (void)::close(m_file);
        cannot_write(ENOSPC, file);
    }
}

mapped_text::~mapped_text() {
    close();
    (void)munmap(m_at, m_most);
}

bool mapped_text::grow(std::size_t needed) noexcept {
    if (needed > m_most) {
        return false;
    }
    if (needed <= m_room) {
        return true;
    }
    const std::size_t more = std::min(m_most, (needed + piece - 1) / piece * piece) - m_room;
    if (m_file >= 0 && posix_fallocate(m_file, static_cast<off_t>(m_room), static_cast<off_t>(more)) != 0) {
        return false;
    }
    m_room += more;
    return true;
}

/// The last byte, a line's end, comes after the others, so that no reader takes a part for a line.
void mapped_text::put(std::string_view line) noexcept {
    if (line.empty()) {
        return;
    }
    std::memcpy(m_at + m_length, line.data(), line.size() - 1);
    std::atomic_ref(m_at[m_length + line.size() - 1]).store(line.back(), std::memory_order_release);
    m_length += line.size();
}

bool mapped_text::append(std::string_view line) noexcept {
    if (!grow(m_length + line.size() + reserved)) {
        return false;
    }
    put(line);
    return true;
}

void mapped_text::append_last(std::string_view line) noexcept {
    put(line.substr(0, std::min(m_room - m_length, reserved)));
}

void mapped_text::close() noexcept {
    if (m_file >= 0) {
        (void)ftruncate(m_file, static_cast<off_t>(m_length)); // else its reader skips the zeros
        (void)::close(m_file);
        m_file = -1;
    }
}

} // namespace os
} // namespace v0
} // namespace pilfer

#endif
