// The entry points that -fsanitize=thread calls, and the functions of the C library that are watched.
#if defined(PILFER_RACE)

#include <cxxabi.h>
#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "race/detector.hpp"

namespace race = pilfer::detail::race;

#define PILFER_HOOK extern "C" [[gnu::used, gnu::visibility("default")]]
#define PILFER_SITE reinterpret_cast<std::uint64_t>(__builtin_return_address(0))

namespace {

[[gnu::always_inline]] inline void seen(const volatile void* at, std::size_t size, bool writes,
                                        std::uint64_t site) noexcept {
    if (race::fiber* const f = race::running_fiber) {
        race::access(*f, reinterpret_cast<std::uintptr_t>(at), size, writes, site);
    }
}

} // namespace

// ---- calls ----------------------------------------------------------------------------------------------

namespace {

void at_end() noexcept {
    // The report is the last thing: after destructors of the program's objects.
    race::stop();
    const int status = race::write_report(race::found());
    if (status >= 0) {
        std::fflush(nullptr);
        std::_Exit(status);
    }
}

} // namespace

PILFER_HOOK void __tsan_init() noexcept {
    static bool done = false;
    if (!done) {
        done = true;
        race::begin_program();
        std::atexit(&at_end);
    }
}
PILFER_HOOK void __tsan_func_entry(void* returns_to) noexcept {
    race::fiber* const f = race::running_fiber;
    if (f == nullptr) [[unlikely]] {
        return;
    }
    const auto stack = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
    if (stack < f->lowest) {
        f->lowest = stack;
    }
    race::frame* const top = ++f->top;
    top->returns_to = reinterpret_cast<std::uint64_t>(returns_to);
    top->calls = 0;
    top->segment = 0;
    f->segment = 0;
}
PILFER_HOOK void __tsan_func_exit() noexcept {
    race::fiber* const f = race::running_fiber;
    if (f == nullptr) [[unlikely]] {
        return;
    }
    if (f->top != f->frames) {
        --f->top;
    }
    race::returned(*f);
}
PILFER_HOOK void __tsan_ignore_thread_begin() noexcept {
    if (race::running_fiber != nullptr) {
        ++race::running_fiber->unseen;
    }
}
PILFER_HOOK void __tsan_ignore_thread_end() noexcept {
    if (race::running_fiber != nullptr && race::running_fiber->unseen != 0) {
        --race::running_fiber->unseen;
    }
}
PILFER_HOOK void AnnotateIgnoreReadsBegin(const char*, int) noexcept { __tsan_ignore_thread_begin(); }
PILFER_HOOK void AnnotateIgnoreReadsEnd(const char*, int) noexcept { __tsan_ignore_thread_end(); }
PILFER_HOOK void AnnotateIgnoreWritesBegin(const char*, int) noexcept { __tsan_ignore_thread_begin(); }
PILFER_HOOK void AnnotateIgnoreWritesEnd(const char*, int) noexcept { __tsan_ignore_thread_end(); }

// ---- stacks -----------------------------------------------------------------------------------------------

PILFER_HOOK void* __tsan_get_current_fiber() noexcept { return race::make_fiber(true); }
PILFER_HOOK void* __tsan_create_fiber(unsigned) noexcept { return race::make_fiber(false); }
PILFER_HOOK void __tsan_destroy_fiber(void* f) noexcept { race::give_fiber(static_cast<race::fiber*>(f)); }
PILFER_HOOK void __tsan_switch_to_fiber(void* f, unsigned) noexcept {
    race::switch_to(static_cast<race::fiber*>(f));
}
PILFER_HOOK void __tsan_set_fiber_name(void*, const char*) noexcept {}
PILFER_HOOK void __tsan_acquire(void* object) noexcept { race::acquire(object); }
PILFER_HOOK void __tsan_release(void* object) noexcept { race::release(object); }

// ---- accesses ---------------------------------------------------------------------------------------------

#define PILFER_ACCESS(bytes)                                                                                 \
    PILFER_HOOK void __tsan_read##bytes(void* at) noexcept { seen(at, bytes, false, PILFER_SITE); }          \
    PILFER_HOOK void __tsan_write##bytes(void* at) noexcept { seen(at, bytes, true, PILFER_SITE); }          \
    PILFER_HOOK void __tsan_read_write##bytes(void* at) noexcept { seen(at, bytes, true, PILFER_SITE); }     \
    PILFER_HOOK void __tsan_volatile_read##bytes(void* at) noexcept { seen(at, bytes, false, PILFER_SITE); } \
    PILFER_HOOK void __tsan_volatile_write##bytes(void* at) noexcept { seen(at, bytes, true, PILFER_SITE); } \
    PILFER_HOOK void __tsan_unaligned_read##bytes(void* at) noexcept {                                       \
        seen(at, bytes, false, PILFER_SITE);                                                                 \
    }                                                                                                        \
    PILFER_HOOK void __tsan_unaligned_write##bytes(void* at) noexcept {                                      \
        seen(at, bytes, true, PILFER_SITE);                                                                  \
    }                                                                                                        \
    PILFER_HOOK void __tsan_unaligned_read_write##bytes(void* at) noexcept {                                 \
        seen(at, bytes, true, PILFER_SITE);                                                                  \
    }                                                                                                        \
    PILFER_HOOK void __tsan_unaligned_volatile_read##bytes(void* at) noexcept {                              \
        seen(at, bytes, false, PILFER_SITE);                                                                 \
    }                                                                                                        \
    PILFER_HOOK void __tsan_unaligned_volatile_write##bytes(void* at) noexcept {                             \
        seen(at, bytes, true, PILFER_SITE);                                                                  \
    }
