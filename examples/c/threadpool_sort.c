/* Merge sort: the left half is a task, the right half this task's own work.
 * threadpool_sort [threads] */
#include <pilfer/threadpool.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { count = 100000, serial_below = 500 };

struct part {
    uint32_t* numbers;
    uint32_t* room; /* as many again */
    size_t count;
};

static int by_value(const void* a, const void* b) {
    const uint32_t left = *(const uint32_t*)a;
    const uint32_t right = *(const uint32_t*)b;
    return (left > right) - (left < right);
}

static void merge(const struct part* p, size_t middle) {
    size_t left = 0;
    size_t right = middle;
    for (size_t i = 0; i < p->count; ++i) {
        if (right == p->count || (left < middle && p->numbers[left] <= p->numbers[right])) {
            p->room[i] = p->numbers[left++];
        } else {
            p->room[i] = p->numbers[right++];
        }
    }
    memcpy(p->numbers, p->room, p->count * sizeof *p->numbers);
}

static void* sort(struct thread_pool* pool, void* data) {
    const struct part* p = data;
    if (p->count < serial_below) {
        qsort(p->numbers, p->count, sizeof *p->numbers, by_value);
        return NULL;
    }
    const size_t middle = p->count / 2;
    struct part left = {p->numbers, p->room, middle};
    struct part right = {p->numbers + middle, p->room + middle, p->count - middle};
    struct future* other = thread_pool_submit(pool, sort, &left);
    sort(pool, &right);
    future_get(other);
    future_free(other);
    merge(p, middle);
    return NULL;
}

int main(int argc, char** argv) {
    struct thread_pool* pool = thread_pool_new(argc > 1 ? atoi(argv[1]) : 2);
    uint32_t* numbers = malloc(2 * count * sizeof *numbers);
    if (pool == NULL || numbers == NULL) {
        return 1;
    }
    uint32_t random = 1;
    uint64_t sum = 0;
    for (size_t i = 0; i < count; ++i) {
        random = random * 1664525U + 1013904223U;
        numbers[i] = random;
        sum += random;
    }
    struct part whole = {numbers, numbers + count, count};
    struct future* sorted = thread_pool_submit(pool, sort, &whole);
    future_get(sorted);
    future_free(sorted);
    for (size_t i = 0; i < count; ++i) {
        if (i > 0 && numbers[i - 1] > numbers[i]) {
            printf("number %zu is too small\n", i);
        }
        sum -= numbers[i];
    }
    printf("%d numbers are sorted, and %s\n", count, sum == 0 ? "none is lost" : "not the same");
    thread_pool_shutdown_and_destroy(pool);
    free(numbers);
    return 0;
}
