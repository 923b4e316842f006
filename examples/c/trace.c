/* The activity of each worker over time, for ui.perfetto.dev: `trace FILE` writes a trace of a small program.
 * Every program does this with PILFER_TRACE=FILE in its environment, without a line of code. */
#define _POSIX_C_SOURCE 200809L
#include <pilfer/pilfer.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct number {
    int n;
    long result;
};

static void fib(void* data) {
    struct number* self = data;
    if (self->n < 2) {
        self->result = self->n;
        return;
    }
    struct number a = {self->n - 1, 0};
    struct number b = {self->n - 2, 0};
    pilfer_join2(fib, &a, fib, &b);
    self->result = a.result + b.result;
}

static void ten(void* unused) {
    struct number numbers[10];
    pilfer_scope scope;
    (void)unused;
    pilfer_scope_begin(&scope);
    for (int i = 0; i < 10; ++i) {
        numbers[i] = (struct number){15, 0};
        pilfer_scope_fork(&scope, fib, &numbers[i]);
    }
    pilfer_scope_end(&scope);
}

/* NULL: it cannot be read. */
static char* read_all(const char* path) {
    FILE* file = fopen(path, "r");
    char* text = NULL;
    if (file != NULL && fseek(file, 0, SEEK_END) == 0) {
        const long size = ftell(file);
        rewind(file);
        text = calloc((size_t)size + 1, 1);
        if (text != NULL && fread(text, 1, (size_t)size, file) != (size_t)size) {
            free(text);
            text = NULL;
        }
    }
    if (file != NULL) {
        fclose(file);
    }
    return text;
}

static unsigned long long count(const char* text, const char* what) {
    unsigned long long n = 0;
    for (const char* at = strstr(text, what); at != NULL; at = strstr(at + 1, what)) {
        ++n;
    }
    return n;
}

int main(int argc, char** argv) {
    char temporary[] = "/tmp/pilfer-trace-XXXXXX";
    const char* path = argc > 1 ? argv[1] : temporary;
    pilfer_options* options;
    pilfer_pool* pool;
    struct pilfer_counters c;
    if (argc < 2) {
        const int file = mkstemp(temporary);
        if (file < 0) {
            return 1;
        }
        close(file);
    }
    if (pilfer_options_new(&options) != 0 || pilfer_options_set(options, "workers", "2") != 0 ||
        pilfer_options_set(options, "debug.trace_events", "65536") !=
            0 || /* per worker; the newest are kept */
        pilfer_pool_new(&pool, options) != 0) {
        return 1;
    }
    struct number whole = {25, 0};
    pilfer_pool_run(pool, fib, &whole);
    printf("fib(%d) = %ld\n", whole.n, whole.result);
    pilfer_pool_run(pool, ten, NULL);
    pilfer_pool_shutdown(pool, PILFER_DRAIN); /* not needed; but from here on trace and counters agree */

    const int code = pilfer_pool_write_trace(pool, path);
    char* text = code == 0 ? read_all(path) : NULL;
    if (text == NULL || pilfer_pool_counters(pool, &c) != 0) {
        printf("no trace: %s\n", pilfer_strerror(code));
        return 1;
    }
    printf("tracks: %llu\n", count(text, "\"thread_name\""));
    printf("slices of submitted tasks: %llu\n", count(text, "\"submitted submission\""));
    printf("every slice ends: %s\n",
           count(text, "\"ph\":\"B\"") == count(text, "\"ph\":\"E\"") ? "yes" : "no");
    printf("every theft is there: %s\n", count(text, "\"stolen ") == c.run_stolen ? "yes" : "no");
    printf("every sleep is there: %s\n", count(text, "\"sleep\"") == c.sleeps ? "yes" : "no");
    free(text);
    if (argc < 2) {
        unlink(temporary);
    }
    pilfer_options_free(options);
    return pilfer_pool_destroy(pool);
}
