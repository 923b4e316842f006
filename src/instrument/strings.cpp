// Accesses of the C library's functions for strings and memory. Those for strings read up to the byte that
// decides.
#include <cctype>
#include <cstddef>

#include "instrument/real.hpp"

namespace race = pilfer::detail::race;
using race::length;
using race::seen;

namespace {

using text = const char*;

void reads(text s, std::size_t bytes, std::uint64_t site) noexcept { seen(s, bytes, false, site); }
void writes(void* to, std::size_t bytes, std::uint64_t site) noexcept { seen(to, bytes, true, site); }
void reads_all(text s, std::uint64_t site) noexcept {
    if (race::looks()) {
        reads(s, length(s) + 1, site);
    }
}
void reads_most(text s, std::size_t most, std::uint64_t site) noexcept {
    if (race::looks()) {
        const std::size_t n = length(s, most);
        reads(s, n < most ? n + 1 : n, site);
    }
}
/// Up to the place that a function has found.
void reads_upto(text s, text found, std::uint64_t site) noexcept {
    found != nullptr ? reads(s, static_cast<std::size_t>(found - s) + 1, site) : reads_all(s, site);
}
/// Both strings up to the first difference or their end.
void compares(text a, text b, std::size_t most, bool without_case, std::uint64_t site) noexcept {
    if (!race::looks()) {
        return;
    }
    const auto folded = [without_case](char c) {
        const auto u = static_cast<unsigned char>(c);
        return without_case ? std::tolower(u) : int{u};
    };
    std::size_t n = 0;
    while (n < most && a[n] != 0 && folded(a[n]) == folded(b[n])) {
        ++n;
    }
    reads(a, n < most ? n + 1 : n, site);
    reads(b, n < most ? n + 1 : n, site);
}
void copies(void* to, const void* from, std::size_t bytes, std::uint64_t site) noexcept {
    seen(from, bytes, false, site);
    seen(to, bytes, true, site);
}
/// A copy up to `most` characters, and a 0.
void appends(char* to, text from, std::size_t most, std::uint64_t site) noexcept {
    if (race::looks()) {
        const std::size_t n = length(from, most);
        reads(from, n < most ? n + 1 : n, site);
        const std::size_t before = length(to);
        reads(to, before + 1, site);
        writes(to + before, n + 1, site);
    }
}
void copies_string(char* to, text from, std::uint64_t site) noexcept {
    if (race::looks()) {
        copies(to, from, length(from) + 1, site);
    }
}
/// strncpy() fills the rest with 0.
void copies_most(char* to, text from, std::size_t n, std::uint64_t site) noexcept {
    reads_most(from, n, site);
    writes(to, n, site);
}

} // namespace

// ---- reads ------------------------------------------------------------------------------------------------

PILFER_STANDS_FOR(std::size_t, strlen, text s) {
    PILFER_REAL_OF(strlen);
    const std::size_t n = real(s);
    reads(s, n + 1, PILFER_SITE);
    return n;
}
PILFER_STANDS_FOR(std::size_t, strnlen, text s, std::size_t most) {
    PILFER_REAL_OF(strnlen);
    reads_most(s, most, PILFER_SITE);
    return real(s, most);
}

#define PILFER_COMPARES(name, without_case)                                                                  \
    PILFER_STANDS_FOR(int, name, text a, text b) {                                                           \
        PILFER_REAL_OF(name);                                                                                \
        compares(a, b, SIZE_MAX, without_case, PILFER_SITE);                                                 \
        return real(a, b);                                                                                   \
    }
PILFER_COMPARES(strcmp, false)
PILFER_COMPARES(strcasecmp, true)
#undef PILFER_COMPARES
#define PILFER_COMPARES(name, without_case)                                                                  \
    PILFER_STANDS_FOR(int, name, text a, text b, std::size_t n) {                                            \
        PILFER_REAL_OF(name);                                                                                \
        compares(a, b, n, without_case, PILFER_SITE);                                                        \
        return real(a, b, n);                                                                                \
    }
PILFER_COMPARES(strncmp, false)
PILFER_COMPARES(strncasecmp, true)
#undef PILFER_COMPARES

