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
    PILFER_HOOK int race_##name parameters asm(#name);                                                       \
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

/// What orders the tasks at both ends: a pipe, or one object for all sockets. Null: nothing does.
[[nodiscard]] const void* order_of(int fd) noexcept {
    static const char sockets = 0;
    struct stat what {};
    if (!race::looks() || fd <= 2 || fstat(fd, &what) != 0) {
        return nullptr; // another process is at the other end of the standard streams
    }
    if (S_ISSOCK(what.st_mode)) {
        return &sockets;
    }
    return S_ISFIFO(what.st_mode) ? reinterpret_cast<const void*>(~std::uintptr_t{what.st_ino}) : nullptr;
}
void announce_input(int fd, void* to, ssize_t n, std::uint64_t site) noexcept {
    if (n >= 0) {
        if (const void* const order = order_of(fd)) {
            race::acquire(order);
        }
        seen(to, static_cast<std::size_t>(n), true, site);
    }
}
void announce_output(int fd, const void* from, std::size_t n, std::uint64_t site) noexcept {
    seen(from, n, false, site);
    if (const void* const order = order_of(fd)) {
        race::release(order);
    }
}

} // namespace

#define PILFER_READS(name, parameters, ...)                                                                  \
    PILFER_HOOK ssize_t race_##name parameters asm(#name);                                                   \
    PILFER_HOOK ssize_t race_##name parameters {                                                             \
        PILFER_REAL_OF(name);                                                                                \
        const ssize_t n = real(fd, to, __VA_ARGS__);                                                         \
        announce_input(fd, to, std::min(n, static_cast<ssize_t>(bytes)), PILFER_SITE);                       \
        return n;                                                                                            \
    }
#define PILFER_WRITES(name, parameters, ...)                                                                 \
    PILFER_HOOK ssize_t race_##name parameters asm(#name);                                                   \
    PILFER_HOOK ssize_t race_##name parameters {                                                             \
        PILFER_REAL_OF(name);                                                                                \
        announce_output(fd, from, bytes, PILFER_SITE);                                                       \
        return real(fd, from, __VA_ARGS__);                                                                  \
    }
PILFER_READS(read, (int fd, void* to, std::size_t bytes), bytes)
PILFER_READS(__read_chk, (int fd, void* to, std::size_t bytes, std::size_t room), bytes, room)
PILFER_READS(pread, (int fd, void* to, std::size_t bytes, off_t at), bytes, at)
PILFER_READS(pread64, (int fd, void* to, std::size_t bytes, off64_t at), bytes, at)
PILFER_READS(recv, (int fd, void* to, std::size_t bytes, int flags), bytes, flags)
PILFER_READS(recvfrom,
             (int fd, void* to, std::size_t bytes, int flags, sockaddr* address, socklen_t* address_bytes),
             bytes, flags, address, address_bytes)
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
    const ssize_t n = real(fd, to, count);
    seen(to, sizeof *to * static_cast<std::size_t>(std::max(count, 0)), false, PILFER_SITE);
    ssize_t left = n;
    for (int i = 0; i < count && left > 0; left -= static_cast<ssize_t>(to[i++].iov_len)) {
        announce_input(fd, to[i].iov_base, std::min(left, static_cast<ssize_t>(to[i].iov_len)), PILFER_SITE);
    }
    return n;
}
PILFER_STANDS_FOR(ssize_t, writev, int fd, const iovec* from, int count) {
    PILFER_REAL_OF(writev);
    seen(from, sizeof *from * static_cast<std::size_t>(std::max(count, 0)), false, PILFER_SITE);
    for (int i = 0; i < count; ++i) {
        announce_output(fd, from[i].iov_base, from[i].iov_len, PILFER_SITE);
    }
    return real(fd, from, count);
}
/// The other end reads its end.
PILFER_STANDS_FOR(int, close, int fd) {
    PILFER_REAL_OF(close);
    if (const void* const order = order_of(fd)) {
        race::release(order);
    }
    return real(fd);
}

PILFER_STANDS_FOR(std::size_t, fread, void* to, std::size_t size, std::size_t n, std::FILE* file) {
    PILFER_REAL_OF(fread);
    const std::size_t got = real(to, size, n, file);
    seen(to, got * size, true, PILFER_SITE);
    return got;
}
PILFER_STANDS_FOR(char*, fgets, char* to, int room, std::FILE* file) {
    PILFER_REAL_OF(fgets);
    char* const got = real(to, room, file);
    if (got != nullptr && race::looks()) {
        room = static_cast<int>(race::length(got)) + 1;
    }
    seen(to, got != nullptr ? static_cast<std::size_t>(room) : 0, true, PILFER_SITE);
    return got;
}
PILFER_STANDS_FOR(std::size_t, fwrite, const void* from, std::size_t size, std::size_t n, std::FILE* file) {
    PILFER_REAL_OF(fwrite);
    seen(from, size * n, false, PILFER_SITE);
    return real(from, size, n, file);
}
#define PILFER_PUTS(name, parameters, ...)                                                                   \
    PILFER_HOOK int race_##name parameters asm(#name);                                                       \
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
