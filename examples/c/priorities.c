/* Three levels of work in one pool: urgent tasks begin first, in any order of submission. */
#include <pilfer/pilfer.h>

#include <stdio.h>

static pilfer_event busy, go_on;

static void stay(void* arg) {
    (void)arg;
    pilfer_event_set(&busy);
    while (!pilfer_event_is_set(&go_on)) {
    }
}

static void say(void* text) { puts(text); }

int main(void) {
    pilfer_options* options = NULL;
    pilfer_pool* pool = NULL;
    const pilfer_task_options low = {.priority = PILFER_LOW}, high = {.priority = PILFER_HIGH};
    int error = pilfer_options_new(&options);
    error =
        error != 0 ? error : pilfer_options_set(options, "workers", "1"); /* so that the order can be seen */
    error = error != 0 ? error : pilfer_pool_new(&pool, options);
    error = error != 0 ? error : pilfer_event_init(&busy, 0);
    error = error != 0 ? error : pilfer_event_init(&go_on, 0);

    /* The worker is busy while the rest is submitted. */
    error = error != 0 ? error : pilfer_submit(pool, stay, NULL);
    error = error != 0 ? error : pilfer_event_wait(&busy);
    error = error != 0 ? error : pilfer_submit_with(pool, &low, say, "write the log");
    error = error != 0 ? error : pilfer_submit(pool, say, "load the next level"); /* normal */
    error = error != 0 ? error : pilfer_submit_with(pool, &high, say, "render frame 1");
    error = error != 0 ? error : pilfer_submit_with(pool, &high, say, "render frame 2");
    error = error != 0 ? error : pilfer_event_set(&go_on);
    error = error != 0 ? error : pilfer_pool_shutdown(pool, PILFER_DRAIN);
    if (error != 0) {
        fprintf(stderr, "%s\n", pilfer_strerror(error));
    }
    pilfer_event_destroy(&busy);
    pilfer_event_destroy(&go_on);
    pilfer_pool_destroy(pool);
    pilfer_options_free(options);
    return error != 0;
}
