/* A pool is set up by names and text; counters tell its activity. */
#include <pilfer/pilfer.h>

#include <stdio.h>

static void nothing(void* unused) { (void)unused; }

static void announce(void* unused) {
    (void)unused;
    pilfer_scope scope;
    pilfer_scope_begin(&scope);
    for (int i = 0; i < 100; ++i) {
        pilfer_scope_fork(&scope, nothing, NULL);
    }
    pilfer_scope_end(&scope);
}

int main(void) {
    static const char* const wanted[][2] = {
        {"workers", "2"},         /* 0: as many as the affinity mask and the CPU quota allow */
        {"stack_size", "524288"}, /* bytes per context */
        {"max_contexts", "1000"}, /* above it, spawn is a plain call */
        {"debug.count_all", "1"}, /* exact counts, at a cost */
        {"balance", "half,ring"}, /* the amount of a theft, and its victim */
    };
    pilfer_options* options;
    pilfer_pool *pool, *impossible;
    struct pilfer_counters counters;
    char text[128];
    if (pilfer_options_new(&options) != 0) {
        return 1;
    }
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; ++i) {
        if (pilfer_options_set(options, wanted[i][0], wanted[i][1]) != 0) {
            printf("%s\n", pilfer_options_error(options));
            return 1;
        }
    }
    if (pilfer_pool_new(&pool, options) != 0) {
        return 1;
    }
    pilfer_pool_run(pool, announce, NULL);
    pilfer_pool_counters(pool, &counters);
    printf("workers: %u\n", pilfer_pool_workers(pool));
    printf("announced: %llu\n", (unsigned long long)counters.announced);
    printf("submitted and run: %llu\n", (unsigned long long)counters.run_submitted);
    pilfer_pool_settings(pool, options);
    pilfer_options_get(options, "balance", text, sizeof text);
    printf("balance: %s\n", text);
    pilfer_pool_destroy(pool);

    pilfer_options_set(options, "stack_size", "100");
    const int error = pilfer_pool_new(&impossible, options);
    printf("%s:\n  %s\n", pilfer_strerror(error), pilfer_options_error(options));
    pilfer_options_set(options, "pin", "here");
    printf("  %s\n", pilfer_options_error(options));
    pilfer_options_free(options);
    return 0;
}
