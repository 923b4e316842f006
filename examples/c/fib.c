/* The smallest recursion: two calls that may run in parallel, and their results. */
#include <pilfer/pilfer.h>

#include <stdio.h>

struct number {
    int n;
    long result;
};

static void fib(void* data) {
    struct number* self = data;
    if (self->n < 2) {
        self->result = self->n;
        return;
    }
    struct number a = {self->n - 1, 0};
    struct number b = {self->n - 2, 0};
    pilfer_join2(fib, &a, fib, &b);
    self->result = a.result + b.result;
}

int main(void) {
    pilfer_pool* pool;
    const int error = pilfer_pool_new(&pool, NULL);
    if (error != 0) {
        fprintf(stderr, "no pool: %s\n", pilfer_strerror(error));
        return 1;
    }
    struct number whole = {22, 0};
    pilfer_pool_run(pool, fib, &whole);
    printf("fib(%d) = %ld\n", whole.n, whole.result);
    pilfer_pool_destroy(pool);
    return 0;
}
