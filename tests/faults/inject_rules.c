// Which call fails: the text in PILFER_FAULT.
#define _GNU_SOURCE

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "inject_core.h"

const char* const kind_names[kinds] = {"pthread_create",
                                       "mmap",
                                       "munmap",
                                       "mprotect",
                                       "guard",
                                       "nohugepage",
                                       "dontneed",
                                       "malloc",
                                       "calloc",
                                       "realloc",
                                       "aligned_alloc",
                                       "futex_eintr",
                                       "futex_spurious",
                                       "futex_eagain",
                                       "membarrier_register",
                                       "membarrier",
                                       "sched_getaffinity",
                                       "sched_setaffinity",
                                       "hwloc_init",
                                       "hwloc_load",
                                       "cpu_alloc",
                                       "sysconf",
                                       "pipe",
                                       "sigaltstack",
                                       "sigaction",
                                       "pthread_getattr_np",
                                       "fopen",
                                       "read",
                                       "epoll_create",
                                       "eventfd",
                                       "epoll_ctl",
                                       "epoll_eintr",
                                       "open",
                                       "atfork",
                                       "key_create",
                                       "setspecific",
                                       "attr_affinity",
                                       "futex_waitv",
                                       "epoll_pwait2",
                                       "setpriority"};

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

/// A hash of a counter and a seed: equal seeds give equal faults.
unsigned long mixed(unsigned long x) {
    x += 0x9e3779b97f4a7c15UL;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9UL;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebUL;
    return x ^ (x >> 31);
}

bool chosen(unsigned kind, unsigned long k) {
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

void refuse(const char* what, const char* text) {
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

void read_rules(const char* text) {
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
            if (any || (strlen(kind_names[k]) == length && strncmp(kind_names[k], one, length) == 0)) {
                add_rule(one, k, one + length);
                found = true;
            }
        }
        if (!found) {
            refuse("no such kind", one);
        }
    }
}
