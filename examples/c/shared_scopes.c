/* A scope is plain memory of its worker until another thread may reach one of its tasks. Then it and all its
 * enclosing scopes are shared, for good. The number of shared scopes shows how much of a program really runs
 * in parallel. */
#include <pilfer/pilfer.h>

#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <threads.h>

/* A scope in each of 2^(depth + 1) - 1 tasks. */
static void tree(void* data) {
    const intptr_t depth = (intptr_t)data;
    pilfer_scope s;
    pilfer_scope_begin(&s);
    if (depth > 0) {
        pilfer_scope_spawn(&s, tree, (void*)(depth - 1));
        pilfer_scope_fork(&s, tree, (void*)(depth - 1));
    }
    pilfer_scope_end(&s);
}

static atomic_bool stolen;

/* Announces nothing, so the other worker has to reach for the rest of the parent. */
static void wait_for_a_thief(void* data) {
    (void)data;
    while (!atomic_load(&stolen)) {
        thrd_yield();
    }
}

static const char* said(const pilfer_scope* s) { return pilfer_scope_shared(s) ? "shared" : "not shared"; }

static void steal_a_frame(void* data) {
    (void)data;
    pilfer_scope outer;
    pilfer_scope inner;
    pilfer_scope later;
    pilfer_scope_begin(&outer);
    pilfer_scope_begin(&inner);
    pilfer_scope_spawn(&inner, wait_for_a_thief, NULL);
    pilfer_scope_begin(&later);
    printf("a stolen frame, inner scope: %s, outer: %s, a later one: %s\n", said(&inner), said(&outer),
           said(&later));
    atomic_store(&stolen, 1);
    pilfer_scope_end(&later);
    pilfer_scope_end(&inner);
    pilfer_scope_end(&outer);
}

static pilfer_pool* pool_of(const char* workers) {
    pilfer_options* o;
    pilfer_pool* pool = NULL;
    if (pilfer_options_new(&o) == 0) {
        if (pilfer_options_set(o, "workers", workers) == 0) {
            (void)pilfer_pool_new(&pool, o);
        }
        pilfer_options_free(o);
    }
    return pool;
}

int main(void) {
    pilfer_pool* alone = pool_of("1");
    pilfer_pool* two = pool_of("2");
    if (alone == NULL || two == NULL) {
        fprintf(stderr, "no pool\n");
        return 1;
    }
    pilfer_pool_run(alone, tree, (void*)(intptr_t)10);
    struct pilfer_counters c;
    pilfer_pool_counters(alone, &c);
    printf("one worker, 2047 scopes: %d are shared\n", (int)c.scopes_shared);
    pilfer_pool_run(two, steal_a_frame, NULL);
    pilfer_pool_destroy(two);
    pilfer_pool_destroy(alone);
    return 0;
}
