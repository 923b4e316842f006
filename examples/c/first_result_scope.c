/* The first solution ends the search. n queens: the first task inside the scope that finds one exits with it,
 * and all others leave. */
#include <pilfer/pilfer.h>

#include <stdio.h>
#include <stdlib.h>

enum { size = 12 };

struct board {
    pilfer_first_result_scope* first;
    int rows;
    int columns[size];
};

static int fits(const struct board* b, int column) {
    for (int r = 0; r < b->rows; ++r) {
        const int c = b->columns[r];
        if (c == column || c - column == b->rows - r || column - c == b->rows - r) {
            return 0;
        }
    }
    return 1;
}

/* Called by one task only: the first. The owner frees its result. */
static int copy(void* found, void** value) {
    struct board* b = malloc(sizeof *b);
    if (b == NULL) {
        return PILFER_ENOMEM;
    }
    *b = *(struct board*)found;
    *value = b;
    return 0;
}

static void place(void* data) {
    struct board* b = data;
    if (b->rows == size) {
        (void)pilfer_first_result_scope_exit(b->first, copy, b); /* 0: another one was faster */
        return;
    }
    struct board next[size]; /* children use it until the end of the scope */
    pilfer_scope rows;
    pilfer_scope_begin(&rows);
    for (int column = 0; column < size; ++column) {
        if (fits(b, column)) {
            next[column] = *b;
            next[column].columns[next[column].rows++] = column;
            if (pilfer_scope_spawn(&rows, place, &next[column]) != 0) {
                break; /* PILFER_ECANCELED: there is a solution */
            }
        }
    }
    (void)pilfer_scope_end(&rows);
}

static int right(const struct board* b) {
    struct board so_far = {NULL, 0, {0}};
    for (int r = 0; r < size; ++r) {
        if (!fits(&so_far, b->columns[r])) {
            return 0;
        }
        so_far.columns[so_far.rows++] = b->columns[r];
    }
    return 1;
}

static void program(void* data) {
    (void)data;
    pilfer_first_result_scope first;
    struct board empty = {&first, 0, {0}};
    void* found = NULL;
    pilfer_first_result_scope_begin(&first);
    pilfer_first_result_scope_spawn(&first, place, &empty);
    const int code = pilfer_first_result_scope_sync(&first, &found);
    printf("%d queens: %s\n", size, code == 1 && right(found) ? "a solution" : "none");
    free(found);
    pilfer_first_result_scope_end(&first);
}

int main(void) {
    pilfer_pool* pool;
    if (pilfer_pool_new(&pool, NULL) != 0) {
        return 1;
    }
    pilfer_pool_run(pool, program, NULL);
    pilfer_pool_destroy(pool);
    return 0;
}
