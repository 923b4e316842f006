/* Pools one after another and forty at once; futures that are freed at once, and ones that outlive their
 * pool. threadpool_pools [threads] */
#include <pilfer/threadpool.h>

#include <stdio.h>
#include <stdlib.h>

enum { most_pools = 40, tasks = 10 };

static void* triple(struct thread_pool* pool, void* data) {
    (void)pool;
    int* number = data;
    *number *= 3;
    return number;
}

static void* nine_times(struct thread_pool* pool, void* data) {
    struct future* first = thread_pool_submit(pool, triple, data);
    future_get(first);
    future_free(first);
    return triple(pool, data);
}

static int submit_all(struct thread_pool* pool, int* numbers, struct future** futures) {
    for (int i = 0; i < tasks; ++i) {
        numbers[i] = 1;
        futures[i] = thread_pool_submit(pool, nine_times, &numbers[i]);
        if (futures[i] == NULL) {
            return 0;
        }
    }
    return 1;
}

static int collect(struct future** futures) {
    int sum = 0;
    for (int i = 0; i < tasks; ++i) {
        sum += *(int*)future_get(futures[i]);
        future_free(futures[i]);
    }
    return sum;
}

int main(int argc, char** argv) {
    const int threads = argc > 1 ? atoi(argv[1]) : 2;
    const int pools = argc > 2 && atoi(argv[2]) < most_pools ? atoi(argv[2]) : most_pools;
    static int numbers[most_pools][tasks];
    static struct future* futures[most_pools][tasks];
    struct thread_pool* all[most_pools];
    int right = 0;
    for (int i = 0; i < pools; ++i) {
        struct thread_pool* one = thread_pool_new(threads);
        if (one == NULL || !submit_all(one, numbers[i], futures[i])) {
            return 1;
        }
        thread_pool_shutdown_and_destroy(one); /* runs them all */
        right += collect(futures[i]) == 9 * tasks;
    }
    printf("in turn: %s\n", right == pools ? "each is right" : "some are wrong");
    right = 0;
    for (int i = 0; i < pools; ++i) {
        all[i] = thread_pool_new(threads);
        if (all[i] == NULL || !submit_all(all[i], numbers[i], futures[i])) {
            return 1;
        }
    }
    for (int i = pools - 1; i >= 0; --i) {
        right += collect(futures[i]) == 9 * tasks;
        thread_pool_shutdown_and_destroy(all[i]);
    }
    printf("at once: %s\n", right == pools ? "each is right" : "some are wrong");
    return 0;
}
