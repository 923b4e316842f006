/* A task waits for an event. Its name and that of the event make pilfer_pool_dump() and `pilfer top`
 * readable. */
#define _POSIX_C_SOURCE 200809L
#include <pilfer/pilfer.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pilfer_event opened;

static void customer(void* unused) {
    (void)unused;
    pilfer_event_wait(&opened);
}

/* The line of a dump about the task that waits; 0: it does not wait yet. */
static int find_wait(const pilfer_pool* pool, char* line, int size) {
    int found = 0;
    FILE* file = tmpfile();
    if (file == NULL) {
        exit(1);
    }
    pilfer_pool_dump(pool, fileno(file));
    rewind(file);
    while (!found && fgets(line, size, file) != NULL) {
        found = strstr(line, "suspended on worker") != NULL;
    }
    fclose(file);
    return found;
}

/* Prints what is between two texts of a line: numbers and addresses differ from run to run. */
static void print_between(const char* line, const char* from, const char* to) {
    const char* begin = strstr(line, from);
    const char* end = begin != NULL ? strstr(begin, to) : NULL;
    if (end != NULL) {
        printf("%.*s", (int)(end - begin), begin);
    }
}

int main(void) {
    pilfer_pool* pool;
    pilfer_task_options task;
    char line[512];
    memset(&task, 0, sizeof task);
    task.name = "customer";
    if (pilfer_pool_new(&pool, NULL) != 0 || pilfer_event_init(&opened, 0) != 0 ||
        pilfer_event_set_name(&opened, "shop opened") != 0 ||
        pilfer_submit_with(pool, &task, customer, NULL) != 0) {
        return 1;
    }
    while (!find_wait(pool, line, sizeof line)) {
    }
    print_between(line, "\"", ", suspended");
    printf(" ");
    print_between(line, "waits for", ", 0x");
    printf(")\n");
    pilfer_event_set(&opened);
    pilfer_pool_destroy(pool);
    pilfer_event_destroy(&opened); /* with its name */
    return 0;
}
