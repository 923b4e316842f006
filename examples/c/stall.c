/* Two tasks wait for each other's results, so neither ends. pilfer_pool_dump() lists on demand the waiting
 * tasks and what each waits for. The pool prints that list once by itself, to standard error, after it has
 * had nothing to run for the milliseconds of the option debug.stall_report. */
#define _POSIX_C_SOURCE 200809L
#include <pilfer/pilfer.h>

#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pilfer_future *price, *tax;
static atomic_int begun; /* so that neither runs the other on top of itself */

static void both_run(void) {
    atomic_fetch_add(&begun, 1);
    while (atomic_load(&begun) < 3) {
        sched_yield();
    }
}

static void* wait_for_tax(void* unused) {
    void* value = NULL;
    both_run();
    pilfer_future_get(tax, &value);
    return unused;
}

static void* wait_for_price(void* unused) {
    void* value = NULL;
    both_run();
    pilfer_future_get(price, &value);
    return unused;
}

/* Numbers and addresses differ from run to run. */
static void print_masked(const char* line) {
    static const char* const before[] = {"context ", "0x"};
    while (*line != '\0') {
        size_t length = 0;
        for (int i = 0; i < 2; ++i) {
            if (strncmp(line, before[i], strlen(before[i])) == 0) {
                length = strlen(before[i]);
            }
        }
        if (length != 0) {
            fputs("...", stdout);
            line += length;
            line += strspn(line, "0123456789abcdef");
        } else {
            putchar(*line++);
        }
    }
}

int main(void) {
    pilfer_options* options;
    pilfer_pool* pool; /* never destroyed: its tasks never end */
    struct pilfer_counters counters;
    if (pilfer_options_new(&options) != 0 || pilfer_options_set(options, "workers", "2") != 0 ||
        pilfer_options_set(options, "debug.stall_report", "100") != 0 ||
        pilfer_pool_new(&pool, options) != 0 || pilfer_async(pool, wait_for_tax, NULL, &price) != 0 ||
        pilfer_async(pool, wait_for_price, NULL, &tax) != 0) {
        return 1;
    }
    atomic_fetch_add(&begun, 1);
    do {
        pilfer_sleep_for(1000000);
        pilfer_pool_counters(pool, &counters);
    } while (counters.suspends < 2);

    FILE* text = tmpfile();
    if (text == NULL || pilfer_pool_dump(pool, fileno(text)) != 0) {
        return 1;
    }
    rewind(text);
    char line[1024];
    while (fgets(line, sizeof line, text) != NULL) {
        if (strstr(line, "waits for a future") != NULL && strstr(line, "suspended on worker") == NULL) {
            print_masked(line);
        }
    }
    fflush(stdout);
    pilfer_sleep_for(300000000); /* the pool's own report */
    _Exit(0);
}
