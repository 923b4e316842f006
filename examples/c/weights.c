/* Tasks of very different size. With weights, which say how much each task has to do, a thief takes half of
 * the work. Without them it takes half of the tasks. */
#define _POSIX_C_SOURCE 200809L
#include <pilfer/pilfer.h>

#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>

/* The sizes of some files, in megabytes: one is most of it. */
static const uint64_t sizes[] = {700, 100, 100, 100, 100, 100, 100, 100};
enum { files = sizeof sizes / sizeof *sizes };

struct theft {
    pilfer_pool* pool;
    const char* text;
    int weighted;
    atomic_int busy, go_on, stolen, end;
};

static void until(atomic_int* value) {
    while (!atomic_load(value)) {
        sched_yield();
    }
}

static void* keep_busy(void* data) { /* keeps the other worker away while the tasks are announced */
    struct theft* t = data;
    atomic_store(&t->busy, 1);
    until(&t->go_on);
    return NULL;
}

static void hash(void* data) {
    struct theft* t = data;
    atomic_store(&t->stolen, 1);
    until(&t->end);
}

static void announce(void* data) {
    struct theft* t = data;
    struct pilfer_counters before, after;
    pilfer_future* other;
    pilfer_scope scope;
    if (pilfer_async(t->pool, keep_busy, t, &other) != 0) {
        return;
    }
    until(&t->busy);
    pilfer_pool_counters(t->pool, &before); /* it was stolen, too */
    pilfer_scope_begin(&scope);
    for (int i = 0; i < files; ++i) {
        if (t->weighted) {
            pilfer_scope_fork_with(&scope, &(pilfer_task_options){.weight = sizes[i]}, hash, t);
        } else {
            pilfer_scope_fork(&scope, hash, t);
        }
    }
    atomic_store(&t->go_on, 1);
    until(&t->stolen);
    pilfer_pool_counters(t->pool, &after);
    const int tasks = (int)(after.tasks_stolen - before.tasks_stolen);
    unsigned long long taken = 0, left = 0;
    for (int i = 0; i < files; ++i) {
        *(i < tasks ? &taken : &left) += sizes[i]; /* the oldest were stolen */
    }
    printf("%s: the thief takes %d of %d tasks, %llu MB; %llu MB are left\n", t->text, tasks, files, taken,
           left);
    atomic_store(&t->end, 1);
    pilfer_scope_end(&scope);
    pilfer_future_get(other, NULL);
    pilfer_future_free(other);
}

/* One worker announces a task for each file and starts a long task. Prints the first theft of the other
 * worker. */
static int first_theft(pilfer_options* options, const char* text, int weighted) {
    struct theft t = {.text = text, .weighted = weighted};
    if (pilfer_pool_new(&t.pool, options) != 0 || pilfer_pool_run(t.pool, announce, &t) != 0) {
        return 1;
    }
    return pilfer_pool_destroy(t.pool);
}

static void nothing(void* unused) { (void)unused; }

int main(void) {
    pilfer_options* options;
    pilfer_scope scope;
    if (pilfer_options_new(&options) != 0 || pilfer_options_set(options, "workers", "2") != 0 ||
        pilfer_options_set(options, "balance", "half") != 0 ||
        first_theft(options, "without weights", 0) != 0 || first_theft(options, "with weights", 1) != 0) {
        return 1;
    }
    pilfer_options_free(options);
    pilfer_scope_begin(&scope);
    const pilfer_task_options heavy = {.weight = UINT64_MAX};
    printf("weight 2^64 - 1: %s\n", pilfer_strerror(pilfer_scope_fork_with(&scope, &heavy, nothing, NULL)));
    return pilfer_scope_end(&scope);
}
