/* The end of a pool: drain runs all accepted tasks, drop leaves out those that have not started. A task of
 * another pool shuts the pool down. */
#define _POSIX_C_SOURCE 200809L
#include <pilfer/pilfer.h>

#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>

static pilfer_pool* new_pool(void) {
    pilfer_options* options;
    pilfer_pool* pool = NULL;
    if (pilfer_options_new(&options) == 0 && pilfer_options_set(options, "workers", "1") == 0) {
        pilfer_pool_new(&pool, options);
        pilfer_options_free(options);
    }
    return pool;
}

static void count(void* data) { atomic_fetch_add((atomic_int*)data, 1); }
static void nothing(void* data) { (void)data; }

static int drain(void) {
    atomic_int ran = 0;
    pilfer_pool* pool = new_pool();
    if (pool == NULL) {
        return 1;
    }
    for (int i = 0; i < 10; ++i) {
        pilfer_submit(pool, count, &ran);
    }
    pilfer_pool_shutdown(pool, PILFER_DRAIN);
    printf("drain: %d of 10 ran\n", atomic_load(&ran));
    printf("afterwards: %s\n", pilfer_strerror(pilfer_pool_run(pool, nothing, NULL)));
    return pilfer_pool_destroy(pool);
}

struct gate {
    atomic_int inside;
    atomic_int open;
};

static void stand(void* data) { /* and keeps the only worker */
    struct gate* g = data;
    atomic_store(&g->inside, 1);
    while (!atomic_load(&g->open)) {
        sched_yield();
    }
}

static void* no_result(void* data) { return data; }

static void* close_pool(void* pool) {
    pilfer_pool_shutdown(pool, PILFER_DROP);
    return NULL;
}

static int drop(void) {
    struct gate gate = {0, 0};
    pilfer_pool* pool = new_pool();
    pilfer_pool* other = new_pool();
    pilfer_future* waiting;
    pilfer_future* closed;
    if (pool == NULL || other == NULL || pilfer_submit(pool, stand, &gate) != 0) {
        return 1;
    }
    while (!atomic_load(&gate.inside)) {
        sched_yield();
    }
    if (pilfer_async(pool, no_result, NULL, &waiting) != 0 || /* queued after the running one */
        pilfer_async(other, close_pool, pool, &closed) != 0) {
        return 1;
    }
    while (pilfer_submit(pool, nothing, NULL) != PILFER_ECLOSED) { /* until then shutdown has not begun */
        sched_yield();
    }
    atomic_store(&gate.open, 1);
    pilfer_future_get(closed, NULL);
    printf("drop: %s\n", pilfer_strerror(pilfer_future_get(waiting, NULL)));
    pilfer_future_free(closed);
    pilfer_future_free(waiting);
    return pilfer_pool_destroy(pool) + pilfer_pool_destroy(other);
}

int main(void) { return drain() != 0 || drop() != 0; }
