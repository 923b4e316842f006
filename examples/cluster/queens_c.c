/* Queens on a board, counted by all machines: queens.cpp in C.
 *
 *     ./queens_c          mpirun -n 4 --hostfile hosts --bind-to none ./queens_c */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <pilfer/pilfer_cluster.h>

typedef struct board {
    int n, row;
    uint32_t columns, left, right;
} board;

static int is_free(const board* b, int c) { return ((b->columns | b->left | b->right) >> c & 1) == 0; }

static board place(const board* b, int c) {
    const uint32_t bit = UINT32_C(1) << c;
    board next = {b->n, b->row + 1, b->columns | bit, (b->left | bit) << 1, (b->right | bit) >> 1};
    return next;
}

static int64_t count_here(const board* b) {
    int64_t sum = b->row == b->n ? 1 : 0;
    for (int c = 0; c < b->n; ++c) {
        if (is_free(b, c)) {
            const board next = place(b, c);
            sum += count_here(&next);
        }
    }
    return sum;
}

/* Bytes in: a board. Bytes out: the number of solutions. */
static int queens(pilfer_cluster_job* job, const void* input, size_t size) {
    const board* b = input;
    if (size != sizeof *b || b->n < 1 || b->n > 20) {
        return pilfer_cluster_fail(job, "not a board of 1 to 20 rows");
    }
    if (b->n - b->row <= 8) { /* too small to travel */
        const int64_t sum = count_here(b);
        return pilfer_cluster_write(job, &sum, sizeof sum);
    }
    board next[20];
    pilfer_cluster_branch branches[20];
    size_t count = 0;
    for (int c = 0; c < b->n; ++c) {
        if (is_free(b, c)) {
            next[count] = place(b, c);
            branches[count] = (pilfer_cluster_branch){.name = "queens", .input = &next[count], .size = size};
            ++count;
        }
    }
    int64_t sum = 0;
    if (count != 0) {
        const int code = pilfer_cluster_join(job, branches, count);
        if (code != 0) {
            return code; /* and the error of the branch */
        }
    }
    for (size_t i = 0; i < count; ++i) {
        sum += *(const int64_t*)branches[i].result;
        free(branches[i].result);
    }
    return pilfer_cluster_write(job, &sum, sizeof sum);
}

int main(int argc, char** argv) {
    int code = pilfer_cluster_register("queens", queens);
    if (code == 0) {
        code = pilfer_cluster_begin(argc, argv, NULL);
    }
    if (code != 0) {
        fprintf(stderr, "%s\n", pilfer_cluster_error(NULL));
        return 1;
    }
    const board empty = {.n = argc > 1 ? atoi(argv[1]) : 11};
    void* result = NULL;
    size_t size = 0;
    code = pilfer_cluster_run("queens", &empty, sizeof empty, &result, &size);
    if (pilfer_cluster_rank() == 0) {
        if (code == 0) {
            printf("%d queens: %lld\n", empty.n, (long long)*(const int64_t*)result);
        } else {
            fprintf(stderr, "%s\n", pilfer_cluster_error(NULL));
        }
    }
    free(result);
    pilfer_cluster_end();
    return code == 0 ? 0 : 1;
}
