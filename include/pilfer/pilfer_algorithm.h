/* Algorithms over C arrays; a part of <pilfer/pilfer.h>. */
#ifndef PILFER_PILFER_ALGORITHM_H
#define PILFER_PILFER_ALGORITHM_H

#include <pilfer/pilfer.h>

#ifdef __cplusplus
extern "C" {
#endif

/* An array is `count` elements of `size` bytes each. Elements are copied as bytes, as by memcpy. Functions
 * get `arg`, and are called by several workers at once. Outside a pool the calls use the common one.
 *
 * All calls: PILFER_EINVAL for a NULL array that is not empty, a NULL function, a size of 0, and an array of
 * more than PTRDIFF_MAX bytes. PILFER_ENOMEM before anything is changed. PILFER_ECANCELED: the task was
 * stopped before the end. */

/* ---- sorting ---- */

/* Sorts the array at `base`, as qsort_r does: compare(a, b, arg) is negative if a comes first, 0 if the two
 * are equivalent, else positive. Equivalent elements may change places. The compared addresses are elements
 * of the array, or copies that are aligned as they are. PILFER_ECANCELED: each element is in the array once,
 * in any order; so it is if `compare` is no weak order. Cost: O(n log n) comparisons. Memory: the array
 * again; elements other than of 4, 8 or 16 bytes, aligned to that, also take 2n pointers. */
PILFER_C_API int pilfer_sort(void* base, size_t count, size_t size,
                             int (*compare)(const void* a, const void* b, void* arg), void* arg);
/* As pilfer_sort(); equivalent elements keep their order. */
PILFER_C_API int pilfer_stable_sort(void* base, size_t count, size_t size,
                                    int (*compare)(const void* a, const void* b, void* arg), void* arg);

/* ---- loops that follow each other ---- */

/* Loops over ranges of the same length give the same part to the same worker, so that its data stays in that
 * worker's cache. See pilfer::loop_team. */
typedef struct pilfer_loop_team pilfer_loop_team;

/* Makes a team, which its task or thread frees before it ends. Its helpers start with its first loop and run
 * in the caller's pool; outside a pool, in the common one. `members`: how many workers take part, at most
 * 4,096; 0: as many as the pool has now. `slices`: parts of a range for each member, 1 to 16; 0: 4.
 * PILFER_EINVAL: other numbers, or `out` is NULL. On an error *out is NULL. */
PILFER_C_API int pilfer_loop_team_new(pilfer_loop_team** out, unsigned members, unsigned slices);
/* The number of members; 0 for NULL. */
PILFER_C_API unsigned pilfer_loop_team_members(const pilfer_loop_team* team);
/* Runs `count` loops in turn: body(phase, begin, end, arg) for each part of [first, last), with phase from 0
 * on. No part of a phase begins before the phase before it has ended. PILFER_EINVAL: NULL. PILFER_EUSAGE: the
 * caller is not the task or thread that made the team, or is inside a body of it. PILFER_ECANCELED: the task
 * was stopped, perhaps between two parts; parts were left out. Nothing is allocated, unless helpers have to
 * be started. */
PILFER_C_API int pilfer_loop_team_run(pilfer_loop_team* team, uint64_t count, size_t first, size_t last,
                                      void (*body)(uint64_t phase, size_t begin, size_t end, void* arg),
                                      void* arg);
/* Waits for the helpers and frees the team. PILFER_EUSAGE: the caller is another task or thread, or is inside
 * a body of the team; then the team stays. NULL: nothing. */
PILFER_C_API int pilfer_loop_team_free(pilfer_loop_team* team);

/* ---- searching ---- */

/* Sets *found to the lowest index of [first, last) for which holds(index, arg) is not 0, or to `last` if
 * there is none. When an index has been found, no further piece after it begins; others may have been asked
 * by then. An error sets `last`, too. Cost: a call for each index. Nothing is allocated. */
PILFER_C_API int pilfer_find(size_t first, size_t last, int (*holds)(size_t index, void* arg), void* arg,
                             size_t* found);

/* ---- sums ---- */

/* combine(left, right, arg) makes *left the combination of *left and *right, in this order. It is
 * associative; it need not commute. Values that pilfer makes are copies of elements and aligned for any
 * type. Nothing ends them, so they must own nothing.
 *
 * The elements are grouped by their number alone. So sums of floating-point numbers have the same bits on
 * every run, for any number of workers. */

/* Combines *result with all elements in order. Blocks of count / 2048 + 1 elements are folded from left to
 * right, and their sums by a binary tree. After an error *result is as before. Cost: a call of `combine` for
 * each element. Memory: up to 2048 values. For values that own something, and for elements that are not
 * in an array: pilfer_reduce. */
PILFER_C_API int pilfer_reduce_elements(const void* base, size_t count, size_t size,
                                        void (*combine)(void* left, const void* right, void* arg), void* arg,
                                        void* result);
/* out[i] becomes the combination of in[0] to in[i]. `out` is `in`, or does not overlap it. After
 * PILFER_ECANCELED some results have been written. Source of the two passes: Blelloch, CMU-CS-90-190. Cost:
 * two calls of `combine` for each element. Memory: two values for each block of n / 256 elements, at least 64
 * and at most 8192. */
PILFER_C_API int pilfer_inclusive_scan(const void* in, void* out, size_t count, size_t size,
                                       void (*combine)(void* left, const void* right, void* arg), void* arg);
/* As pilfer_inclusive_scan(), but out[i] is the combination of *init and in[0] to in[i - 1]; out[0] is
 * *init. */
PILFER_C_API int pilfer_exclusive_scan(const void* in, void* out, size_t count, size_t size, const void* init,
                                       void (*combine)(void* left, const void* right, void* arg), void* arg);

#ifdef __cplusplus
}
#endif

#endif