PILFER_ACCESS(1)
PILFER_ACCESS(2)
PILFER_ACCESS(4)
PILFER_ACCESS(8)
PILFER_ACCESS(16)
#undef PILFER_ACCESS

PILFER_HOOK void __tsan_read_range(void* at, std::size_t size) noexcept {
    seen(at, size, false, PILFER_SITE);
}
PILFER_HOOK void __tsan_write_range(void* at, std::size_t size) noexcept {
    seen(at, size, true, PILFER_SITE);
}
PILFER_HOOK void __tsan_vptr_read(void** at) noexcept { seen(at, sizeof *at, false, PILFER_SITE); }
PILFER_HOOK void __tsan_vptr_update(void** at, void* value) noexcept {
    if (*at != value) {
        seen(at, sizeof *at, true, PILFER_SITE);
    }
}

// ---- atomic operations ------------------------------------------------------------------------------------

namespace {

constexpr int acquires =
    1 << __ATOMIC_CONSUME | 1 << __ATOMIC_ACQUIRE | 1 << __ATOMIC_ACQ_REL | 1 << __ATOMIC_SEQ_CST;
constexpr int releases = 1 << __ATOMIC_RELEASE | 1 << __ATOMIC_ACQ_REL | 1 << __ATOMIC_SEQ_CST;

[[gnu::always_inline]] inline void before_atomic(const volatile void* at, int order,
                                                 std::uint64_t site) noexcept {
    if (race::running_fiber == nullptr) {
        return;
    }
    if ((releases >> (order & 15) & 1) != 0) {
        race::release(const_cast<const void*>(at));
    } else {
        race::relaxed_change(site);
    }
}
[[gnu::always_inline]] inline void after_atomic(const volatile void* at, int order) noexcept {
    if (race::running_fiber != nullptr && (acquires >> (order & 15) & 1) != 0) [[unlikely]] {
        race::acquire(const_cast<const void*>(at));
    }
}

} // namespace

#define PILFER_ATOMIC(bits, type)                                                                            \
    PILFER_HOOK type __tsan_atomic##bits##_load(const volatile type* at, int order) noexcept {               \
        const type v = __atomic_load_n(at, __ATOMIC_SEQ_CST);                                                \
        after_atomic(at, order);                                                                             \
        return v;                                                                                            \
    }                                                                                                        \
    PILFER_HOOK void __tsan_atomic##bits##_store(volatile type* at, type v, int order) noexcept {            \
        before_atomic(at, order, PILFER_SITE);                                                               \
        __atomic_store_n(at, v, __ATOMIC_SEQ_CST);                                                           \
    }                                                                                                        \
    PILFER_CHANGE(bits, type, exchange, __atomic_exchange_n)                                                 \
    PILFER_CHANGE(bits, type, fetch_add, __atomic_fetch_add)                                                 \
    PILFER_CHANGE(bits, type, fetch_sub, __atomic_fetch_sub)                                                 \
    PILFER_CHANGE(bits, type, fetch_and, __atomic_fetch_and)                                                 \
    PILFER_CHANGE(bits, type, fetch_or, __atomic_fetch_or)                                                   \
    PILFER_CHANGE(bits, type, fetch_xor, __atomic_fetch_xor)                                                 \
    PILFER_CHANGE(bits, type, fetch_nand, __atomic_fetch_nand)                                               \
    PILFER_COMPARE(bits, type, strong)                                                                       \
    PILFER_COMPARE(bits, type, weak)                                                                         \
    PILFER_HOOK type __tsan_atomic##bits##_compare_exchange_val(volatile type* at, type expected, type v,    \
                                                                int order, int failed) noexcept {            \
        (void)__tsan_atomic##bits##_compare_exchange_strong(at, &expected, v, order, failed);                \
        return expected;                                                                                     \
    }
#define PILFER_CHANGE(bits, type, name, builtin)                                                             \
    PILFER_HOOK type __tsan_atomic##bits##_##name(volatile type* at, type v, int order) noexcept {           \
        before_atomic(at, order, PILFER_SITE);                                                               \
        const type was = builtin(at, v, __ATOMIC_SEQ_CST);                                                   \
        after_atomic(at, order);                                                                             \
        return was;                                                                                          \
    }
