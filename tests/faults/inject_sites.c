// The callers, what was taken and not released, and the report of both.
#define _GNU_SOURCE

#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "inject_core.h"

static atomic_ulong calls[kinds];
static atomic_bool armed;
static __thread int paused __attribute__((tls_model("initial-exec")));
static int report = -1;
static atomic_ulong written; // the first of a run's faults are enough

// ---- who calls

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
                begins_with(file, "libhwloc") || begins_with(file, "libudev") || // hwloc reads by it
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

bool counts(uintptr_t caller) {
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
        // A return address is the one after its call.
        n += snprintf(line + n, sizeof line - (size_t)n, " %s+0x%lx", m->name,
                      (unsigned long)((uintptr_t)frames[i] - m->base - 1));
        ++noted;
    }
    line[n++] = '\n';
    syscall(SYS_write, report, line, n);
}

bool injected(enum kind kind, uintptr_t caller) {
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
        note_frames("fault", kind_names[kind], k, frames, backtrace(frames, 32));
        --paused;
    }
    return true;
}

// ---- what is left

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

void note_block(void* p) {
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

bool forget_block(void* p) {
    if (p == NULL || atomic_load_explicit(&live_blocks, memory_order_relaxed) == 0) {
        return false;
    }
    bool found = false;
    enter();
    size_t probes = 0;
    for (size_t i = mixed((uintptr_t)p) % slots; blocks[i].at != NULL && probes < slots;
         i = (i + 1) % slots) {
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

void note_mapped(long bytes) { atomic_fetch_add(&mapped, bytes); }

// ---- what the victim calls

EXPORT void pilfer_fault_arm(void) { atomic_store(&armed, true); }

EXPORT void pilfer_fault_disarm(void) {
    atomic_store(&armed, false);
    for (unsigned k = 0; k < kinds && report >= 0; ++k) {
        char line[64];
        const int n = snprintf(line, sizeof line, "calls %s %lu\n", kind_names[k], atomic_load(&calls[k]));
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
    // A child of fork() has none of the threads that may hold the lock. These handlers are registered before
    // all others. The lock is therefore held from the end of the other handlers in the parent to the start of
    // the others in the child, which may allocate.
    if (pthread_atfork(enter, leave, leave) != 0) {
        refuse("cannot register", "handlers of fork()");
    }
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
