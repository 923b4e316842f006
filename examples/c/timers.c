/* Time without threads: tasks that sleep, a function that runs later, one that runs again and again, and one
 * that is called off. The pool has a single worker. */
#include <pilfer/pilfer.h>

#include <stdatomic.h>
#include <stdio.h>

static const uint64_t millisecond = 1000000;

static void rest(void* data) {
    atomic_int* rested = data;
    pilfer_sleep_for(20 * millisecond); /* its worker runs the next one meanwhile */
    atomic_fetch_add(rested, 1);
}

static void rest_all(void* data) {
    pilfer_scope all;
    pilfer_scope_begin(&all);
    for (int i = 0; i < 1000; ++i) {
        pilfer_scope_fork(&all, rest, data);
    }
    pilfer_scope_end(&all);
}

static int tick(void* data) {
    int* ticks = data;
    printf("tick %d\n", ++*ticks);
    return *ticks < 3;
}

static void say(void* text) { printf("%s\n", (const char*)text); }

int main(void) {
    pilfer_options* options;
    pilfer_pool* pool;
    pilfer_timer *clock, *limit;
    if (pilfer_options_new(&options) != 0 || pilfer_options_set(options, "workers", "1") != 0 ||
        pilfer_pool_new(&pool, options) != 0) {
        return 1;
    }
    atomic_int rested = 0;
    pilfer_pool_run(pool, rest_all, &rested);
    printf("%d tasks have slept side by side\n", atomic_load(&rested));

    int ticks = 0;
    if (pilfer_every(pool, 2 * millisecond, tick, &ticks, &clock) != 0) {
        return 1;
    }
    while (!pilfer_timer_over(clock)) {
        pilfer_sleep_for(millisecond); /* of a thread that is no worker: it blocks */
    }
    pilfer_timer_free(clock);

    /* A time limit that is not needed after all. */
    if (pilfer_after(pool, 3600 * 1000 * millisecond, say, "too late", &limit) != 0) {
        return 1;
    }
    printf("%s\n", pilfer_timer_cancel(limit) ? "called off" : "it has run");
    pilfer_timer_free(limit);

    /* Accepted tasks run before the pool ends. */
    pilfer_after(pool, 5 * millisecond, say, "the end", NULL);
    pilfer_pool_destroy(pool);
    pilfer_options_free(options);
    return 0;
}