#define PILFER_COMPARE(bits, type, kind)                                                                     \
    PILFER_HOOK bool __tsan_atomic##bits##_compare_exchange_##kind(volatile type* at, type* expected,        \
                                                                   type v, int order, int failed) noexcept { \
        before_atomic(at, order, PILFER_SITE);                                                               \
        const bool done =                                                                                    \
            __atomic_compare_exchange_n(at, expected, v, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);         \
        after_atomic(at, done ? order : failed);                                                             \
        return done;                                                                                         \
    }
PILFER_ATOMIC(8, std::uint8_t)
PILFER_ATOMIC(16, std::uint16_t)
PILFER_ATOMIC(32, std::uint32_t)
PILFER_ATOMIC(64, std::uint64_t)
#undef PILFER_ATOMIC
#undef PILFER_CHANGE
#undef PILFER_COMPARE

PILFER_HOOK void __tsan_atomic_thread_fence(int order) noexcept {
    std::atomic_thread_fence(std::memory_order_seq_cst);
    race::fence((acquires >> (order & 15) & 1) != 0, (releases >> (order & 15) & 1) != 0);
}
PILFER_HOOK void __tsan_atomic_signal_fence(int) noexcept {
    std::atomic_signal_fence(std::memory_order_seq_cst);
}

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
    if (p != nullptr && race::running_fiber != nullptr) {
        race::forget(reinterpret_cast<std::uintptr_t>(p), malloc_usable_size(p));
    }
    return p;
}

} // namespace

PILFER_HOOK void* malloc(std::size_t size) noexcept { return made(__libc_malloc(size)); }
PILFER_HOOK void* calloc(std::size_t n, std::size_t size) noexcept { return made(__libc_calloc(n, size)); }
PILFER_HOOK void* realloc(void* p, std::size_t size) noexcept {
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
PILFER_HOOK void free(void* p) noexcept { __libc_free(p); }

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

namespace {

/// Not by the constructor of a static local, which would call __cxa_guard_release.
template <class Function>
void find(Function*& known, const char* name) noexcept {
    if (known == nullptr) {
        known = reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
    }
}

} // namespace

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
    static int (*real)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*) = nullptr;
    find(real, "pthread_create");
    race::thread_begins();
    return real(thread, how, entry, argument);
}

// A std::mutex is a lock like one of the library.
PILFER_HOOK int pthread_mutex_lock(pthread_mutex_t* m) noexcept {
    static int (*real)(pthread_mutex_t*) = nullptr;
    find(real, "pthread_mutex_lock");
    const int result = real(m);
    if (result == 0) {
        race::locks(m);
    }
    return result;
}
PILFER_HOOK int pthread_mutex_trylock(pthread_mutex_t* m) noexcept {
    static int (*real)(pthread_mutex_t*) = nullptr;
    find(real, "pthread_mutex_trylock");
    const int result = real(m);
    if (result == 0) {
        race::locks(m);
    }
    return result;
}
PILFER_HOOK int pthread_mutex_unlock(pthread_mutex_t* m) noexcept {
    static int (*real)(pthread_mutex_t*) = nullptr;
    find(real, "pthread_mutex_unlock");
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
    static int (*real)(pthread_once_t*, void (*)()) = nullptr;
    find(real, "pthread_once");
    once_function = function;
    once_object = once;
    const int result = real(once, &run_once);
    race::acquire(once);
    return result;
}
namespace __cxxabiv1 {
PILFER_HOOK int __cxa_guard_acquire(__guard* guard) {
    static int (*real)(__guard*) = nullptr;
    find(real, "__cxa_guard_acquire");
    const int makes = real(guard);
    if (makes == 0) {
        race::acquire(guard);
    }
    return makes;
}
PILFER_HOOK void __cxa_guard_release(__guard* guard) noexcept {
    static void (*real)(__guard*) = nullptr;
    find(real, "__cxa_guard_release");
    race::release_guard(guard);
    real(guard);
}
} // namespace __cxxabiv1

PILFER_HOOK int pthread_join(pthread_t thread, void** result_of) {
    static int (*real)(pthread_t, void**) = nullptr;
    find(real, "pthread_join");
    PILFER_WAITS(real(thread, result_of));
}
PILFER_HOOK int(clock_nanosleep)(clockid_t clock, int flags, const timespec* t, timespec* left) {
    static int (*real)(clockid_t, int, const timespec*, timespec*) = nullptr;
    find(real, "clock_nanosleep");
    PILFER_WAITS(real(clock, flags, t, left));
}
PILFER_HOOK int(nanosleep)(const timespec* t, timespec* left) {
    static int (*real)(const timespec*, timespec*) = nullptr;
    find(real, "nanosleep");
    PILFER_WAITS(real(t, left));
}

#endif
