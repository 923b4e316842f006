/* A task of one pool may run something in another: its worker is free for others meanwhile. */
#include <pilfer/pilfer.h>

#include <stdio.h>

static void zero(void* value, void* unused) {
    (void)unused;
    *(long*)value = 0;
}

static void add_piece(void* value, size_t begin, size_t end, void* unused) {
    (void)unused;
    for (size_t i = begin; i < end; ++i) {
        *(long*)value += (long)i;
    }
}

static void add(void* left, void* right, void* unused) {
    (void)unused;
    *(long*)left += *(long*)right;
}

struct sum {
    size_t below;
    pilfer_pool* in; /* NULL: the caller's pool */
    long result;
};

static void sum_here(void* data) {
    static const struct pilfer_reducer sums = {sizeof(long), zero, add_piece, add};
    struct sum* s = data;
    s->result = 0;
    if (pilfer_reduce(0, s->below, &sums, NULL, &s->result) != 0) {
        s->result = -1;
    }
}

static void sum_there(void* data) {
    struct sum* s = data;
    if (pilfer_pool_run(s->in, sum_here, s) != 0) {
        s->result = -1;
    }
}

static void both(void* data) {
    struct sum* sums = data;
    pilfer_join2(sum_here, &sums[0], sum_there, &sums[1]);
}

static pilfer_pool* new_pool(const char* workers) {
    pilfer_options* options;
    pilfer_pool* pool = NULL;
    if (pilfer_options_new(&options) == 0 && pilfer_options_set(options, "workers", workers) == 0) {
        pilfer_pool_new(&pool, options);
        pilfer_options_free(options);
    }
    return pool;
}

int main(void) {
    pilfer_pool* outer = new_pool("1");
    pilfer_pool* inner = new_pool("2");
    struct sum sums[] = {{1000, NULL, 0}, {2000, inner, 0}};
    if (outer == NULL || inner == NULL || pilfer_pool_run(outer, both, sums) != 0) {
        return 1;
    }
    printf("outer pool of %u: %ld\n", pilfer_pool_workers(outer), sums[0].result);
    printf("inner pool of %u: %ld\n", pilfer_pool_workers(inner), sums[1].result);
    return pilfer_pool_destroy(inner) + pilfer_pool_destroy(outer);
}
