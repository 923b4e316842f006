/* Pipelines; a part of <pilfer/pilfer.h>. The guide is docs/guides/pipelines.md. */
#ifndef PILFER_PILFER_PIPELINE_H
#define PILFER_PILFER_PIPELINE_H

#include <pilfer/pilfer.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How many items a stage has at once, and in which order. */
enum {
    PILFER_SERIAL_IN_ORDER = 0,     /* One at a time, in the order of the source. */
    PILFER_SERIAL_OUT_OF_ORDER = 1, /* One at a time, as they come. */
    PILFER_PARALLEL = 2,            /* Any number. */
};

/* A stage of a pipeline. */
typedef struct pilfer_stage {
    int order; /* PILFER_SERIAL_IN_ORDER, PILFER_SERIAL_OUT_OF_ORDER or PILFER_PARALLEL */
    /* Takes an item, and replaces it by the one for the next stage, if that is another one. Returns 0, or a
     * negative code that ends the pipeline. The first stage is the source: *item is NULL, and is set to the
     * next item, or left NULL at the end of the input. The item that the last stage leaves is ignored. */
    int (*f)(void** item, void* arg);
    void* arg; /* for f and drop */
    /* Ends an item that this stage was the last one to pass on, because the pipeline ends early: also one
     * that this stage got and did not replace. Not called for NULL. NULL: such items own nothing. */
    void (*drop)(void* item, void* arg);
} pilfer_stage;

/* Runs items through `count` stages, at least 2, and returns when all are through: pilfer::pipeline. At most
 * `tokens` items are in flight, at least 1. In `pool`; NULL: in the caller's pool, or the common one. A stage
 * may wait, fork, and run another pipeline.
 *
 * The first negative code of a stage ends the source, and is the result. The caller's own codes are those
 * from -1000 down. Calls that have begun end, items go no further, and each is dropped. A stage that fails
 * leaves the item as it got it, to be dropped, or sets it to NULL. A stage may return PILFER_ECANCELED from
 * its calls; the result is that only if no other code is. A positive number gives PILFER_EINVAL.
 *
 * PILFER_ECANCELED: a scope of the caller was cancelled. It and PILFER_ENOMEM end the pipeline as a code of a
 * stage does. PILFER_EINVAL: no token, fewer than 2 stages, a parallel source, a stage without a function or
 * with another order; then nothing was called. */
PILFER_C_API int pilfer_pipeline(pilfer_pool* pool, size_t tokens, const pilfer_stage* stages, size_t count);

#ifdef __cplusplus
}
#endif

#endif
