/* Counts letters in parallel, each use in a table of its own: no lock, and no atomic counters. */
#include <pilfer/pilfer.h>

#include <stdio.h>
#include <stdlib.h>

enum { letters = 26, lines = 10000 };

static const char line[] = "the quick brown fox jumps over the lazy dog";

static void* make_table(void* arg) {
    (void)arg;
    return calloc(letters, sizeof(long));
}

static void free_table(void* table, void* arg) {
    (void)arg;
    free(table);
}

static void count(size_t begin, size_t end, void* data) {
    pilfer_lease* mine = NULL;
    if (pilfer_worker_local_lease(data, &mine) != 0) {
        abort();
    }
    long* const table = pilfer_lease_instance(mine);
    for (size_t i = begin; i < end; ++i) {
        for (const char* c = line; *c != '\0'; ++c) {
            if (*c != ' ') {
                ++table[*c - 'a'];
            }
        }
    }
    pilfer_lease_end(mine);
}

static void add(void* table, void* sum) {
    for (int i = 0; i < letters; ++i) {
        ((long*)sum)[i] += ((const long*)table)[i];
    }
}

static void count_all(void* tables) {
    if (pilfer_for_each(0, lines, count, tables) != 0) {
        abort();
    }
}

int main(void) {
    pilfer_pool* pool = NULL;
    pilfer_worker_local* tables = NULL;
    long all[letters] = {0};
    int error = pilfer_pool_new(&pool, NULL);
    error = error != 0 ? error : pilfer_worker_local_new(&tables, make_table, free_table, NULL);
    error = error != 0 ? error : pilfer_pool_run(pool, count_all, tables);
    error = error != 0 ? error : pilfer_worker_local_for_each(tables, add, all);
    if (error != 0) {
        fprintf(stderr, "%s\n", pilfer_strerror(error));
        return 1;
    }
    printf("e: %ld, o: %ld, z: %ld\n", all['e' - 'a'], all['o' - 'a'], all['z' - 'a']);
    printf("at most a table per worker: %s\n",
           pilfer_worker_local_size(tables) <= pilfer_pool_workers(pool) ? "yes" : "no");
    pilfer_worker_local_free(tables);
    pilfer_pool_destroy(pool);
    return 0;
}
