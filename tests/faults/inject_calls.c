// A library to be preloaded: makes chosen calls into the system fail. README.md describes the choice.
//
// It is C, so that it brings no second C++ library along. It allocates nothing itself, because it replaces
// malloc. Calls that the C library, the loader, the unwinder and hwloc make for themselves neither count nor
// fail. Those of libstdc++ do, because operator new, file streams and exceptions work on the program's
// behalf.
#define _GNU_SOURCE

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "inject_core.h"

#ifndef MADV_GUARD_INSTALL
#define MADV_GUARD_INSTALL 102
#endif

#define CALLER ((uintptr_t)__builtin_return_address(0))
// ISO C has no conversion from the void* of dlsym to a function.
#define REAL(name)                                                                                           \
    static __typeof__(&name) real;                                                                           \
    if (real == NULL) {                                                                                      \
        *(void**)&real = dlsym(RTLD_NEXT, #name);                                                            \
    }

extern void* __libc_malloc(size_t n);
extern void* __libc_calloc(size_t n, size_t size);
extern void* __libc_realloc(void* old, size_t n);
extern void* __libc_memalign(size_t align, size_t n);
extern void __libc_free(void* p);

// ---- the heap

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

// ---- the rest of the system

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
        note_mapped((long)n);
    }
    return p;
}

EXPORT int munmap(void* at, size_t n) {
    REAL(munmap)
    if (counts(CALLER)) {
        note_mapped(-(long)n);
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
#if defined(SYS_futex_waitv)
    if (number == SYS_futex_waitv) {
        if (injected(kind_futex_waitv, CALLER)) {
            return failed(EPERM);
        }
        if (wait_ends_early(CALLER, &result)) {
            return result;
        }
    }
#endif
#if defined(SYS_epoll_pwait2)
    if (number == SYS_epoll_pwait2) {
        if (injected(kind_epoll_pwait2, CALLER)) {
            return failed(EPERM);
        }
        if (injected(kind_epoll_eintr, CALLER)) {
            return failed(EINTR);
        }
    }
#endif
    if (number == SYS_membarrier && a[0] == MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED &&
        injected(kind_membarrier_register, CALLER)) {
        return failed(EPERM);
    }
    if (number == SYS_membarrier && a[0] == MEMBARRIER_CMD_PRIVATE_EXPEDITED &&
        injected(kind_membarrier, CALLER)) {
        return failed(EPERM);
    }
    return real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

EXPORT int sched_getaffinity(pid_t pid, size_t n, cpu_set_t* set) {
    REAL(sched_getaffinity)
    return injected(kind_sched_getaffinity, CALLER) ? failed(EPERM) : real(pid, n, set);
}

EXPORT int sched_setaffinity(pid_t pid, size_t n, const cpu_set_t* set) {
    REAL(sched_setaffinity)
    return injected(kind_sched_setaffinity, CALLER) ? failed(EPERM) : real(pid, n, set);
}

// Its first argument is an enumeration in C only.
EXPORT int setpriority(__priority_which_t which, id_t who, int value) {
    REAL(setpriority)
    return injected(kind_setpriority, CALLER) ? failed(EACCES) : real(which, who, value);
}

// hwloc's header may be missing on the machine that builds this library. The types are pointers, and this
// file never dereferences them.
EXPORT int hwloc_topology_init(void** topology);
EXPORT int hwloc_topology_load(void* topology);

EXPORT int hwloc_topology_init(void** topology) {
    REAL(hwloc_topology_init)
    return injected(kind_hwloc_init, CALLER) ? failed(ENOMEM) : real(topology);
}

EXPORT int hwloc_topology_load(void* topology) {
    REAL(hwloc_topology_load)
    return injected(kind_hwloc_load, CALLER) ? failed(ENOSYS) : real(topology);
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

EXPORT int epoll_create1(int flags) {
    REAL(epoll_create1)
    return injected(kind_epoll_create, CALLER) ? failed(EMFILE) : real(flags);
}

EXPORT int eventfd(unsigned value, int flags) {
    REAL(eventfd)
    return injected(kind_eventfd, CALLER) ? failed(ENFILE) : real(value, flags);
}

EXPORT int epoll_ctl(int set, int what, int fd, struct epoll_event* e) {
    REAL(epoll_ctl)
    return injected(kind_epoll_ctl, CALLER) ? failed(ENOSPC) : real(set, what, fd, e);
}

EXPORT int epoll_wait(int set, struct epoll_event* events, int n, int ms) {
    REAL(epoll_wait)
    return injected(kind_epoll_eintr, CALLER) ? failed(EINTR) : real(set, events, n, ms);
}

EXPORT int open(const char* path, int flags, ...) {
    static int (*real)(const char*, int, ...);
    if (real == NULL) {
        *(void**)&real = dlsym(RTLD_NEXT, "open");
    }
    va_list list;
    va_start(list, flags);
    const unsigned mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(list, unsigned) : 0;
    va_end(list);
    return injected(kind_open, CALLER) ? failed(EMFILE) : real(path, flags, mode);
}

/// Behind pthread_atfork.
EXPORT int __register_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void), void* library);
EXPORT int __register_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void),
                             void* library) {
    REAL(__register_atfork)
    return injected(kind_atfork, CALLER) ? ENOMEM : real(prepare, parent, child, library);
}

EXPORT int pthread_key_create(pthread_key_t* key, void (*end)(void*)) {
    REAL(pthread_key_create)
    return injected(kind_key_create, CALLER) ? EAGAIN : real(key, end);
}

EXPORT int pthread_setspecific(pthread_key_t key, const void* value) {
    REAL(pthread_setspecific)
    return injected(kind_setspecific, CALLER) ? ENOMEM : real(key, value);
}

EXPORT int pthread_attr_setaffinity_np(pthread_attr_t* attributes, size_t n, const cpu_set_t* set) {
    REAL(pthread_attr_setaffinity_np)
    return injected(kind_attr_affinity, CALLER) ? ENOMEM : real(attributes, n, set);
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

EXPORT ssize_t pread(int file, void* to, size_t n, off_t at) {
    REAL(pread)
    return injected(kind_read, CALLER) ? failed(EIO) : real(file, to, n, at);
}

EXPORT ssize_t read(int file, void* to, size_t n) {
    REAL(read)
    return injected(kind_read, CALLER) ? failed(EIO) : real(file, to, n);
}
