/* Several machines, from C11: the twin of <pilfer/cluster.hpp>. Optional: link pilfer::cluster. The guide is
 * docs/guides/cluster.md. */
#ifndef PILFER_PILFER_CLUSTER_H
#define PILFER_PILFER_CLUSTER_H

#include <pilfer/pilfer.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A process makes one session, so a session has no handle. The thread that began it makes its calls, and all
 * ranks make the same calls in the same order. Calls return 0 or a negative code. A call that fails because
 * of a job gives PILFER_EREMOTE on every rank. */

/* ---- jobs ---- */

/* A call of a job. One task at a time uses it. */
typedef struct pilfer_cluster_job pilfer_cluster_job;
/* A job: reads its input of `size` bytes, which is aligned as the caller's was, but at most as memory of
 * malloc() is, and writes its result by pilfer_cluster_write(). The result depends on the input alone,
 * because any rank may run the job. Returns 0, or what a failed call below has returned. Any other number is
 * an error, too, and so is PILFER_ECANCELED of a job that was not cancelled. A job may fork, loop and wait as
 * any task. */
typedef int (*pilfer_cluster_function)(pilfer_cluster_job* job, const void* input, size_t size);

/* Makes a job known by its name, which has at most 255 bytes and is copied. All ranks register the same names
 * before the session begins. Different names on two ranks end pilfer_cluster_begin() with PILFER_EMISMATCH. A
 * different function of the same name is not noticed. PILFER_EINVAL: no function, an empty or long name, or
 * one that has been registered. PILFER_EUSAGE: a session has begun. One thread makes these calls. */
PILFER_C_API int pilfer_cluster_register(const char* name, pilfer_cluster_function f);
/* Appends to the result of a job. PILFER_ENOMEM: then the job fails, whatever it returns. */
PILFER_C_API int pilfer_cluster_write(pilfer_cluster_job* job, const void* data, size_t size);
/* Sets the text of the job's error, which is copied, and returns the code for the job to return. The caller
 * of the job gets the text and the number of this rank from pilfer_cluster_error(). */
PILFER_C_API int pilfer_cluster_fail(pilfer_cluster_job* job, const char* text);

/* A branch of pilfer_cluster_join(). */
typedef struct pilfer_cluster_branch {
    const char* name;   /* of the job */
    const void* input;  /* for the job; may be NULL if `size` is 0 */
    size_t size;        /* of the input, in bytes */
    void* result;       /* out: memory of malloc(), which the caller frees; NULL for an empty result */
    size_t result_size; /* out: in bytes */
} pilfer_cluster_branch;

/* In a job: runs the branches, perhaps in parallel and on several ranks, and returns when all have ended:
 * cluster::join and cluster::sum. If one fails, no branch has a result, and the code is PILFER_EREMOTE; a job
 * that returns it passes the error on. PILFER_ECANCELED, which a job returns, too: as for pilfer_join2().
 * PILFER_EINVAL: no branches, or a branch with an unknown name or a NULL input. */
PILFER_C_API int pilfer_cluster_join(pilfer_cluster_job* job, pilfer_cluster_branch* branches, size_t count);

/* ---- the session ---- */

/* Starts this rank: the constructor of cluster::session, which says what arguments and environment mean. The
 * options, which may be NULL, are for this rank's pool. PILFER_EUSAGE: a second session. PILFER_EMISMATCH:
 * the ranks run different programs. PILFER_ESYSTEM: MPI or the job queue cannot be used. PILFER_EINVAL: wrong
 * options, or environment. */
PILFER_C_API int pilfer_cluster_begin(int argc, char** argv, const pilfer_options* options);
/* Waits for this call of all other ranks, without using the CPU, and ends the session. PILFER_EUSAGE: there
 * is none, or the caller is not its thread. */
PILFER_C_API int pilfer_cluster_end(void);
/* This rank's number, from 0; -1 without a session. */
PILFER_C_API int pilfer_cluster_rank(void);
/* How many ranks there are: cluster::session::size. 0 without a session. */
PILFER_C_API int pilfer_cluster_size(void);
/* This rank's pool; NULL without a session. It must not be destroyed. */
PILFER_C_API pilfer_pool* pilfer_cluster_pool(void);

/* Runs a job; rank 0's input counts. *result becomes memory of malloc() with the result, which the caller
 * frees, on every rank; NULL for an empty result, and after an error. PILFER_EINVAL: an unknown name, no
 * result, or a NULL input of more than 0 bytes. PILFER_EUSAGE: from a task, another thread, or without a
 * session. */
PILFER_C_API int pilfer_cluster_run(const char* name, const void* input, size_t size, void** result,
                                    size_t* result_size);
