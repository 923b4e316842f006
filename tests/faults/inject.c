// A library to be preloaded: makes chosen calls into the system fail. README.md says how it is told which.
//
// It is C, so that it brings no second C++ library along, and it allocates nothing itself: malloc is among what
// it replaces. Calls that the C library, the loader and the unwinder make for themselves neither count nor fail;
// those of libstdc++ do, because operator new, file streams and exceptions work on the program's behalf.
#define _GNU_SOURCE

#include "inject.h"

#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef MADV_GUARD_INSTALL
#define MADV_GUARD_INSTALL 102
#endif

#define EXPORT __attribute__((visibility("default")))
#define CALLER ((uintptr_t)__builtin_return_address(0))
// ISO C has no conversion from the void* of dlsym to a function.
#define REAL(name)                                                                                           \
    static __typeof__(&name) real;                                                                           \
    if (real == NULL) {                                                                                      \
        *(void**)&real = dlsym(RTLD_NEXT, #name);                                                            \
    }

enum kind {
    kind_pthread_create,
    kind_mmap,
    kind_munmap,
    kind_mprotect,
    kind_guard,
    kind_nohugepage,
    kind_dontneed,
    kind_malloc,
    kind_calloc,
    kind_realloc,
    kind_aligned_alloc,
    kind_futex_eintr,
    kind_futex_spurious,
    kind_futex_eagain,
    kind_membarrier_register,
    kind_membarrier,
    kind_sched_getaffinity,
    kind_cpu_alloc,
    kind_sysconf,
    kind_pipe,
    kind_sigaltstack,
    kind_sigaction,
    kind_pthread_getattr_np,
    kind_fopen,
    kind_read,
    kinds
};

static const char* const names[kinds] = {
    "pthread_create", "mmap",           "munmap",        "mprotect",
    "guard",          "nohugepage",     "dontneed",      "malloc",
    "calloc",         "realloc",        "aligned_alloc", "futex_eintr",
    "futex_spurious", "futex_eagain",   "membarrier_register", "membarrier",
    "sched_getaffinity", "cpu_alloc", "sysconf",     "pipe",          "sigaltstack",
    "sigaction",      "pthread_getattr_np", "fopen",     "read"};

// ---- which call fails ---------------------------------------------------------------------------------------

enum form { once, onward, every, sometimes };

/// `name:k`, `name:k+`, `name:k/n`, `name?permille@seed`.
struct rule {
    unsigned kind;
    enum form form;
    unsigned long k;
    unsigned long n; // every n-th, or the permille
    unsigned long seed;
};

static struct rule rules[64];
static unsigned rule_count;
static atomic_ulong calls[kinds];
static atomic_bool armed;
static __thread int paused __attribute__((tls_model("initial-exec")));
static int report = -1;
static atomic_ulong written; // the first of a run's faults are enough

/// What a hash of a counter and a seed is good for: the same faults again with the same seed.
static unsigned long mixed(unsigned long x) {
    x += 0x9e3779b97f4a7c15UL;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9UL;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebUL;
    return x ^ (x >> 31);
}

static bool chosen(unsigned kind, unsigned long k) {
    for (unsigned i = 0; i < rule_count; ++i) {
        const struct rule* r = &rules[i];
        if (r->kind != kind) {
            continue;
        }
        switch (r->form) {
        case once:
            if (k == r->k) {
                return true;
            }
            break;
        case onward:
            if (k >= r->k) {
                return true;
            }
            break;
        case every:
            if (k >= r->k && (k - r->k) % r->n == 0) {
                return true;
            }
            break;
        case sometimes:
            if (mixed(r->seed ^ mixed(((unsigned long)kind << 48) ^ k)) % 1000 < r->n) {
                return true;
            }
            break;
        }
    }
    return false;
}

static void refuse(const char* what, const char* text) {
    fprintf(stderr, "inject: %s: %s\n", what, text);
    _exit(97);
}

static void add_rule(const char* text, unsigned kind, const char* rest) {
    if (rule_count == sizeof rules / sizeof rules[0]) {
        refuse("too many rules", text);
    }
    struct rule r = {kind, once, 0, 1, 0};
    char* end = NULL;
    if (*rest == ':') {
        r.k = strtoul(rest + 1, &end, 10);
        if (*end == '+') {
            r.form = onward;
            ++end;
        } else if (*end == '/') {
            r.form = every;
            r.n = strtoul(end + 1, &end, 10);
        }
        if (r.k == 0 || r.n == 0) {
            refuse("counts begin with 1", text);
        }
    } else if (*rest == '?') {
        r.form = sometimes;
        r.n = strtoul(rest + 1, &end, 10);
        if (*end == '@') {
            r.seed = strtoul(end + 1, &end, 10);
        }
    }
    if (end == NULL || *end != '\0') {
        refuse("cannot read", text);
    }
    rules[rule_count++] = r;
}

static void read_rules(const char* text) {
    char copy[1024];
    if (strlen(text) >= sizeof copy) {
        refuse("too long", text);
    }
    strcpy(copy, text);
    char* state = NULL;
    for (char* one = strtok_r(copy, ",", &state); one != NULL; one = strtok_r(NULL, ",", &state)) {
        const size_t length = strcspn(one, ":?");
        bool found = false;
        for (unsigned k = 0; k < kinds; ++k) {
            // `*` is everything that the library promises to survive.
            const bool any = length == 1 && *one == '*' && k != kind_membarrier;
            if (any || (strlen(names[k]) == length && strncmp(names[k], one, length) == 0)) {
                add_rule(one, k, one + length);
                found = true;
            }
        }
        if (!found) {
            refuse("no such kind", one);
        }
    }
}

// ---- who calls ----------------------------------------------------------------------------------------------

/// A loaded file: its code, and whether it is the program's (or pilfer's) own.
struct module {
    uintptr_t low, high, base;
    char name[256];
    bool system; // calls for itself
    bool own;
};

static struct module modules[32];
static unsigned module_count;

static bool begins_with(const char* text, const char* prefix) {
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

static int note_module(struct dl_phdr_info* info, size_t size, void* data) {
    (void)size;
    (void)data;
    if (module_count == sizeof modules / sizeof modules[0]) {
        refuse("too many modules", info->dlpi_name);
    }
    struct module* m = &modules[module_count++];
    const char* path = info->dlpi_name;
    if (*path == '\0') { // the program itself
        const ssize_t n = readlink("/proc/self/exe", m->name, sizeof m->name - 1);
        m->name[n > 0 ? n : 0] = '\0';
    } else {
        snprintf(m->name, sizeof m->name, "%s", path);
    }
    const char* slash = strrchr(m->name, '/');
    const char* file = slash != NULL ? slash + 1 : m->name;
    m->base = info->dlpi_addr;
    for (unsigned i = 0; i < info->dlpi_phnum; ++i) {
        if (info->dlpi_phdr[i].p_type != PT_LOAD) {
            continue;
        }
        const uintptr_t low = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
        const uintptr_t high = low + info->dlpi_phdr[i].p_memsz;
        m->low = m->low == 0 || low < m->low ? low : m->low;
        m->high = high > m->high ? high : m->high;
    }
    const uintptr_t here = (uintptr_t)&note_module;
    m->system = begins_with(file, "libc.so") || begins_with(file, "ld-linux") ||
                begins_with(file, "libgcc_s") || begins_with(file, "linux-vdso") ||
                (here >= m->low && here < m->high);
    m->own = !m->system && !begins_with(file, "libstdc++") && !begins_with(file, "libm.so");
    return 0;
}

static const struct module* module_of(uintptr_t address) {
    for (unsigned i = 0; i < module_count; ++i) {
        if (address >= modules[i].low && address < modules[i].high) {
            return &modules[i];
        }
    }
    return NULL;
}

/// Does this call count at all?
static bool counts(uintptr_t caller) {
    if (!atomic_load_explicit(&armed, memory_order_relaxed) || paused != 0) {
        return false;
    }
    const struct module* m = module_of(caller);
    return m != NULL && !m->system;
}

/// `what k module+offset ...`: the frames of the program and of pilfer, innermost first.
static void note_frames(const char* what, const char* name, unsigned long k, void* const* frames, int depth) {
    char line[1536];
    int n = snprintf(line, sizeof line, "%s %s %lu", what, name, k);
    int noted = 0;
    for (int i = 0; i < depth && noted < 10; ++i) {
        const struct module* m = module_of((uintptr_t)frames[i]);
        if (m == NULL || !m->own || (size_t)n > sizeof line - 2 * sizeof m->name) {
            continue;
        }
        // A return address points behind its call.
        n += snprintf(line + n, sizeof line - (size_t)n, " %s+0x%lx", m->name,
                      (unsigned long)((uintptr_t)frames[i] - m->base - 1));
        ++noted;
    }
    line[n++] = '\n';
    syscall(SYS_write, report, line, n);
}

static bool injected(enum kind kind, uintptr_t caller) {
    if (!counts(caller)) {
        return false;
    }
    const unsigned long k = atomic_fetch_add(&calls[kind], 1) + 1;
    if (!chosen(kind, k)) {
        return false;
    }
    if (report >= 0 && atomic_fetch_add(&written, 1) < 500) {
        ++paused;
        void* frames[32];
        note_frames("fault", names[kind], k, frames, backtrace(frames, 32));
        --paused;
    }
    return true;
}

// ---- what is left -------------------------------------------------------------------------------------------

extern void* __libc_malloc(size_t n);
extern void* __libc_calloc(size_t n, size_t size);
extern void* __libc_realloc(void* old, size_t n);
extern void* __libc_memalign(size_t align, size_t n);
extern void __libc_free(void* p);

enum { slots = 1 << 17, depth_kept = 10 };
struct block {
    void* at; // null: never used; &gone: may be used again
    void* frames[depth_kept];
    int depth;
};
static struct block blocks[slots];
static char gone;
static atomic_flag lock = ATOMIC_FLAG_INIT;
static atomic_long live_blocks;
static atomic_long mapped;
static bool keep_frames;

static void enter(void) {
    while (atomic_flag_test_and_set_explicit(&lock, memory_order_acquire)) {
        sched_yield();
    }
}
static void leave(void) { atomic_flag_clear_explicit(&lock, memory_order_release); }

static void note_block(void* p) {
    if (p == NULL) {
        return;
    }
    void* frames[depth_kept];
    ++paused;
    const int depth = keep_frames ? backtrace(frames, depth_kept) : 0;
    --paused;
    enter();
    size_t i = mixed((uintptr_t)p) % slots;
    size_t probes = 0;
    for (; blocks[i].at != NULL && blocks[i].at != &gone; i = (i + 1) % slots) {
        if (++probes == slots) {
            refuse("the table of blocks is full", "");
        }
    }
    blocks[i].at = p;
    blocks[i].depth = depth;
    memcpy(blocks[i].frames, frames, (size_t)depth * sizeof frames[0]);
    leave();
    atomic_fetch_add(&live_blocks, 1);
}

/// A block that goes away; true if it was noted.
static bool forget_block(void* p) {
    if (p == NULL || atomic_load_explicit(&live_blocks, memory_order_relaxed) == 0) {
        return false;
    }
    bool found = false;
    enter();
    size_t probes = 0;
    for (size_t i = mixed((uintptr_t)p) % slots; blocks[i].at != NULL && probes < slots; i = (i + 1) % slots) {
        ++probes;
        if (blocks[i].at == p) {
            blocks[i].at = &gone;
            found = true;
            break;
        }
    }
    leave();
    if (found) {
        atomic_fetch_sub(&live_blocks, 1);
    }
    return found;
}

EXPORT void pilfer_fault_arm(void) { atomic_store(&armed, true); }

EXPORT void pilfer_fault_disarm(void) {
    atomic_store(&armed, false);
    for (unsigned k = 0; k < kinds && report >= 0; ++k) {
        char line[64];
        const int n = snprintf(line, sizeof line, "calls %s %lu\n", names[k], atomic_load(&calls[k]));
        syscall(SYS_write, report, line, n);
    }
}

EXPORT void pilfer_fault_pause(int step) { paused += step; }

EXPORT struct pilfer_fault_left pilfer_fault_leaks(void) {
    const struct pilfer_fault_left left = {atomic_load(&live_blocks), atomic_load(&mapped)};
    return left;
}

EXPORT void pilfer_fault_name_leaks(void) {
    for (size_t i = 0; i < slots && report >= 0; ++i) {
        if (blocks[i].at != NULL && blocks[i].at != &gone) {
            note_frames("left", "block", i, blocks[i].frames, blocks[i].depth);
        }
    }
}

__attribute__((constructor)) static void begin(void) {
    dl_iterate_phdr(note_module, NULL);
    void* frames[4];
    backtrace(frames, 4); // its first call loads a library
    const char* wanted = getenv("PILFER_FAULT");
    if (wanted != NULL) {
        read_rules(wanted);
    }
    const char* path = getenv("PILFER_FAULT_REPORT");
    if (path != NULL) {
        report = (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
        if (report < 0) {
            refuse("cannot write", path);
        }
    }
    keep_frames = getenv("PILFER_FAULT_NAME_LEAKS") != NULL;
}

// ---- the heap -----------------------------------------------------------------------------------------------

static void* noted(void* p, uintptr_t caller) {
    if (counts(caller)) {
        note_block(p);
    }
    return p;
}

static void* no_memory(void) {
    errno = ENOMEM;
    return NULL;
}

EXPORT void* malloc(size_t n) {
    return injected(kind_malloc, CALLER) ? no_memory() : noted(__libc_malloc(n), CALLER);
}

EXPORT void* calloc(size_t n, size_t size) {
    return injected(kind_calloc, CALLER) ? no_memory() : noted(__libc_calloc(n, size), CALLER);
}

EXPORT void* realloc(void* old, size_t n) {
    if (injected(kind_realloc, CALLER)) {
        return no_memory();
    }
    // Forgotten first: another thread may be given the old address at once.
    const bool was_noted = forget_block(old);
    void* p = __libc_realloc(old, n);
    if (p == NULL && n != 0) {
        if (was_noted) {
            note_block(old);
        }
        return NULL;
    }
    if (old == NULL) {
        return noted(p, CALLER);
    }
    if (was_noted) {
        note_block(p);
    }
    return p;
}

EXPORT void* aligned_alloc(size_t align, size_t n) {
    return injected(kind_aligned_alloc, CALLER) ? no_memory() : noted(__libc_memalign(align, n), CALLER);
}

EXPORT int posix_memalign(void** at, size_t align, size_t n) {
    if (injected(kind_aligned_alloc, CALLER)) {
        return ENOMEM;
    }
    void* p = noted(__libc_memalign(align, n), CALLER);
    if (p == NULL) {
        return ENOMEM;
    }
    *at = p;
    return 0;
}

EXPORT void free(void* p) {
    forget_block(p);
    __libc_free(p);
}

// ---- the rest of the system ---------------------------------------------------------------------------------

static int failed(int error) {
    errno = error;
    return -1;
}

EXPORT int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*start)(void*),
                          void* argument) {
    REAL(pthread_create)
    return injected(kind_pthread_create, CALLER) ? EAGAIN : real(thread, attributes, start, argument);
}

EXPORT int pthread_getattr_np(pthread_t thread, pthread_attr_t* attributes) {
    REAL(pthread_getattr_np)
    return injected(kind_pthread_getattr_np, CALLER) ? ENOMEM : real(thread, attributes);
}

EXPORT void* mmap(void* at, size_t n, int protection, int flags, int file, off_t offset) {
    REAL(mmap)
    if (injected(kind_mmap, CALLER)) {
        errno = ENOMEM;
        return MAP_FAILED;
    }
    void* p = real(at, n, protection, flags, file, offset);
    if (p != MAP_FAILED && counts(CALLER)) {
        atomic_fetch_add(&mapped, (long)n);
    }
    return p;
}

EXPORT int munmap(void* at, size_t n) {
    REAL(munmap)
    if (counts(CALLER)) {
        atomic_fetch_sub(&mapped, (long)n);
    }
    return injected(kind_munmap, CALLER) ? failed(ENOMEM) : real(at, n);
}

EXPORT int mprotect(void* at, size_t n, int protection) {
    REAL(mprotect)
    return injected(kind_mprotect, CALLER) ? failed(ENOMEM) : real(at, n, protection);
}

EXPORT int madvise(void* at, size_t n, int advice) {
    REAL(madvise)
    if (advice == MADV_GUARD_INSTALL && injected(kind_guard, CALLER)) {
        return failed(EINVAL);
    }
    if (advice == MADV_NOHUGEPAGE && injected(kind_nohugepage, CALLER)) {
        return failed(EINVAL);
    }
    if (advice == MADV_DONTNEED && injected(kind_dontneed, CALLER)) {
        return failed(EAGAIN);
    }
    return real(at, n, advice);
}

/// Waits may end early in three ways. A lost FUTEX_WAKE is none of them: the kernel loses no wake-up.
static bool wait_ends_early(uintptr_t caller, long* result) {
    if (injected(kind_futex_spurious, caller)) {
        *result = 0;
        return true;
    }
    if (injected(kind_futex_eintr, caller)) {
        *result = failed(EINTR);
        return true;
    }
    if (injected(kind_futex_eagain, caller)) {
        *result = failed(EAGAIN);
        return true;
    }
    return false;
}

EXPORT long syscall(long number, ...) {
    REAL(syscall)
    va_list list;
    va_start(list, number);
    long a[6];
    for (int i = 0; i < 6; ++i) {
        a[i] = va_arg(list, long);
    }
    va_end(list);
    long result = 0;
    if (number == SYS_futex && (a[1] & FUTEX_CMD_MASK) == FUTEX_WAIT && wait_ends_early(CALLER, &result)) {
        return result;
    }
    if (number == SYS_membarrier && a[0] == MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED &&
        injected(kind_membarrier_register, CALLER)) {
        return failed(EPERM);
    }
    if (number == SYS_membarrier && a[0] == MEMBARRIER_CMD_PRIVATE_EXPEDITED && injected(kind_membarrier, CALLER)) {
        return failed(EPERM);
    }
    return real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

EXPORT int sched_getaffinity(pid_t pid, size_t n, cpu_set_t* set) {
    REAL(sched_getaffinity)
    return injected(kind_sched_getaffinity, CALLER) ? failed(EPERM) : real(pid, n, set);
}

/// Behind CPU_ALLOC.
EXPORT cpu_set_t* __sched_cpualloc(size_t count) {
    REAL(__sched_cpualloc)
    return injected(kind_cpu_alloc, CALLER) ? no_memory() : real(count);
}

EXPORT long sysconf(int name) {
    REAL(sysconf)
    return injected(kind_sysconf, CALLER) ? failed(EINVAL) : real(name);
}

EXPORT int pipe(int ends[2]) {
    REAL(pipe)
    return injected(kind_pipe, CALLER) ? failed(EMFILE) : real(ends);
}

EXPORT int sigaltstack(const stack_t* wanted, stack_t* before) {
    REAL(sigaltstack)
    return injected(kind_sigaltstack, CALLER) ? failed(ENOMEM) : real(wanted, before);
}

EXPORT int sigaction(int signal, const struct sigaction* wanted, struct sigaction* before) {
    static int (*real)(int, const struct sigaction*, struct sigaction*);
    if (real == NULL) {
        *(void**)&real = dlsym(RTLD_NEXT, "sigaction");
    }
    return injected(kind_sigaction, CALLER) ? failed(EINVAL) : real(signal, wanted, before);
}

EXPORT FILE* fopen(const char* path, const char* mode) {
    REAL(fopen)
    if (injected(kind_fopen, CALLER)) {
        errno = EMFILE;
        return NULL;
    }
    return real(path, mode);
}

EXPORT FILE* fopen64(const char* path, const char* mode) {
    REAL(fopen64)
    if (injected(kind_fopen, CALLER)) {
        errno = EMFILE;
        return NULL;
    }
    return real(path, mode);
}

EXPORT ssize_t read(int file, void* to, size_t n) {
    REAL(read)
    return injected(kind_read, CALLER) ? failed(EIO) : real(file, to, n);
}
