/* A producer is faster than its consumers: a bounded queue makes it wait, or refuses a task. Tasks have
 * names, and the wait for a scope has a time limit. */
#define _POSIX_C_SOURCE 200809L
#include <pilfer/pilfer.h>

#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>

static pilfer_pool* bounded(const char* when_full) {
    pilfer_options* options;
    pilfer_pool* pool = NULL;
    if (pilfer_options_new(&options) == 0) {
        if (pilfer_options_set(options, "workers", "2") == 0 &&
            pilfer_options_set(options, "queue_capacity", "8") == 0 &&
            pilfer_options_set(options, "when_full", when_full) == 0) {
            pilfer_pool_new(&pool, options);
        }
        pilfer_options_free(options);
    }
    return pool;
}

static void write_one(void* written) { atomic_fetch_add((atomic_int*)written, 1); }

static int waits(void) {
    atomic_int written = 0;
    pilfer_pool* pool = bounded("wait");
    if (pool == NULL) {
        return 1;
    }
    for (int i = 0; i < 1000; ++i) {
        pilfer_submit(pool, write_one, &written); /* never more than eight wait for a worker */
    }
    pilfer_pool_shutdown(pool, PILFER_DRAIN);
    printf("written: %d\n", atomic_load(&written));
    return pilfer_pool_destroy(pool);
}

static void stand(void* go_on) {
    while (!atomic_load((atomic_int*)go_on)) {
        sched_yield();
    }
}

static int fails(void) {
    atomic_int go_on = 0;
    int accepted = 0;
    int code = 0;
    pilfer_pool* pool = bounded("fail");
    if (pool == NULL) {
        return 1;
    }
    while ((code = pilfer_submit(pool, stand, &go_on)) == 0) {
        ++accepted;
    }
    printf("%s\n", pilfer_strerror(code));
    printf("accepted: %s\n", accepted >= 8 ? "eight or more" : "too few");
    atomic_store(&go_on, 1);
    return pilfer_pool_destroy(pool);
}

static void say_name(void* what) { printf("\"%s\": %s\n", pilfer_task_name(), (const char*)what); }

static int names(pilfer_pool* pool) {
    pilfer_submit_with(pool, &(pilfer_task_options){.name = "parse config"}, say_name, "line 3: no value");
    return pilfer_pool_shutdown(pool, PILFER_DRAIN);
}

static void wait_for_it(void* answer) { pilfer_event_wait(answer); }

static void in_time(void* unused) {
    pilfer_event answer;
    pilfer_scope scope;
    (void)unused;
    pilfer_event_init(&answer, 0);
    pilfer_scope_begin(&scope);
    pilfer_scope_spawn(&scope, wait_for_it, &answer);
    printf("in time: %s\n", pilfer_scope_sync_for(&scope, 1000000) == 0 ? "yes" : "no");
    pilfer_event_set(&answer);
    printf("in time: %s\n", pilfer_scope_sync_for(&scope, 3600000000000) == 0 ? "yes" : "no");
    pilfer_scope_end(&scope);
    pilfer_event_destroy(&answer);
}

int main(void) {
    pilfer_pool* pool;
    if (waits() != 0 || fails() != 0 || pilfer_pool_new(&pool, NULL) != 0 ||
        pilfer_pool_run(pool, in_time, NULL) != 0 || names(pool) != 0) {
        return 1;
    }
    return pilfer_pool_destroy(pool);
}
