/* Fibonacci numbers by tasks that submit tasks and wait for them. No wait is endless, also on one thread.
 * threadpool_fib [threads] */
#include <pilfer/threadpool.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static void* fib(struct thread_pool* pool, void* data) {
    const uintptr_t n = (uintptr_t)data;
    if (n < 2) {
        return data;
    }
    struct future* first = thread_pool_submit(pool, fib, (void*)(n - 1));
    const uintptr_t second = (uintptr_t)fib(pool, (void*)(n - 2));
    const uintptr_t sum = (uintptr_t)future_get(first) + second;
    future_free(first);
    return (void*)sum;
}

int main(int argc, char** argv) {
    struct thread_pool* pool = thread_pool_new(argc > 1 ? atoi(argv[1]) : 2);
    if (pool == NULL) {
        return 1;
    }
    struct future* result = thread_pool_submit(pool, fib, (void*)20);
    printf("fib(20) = %lu\n", (unsigned long)(uintptr_t)future_get(result));
    future_free(result);
    thread_pool_shutdown_and_destroy(pool);
    return 0;
}
