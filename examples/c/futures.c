/* async starts a task whose result is fetched later, by as many as like. */
#include <pilfer/pilfer.h>

#include <stdio.h>

static int numbers[] = {42, 43};

static void* answer(void* unused) {
    (void)unused;
    return &numbers[0];
}

/* A task may wait for another one: it gives its worker to others meanwhile. */
static void* next(void* data) {
    void* before = NULL;
    pilfer_future_get(data, &before);
    return (int*)before + 1;
}

static void* write_one(void* data) {
    *(int*)data = 1;
    return NULL;
}

int main(void) {
    pilfer_pool* pool;
    pilfer_future *first, *second, *third;
    if (pilfer_pool_new(&pool, NULL) != 0 || pilfer_async(pool, answer, NULL, &first) != 0 ||
        pilfer_async(pool, next, first, &second) != 0) {
        return 1;
    }
    void *a = NULL, *b = NULL;
    pilfer_future_get(first, &a);
    pilfer_future* copy = pilfer_future_copy(first);
    pilfer_future_get(copy, &b);
    printf("answer: %d, and again: %d\n", *(int*)a, *(int*)b);
    pilfer_future_get(second, &a);
    printf("next: %d\n", *(int*)a);
    pilfer_future_free(copy);
    pilfer_future_free(first);
    pilfer_future_free(second);

    /* Nobody needs to fetch a result. */
    int written = 0;
    if (pilfer_async(pool, write_one, &written, &third) != 0) {
        return 1;
    }
    pilfer_future_free(third);
    pilfer_pool_shutdown(pool, PILFER_DRAIN);
    printf("written: %d\n", written);

    const int error = pilfer_async(pool, answer, NULL, &third);
    printf("afterwards: %s\n", pilfer_strerror(error));
    pilfer_pool_destroy(pool);
    return 0;
}