/* Runs a job for each of `count` inputs of `size` bytes each. Their results, of `result_size` bytes each, go
 * to the array `results` in the same order, on every rank. Rank 0's inputs count; all ranks give the same
 * numbers. A job that writes another number of bytes is an error. After an error `results` is as before.
 * Inputs travel with their jobs. PILFER_EINVAL also for a size of 0, and for NULL arrays of some elements. */
PILFER_C_API int pilfer_cluster_map(const char* name, const void* inputs, size_t count, size_t size,
                                    void* results, size_t result_size);
/* As pilfer_cluster_map(), but combines *result with all results in order, on every rank. combine(left,
 * right, arg) makes *left the combination of *left and *right, values of `result_size` bytes. It is
 * associative, does not wait, and does not travel: all ranks give the same one. The grouping depends on
 * `count` alone, so floating-point results have the same bits for any number of ranks. */
PILFER_C_API int pilfer_cluster_reduce(const char* name, const void* inputs, size_t count, size_t size,
                                       void (*combine)(void* left, const void* right, void* arg), void* arg,
                                       void* result, size_t result_size);

/* As pilfer_cluster_reduce(), but goes on after the job was killed: session::map_reduce_journaled. Rank 0
 * keeps the combination of each part in the file `path`, and a later call takes it from there. There are at
 * most 8,192 parts. The file stays. It belongs to one array: equal bytes, also of padding between members,
 * and to a job by its name. PILFER_EREMOTE, with the path and the reason: a file that cannot be read or
 * written, or belongs to another call. PILFER_EINVAL: also a `path` that is NULL. */
PILFER_C_API int pilfer_cluster_reduce_journaled(const char* path, const char* name, const void* inputs,
                                                 size_t count, size_t size,
                                                 void (*combine)(void* left, const void* right, void* arg),
                                                 void* arg, void* result, size_t result_size);

/* ---- branch and bound ---- */

/* The best value that any rank has found in a run, so that all ranks can cut branches that cannot beat it:
 * cluster::bound, which says what a rank knows and when. Each run begins with the worst value. It lives as
 * long as the program. Any thread may use it. */
typedef struct pilfer_cluster_bound pilfer_cluster_bound;
/* Makes a bound of `size` bytes, 1 to 8, without padding. is_better(a, b) is not 0 if *a is better than *b.
 * It is a strict weak order, depends on these values alone and does not wait. All ranks make bounds of the
 * same names, sizes and worst values in the same order before the session begins; else pilfer_cluster_begin()
 * gives PILFER_EMISMATCH. The name has at most 255 bytes and is copied. PILFER_EINVAL: one that has been
 * used, wrong arguments, or an order that calls a value better than itself. PILFER_EUSAGE: a session has
 * begun. One thread makes these calls. */
PILFER_C_API int pilfer_cluster_bound_new(pilfer_cluster_bound** out, const char* name, const void* worst,
                                          size_t size, int (*is_better)(const void* a, const void* b));
/* Copies the best value that this rank knows to *value. Costs about a load. */
PILFER_C_API int pilfer_cluster_bound_get(const pilfer_cluster_bound* bound, void* value);
/* Offers a value, from a job of the run. Returns 1 if it is better than what this rank knew, else 0, or a
 * negative code. Costs about a load if it is not; else a small message to each other rank. */
PILFER_C_API int pilfer_cluster_bound_improve(pilfer_cluster_bound* bound, const void* value);

/* ---- errors and figures ---- */

/* The text of the last call of this header that failed on this thread; "" if none has. `rank`, unless NULL,
 * gets the rank on which the job failed, or -1 if no job did. A job asks before its next call. */
PILFER_C_API const char* pilfer_cluster_error(int* rank);

/* cluster::rank_stats: the work of one rank since its session began. */
struct pilfer_cluster_stats {
    uint64_t messages;  /* Messages sent. */
    uint64_t bytes;     /* Bytes sent. */
    uint64_t asks;      /* Requests for work that it sent. */
    uint64_t thefts;    /* Requests and lifelines that brought work. */
    uint64_t tasks_in;  /* Descriptions that it took from other ranks. */
    uint64_t tasks_out; /* Descriptions that other ranks took. */
    uint64_t idle_ns;   /* Time without work, in nanoseconds. */
};
/* The figures of a rank, as of the end of the last run: cluster::session::stats. PILFER_EINVAL: no such rank.
 * PILFER_EUSAGE: no session. */
PILFER_C_API int pilfer_cluster_rank_stats(int rank, struct pilfer_cluster_stats* out);

#ifdef __cplusplus
}
#endif

#endif
