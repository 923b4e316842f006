/* A main loop: the thread of main() works for the pool until the loop is stopped. It sleeps when there is
 * nothing to do. */
#include <pilfer/pilfer.h>

#include <stdatomic.h>
#include <stdio.h>

static atomic_int busy, end, frames;
static _Thread_local int is_main;

static void stay(void* arg) {
    (void)arg;
    atomic_store(&busy, 1);
    while (!atomic_load(&end)) {
    }
}

static void draw(void* pool) {
    printf("a frame: drawn by %s thread\n", is_main ? "this" : "another");
    atomic_fetch_add(&frames, 1);
    pilfer_pool_notify(pool); /* the loop's condition may have changed */
}

static int all_drawn(void* arg) {
    (void)arg;
    return atomic_load(&frames) == 3;
}

int main(void) {
    pilfer_options* options = NULL;
    pilfer_pool* pool = NULL;
    is_main = 1;
    int error = pilfer_options_new(&options);
    error = error != 0 ? error : pilfer_options_set(options, "workers", "1");
    error = error != 0 ? error
                       : pilfer_options_set(options, "attachable", "1"); /* one at a time may work for it */
    error = error != 0 ? error : pilfer_pool_new(&pool, options);

    /* The worker is busy with something long, so that all that is submitted is left to this thread. */
    error = error != 0 ? error : pilfer_submit(pool, stay, NULL);
    while (error == 0 && !atomic_load(&busy)) {
    }
    for (int i = 0; i < 3; ++i) {
        error = error != 0 ? error : pilfer_submit(pool, draw, pool);
    }
    error = error != 0 ? error : pilfer_pool_run_until(pool, all_drawn, NULL);
    atomic_store(&end, 1);
    if (error != 0) {
        fprintf(stderr, "%s\n", pilfer_strerror(error));
    } else {
        puts("the loop has ended");
    }
    pilfer_pool_destroy(pool);
    pilfer_options_free(options);
    return error != 0;
}
