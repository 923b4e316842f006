// Functions of the C library that are watched: memory, locks, and waits.
#include <cxxabi.h>
#include <malloc.h>
#include <pthread.h>
#include <time.h>

#include <cerrno>
#include <new>

#include "instrument/real.hpp"

namespace race = pilfer::detail::race;
using race::seen;

// ---- the C library ----------------------------------------------------------------------------------------

extern "C" {
void* __libc_malloc(std::size_t) noexcept;
void __libc_free(void*) noexcept;
void* __libc_calloc(std::size_t, std::size_t) noexcept;
void* __libc_realloc(void*, std::size_t) noexcept;
void* __libc_memalign(std::size_t, std::size_t) noexcept;
}

namespace {

[[nodiscard]] void* made(void* p) noexcept {
    if (race::fiber* const f = race::running_fiber; p != nullptr && f != nullptr) {
        f->forget_answers();
        race::the.shadow.forget(reinterpret_cast<std::uintptr_t>(p), malloc_usable_size(p));
    } else if (p != nullptr && race::noting != nullptr) {
        race::add_note(race::did::makes, p, malloc_usable_size(p), 0);
    }
    return p;
}

void give(void* p, std::uint64_t site) noexcept {
    if (race::fiber* const f = race::running_fiber; p != nullptr && f != nullptr) {
        race::deleted(*f, reinterpret_cast<std::uintptr_t>(p), malloc_usable_size(p), site);
    } else if (p != nullptr && race::noting != nullptr) {
        race::add_note(race::did::gives, p, malloc_usable_size(p),
                       site); // freed then: no other task gets it before
        return;
    }
    __libc_free(p);
}

} // namespace

PILFER_HOOK void* malloc(std::size_t size) noexcept { return made(__libc_malloc(size)); }
PILFER_HOOK void* calloc(std::size_t n, std::size_t size) noexcept { return made(__libc_calloc(n, size)); }
PILFER_HOOK void* realloc(void* p, std::size_t size) noexcept {
    const race::in_turn here;
    const std::size_t before = p != nullptr ? malloc_usable_size(p) : 0;
    void* const q = __libc_realloc(p, size);
    if (q != p) {
        return made(q);
    }
    if (const std::size_t now = q != nullptr ? malloc_usable_size(q) : 0; now > before) {
        race::fresh(static_cast<char*>(q) + before, now - before);
    }
    return q;
}
PILFER_HOOK void* memalign(std::size_t alignment, std::size_t size) noexcept {
    return made(__libc_memalign(alignment, size));
}
PILFER_HOOK void* aligned_alloc(std::size_t alignment, std::size_t size) noexcept {
    return made(__libc_memalign(alignment, size));
}
PILFER_HOOK int posix_memalign(void** to, std::size_t alignment, std::size_t size) noexcept {
    void* const p = made(__libc_memalign(alignment, size));
    if (p == nullptr) {
        return 12; // ENOMEM
    }
    *to = p;
    return 0;
}
PILFER_HOOK void free(void* p) noexcept { give(p, PILFER_SITE); }
namespace {
constinit thread_local std::uint64_t site_of_delete = 0; // of the operator that calls the next one
} // namespace
#define PILFER_DELETE(name, parameters, call)                                                                \
    [[gnu::weak]] void operator name parameters noexcept {                                                   \
        site_of_delete = PILFER_SITE;                                                                        \
        call;                                                                                                \
        site_of_delete = 0;                                                                                  \
    }
[[gnu::weak]] void operator delete(void* p) noexcept {
    give(p, site_of_delete != 0 ? site_of_delete : PILFER_SITE);
}
[[gnu::weak]] void operator delete(void* p, std::align_val_t) noexcept {
    give(p, site_of_delete != 0 ? site_of_delete : PILFER_SITE);
}
// The others call these, as in libstdc++: a program may replace these alone.
PILFER_DELETE(delete, (void* p, std::size_t), ::operator delete(p))
PILFER_DELETE(delete[], (void* p), ::operator delete(p))
PILFER_DELETE(delete[], (void* p, std::size_t), ::operator delete(p))
PILFER_DELETE(delete, (void* p, std::size_t, std::align_val_t a), ::operator delete(p, a))
PILFER_DELETE(delete[], (void* p, std::align_val_t a), ::operator delete(p, a))
PILFER_DELETE(delete[], (void* p, std::size_t, std::align_val_t a), ::operator delete(p, a))
#undef PILFER_DELETE

namespace {

[[gnu::always_inline]] inline void copy_up(void* to, const void* from, std::size_t size) noexcept {
#if defined(__x86_64__)
    asm volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(size) : : "memory");
#else
    auto* t = static_cast<volatile unsigned char*>(to);
    const auto* f = static_cast<const volatile unsigned char*>(from);
    for (std::size_t i = 0; i < size; ++i) {
        t[i] = f[i];
    }
#endif
}

} // namespace

