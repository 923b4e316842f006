/* A program in C with the amalgamation: pilfer.h beside it, pilfer.cpp linked to it. */
#include "pilfer.h"

#include <stdio.h>

static void times_seven(void* number) { *(int*)number *= 7; }

int main(void) {
    int product = 6;
    pilfer_pool* pool = NULL;
    int code = pilfer_pool_new(&pool, NULL);
    if (code == 0) {
        code = pilfer_pool_run(pool, times_seven, &product);
        (void)pilfer_pool_destroy(pool);
    }
    printf("consumed %d and 55\n", product);
    return code;
}
