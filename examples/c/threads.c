/* The threads of a pool: their names, their first and last calls, and their priority. */
#include <pilfer/pilfer.h>

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

/* Something that each thread needs one of: a connection, a buffer, a thread-local of another library. */
static _Thread_local int* scratch;

static void make(unsigned worker, void* made) {
    (void)worker;
    scratch = calloc(1, sizeof *scratch);
    atomic_fetch_add((atomic_int*)made, 1);
}

static void give_back(unsigned worker, void* freed) {
    (void)worker;
    free(scratch);
    atomic_fetch_add((atomic_int*)freed, 1);
}

static void look(void* unused) {
    (void)unused;
    printf("there in a task: %s\n", scratch != NULL ? "yes" : "no");
}

int main(void) {
    static atomic_int made, freed;
    pilfer_options* options;
    pilfer_pool* pool;
    if (pilfer_options_new(&options) != 0 || pilfer_options_set(options, "workers", "2") != 0 ||
        /* the threads index/0 and index/1 of `top -H` and of a debugger */
        pilfer_options_set(options, "name", "index") != 0 ||
        /* added to the nice value: others come first. Refused, it is no error: see pilfer_pool_dump() */
        pilfer_options_set(options, "priority", "5") != 0 ||
        pilfer_options_on_start(options, make, &made) != 0 ||
        pilfer_options_on_stop(options, give_back, &freed) != 0 || pilfer_pool_new(&pool, options) != 0) {
        return 1;
    }
    printf("made before the first task: %d\n", atomic_load(&made));
    pilfer_pool_run(pool, look, NULL);
    pilfer_pool_destroy(pool);
    printf("freed with the pool: %d\n", atomic_load(&freed));

    pilfer_options_set(options, "name", "much too long");
    printf("%s\n", pilfer_options_error(options));
    pilfer_options_free(options);
    return 0;
}
