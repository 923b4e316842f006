/* Heat in a rod, step by step. A team keeps each part of the rod on one worker, and opens the steps itself.
 */
#include <pilfer/pilfer_algorithm.h>

#include <stdio.h>

enum { points = 10000, steps = 1000 };
static double rod[2][points];

/* One step for a part of the rod. No part of a step begins before the step before it has ended. */
static void warm(uint64_t step, size_t begin, size_t end, void* arg) {
    (void)arg;
    const double* now = rod[step % 2];
    double* next = rod[(step + 1) % 2];
    for (size_t i = begin; i < end; ++i) {
        next[i] = now[i] + 0.25 * (now[i - 1] - 2 * now[i] + now[i + 1]);
    }
}

int main(void) {
    rod[0][0] = rod[1][0] = 100.0; /* one end stays hot */
    pilfer_loop_team* team;
    /* Outside a pool: in the common one. */
    int code = pilfer_loop_team_new(&team, 0, 0);
    if (code == 0) {
        code = pilfer_loop_team_run(team, steps, 1, points - 1, warm, NULL);
        (void)pilfer_loop_team_free(team);
    }
    if (code != 0) {
        fprintf(stderr, "%s\n", pilfer_strerror(code));
        return 1;
    }
    printf("near the hot end: %.0f %.0f %.0f, far away: %.0f\n", rod[0][1], rod[0][10], rod[0][20],
           rod[0][points / 2]);
    return 0;
}