#define PILFER_COMPARES(name)                                                                                \
    PILFER_STANDS_FOR(int, name, const void* a, const void* b, std::size_t n) {                              \
        PILFER_REAL_OF(name);                                                                                \
        seen(a, n, false, PILFER_SITE);                                                                      \
        seen(b, n, false, PILFER_SITE);                                                                      \
        return real(a, b, n);                                                                                \
    }
PILFER_COMPARES(memcmp)
PILFER_COMPARES(bcmp)
#undef PILFER_COMPARES

#define PILFER_SEARCHES(name, wanted, all)                                                                   \
    PILFER_STANDS_FOR(char*, name, text s, wanted w) {                                                       \
        PILFER_REAL_OF(name);                                                                                \
        char* const found = real(s, w);                                                                      \
        reads_upto(s, (all) ? nullptr : found, PILFER_SITE);                                                 \
        return found;                                                                                        \
    }
PILFER_SEARCHES(strchr, int, false)
PILFER_SEARCHES(strchrnul, int, false)
PILFER_SEARCHES(strrchr, int, true)
#undef PILFER_SEARCHES
PILFER_STANDS_FOR(char*, strstr, text s, text part) {
    PILFER_REAL_OF(strstr);
    reads_all(part, PILFER_SITE);
    char* const found = real(s, part);
    reads_upto(s, found != nullptr ? found + (*part != 0 ? length(part) - 1 : 0) : nullptr, PILFER_SITE);
    return found;
}
PILFER_STANDS_FOR(char*, strpbrk, text s, text of) {
    PILFER_REAL_OF(strpbrk);
    reads_all(of, PILFER_SITE);
    char* const found = real(s, of);
    reads_upto(s, found, PILFER_SITE);
    return found;
}
#define PILFER_SPANS(name)                                                                                   \
    PILFER_STANDS_FOR(std::size_t, name, text s, text of) {                                                  \
        PILFER_REAL_OF(name);                                                                                \
        reads_all(of, PILFER_SITE);                                                                          \
        const std::size_t n = real(s, of);                                                                   \
        reads(s, n + 1, PILFER_SITE);                                                                        \
        return n;                                                                                            \
    }
PILFER_SPANS(strspn)
PILFER_SPANS(strcspn)
#undef PILFER_SPANS
PILFER_STANDS_FOR(void*, memchr, const void* s, int c, std::size_t n) {
    PILFER_REAL_OF(memchr);
    void* const found = real(s, c, n);
    seen(s,
         found != nullptr ? static_cast<std::size_t>(static_cast<text>(found) - static_cast<text>(s)) + 1 : n,
         false, PILFER_SITE);
    return found;
}

// The new memory of a copy belongs to the caller alone.
PILFER_STANDS_FOR(char*, strdup, text s) {
    PILFER_REAL_OF(strdup);
    reads_all(s, PILFER_SITE);
    return real(s);
}
PILFER_STANDS_FOR(char*, strndup, text s, std::size_t most) {
    PILFER_REAL_OF(strndup);
    reads_most(s, most, PILFER_SITE);
    return real(s, most);
}

// Numbers: the character after the last one decides. `end` is written, unless the base is none.
#define PILFER_INTEGER(result, name)                                                                         \
    PILFER_STANDS_FOR(result, name, text s, char** end, int base) {                                          \
        PILFER_REAL_OF(name);                                                                                \
        char* last = nullptr;                                                                                \
        const result value = real(s, &last, base);                                                           \
        reads(s, last != nullptr ? static_cast<std::size_t>(last - s) + 1 : 0, PILFER_SITE);                 \
        if (end != nullptr && last != nullptr) {                                                             \
            writes(end, sizeof *end, PILFER_SITE);                                                           \
            *end = last;                                                                                     \
        }                                                                                                    \
        return value;                                                                                        \
    }
