/* The figures that a program gives to Prometheus: its HTTP handler would send this text. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <pilfer/pilfer.h>

static void nothing(void* arg) { (void)arg; }

int main(void) {
    pilfer_options* options = NULL;
    pilfer_pool* pool = NULL;
    size_t length = 0;
    if (pilfer_options_new(&options) != 0 || pilfer_options_set(options, "workers", "2") != 0 ||
        pilfer_options_set(options, "name", "shop") != 0 || pilfer_pool_new(&pool, options) != 0) {
        return 1;
    }
    for (int i = 0; i < 3; ++i) {
        if (pilfer_pool_run(pool, nothing, NULL) != 0) {
            return 1;
        }
    }
    if (pilfer_prometheus_text(NULL, 0, &length) != 0) {
        return 1;
    }
    /* Room for counters that get another digit before the second call. */
    const size_t size = length + 1000;
    char* text = malloc(size);
    if (text == NULL || pilfer_prometheus_text(text, size, &length) != 0 || length != strlen(text)) {
        return 1;
    }
    /* Of the text, this program prints the lines that are the same on every machine. */
    for (char* line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        if (strstr(line, "tasks_begun_total") != NULL && strstr(line, "own") == NULL) {
            puts(line);
        }
    }
    free(text);
    pilfer_options_free(options);
    return pilfer_pool_destroy(pool);
}
