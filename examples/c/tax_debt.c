/* One sum in three forms: spawn, fork, join. There are 16 tasks. Each writes through a pointer into a local
 * of the parent's frame while that frame is alive. */
#include <pilfer/pilfer.h>

#include <stdio.h>

enum { states = 16 };

/* The result of an inspection of that state, in euros. */
static const long findings[states] = {1021, 1103, 1207, 1301, 1409, 1511, 1601, 1709,
                                      1801, 1901, 2003, 2111, 2203, 2309, 2411, 2503};

struct inspection {
    int state;
    long* debt;
};

static void inspect(void* data) {
    const struct inspection* i = data;
    *i->debt = findings[i->state];
}

static long total(const long* debts) {
    long sum = 0;
    for (int state = 0; state < states; ++state) {
        sum += debts[state];
    }
    return sum;
}

typedef int (*announce)(pilfer_scope*, void (*)(void*), void*);

/* spawn: the child runs at once; the rest of the loop is offered to idle workers.
 * fork: the children are offered to idle workers; the loop continues at once. */
static long by_scope(announce start) {
    long found[states] = {0};
    struct inspection work[states];
    pilfer_scope scope;
    pilfer_scope_begin(&scope);
    for (int state = 0; state < states; ++state) {
        work[state] = (struct inspection){state, &found[state]};
        start(&scope, inspect, &work[state]);
    }
    pilfer_scope_end(&scope); /* waits for them */
    return total(found);
}

struct states_of {
    int first, last;
    long* found;
};

/* Halves: one is done here, the other is offered. */
static void inspect_states(void* data) {
    const struct states_of* all = data;
    if (all->last - all->first == 1) {
        struct inspection one = {all->first, &all->found[all->first]};
        inspect(&one);
        return;
    }
    const int middle = all->first + (all->last - all->first) / 2;
    struct states_of lower = {all->first, middle, all->found};
    struct states_of upper = {middle, all->last, all->found};
    pilfer_join2(inspect_states, &lower, inspect_states, &upper);
}

static void print_all(void* unused) {
    (void)unused;
    printf("Tax debt is: %ld\n", by_scope(pilfer_scope_spawn));
    printf("Tax debt is: %ld\n", by_scope(pilfer_scope_fork));
    long found[states] = {0};
    struct states_of all = {0, states, found};
    inspect_states(&all);
    printf("Tax debt is: %ld\n", total(found));
}

int main(void) {
    pilfer_pool* pool;
    if (pilfer_pool_new(&pool, NULL) != 0) {
        return 1;
    }
    pilfer_pool_run(pool, print_all, NULL);
    pilfer_pool_destroy(pool);
    return 0;
}
