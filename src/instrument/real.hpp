// Functions of the C library that functions of this room have taken the names of.
#pragma once

#include <dlfcn.h>

#include "race/notes.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail::race {

/// Not by the constructor of a static local, which would call __cxa_guard_release.
template <class Function>
void find(Function*& known, const char* name) noexcept {
    if (known == nullptr) {
        known = reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
    }
}

/// That of a string, by no call of strlen().
[[nodiscard]] inline std::size_t length(const char* s, std::size_t most = SIZE_MAX) noexcept {
    std::size_t n = 0;
    for (const volatile char* at = s; n < most && at[n] != 0; ++n) { // else the compiler makes it strlen()
    }
    return n;
}

} // namespace detail::race
} // namespace v0
} // namespace pilfer

/// Takes the name of a function of the C library. The compiler sees another name, so that neither the
/// declaration of a header nor what it knows of the function gets in the way. Weak: a program may define the
/// function itself.
#define PILFER_STANDS_FOR(result, name, ...)                                                                 \
    PILFER_HOOK [[gnu::weak]] result race_##name(__VA_ARGS__) asm(#name);                                    \
    PILFER_HOOK result race_##name(__VA_ARGS__)
/// Declares `real`, the function of the C library.
#define PILFER_REAL_OF(name)                                                                                 \
    static decltype(&race_##name) real = nullptr;                                                            \
    race::find(real, #name)
