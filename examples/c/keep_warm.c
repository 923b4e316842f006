/* Workers that do not sleep: for a burst whose tasks come with pauses in between. */
#include <pilfer/pilfer.h>

#include <stdio.h>

static void add(void* sum) { *(long*)sum += 2; }

int main(void) {
    pilfer_options* options;
    pilfer_pool* pool;
    long sum = 0;
    /* How long a worker that finds nothing looks on before it sleeps: latency, balanced (the default), or
     * battery, which does not. PILFER_SPIN=... asks for it from outside. */
    if (pilfer_options_new(&options) != 0 || pilfer_options_set(options, "workers", "2") != 0 ||
        pilfer_options_set(options, "spin", "battery") != 0 || pilfer_pool_new(&pool, options) != 0) {
        return 1;
    }
    pilfer_keep_warm_begin(pool); /* no worker sleeps until its end */
    for (int i = 0; i < 100; ++i) {
        pilfer_pool_run(pool, add, &sum); /* each finds a worker that is awake */
    }
    pilfer_keep_warm_end(pool);
    printf("sum: %ld\n", sum);
    pilfer_options_free(options);
    return pilfer_pool_destroy(pool);
}
