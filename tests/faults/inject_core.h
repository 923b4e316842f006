// Between the parts of the preloaded library.
#ifndef PILFER_TESTS_FAULTS_INJECT_CORE_H
#define PILFER_TESTS_FAULTS_INJECT_CORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "inject.h"

#define EXPORT __attribute__((visibility("default")))

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
    kind_sched_setaffinity,
    kind_hwloc_init,
    kind_hwloc_load,
    kind_cpu_alloc,
    kind_sysconf,
    kind_pipe,
    kind_sigaltstack,
    kind_sigaction,
    kind_pthread_getattr_np,
    kind_fopen,
    kind_read,
    kind_epoll_create,
    kind_eventfd,
    kind_epoll_ctl,
    kind_epoll_eintr,
    kind_open,
    kind_atfork,
    kind_key_create,
    kind_setspecific,
    kind_attr_affinity,
    kind_futex_waitv,
    kind_epoll_pwait2,
    kind_setpriority,
    kinds
};

extern const char* const kind_names[kinds];

/// Reads PILFER_FAULT.
void read_rules(const char* text);
/// Is the k-th call of this kind to fail?
bool chosen(unsigned kind, unsigned long k);
/// Ends the process: the harness itself is used wrongly.
_Noreturn void refuse(const char* what, const char* text);
/// A hash.
unsigned long mixed(unsigned long x);

/// Counts this call; true: it has to fail, which is in the report by now.
bool injected(enum kind kind, uintptr_t caller);
/// Does a call from there count at all?
bool counts(uintptr_t caller);

/// A block of the heap that has to go away again.
void note_block(void* p);
/// It goes away; true if it was noted.
bool forget_block(void* p);
/// Counts the bytes of mappings: a positive number was taken, a negative one was released.
void note_mapped(long bytes);

#endif