PILFER_HOOK void* memcpy(void* to, const void* from, std::size_t size) noexcept {
    seen(from, size, false, PILFER_SITE);
    seen(to, size, true, PILFER_SITE);
    copy_up(to, from, size);
    return to;
}
PILFER_HOOK void* memmove(void* to, const void* from, std::size_t size) noexcept {
    seen(from, size, false, PILFER_SITE);
    seen(to, size, true, PILFER_SITE);
    if (reinterpret_cast<std::uintptr_t>(to) - reinterpret_cast<std::uintptr_t>(from) >= size) {
        copy_up(to, from, size);
    } else {
        auto* const t = static_cast<volatile unsigned char*>(to);
        const auto* const f = static_cast<const volatile unsigned char*>(from);
        for (std::size_t i = size; i-- != 0;) {
            t[i] = f[i];
        }
    }
    return to;
}
PILFER_HOOK void* memset(void* to, int value, std::size_t size) noexcept {
    seen(to, size, true, PILFER_SITE);
#if defined(__x86_64__)
    void* at = to;
    asm volatile("rep stosb" : "+D"(at), "+c"(size) : "a"(value) : "memory");
#else
    auto* const t = static_cast<volatile unsigned char*>(to);
    for (std::size_t i = 0; i < size; ++i) {
        t[i] = static_cast<unsigned char>(value);
    }
#endif
    return to;
}
PILFER_HOOK void* __tsan_memcpy(void* to, const void* from, std::size_t size) noexcept {
    seen(from, size, false, PILFER_SITE);
    seen(to, size, true, PILFER_SITE);
    copy_up(to, from, size);
    return to;
}
PILFER_HOOK void* __tsan_memmove(void* to, const void* from, std::size_t size) noexcept {
    return memmove(to, from, size);
}
PILFER_HOOK void* __tsan_memset(void* to, int value, std::size_t size) noexcept {
    return memset(to, value, size);
}

// ---- waits outside the library: another thread may run tasks meanwhile
// -------------------------------------

#define PILFER_REAL(result, arguments, name)                                                                 \
    static result(*real) arguments = nullptr;                                                                \
    race::find(real, name)

// The names of the waits are in parentheses: a check forbids to call them.
#define PILFER_WAITS(call)                                                                                   \
    const bool had = race::rests();                                                                          \
    const auto result = call;                                                                                \
    if (had) {                                                                                               \
        race::goes_on();                                                                                     \
    }                                                                                                        \
    return result

PILFER_HOOK int pthread_create(pthread_t* thread, const pthread_attr_t* how, void* (*entry)(void*),
                               void* argument) {
    PILFER_REAL(int, (pthread_t*, const pthread_attr_t*, void* (*)(void*), void*), "pthread_create");
    race::thread_begins();
    return real(thread, how, entry, argument);
}

// A std::mutex is a lock like one of the library.
#define PILFER_LOCKS(name)                                                                                   \
    PILFER_HOOK int name(pthread_mutex_t* m) noexcept {                                                      \
        PILFER_REAL(int, (pthread_mutex_t*), #name);                                                         \
        const int result = real(m);                                                                          \
        if (result == 0) {                                                                                   \
            race::locks(m);                                                                                  \
        }                                                                                                    \
        return result;                                                                                       \
    }
PILFER_LOCKS(pthread_mutex_trylock)
#undef PILFER_LOCKS
/// Its holder may need the turn before it unlocks.
PILFER_HOOK int pthread_mutex_lock(pthread_mutex_t* m) noexcept {
    PILFER_REAL(int, (pthread_mutex_t*), "pthread_mutex_lock");
    race::fiber* const f = race::running_fiber;
    int result = f != nullptr ? pthread_mutex_trylock(m) : real(m);
    if (f != nullptr && result == EBUSY) {
        const bool had = race::rests();
        result = real(m);
        if (had) {
            race::goes_on();
        }
        f->forget_answers();
        if (result == 0) {
            race::locks(m);
        }
    } else if (f == nullptr && result == 0) {
        race::locks(m);
    }
    return result;
}
PILFER_HOOK int pthread_mutex_unlock(pthread_mutex_t* m) noexcept {
    PILFER_REAL(int, (pthread_mutex_t*), "pthread_mutex_unlock");
    race::unlocks(m);
    return real(m);
}

// pthread_once() and the constructor of a static local are edges to all who find them done: g++ loads a guard
// by an atomic operation.
namespace {
using plain_function = void (*)();
constinit thread_local plain_function once_function = nullptr;
constinit thread_local const void* once_object = nullptr;
void run_once() {
    const void* const object = once_object;
    once_function();
    race::release_guard(object);
}
} // namespace
PILFER_HOOK int pthread_once(pthread_once_t* once, void (*function)()) {
    PILFER_REAL(int, (pthread_once_t*, void (*)()), "pthread_once");
    once_function = function;
    once_object = once;
    const int result = real(once, &run_once);
    race::acquire(once);
    return result;
}
namespace __cxxabiv1 {
PILFER_HOOK int __cxa_guard_acquire(__guard* guard) {
    PILFER_REAL(int, (__guard*), "__cxa_guard_acquire");
    const int makes = real(guard);
    if (makes == 0) {
        race::acquire(guard);
    }
    return makes;
}
PILFER_HOOK void __cxa_guard_release(__guard* guard) noexcept {
    PILFER_REAL(void, (__guard*), "__cxa_guard_release");
    race::release_guard(guard);
    real(guard);
}
} // namespace __cxxabiv1

PILFER_HOOK int pthread_join(pthread_t thread, void** result_of) {
    PILFER_REAL(int, (pthread_t, void**), "pthread_join");
    PILFER_WAITS(real(thread, result_of));
}
PILFER_HOOK int(clock_nanosleep)(clockid_t clock, int flags, const timespec* t, timespec* left) {
    PILFER_REAL(int, (clockid_t, int, const timespec*, timespec*), "clock_nanosleep");
    PILFER_WAITS(real(clock, flags, t, left));
}
PILFER_HOOK int(nanosleep)(const timespec* t, timespec* left) {
    PILFER_REAL(int, (const timespec*, timespec*), "nanosleep");
    PILFER_WAITS(real(t, left));
}
