/* A bounded buffer as a plain struct: each call names its own condition, and no code signals anything. */
#include <pilfer/pilfer.h>

#include <stdio.h>

enum { room = 3 };

struct buffer {
    int values[room];
    int first, count;
    int closed;
};

/* `arg` of a call carries the value in or out. */
struct item {
    int there;
    int value;
};

static int not_full(const void* value, void* arg) {
    (void)arg;
    return ((const struct buffer*)value)->count < room;
}

static void put(void* value, void* arg) {
    struct buffer* b = value;
    b->values[(b->first + b->count++) % room] = ((struct item*)arg)->value;
}

static int not_empty(const void* value, void* arg) {
    (void)arg;
    return ((const struct buffer*)value)->count > 0;
}

static int not_empty_or_closed(const void* value, void* arg) {
    return not_empty(value, arg) || ((const struct buffer*)value)->closed;
}

static void get(void* value, void* arg) {
    struct buffer* b = value;
    struct item* got = arg;
    got->there = b->count > 0;
    if (got->there) {
        got->value = b->values[b->first];
        b->first = (b->first + 1) % room;
        --b->count;
    }
}

static void close_it(void* value, void* arg) {
    (void)arg;
    ((struct buffer*)value)->closed = 1;
}

static long sum; /* the consumer's until it has ended */

static void* consume(void* data) {
    pilfer_monitor* shared = data;
    struct item got;
    do { /* suspends until there is something to do */
        if (pilfer_monitor_call_when(shared, not_empty_or_closed, get, &got) != 0) {
            return NULL;
        }
        sum += got.there ? got.value : 0;
    } while (got.there);
    return NULL;
}

int main(void) {
    struct buffer buffer = {{0}, 0, 0, 0};
    pilfer_pool* pool;
    pilfer_monitor* shared;
    pilfer_future* consumer;
    if (pilfer_pool_new(&pool, NULL) != 0 || pilfer_monitor_new(&shared, &buffer) != 0 ||
        pilfer_async(pool, consume, shared, &consumer) != 0) {
        return 1;
    }
    for (int i = 1; i <= 1000;
         ++i) { /* this thread is none of the pool's: it blocks while the buffer is full */
        struct item one = {1, i};
        if (pilfer_monitor_call_when(shared, not_full, put, &one) != 0) {
            return 1;
        }
    }
    pilfer_monitor_call(shared, close_it, NULL);
    pilfer_future_get(consumer, NULL);
    pilfer_future_free(consumer);
    printf("the sum of what came through: %ld\n", sum);

    struct item late;
    const int code = pilfer_monitor_call_when_for(shared, not_empty, get, &late, 1000000);
    puts(code == PILFER_ETIMEDOUT ? "nothing in time" : "a value");
    pilfer_pool_destroy(pool);
    pilfer_monitor_free(shared);
    return 0;
}
