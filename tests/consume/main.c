/* A stranger's program in C, with both interfaces. */
#include <pilfer/pilfer.h>
#include <pilfer/threadpool.h>

#include <stddef.h>
#include <stdio.h>

static void* times_seven(struct thread_pool* pool, void* data) {
    (void)pool;
    *(int*)data *= 7;
    return data;
}

static void zero(void* value, void* unused) {
    (void)unused;
    *(size_t*)value = 0;
}
static void add_indices(void* value, size_t begin, size_t end, void* unused) {
    (void)unused;
    for (size_t i = begin; i < end; ++i) {
        *(size_t*)value += i;
    }
}
static void add(void* left, void* right, void* unused) {
    (void)unused;
    *(size_t*)left += *(const size_t*)right;
}

int main(void) {
    struct thread_pool* pool = thread_pool_new(2);
    int product = 6;
    struct future* result = pool != NULL ? thread_pool_submit(pool, times_seven, &product) : NULL;
    if (result == NULL || future_get(result) != &product) {
        return 1;
    }
    future_free(result);
    thread_pool_shutdown_and_destroy(pool);

    size_t sum = 0;
    const struct pilfer_reducer sums = {sizeof sum, zero, add_indices, add};
    if (pilfer_reduce(0, 11, &sums, NULL, &sum) != 0) {
        return 2;
    }
    printf("consumed %d and %zu\n", product, sum);
    return 0;
}