PILFER_INTEGER(long, strtol)
PILFER_INTEGER(long long, strtoll)
PILFER_INTEGER(unsigned long, strtoul)
PILFER_INTEGER(unsigned long long, strtoull)
PILFER_INTEGER(long, __isoc23_strtol)
PILFER_INTEGER(long long, __isoc23_strtoll)
PILFER_INTEGER(unsigned long, __isoc23_strtoul)
PILFER_INTEGER(unsigned long long, __isoc23_strtoull)
#undef PILFER_INTEGER
#define PILFER_NUMBER(result, name)                                                                          \
    PILFER_STANDS_FOR(result, name, text s, char** end) {                                                    \
        PILFER_REAL_OF(name);                                                                                \
        char* last = nullptr;                                                                                \
        const result value = real(s, &last);                                                                 \
        reads(s, last != nullptr ? static_cast<std::size_t>(last - s) + 1 : 0, PILFER_SITE);                 \
        if (end != nullptr && last != nullptr) {                                                             \
            writes(end, sizeof *end, PILFER_SITE);                                                           \
            *end = last;                                                                                     \
        }                                                                                                    \
        return value;                                                                                        \
    }
PILFER_NUMBER(double, strtod)
PILFER_NUMBER(float, strtof)
#undef PILFER_NUMBER
#define PILFER_NUMBER(result, name)                                                                          \
    PILFER_STANDS_FOR(result, name, text s) {                                                                \
        PILFER_REAL_OF(name);                                                                                \
        reads_all(s, PILFER_SITE);                                                                           \
        return real(s);                                                                                      \
    }
PILFER_NUMBER(int, atoi)
PILFER_NUMBER(long, atol)
PILFER_NUMBER(double, atof)
#undef PILFER_NUMBER

// ---- copies, also those of _FORTIFY_SOURCE ----------------------------------------------------------------

#define PILFER_COPIES(name, copied)                                                                          \
    PILFER_STANDS_FOR(char*, name, char* to, text from) {                                                    \
        PILFER_REAL_OF(name);                                                                                \
        copied;                                                                                              \
        return real(to, from);                                                                               \
    }                                                                                                        \
    PILFER_STANDS_FOR(char*, __##name##_chk, char* to, text from, std::size_t room) {                        \
        PILFER_REAL_OF(__##name##_chk);                                                                      \
        copied;                                                                                              \
        return real(to, from, room);                                                                         \
    }
PILFER_COPIES(strcpy, copies_string(to, from, PILFER_SITE))
PILFER_COPIES(stpcpy, copies_string(to, from, PILFER_SITE))
PILFER_COPIES(strcat, appends(to, from, SIZE_MAX, PILFER_SITE))
#undef PILFER_COPIES
#define PILFER_COPIES(name, copied)                                                                          \
    PILFER_STANDS_FOR(char*, name, char* to, text from, std::size_t n) {                                     \
        PILFER_REAL_OF(name);                                                                                \
        copied;                                                                                              \
        return real(to, from, n);                                                                            \
    }                                                                                                        \
    PILFER_STANDS_FOR(char*, __##name##_chk, char* to, text from, std::size_t n, std::size_t room) {         \
        PILFER_REAL_OF(__##name##_chk);                                                                      \
        copied;                                                                                              \
        return real(to, from, n, room);                                                                      \
    }
PILFER_COPIES(strncpy, copies_most(to, from, n, PILFER_SITE))
PILFER_COPIES(stpncpy, copies_most(to, from, n, PILFER_SITE))
PILFER_COPIES(strncat, appends(to, from, n, PILFER_SITE))
#undef PILFER_COPIES

PILFER_STANDS_FOR(void*, mempcpy, void* to, const void* from, std::size_t n) {
    PILFER_REAL_OF(mempcpy);
    copies(to, from, n, PILFER_SITE);
    return real(to, from, n);
}
PILFER_STANDS_FOR(void, bzero, void* to, std::size_t n) {
    PILFER_REAL_OF(bzero);
    writes(to, n, PILFER_SITE);
    real(to, n);
}
#define PILFER_COPIES(name)                                                                                  \
    PILFER_STANDS_FOR(void*, __##name##_chk, void* to, const void* from, std::size_t n, std::size_t room) {  \
        PILFER_REAL_OF(__##name##_chk);                                                                      \
        copies(to, from, n, PILFER_SITE);                                                                    \
        return real(to, from, n, room);                                                                      \
    }
PILFER_COPIES(memcpy)
PILFER_COPIES(memmove)
PILFER_COPIES(mempcpy)
#undef PILFER_COPIES
PILFER_STANDS_FOR(void*, __memset_chk, void* to, int value, std::size_t n, std::size_t room) {
    PILFER_REAL_OF(__memset_chk);
    writes(to, n, PILFER_SITE);
    return real(to, value, n, room);
}
