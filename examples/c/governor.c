/* A pool whose number of workers is set from outside. */
#include <pilfer/pilfer.h>

#include <stdatomic.h>
#include <stdio.h>

static unsigned advise(void* on_battery) {
    return atomic_load((atomic_int*)on_battery) ? 1 : 0;
} /* 0: no opinion */

static void nothing(void* unused) { (void)unused; }

int main(void) {
    atomic_int on_battery = 0;
    pilfer_options* options;
    pilfer_pool* pool;
    if (pilfer_options_new(&options) != 0 || pilfer_options_set(options, "workers", "3") != 0 ||
        pilfer_options_set_advice(options, advise, &on_battery) != 0 ||
        pilfer_pool_new(&pool, options) != 0) {
        return 1;
    }
    pilfer_options_free(options);
    printf("%u workers\n", pilfer_pool_workers(pool));
    atomic_store(&on_battery, 1);
    while (pilfer_pool_workers(pool) != 1) { /* asked twenty times a second, while the pool works */
        pilfer_pool_run(pool, nothing, NULL);
    }
    printf("%u worker\n", pilfer_pool_workers(pool));
    return pilfer_pool_destroy(pool);
}
