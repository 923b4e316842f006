/* A pipeline: one task makes numbers, several square them, one adds them up. Channels with little room keep
 * them in step, a mutex guards the squarers' data, and a promise carries the sum. It works with any number of
 * workers: a waiting task is suspended, and its worker runs another stage. */
#include <pilfer/pilfer.h>

#include <stdint.h>
#include <stdio.h>

enum { numbers = 1000, squarers = 4 };

struct pipeline {
    pilfer_channel* numbers;
    pilfer_channel* squares;
    pilfer_promise* sum;
    pilfer_mutex mutex;
    int squared; /* under the mutex */
    int running; /* squarers, under the mutex */
};

static void make(void* data) {
    const struct pipeline* p = data;
    for (uintptr_t i = 1; i <= numbers; ++i) {
        pilfer_channel_send(p->numbers, (void*)i);
    }
    pilfer_channel_close(p->numbers);
}

static void square(void* data) {
    struct pipeline* p = data;
    void* number;
    while (pilfer_channel_receive(p->numbers, &number) == 0) {
        const uintptr_t n = (uintptr_t)number;
        pilfer_channel_send(p->squares, (void*)(n * n));
        pilfer_mutex_lock(&p->mutex);
        ++p->squared;
        pilfer_mutex_unlock(&p->mutex);
    }
    pilfer_mutex_lock(&p->mutex);
    const int last = --p->running == 0;
    pilfer_mutex_unlock(&p->mutex);
    if (last) {
        pilfer_channel_close(p->squares);
    }
}

static void add_up(void* data) {
    const struct pipeline* p = data;
    uintptr_t sum = 0;
    void* one;
    while (pilfer_channel_receive(p->squares, &one) == 0) {
        sum += (uintptr_t)one;
    }
    pilfer_promise_set_value(p->sum, (void*)sum);
}

static void* half(void* sum, void* unused) {
    (void)unused;
    return (void*)((uintptr_t)sum / 2);
}

int main(void) {
    struct pipeline p = {.running = squarers};
    pilfer_pool* pool;
    if (pilfer_pool_new(&pool, NULL) != 0 || pilfer_mutex_init(&p.mutex) != 0 ||
        pilfer_channel_new(&p.numbers, 8) != 0 || pilfer_channel_new(&p.squares, 0) != 0 ||
        pilfer_promise_new(&p.sum) != 0) {
        return 1;
    }
    pilfer_future* sum = pilfer_promise_future(p.sum);
    pilfer_future* halved;
    if (pilfer_future_then_in(pool, sum, half, NULL, &halved) != 0 || pilfer_submit(pool, add_up, &p) != 0 ||
        pilfer_submit(pool, make, &p) != 0) {
        return 1;
    }
    for (int i = 0; i < squarers; ++i) {
        if (pilfer_submit(pool, square, &p) != 0) {
            return 1;
        }
    }
    void* result;
    pilfer_future_get(sum, &result);
    printf("sum of the squares up to %d: %lu\n", numbers, (unsigned long)(uintptr_t)result);
    pilfer_future_get(halved, &result);
    printf("half of it: %lu\n", (unsigned long)(uintptr_t)result);
    printf("afterwards: %s\n", pilfer_strerror(pilfer_channel_send(p.numbers, &p)));

    pilfer_pool_destroy(pool); /* the tasks have ended: their objects may go */
    printf("squared: %d\n", p.squared);
    pilfer_future_free(halved);
    pilfer_future_free(sum);
    pilfer_promise_free(p.sum);
    pilfer_channel_free(p.squares);
    pilfer_channel_free(p.numbers);
    pilfer_mutex_destroy(&p.mutex);
    return 0;
}
