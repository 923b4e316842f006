/* The shortest round trip of a salesman, by branch and bound: branch_and_bound.cpp in C.
 *
 *     ./branch_and_bound_c          mpirun -n 4 --hostfile hosts --bind-to none ./branch_and_bound_c */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include <pilfer/pilfer_cluster.h>

enum { cities = 14 };
static pilfer_cluster_bound* shortest; /* of all ranks */

static int distance(int a, int b) {
    static const int x[cities] = {12, 80, 33, 95, 60, 5, 47, 71, 22, 88, 54, 39, 66, 9};
    static const int y[cities] = {40, 13, 77, 58, 91, 8, 35, 66, 99, 27, 3, 52, 44, 71};
    return (x[a] - x[b]) * (x[a] - x[b]) + (y[a] - y[b]) * (y[a] - y[b]); /* long legs are expensive */
}

/* A trip that begins in city 0 and has come to `last`. */
typedef struct trip {
    int length, last, visited;
    unsigned seen;
} trip;

static int is_seen(const trip* t, int city) { return (int)(t->seen >> city & 1); }

/* Each city that is left, and the last one, is left by its cheapest leg or more. */
static int is_hopeless(const trip* t) {
    int least = t->length;
    int best = 0;
    for (int a = 0; a < cities; ++a) {
        if (is_seen(t, a) && a != t->last) {
            continue;
        }
        int leg = INT_MAX;
        for (int b = 0; b < cities; ++b) {
            if (b != a && (!is_seen(t, b) || (b == 0 && t->visited != 1)) && distance(a, b) < leg) {
                leg = distance(a, b);
            }
        }
        least += leg;
    }
    pilfer_cluster_bound_get(shortest, &best);
    return least >= best;
}

static trip visit(const trip* t, int next) {
    const trip longer = {t->length + distance(t->last, next), next, t->visited + 1, t->seen | 1u << next};
    return longer;
}

static void search_here(const trip* t) {
    if (t->visited == cities) {
        const int length = t->length + distance(t->last, 0);
        pilfer_cluster_bound_improve(shortest, &length);
    } else if (!is_hopeless(t)) {
        for (int c = 0; c < cities; ++c) {
            if (!is_seen(t, c)) {
                const trip next = visit(t, c);
                search_here(&next);
            }
        }
    }
}

/* Bytes in: a trip. No bytes out: the result is in the bound. */
static int search(pilfer_cluster_job* job, const void* input, size_t size) {
    const trip* t = input;
    if (size != sizeof *t) {
        return pilfer_cluster_fail(job, "not a trip");
    }
    if (t->visited >= 4) { /* too small to travel */
        search_here(t);
        return 0;
    }
    trip next[cities];
    pilfer_cluster_branch branches[cities];
    size_t count = 0;
    for (int c = 0; c < cities && !is_hopeless(t); ++c) {
        if (!is_seen(t, c)) {
            next[count] = visit(t, c);
            branches[count] = (pilfer_cluster_branch){.name = "search", .input = &next[count], .size = size};
            ++count;
        }
    }
    return count == 0 ? 0 : pilfer_cluster_join(job, branches, count);
}

static int is_shorter(const void* a, const void* b) { return *(const int*)a < *(const int*)b; }

int main(int argc, char** argv) {
    const int endless = INT_MAX;
    int code = pilfer_cluster_register("search", search);
    if (code == 0) {
        code = pilfer_cluster_bound_new(&shortest, "shortest", &endless, sizeof endless, is_shorter);
    }
    if (code == 0) {
        code = pilfer_cluster_begin(argc, argv, NULL);
    }
    if (code != 0) {
        fprintf(stderr, "%s\n", pilfer_cluster_error(NULL));
        return 1;
    }
    const trip start = {.visited = 1, .seen = 1};
    void* nothing = NULL;
    size_t size = 0;
    int length = 0;
    code = pilfer_cluster_run("search", &start, sizeof start, &nothing, &size);
    pilfer_cluster_bound_get(shortest, &length); /* the same on all ranks */
    if (pilfer_cluster_rank() == 0) {
        if (code == 0) {
            printf("the shortest trip: %d\n", length);
        } else {
            fprintf(stderr, "%s\n", pilfer_cluster_error(NULL));
        }
    }
    pilfer_cluster_end();
    return code == 0 ? 0 : 1;
}
