/* One program on two back-ends: work stealing, and one lock, which is too simple to be wrong. If their
 * results differ, the runtime has a bug. PILFER_BACKEND=one_lock chooses it from outside, for every pool of a
 * program. */
#include <pilfer/pilfer.h>

#include <stdint.h>
#include <stdio.h>

struct board {
    uint64_t number;
    unsigned depth;
};

static void* count(void* data);

static void* nothing(void* unused, void* unused_too) {
    (void)unused;
    (void)unused_too;
    return NULL;
}

static uint64_t count_moves(const struct board* b) {
    if (b->depth == 0) {
        return b->number % 3;
    }
    struct board next[4];
    pilfer_future* moves[4];
    pilfer_future *all, *behind;
    for (unsigned i = 0; i < 4; ++i) {
        next[i] = (struct board){b->number * 5 + i, b->depth - 1};
        if (pilfer_async(NULL, count, &next[i], &moves[i]) != 0) {
            return 0; /* of an example */
        }
    }
    if (pilfer_when_all(moves, 4, &all) != 0 || pilfer_future_then(all, nothing, NULL, &behind) != 0) {
        return 0;
    }
    for (unsigned i = 0; i < 4; ++i) { /* runs the move here unless a worker has begun it */
        pilfer_future_wait(moves[i]);
    }
    pilfer_future_wait(behind);
    uint64_t sum = 0;
    for (unsigned i = 0; i < 4; ++i) {
        void* one = NULL;
        pilfer_future_get(moves[i], &one);
        sum = (sum * 31 + (uint64_t)(uintptr_t)one) & 0xffffffff; /* fits a pointer everywhere */
        pilfer_future_free(moves[i]);
    }
    pilfer_future_free(behind);
    pilfer_future_free(all);
    return sum;
}

static void* count(void* data) { return (void*)(uintptr_t)count_moves(data); }

static void count_all(void* data) {
    struct board* b = data;
    b->number = count_moves(b);
}

static pilfer_pool* new_pool(const char* backend) {
    pilfer_options* options;
    pilfer_pool* pool = NULL;
    if (pilfer_options_new(&options) == 0) {
        if (pilfer_options_set(options, "workers", "2") == 0 &&
            pilfer_options_set(options, "backend", backend) == 0) {
            pilfer_pool_new(&pool, options);
        }
        pilfer_options_free(options);
    }
    return pool;
}

static void* wait_for(void* answer) {
    void* value = NULL;
    pilfer_future_get(answer, &value);
    return value;
}

static void tell(void* answer) { pilfer_promise_set_value(answer, (void*)(uintptr_t)21); }

int main(void) {
    static const char* const backends[][2] = {{"work_stealing", "stealing"}, {"one_lock", "one lock"}};
    for (int i = 0; i < 2; ++i) {
        pilfer_pool* pool = new_pool(backends[i][0]);
        struct board whole = {1, 5};
        if (pool == NULL || pilfer_pool_run(pool, count_all, &whole) != 0) {
            return 1;
        }
        printf("%s: %llu\n", backends[i][1], (unsigned long long)whole.number);
        pilfer_pool_destroy(pool);
    }
    /* Two threads wait for a third task: a temporary thread runs it. */
    pilfer_pool* pool = new_pool("one_lock");
    pilfer_promise* answer;
    pilfer_future *first, *second;
    if (pool == NULL || pilfer_promise_new(&answer) != 0) {
        return 1;
    }
    pilfer_future* promised = pilfer_promise_future(answer);
    if (pilfer_async(pool, wait_for, promised, &first) != 0 ||
        pilfer_async(pool, wait_for, promised, &second) != 0 || pilfer_submit(pool, tell, answer) != 0) {
        return 1;
    }
    void *a = NULL, *b = NULL;
    pilfer_future_get(first, &a);
    pilfer_future_get(second, &b);
    printf("both have waited: %llu\n", (unsigned long long)((uintptr_t)a + (uintptr_t)b));
    pilfer_future_free(first);
    pilfer_future_free(second);
    pilfer_future_free(promised);
    pilfer_promise_free(answer);
    return pilfer_pool_destroy(pool);
}
