/* A long reduction that goes on after it was killed: journal.cpp in C.
 *
 *     mpirun -n 4 --hostfile hosts --bind-to none ./journal_c primes.journal
 *
 * Kill it, and start it again with the same line. It counts only what it has not counted yet. */
#define _POSIX_C_SOURCE 200809L /* mkstemp() */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <pilfer/pilfer_cluster.h>

/* Bytes in: a number. Bytes out: how many primes are among it and the 99 after it. */
static int count_primes(pilfer_cluster_job* job, const void* input, size_t size) {
    const int first = *(const int*)input;
    int primes = 0;
    if (size != sizeof first) {
        return pilfer_cluster_fail(job, "not a number");
    }
    for (int n = first < 2 ? 2 : first; n < first + 100; ++n) {
        int d = 2;
        while (d <= n / d && n % d != 0) {
            ++d;
        }
        primes += d > n / d;
    }
    return pilfer_cluster_write(job, &primes, sizeof primes);
}

static void add(void* left, const void* right, void* arg) {
    (void)arg;
    *(int*)left += *(const int*)right;
}

int main(int argc, char** argv) {
    char own[] = "/tmp/primes-XXXXXX";
    const int has_file = argc > 1 && argv[1][0] != '-';
    const char* file = has_file ? argv[1] : own; /* of rank 0 */
    int numbers[3000];
    int primes = 0;
    for (int i = 0; i < 3000; ++i) {
        numbers[i] = 100 * i;
    }
    int code = pilfer_cluster_register("count_primes", count_primes);
    if (code == 0) {
        code = pilfer_cluster_begin(argc, argv, NULL);
    }
    if (code != 0) {
        fprintf(stderr, "%s\n", pilfer_cluster_error(NULL));
        return 1;
    }
    const int is_first = pilfer_cluster_rank() == 0;
    if (is_first && !has_file) {
        const int empty = mkstemp(own);
        if (empty < 0 || close(empty) != 0) {
            perror(own);
        }
    }
    code = pilfer_cluster_reduce_journaled(file, "count_primes", numbers, 3000, sizeof *numbers, add, NULL,
                                           &primes, sizeof primes);
    if (is_first) {
        if (code == 0) {
            printf("primes below 300000: %d\n", primes);
        } else {
            fprintf(stderr, "%s\n", pilfer_cluster_error(NULL));
        }
        if (!has_file) {
            remove(own); /* it stays otherwise, for a call that has nothing left to do */
        }
    }
    pilfer_cluster_end();
    return code == 0 ? 0 : 1;
}
