// Accesses of the C library's functions that print, move bytes between memory and files, or sort.
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>

#include <algorithm>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdio>

#include "instrument/real.hpp"

namespace race = pilfer::detail::race;
using race::seen;

// ---- printing into memory. Strings among the arguments are not looked at ----------------------------------

namespace {

[[nodiscard]] int printed(int n, char* to, std::size_t room, std::uint64_t site) noexcept {
    if (n >= 0 && room != 0) {
        seen(to, static_cast<std::size_t>(n) < room ? static_cast<std::size_t>(n) + 1 : room, true, site);
    }
    return n;
}

} // namespace

PILFER_STANDS_FOR(int, vsnprintf, char* to, std::size_t room, const char* format, va_list arguments) {
    PILFER_REAL_OF(vsnprintf);
    return printed(real(to, room, format, arguments), to, room, PILFER_SITE);
}
PILFER_STANDS_FOR(int, vsprintf, char* to, const char* format, va_list arguments) {
    PILFER_REAL_OF(vsprintf);
    return printed(real(to, format, arguments), to, SIZE_MAX, PILFER_SITE);
}
PILFER_STANDS_FOR(int, __vsnprintf_chk, char* to, std::size_t room, int flag, std::size_t size,
                  const char* format, va_list arguments) {
    PILFER_REAL_OF(__vsnprintf_chk);
    return printed(real(to, room, flag, size, format, arguments), to, room, PILFER_SITE);
}
PILFER_STANDS_FOR(int, __vsprintf_chk, char* to, int flag, std::size_t size, const char* format,
                  va_list arguments) {
    PILFER_REAL_OF(__vsprintf_chk);
    return printed(real(to, flag, size, format, arguments), to, SIZE_MAX, PILFER_SITE);
}
#define PILFER_PRINTS(name, with_list, room, parameters, ...)                                                \
    PILFER_HOOK [[gnu::weak]] int race_##name parameters asm(#name);                                         \
    PILFER_HOOK int race_##name parameters {                                                                 \
        static decltype(&race_##with_list) real = nullptr;                                                   \
        va_list arguments;                                                                                   \
        va_start(arguments, format);                                                                         \
        race::find(real, #with_list);                                                                        \
        const int n = real(__VA_ARGS__, format, arguments);                                                  \
        va_end(arguments);                                                                                   \
        return printed(n, to, room, PILFER_SITE);                                                            \
    }
PILFER_PRINTS(snprintf, vsnprintf, room, (char* to, std::size_t room, const char* format, ...), to, room)
PILFER_PRINTS(sprintf, vsprintf, SIZE_MAX, (char* to, const char* format, ...), to)
PILFER_PRINTS(__snprintf_chk, __vsnprintf_chk, room,
              (char* to, std::size_t room, int flag, std::size_t size, const char* format, ...), to, room,
              flag, size)
PILFER_PRINTS(__sprintf_chk, __vsprintf_chk, SIZE_MAX,
              (char* to, int flag, std::size_t size, const char* format, ...), to, flag, size)
#undef PILFER_PRINTS

// ---- files and sockets ------------------------------------------------------------------------------------

namespace {

/// The object that orders the tasks at both ends: a pipe, or one for all sockets and eventfds. Null: none.
[[nodiscard]] const void* order_of(int fd) noexcept {
    static const char others = 0;
    struct stat what {};
    if (!race::looks() || fd <= 2 || fstat(fd, &what) != 0) {
        return nullptr; // another process is at the other end of the standard streams
    }
    const mode_t kind = what.st_mode & S_IFMT;
    if (kind == S_IFSOCK || kind == 0) {
        return &others;
    }
    return kind == S_IFIFO ? reinterpret_cast<const void*>(~std::uintptr_t{what.st_ino}) : nullptr;
}

/// While it lives, a call may block until a function of blocking() has done something, for which that needs
/// the turn.
class may_block {
public:
    explicit may_block(const void* order) noexcept
        : m_task(order != nullptr ? race::running_fiber : nullptr),
          m_had_turn(m_task != nullptr && race::rests()) {}
    may_block(const may_block&) = delete;
    may_block& operator=(const may_block&) = delete;
    ~may_block() {
        if (m_had_turn) {
            race::goes_on();
            m_task->forget_answers();
        }
    }

private:
    race::fiber* m_task;
    bool m_had_turn;
};

template <class Call>
[[nodiscard]] ssize_t input(int fd, Call call) {
    const void* const order = order_of(fd);
    ssize_t n = 0;
    {
        const may_block here(order);
        n = call();
    }
    if (n >= 0 && order != nullptr) {
        race::acquire(order);
    }
    return n;
}
template <class Call>
[[nodiscard]] ssize_t output(int fd, Call call) {
    const void* const order = order_of(fd);
    if (order != nullptr) {
        race::release(order);
    }
    const may_block here(order);
    return call();
}
/// The first n bytes.
void fills(const iovec* to, std::size_t count, ssize_t n, std::uint64_t site) noexcept {
    seen(to, sizeof *to * count, false, site);
    for (std::size_t i = 0; i < count && n > 0; n -= static_cast<ssize_t>(to[i++].iov_len)) {
        seen(to[i].iov_base, std::min(static_cast<std::size_t>(n), to[i].iov_len), true, site);
    }
}
void empties(const iovec* from, std::size_t count, std::uint64_t site) noexcept {
    seen(from, sizeof *from * count, false, site);
    for (std::size_t i = 0; i < count && race::looks(); ++i) {
        seen(from[i].iov_base, from[i].iov_len, false, site);
    }
}
[[nodiscard]] std::size_t parts(int count) noexcept { return static_cast<std::size_t>(std::max(count, 0)); }

} // namespace

#define PILFER_READS(name, parameters, ...)                                                                  \
    PILFER_HOOK [[gnu::weak]] ssize_t race_##name parameters asm(#name);                                     \
    PILFER_HOOK ssize_t race_##name parameters {                                                             \
        PILFER_REAL_OF(name);                                                                                \
        const ssize_t n = input(fd, [&] { return real(fd, to, __VA_ARGS__); });                              \
        seen(to, n > 0 ? std::min(static_cast<std::size_t>(n), bytes) : 0, true, PILFER_SITE);               \
        return n;                                                                                            \
    }
