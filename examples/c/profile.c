/* How parallel is a program? Work and span of two ways to add up numbers, recorded on one worker.
 * `pilfer profile PROGRAM` does this with every program, without a line of code. */
#include <pilfer/pilfer.h>

#include <stdio.h>

enum { count = 64000, piece = 1000 };

static long numbers[count];

struct range {
    int first;
    int last;
    long sum;
};

static void add_up(void* data) {
    struct range* r = data;
    r->sum = 0;
    for (int i = r->first; i < r->last; ++i) {
        r->sum += numbers[i];
    }
}

static void halves(void* data) {
    struct range* r = data;
    if (r->last - r->first <= piece) {
        add_up(r);
        return;
    }
    const int middle = r->first + (r->last - r->first) / 2;
    struct range lower = {r->first, middle, 0};
    struct range upper = {middle, r->last, 0};
    pilfer_join2(halves, &lower, halves, &upper);
    r->sum = lower.sum + upper.sum;
}

/* One piece after the other is forked, but each waits for the one before it. */
static void chain(void* data) {
    struct range* r = data;
    r->sum = 0;
    for (int i = r->first; i < r->last; i += piece) {
        struct range one = {i, i + piece, 0};
        pilfer_scope scope;
        pilfer_scope_begin(&scope);
        pilfer_scope_fork(&scope, add_up, &one);
        pilfer_scope_end(&scope);
        r->sum += one.sum;
    }
}

static int report(const char* name, void (*f)(void*)) {
    pilfer_options* options;
    pilfer_pool* pool;
    struct pilfer_work_span p;
    struct range whole = {0, count, 0};
    if (pilfer_options_new(&options) != 0 ||
        pilfer_options_set(options, "debug.profile", "1") != 0 || /* one worker, serial order */
        pilfer_pool_new(&pool, options) != 0 || pilfer_pool_run(pool, f, &whole) != 0 ||
        pilfer_pool_profile(pool, &p) != 0) {
        return 1;
    }
    printf("%s: %ld\n", name, whole.sum);
    /* Times vary; the number of tasks, and how many of them form the longest chain, do not. */
    printf("  %llu tasks, at most %llu in a chain\n", (unsigned long long)p.tasks,
           (unsigned long long)p.span_tasks);
    printf("  can use more than one worker: %s\n", p.tasks > p.span_tasks ? "yes" : "no");
    fprintf(stderr, "  parallelism %.1f\n", p.span_ns != 0 ? (double)p.work_ns / (double)p.span_ns : 0.0);
    pilfer_options_free(options);
    return pilfer_pool_destroy(pool);
}

int main(void) {
    for (int i = 0; i < count; ++i) {
        numbers[i] = i + 1;
    }
    return report("halves", halves) != 0 || report("chain", chain) != 0;
}
