/* A pool that is made smaller while something else needs the machine, and larger again. */
#include <pilfer/pilfer.h>

#include <stdio.h>

struct call {
    int n;
    long result;
};

static void fib(void* data) {
    struct call* call = data;
    if (call->n < 2) {
        call->result = call->n;
        return;
    }
    struct call halves[2] = {{call->n - 1, 0}, {call->n - 2, 0}};
    pilfer_join2(fib, &halves[0], fib, &halves[1]);
    call->result = halves[0].result + halves[1].result;
}

static void report(pilfer_pool* pool) {
    struct call call = {20, 0};
    pilfer_pool_run(pool, fib, &call);
    printf("%u: %ld\n", pilfer_pool_workers(pool), call.result);
}

int main(void) {
    pilfer_options* options;
    pilfer_pool* pool;
    if (pilfer_options_new(&options) != 0 || pilfer_options_set(options, "workers", "2") != 0 ||
        pilfer_options_set(options, "max_workers", "4") != 0 || pilfer_pool_new(&pool, options) != 0) {
        return 1;
    }
    pilfer_options_free(options);
    report(pool);
    unsigned there = 0;
    if (pilfer_pool_resize(pool, 4, &there) != 0 || there != 4) {
        return 1;
    }
    report(pool);
    pilfer_pool_resize(pool, 1, NULL);
    report(pool);
    printf("%s\n", pilfer_pool_resize(pool, 5, NULL) == PILFER_EINVAL ? "no more than 4" : "5");
    return pilfer_pool_destroy(pool);
}