#define PILFER_WRITES(name, parameters, ...)                                                                 \
    PILFER_HOOK [[gnu::weak]] ssize_t race_##name parameters asm(#name);                                     \
    PILFER_HOOK ssize_t race_##name parameters {                                                             \
        PILFER_REAL_OF(name);                                                                                \
        seen(from, bytes, false, PILFER_SITE);                                                               \
        return output(fd, [&] { return real(fd, from, __VA_ARGS__); });                                      \
    }
PILFER_READS(read, (int fd, void* to, std::size_t bytes), bytes)
PILFER_READS(__read_chk, (int fd, void* to, std::size_t bytes, std::size_t room), bytes, room)
PILFER_READS(pread, (int fd, void* to, std::size_t bytes, off_t at), bytes, at)
PILFER_READS(pread64, (int fd, void* to, std::size_t bytes, off64_t at), bytes, at)
PILFER_READS(__pread_chk, (int fd, void* to, std::size_t bytes, off_t at, std::size_t room), bytes, at, room)
PILFER_READS(__pread64_chk, (int fd, void* to, std::size_t bytes, off64_t at, std::size_t room), bytes, at,
             room)
PILFER_READS(recv, (int fd, void* to, std::size_t bytes, int flags), bytes, flags)
PILFER_READS(__recv_chk, (int fd, void* to, std::size_t bytes, std::size_t room, int flags), bytes, room,
             flags)
PILFER_READS(recvfrom,
             (int fd, void* to, std::size_t bytes, int flags, sockaddr* address, socklen_t* address_bytes),
             bytes, flags, address, address_bytes)
PILFER_READS(__recvfrom_chk,
             (int fd, void* to, std::size_t bytes, std::size_t room, int flags, sockaddr* address,
              socklen_t* address_bytes),
             bytes, room, flags, address, address_bytes)
PILFER_WRITES(write, (int fd, const void* from, std::size_t bytes), bytes)
PILFER_WRITES(pwrite, (int fd, const void* from, std::size_t bytes, off_t at), bytes, at)
PILFER_WRITES(pwrite64, (int fd, const void* from, std::size_t bytes, off64_t at), bytes, at)
PILFER_WRITES(send, (int fd, const void* from, std::size_t bytes, int flags), bytes, flags)
PILFER_WRITES(sendto,
              (int fd, const void* from, std::size_t bytes, int flags, const sockaddr* address,
               socklen_t address_bytes),
              bytes, flags, address, address_bytes)
