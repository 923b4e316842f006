// A program in C
//
// The C interface has the same primitives. A function gets a pointer to its data, and a call that can fail
// returns an error number. Here each call of `fib` runs one half itself and offers the other half to idle
// workers.
#include <stdio.h>

#include <pilfer/pilfer.h>

struct call {
    long n;
    long result;
};

static void fib(void* data) {
    struct call* const c = data;
    struct call left;
    struct call right;
    pilfer_scope children;
    if (c->n < 12) { /* small: without forks */
        long a = 0;
        long b = 1;
        for (long i = 0; i < c->n; ++i) {
            const long next = a + b;
            a = b;
            b = next;
        }
        c->result = a;
        return;
    }
    left.n = c->n - 1;
    right.n = c->n - 2;
    pilfer_scope_begin(&children);
    if (pilfer_scope_fork(&children, fib, &left) != 0) {
        fib(&left); /* no memory for a child */
    }
    fib(&right);
    pilfer_scope_end(&children); /* waits for the child */
    c->result = left.result + right.result;
}

int main(void) {
    pilfer_pool* pool;
    struct call whole = {27, 0};
    if (pilfer_pool_new(&pool, NULL) != 0) { /* NULL: default options */
        return 1;
    }
    pilfer_pool_run(pool, fib, &whole);
    printf("%ld\n", whole.result);
    return pilfer_pool_destroy(pool);
}
