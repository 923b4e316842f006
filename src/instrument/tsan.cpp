// The entry points that -fsanitize=thread calls.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "race/notes.hpp"

namespace race = pilfer::detail::race;
using race::seen;

// ---- calls ----------------------------------------------------------------------------------------------

namespace {

void at_end() noexcept {
    // The report is the last thing: after destructors of the program's objects.
    race::stop();
    const int status = race::write_report(race::the.found);
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
        race::add_note(race::did::enters, returns_to, 0, 0);
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
        race::add_note(race::did::leaves, nullptr, 0, 0);
        return;
    }
    if (f->top != f->frames) {
        --f->top;
    }
    // Goes on with the segment of the caller, if that is still good.
    f->segment = race::the.fits(f->top->segment, *f) ? f->top->segment : 0;
}
PILFER_HOOK void __tsan_ignore_thread_begin() noexcept { race::look_away(); }
PILFER_HOOK void __tsan_ignore_thread_end() noexcept { race::look_again(); }
#define PILFER_IGNORE(what)                                                                                  \
    PILFER_HOOK void AnnotateIgnore##what##Begin(const char*, int) noexcept {                                \
        __tsan_ignore_thread_begin();                                                                        \
    }                                                                                                        \
    PILFER_HOOK void AnnotateIgnore##what##End(const char*, int) noexcept { __tsan_ignore_thread_end(); }
PILFER_IGNORE(Reads)
PILFER_IGNORE(Writes)
#undef PILFER_IGNORE

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

#define PILFER_ACCESS(name, bytes, writes)                                                                   \
    PILFER_HOOK void __tsan_##name##bytes(void* at) noexcept { seen<bytes>(at, writes, PILFER_SITE); }
#define PILFER_ACCESSES(bytes)                                                                               \
    PILFER_ACCESS(read, bytes, false)                                                                        \
    PILFER_ACCESS(write, bytes, true)                                                                        \
    PILFER_ACCESS(read_write, bytes, true)                                                                   \
    PILFER_ACCESS(volatile_read, bytes, false)                                                               \
    PILFER_ACCESS(volatile_write, bytes, true)                                                               \
    PILFER_ACCESS(unaligned_read, bytes, false)                                                              \
    PILFER_ACCESS(unaligned_write, bytes, true)                                                              \
    PILFER_ACCESS(unaligned_read_write, bytes, true)                                                         \
    PILFER_ACCESS(unaligned_volatile_read, bytes, false)                                                     \
    PILFER_ACCESS(unaligned_volatile_write, bytes, true)
PILFER_ACCESSES(1)
PILFER_ACCESSES(2)
PILFER_ACCESSES(4)
PILFER_ACCESSES(8)
PILFER_ACCESSES(16)
#undef PILFER_ACCESS
#undef PILFER_ACCESSES

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

/// What is announced of an atomic operation, after it: an edge to this task, the access, and one from it.
[[gnu::always_inline]] inline void announce(const volatile void* at, std::size_t size, bool writes, int order,
                                            const race::in_turn& now, std::uint64_t site) noexcept {
    race::fiber* const f = race::running_fiber;
    if (f == nullptr) {
        return;
    }
    const int bit = 1 << (order & 15);
    if ((acquires & bit) != 0) {
        race::acquire(const_cast<const void*>(at));
    }
    if (((acquires | releases) & bit) != 0) { // a relaxed one may be the library's own
        race::access_atomically(*f, reinterpret_cast<std::uintptr_t>(at), size, writes, site);
    }
    if (!writes) {
        if ((acquires & bit) != 0 && !now.is_away()) {
            race::reads_atomic(*f, at, site);
        }
    } else if ((releases & bit) != 0) {
        race::release(const_cast<const void*>(at));
    } else {
        race::relaxed_change(site);
    }
}

} // namespace

#define PILFER_ATOMIC(bits, type)                                                                            \
    PILFER_HOOK type __tsan_atomic##bits##_load(const volatile type* at, int order) noexcept {               \
        const race::in_turn now;                                                                             \
        const type v = __atomic_load_n(at, __ATOMIC_SEQ_CST);                                                \
        announce(at, sizeof v, false, order, now, PILFER_SITE);                                              \
        return v;                                                                                            \
    }                                                                                                        \
    PILFER_HOOK void __tsan_atomic##bits##_store(volatile type* at, type v, int order) noexcept {            \
        const race::in_turn now;                                                                             \
        order == __ATOMIC_SEQ_CST ? __atomic_store_n(at, v, __ATOMIC_SEQ_CST)                                \
                                  : __atomic_store_n(at, v, __ATOMIC_RELEASE);                               \
        announce(at, sizeof v, true, order == __ATOMIC_SEQ_CST ? __ATOMIC_RELEASE : order, now,              \
                 PILFER_SITE);                                                                               \
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
        const race::in_turn now;                                                                             \
        const type was = builtin(at, v, __ATOMIC_SEQ_CST);                                                   \
        announce(at, sizeof v, true, order, now, PILFER_SITE);                                               \
        return was;                                                                                          \
    }
#define PILFER_COMPARE(bits, type, kind)                                                                     \
    PILFER_HOOK bool __tsan_atomic##bits##_compare_exchange_##kind(volatile type* at, type* expected,        \
                                                                   type v, int order, int failed) noexcept { \
        const race::in_turn now;                                                                             \
        const bool done =                                                                                    \
            __atomic_compare_exchange_n(at, expected, v, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);         \
        announce(at, sizeof v, done, done ? order : failed, now, PILFER_SITE);                               \
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
