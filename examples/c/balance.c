/* How work spreads: how much a thief takes, from which victim, and when tasks are exposed to it. For pools
 * that leave it open, PILFER_BALANCE=half,ring,doubling in the environment chooses. */
#define _POSIX_C_SOURCE 200809L
#include <pilfer/pilfer.h>

#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

struct spreading {
    pilfer_pool* pool;
    struct pilfer_counters before;
    atomic_int busy;
    atomic_int go_on;
    atomic_int ran;
};

static void until(atomic_int* value, int wanted) {
    while (atomic_load(value) != wanted) {
        sched_yield();
    }
}

static void* keep_busy(void* data) { /* keeps the other worker away while the tasks are announced */
    struct spreading* s = data;
    atomic_store(&s->busy, 1);
    until(&s->go_on, 1);
    return NULL;
}

static void count(void* data) { atomic_fetch_add((atomic_int*)data, 1); }

static void announce(void* data) {
    struct spreading* s = data;
    pilfer_future* other;
    pilfer_scope scope;
    if (pilfer_async(s->pool, keep_busy, s, &other) != 0) {
        return;
    }
    until(&s->busy, 1);
    pilfer_pool_counters(s->pool, &s->before); /* it was stolen, too */
    pilfer_scope_begin(&scope);
    for (int i = 0; i < 64; ++i) {
        pilfer_scope_fork(&scope, count, &s->ran);
    }
    atomic_store(&s->go_on, 1);
    until(&s->ran, 64);
    pilfer_scope_end(&scope);
    pilfer_future_get(other, NULL);
    pilfer_future_free(other);
}

/* One worker announces 64 tasks and goes into a long task; the other one takes them all. */
static int spread(const char* text, pilfer_options* options, const char* balance) {
    struct spreading s = {0};
    struct pilfer_counters after;
    if (pilfer_options_set(options, "balance", balance) != 0 || pilfer_pool_new(&s.pool, options) != 0) {
        printf("%s\n", pilfer_options_error(options));
        return 1;
    }
    pilfer_pool_run(s.pool, announce, &s);
    pilfer_pool_counters(s.pool, &after);
    printf("%s: %llu tasks in %llu thefts\n", text,
           (unsigned long long)(after.tasks_stolen - s.before.tasks_stolen),
           (unsigned long long)(after.run_stolen - s.before.run_stolen));
    return pilfer_pool_destroy(s.pool);
}

int main(void) {
    pilfer_options* options;
    pilfer_pool* impossible;
    unsetenv("PILFER_BALANCE");
    if (pilfer_options_new(&options) != 0 || pilfer_options_set(options, "workers", "2") != 0 ||
        spread("one", options, "one,ring,on-demand") != 0 ||
        spread("half", options, "half,ring,on-demand") != 0 ||
        spread("all but one", options, "all-but-one,ring,on-demand") != 0 ||
        spread("adaptive", options, "adaptive,ring,on-demand") != 0) {
        return 1;
    }
    pilfer_options_set(options, "balance", "");
    setenv("PILFER_BALANCE", "halve", 1);
    if (pilfer_pool_new(&impossible, options) != 0) {
        printf("%s\n", pilfer_options_error(options));
    }
    pilfer_options_free(options);
    return 0;
}