#undef PILFER_READS
#undef PILFER_WRITES
PILFER_STANDS_FOR(ssize_t, readv, int fd, const iovec* to, int count) {
    PILFER_REAL_OF(readv);
    const ssize_t n = input(fd, [&] { return real(fd, to, count); });
    fills(to, parts(count), n, PILFER_SITE);
    return n;
}
PILFER_STANDS_FOR(ssize_t, writev, int fd, const iovec* from, int count) {
    PILFER_REAL_OF(writev);
    empties(from, parts(count), PILFER_SITE);
    return output(fd, [&] { return real(fd, from, count); });
}
PILFER_STANDS_FOR(ssize_t, recvmsg, int fd, msghdr* to, int flags) {
    PILFER_REAL_OF(recvmsg);
    const ssize_t n = input(fd, [&] { return real(fd, to, flags); });
    fills(to->msg_iov, to->msg_iovlen, n, PILFER_SITE);
    return n;
}
PILFER_STANDS_FOR(ssize_t, sendmsg, int fd, const msghdr* from, int flags) {
    PILFER_REAL_OF(sendmsg);
    empties(from->msg_iov, from->msg_iovlen, PILFER_SITE);
    return output(fd, [&] { return real(fd, from, flags); });
}
PILFER_STANDS_FOR(int, eventfd_read, int fd, std::uint64_t* to) {
    PILFER_REAL_OF(eventfd_read);
    const ssize_t n = input(fd, [&] { return real(fd, to); });
    seen(to, n == 0 ? sizeof *to : 0, true, PILFER_SITE);
    return static_cast<int>(n);
}
PILFER_STANDS_FOR(int, eventfd_write, int fd, std::uint64_t value) {
    PILFER_REAL_OF(eventfd_write);
    return static_cast<int>(output(fd, [&] { return real(fd, value); }));
}
/// The other end reads its end. Most ends are read by no task, so the promise does not suffer.
PILFER_STANDS_FOR(int, close, int fd) {
    PILFER_REAL_OF(close);
    if (const void* const order = order_of(fd)) {
        race::release_guard(order);
    }
    return real(fd);
}

PILFER_STANDS_FOR(std::size_t, fread, void* to, std::size_t size, std::size_t n, std::FILE* file) {
    PILFER_REAL_OF(fread);
    const std::size_t got = real(to, size, n, file);
    seen(to, got * size, true, PILFER_SITE);
    return got;
}
PILFER_STANDS_FOR(std::size_t, __fread_chk, void* to, std::size_t room, std::size_t size, std::size_t n,
                  std::FILE* file) {
    PILFER_REAL_OF(__fread_chk);
    const std::size_t got = real(to, room, size, n, file);
    seen(to, got * size, true, PILFER_SITE);
    return got;
}
namespace {
char* line_got(char* got, std::uint64_t site) noexcept {
    if (got != nullptr && race::looks()) {
        seen(got, race::length(got) + 1, true, site);
    }
    return got;
}
} // namespace
PILFER_STANDS_FOR(char*, fgets, char* to, int room, std::FILE* file) {
    PILFER_REAL_OF(fgets);
    return line_got(real(to, room, file), PILFER_SITE);
}
PILFER_STANDS_FOR(char*, __fgets_chk, char* to, std::size_t size, int room, std::FILE* file) {
    PILFER_REAL_OF(__fgets_chk);
    return line_got(real(to, size, room, file), PILFER_SITE);
}
PILFER_STANDS_FOR(std::size_t, fwrite, const void* from, std::size_t size, std::size_t n, std::FILE* file) {
    PILFER_REAL_OF(fwrite);
    seen(from, size * n, false, PILFER_SITE);
    return real(from, size, n, file);
}
#define PILFER_PUTS(name, parameters, ...)                                                                   \
    PILFER_HOOK [[gnu::weak]] int race_##name parameters asm(#name);                                         \
    PILFER_HOOK int race_##name parameters {                                                                 \
        PILFER_REAL_OF(name);                                                                                \
        seen(text, race::looks() ? race::length(text) + 1 : 0, false, PILFER_SITE);                          \
        return real(__VA_ARGS__);                                                                            \
    }
PILFER_PUTS(fputs, (const char* text, std::FILE* file), text, file)
PILFER_PUTS(puts, (const char* text), text)
#undef PILFER_PUTS

// ---- sorting ----------------------------------------------------------------------------------------------

// The elements are written. Calls of `order` are the program's own.
PILFER_STANDS_FOR(void, qsort, void* from, std::size_t n, std::size_t size,
                  int (*order)(const void*, const void*)) {
    PILFER_REAL_OF(qsort);
    seen(from, n < 2 ? 0 : n * size, true, PILFER_SITE);
    real(from, n, size, order);
}
PILFER_STANDS_FOR(void, qsort_r, void* from, std::size_t n, std::size_t size,
                  int (*order)(const void*, const void*, void*), void* argument) {
    PILFER_REAL_OF(qsort_r);
    seen(from, n < 2 ? 0 : n * size, true, PILFER_SITE);
    real(from, n, size, order, argument);
}
