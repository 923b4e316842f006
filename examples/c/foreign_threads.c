/* Any thread may hand work to a pool: run and join block it, scope and async work as they do in a task. */
#define _POSIX_C_SOURCE 200809L
#include <pilfer/pilfer.h>

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>

struct square {
    pilfer_pool* pool;
    int of;
    int result;
};

static void compute(void* data) {
    struct square* s = data;
    s->result = s->of * s->of;
}

static void* thread(void* data) {
    struct square* s = data;
    pilfer_pool_run(s->pool, compute, s);
    return NULL;
}

static void three(void* data) { *(int*)data = 3; }
static void one(void* data) { *(int*)data = 1; }
static void two(void* data) { *(int*)data = 2; }
static void* four(void* unused) {
    (void)unused;
    return (void*)(uintptr_t)4;
}

int main(void) {
    pilfer_pool* pool;
    pthread_t threads[4];
    struct square squares[4];
    if (pilfer_pool_new(&pool, NULL) != 0) {
        return 1;
    }
    for (int i = 0; i < 4; ++i) {
        squares[i] = (struct square){pool, i, -1};
        if (pthread_create(&threads[i], NULL, thread, &squares[i]) != 0) {
            return 1;
        }
    }
    for (int i = 0; i < 4; ++i) {
        pthread_join(threads[i], NULL);
        printf("run: %d\n", squares[i].result);
    }
    pilfer_pool_destroy(pool);

    /* Outside a pool everything else goes to the common one, pilfer_pool_common(). */
    int a = 0, b = 0, forked = 0;
    pilfer_join2(one, &a, two, &b);
    printf("join: %d %d\n", a, b);

    pilfer_scope scope;
    pilfer_scope_begin(&scope);
    pilfer_scope_fork(&scope, three, &forked);
    pilfer_scope_end(&scope);
    printf("scope: %d\n", forked);

    pilfer_future* future;
    void* result = NULL;
    if (pilfer_async(NULL, four, NULL, &future) != 0 || pilfer_future_get(future, &result) != 0) {
        return 1;
    }
    pilfer_future_free(future);
    printf("async: %d\n", (int)(uintptr_t)result);
    return 0;
}
