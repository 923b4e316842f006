/* Four tasks read from empty pipes, on a pool of one worker. The reads block other threads, so the worker
 * continues and writes. */
#define _POSIX_C_SOURCE 200809L
#include <pilfer/pilfer.h>

#include <stdio.h>
#include <unistd.h>

enum { readers = 4 };

struct reader {
    int ends[2];
    ssize_t bytes;
    char got;
};

static void block(void* data) {
    struct reader* r = data;
    r->bytes = read(r->ends[0], &r->got, 1);
}

static void wait_for_letter(void* data) { /* runs at once, and is suspended in the read */
    if (pilfer_blocking(block, data) != 0) {
        ((struct reader*)data)->bytes = -1;
    }
}

static void run(void* data) {
    struct reader* all = data;
    pilfer_scope scope;
    pilfer_scope_begin(&scope);
    for (int i = 0; i < readers; ++i) {
        pilfer_scope_spawn(&scope, wait_for_letter, &all[i]);
    }
    for (int i = 0; i < readers; ++i) {
        if (write(all[i].ends[1], &"word"[i], 1) != 1) {
            close(all[i].ends[1]); /* its reader gets nothing */
        }
    }
    pilfer_scope_end(&scope);
}

int main(void) {
    struct reader all[readers];
    pilfer_options* options;
    pilfer_pool* pool;
    if (pilfer_options_new(&options) != 0 || pilfer_options_set(options, "workers", "1") != 0 ||
        pilfer_pool_new(&pool, options) != 0) {
        return 1;
    }
    for (int i = 0; i < readers; ++i) {
        if (pipe(all[i].ends) != 0) {
            return 1;
        }
    }
    if (pilfer_pool_run(pool, run, all) != 0) {
        return 1;
    }
    for (int i = 0; i < readers; ++i) {
        putchar(all[i].bytes == 1 ? all[i].got : '?');
        close(all[i].ends[0]);
        close(all[i].ends[1]);
    }
    putchar('\n');
    pilfer_pool_destroy(pool);
    pilfer_options_free(options);
    return 0;
}
