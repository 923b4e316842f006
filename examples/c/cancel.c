/* A scope is cancelled, by a task and by a time limit. A task that has not started never starts. A waiting
 * task gets PILFER_ECANCELED, and so does a computing one at its next join or spawn. The tasks return by
 * themselves. */
#include <pilfer/pilfer.h>

#include <stdatomic.h>
#include <stdio.h>

static atomic_int inside; /* how many have begun and not left */
static pilfer_event never;

static void nothing(void* data) { (void)data; }

static void compute(void* data) {
    (void)data;
    atomic_fetch_add(&inside, 1);
    while (pilfer_join2(nothing, NULL, nothing, NULL) != PILFER_ECANCELED) {
        pilfer_yield(); /* else a pool of one worker would never get to a timer */
    }
    atomic_fetch_sub(&inside, 1);
}

static void wait_for_ever(void* data) {
    (void)data;
    atomic_fetch_add(&inside, 1);
    if (pilfer_event_wait(&never) == PILFER_ECANCELED && pilfer_cancelled()) {
        atomic_fetch_sub(&inside, 1);
    }
}

static void cancel(void* scope) { (void)pilfer_scope_cancel(scope); }

static void program(void* data) {
    (void)data;
    pilfer_scope s;
    pilfer_scope_begin(&s);
    pilfer_scope_fork(&s, compute, NULL);
    pilfer_scope_fork(&s, wait_for_ever, NULL);
    pilfer_scope_fork(&s, cancel, &s);
    const int code = pilfer_scope_sync(&s);
    printf("%s, %d tasks are left\n", pilfer_strerror(code), atomic_load(&inside));
    pilfer_deadline limit;
    if (pilfer_deadline_begin(&limit, &s, 10 * 1000 * 1000) == 0) { /* 10 ms */
        pilfer_scope_spawn(&s, compute, NULL);
        pilfer_scope_spawn(&s, wait_for_ever, NULL);
        pilfer_scope_sync(&s);
        pilfer_deadline_end(&limit);
    }
    printf("too late: %d tasks are left\n", atomic_load(&inside));
    pilfer_scope_end(&s);
}

int main(void) {
    pilfer_pool* pool;
    if (pilfer_event_init(&never, 0) != 0 || pilfer_pool_new(&pool, NULL) != 0) {
        return 1;
    }
    pilfer_pool_run(pool, program, NULL);
    pilfer_pool_destroy(pool);
    pilfer_event_destroy(&never);
    return 0;
}
