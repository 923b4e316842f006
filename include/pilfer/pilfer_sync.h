/* Locks, events and channels; a part of <pilfer/pilfer.h>. */
#ifndef PILFER_PILFER_SYNC_H
#define PILFER_PILFER_SYNC_H

#include <pilfer/pilfer.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- waiting for each other ---- */

/* The caller provides the memory of these objects, which must not move from init to destroy. They must not be
 * used outside that time, and no task or thread may wait when they are destroyed. A task that waits suspends,
 * any other thread blocks; tasks of several pools and threads may share one. Times are in nanoseconds. */

typedef struct pilfer_mutex {
    union {
        uint64_t words[8];
        void* pointers[8];
    } opaque; /* for the library */
} pilfer_mutex;

/* Begins its life. */
PILFER_C_API int pilfer_mutex_init(pilfer_mutex* mutex);
/* Ends its life; no task or thread may wait for it. */
PILFER_C_API void pilfer_mutex_destroy(pilfer_mutex* mutex);
/* Locks the mutex, which is not recursive. It belongs to the task or thread that locked it, and is unlocked
 * by it. */
PILFER_C_API int pilfer_mutex_lock(pilfer_mutex* mutex);
/* As pilfer_mutex_lock(), but a task that is stopped while it waits gets PILFER_ECANCELED, without the mutex.
 */
PILFER_C_API int pilfer_mutex_lock_cancellable(pilfer_mutex* mutex);
/* Locks the mutex if it is free. PILFER_ETIMEDOUT: it is not. */
PILFER_C_API int pilfer_mutex_try_lock(pilfer_mutex* mutex);
/* PILFER_ETIMEDOUT: not locked within `ns` nanoseconds. */
PILFER_C_API int pilfer_mutex_lock_for(pilfer_mutex* mutex, uint64_t ns);
/* Unlocks the mutex, by the task or thread that locked it. */
PILFER_C_API int pilfer_mutex_unlock(pilfer_mutex* mutex);

/* A lock of one writer or several readers: pilfer::shared_mutex. */
typedef struct pilfer_shared_mutex {
    union {
        uint64_t words[8];
        void* pointers[8];
    } opaque; /* for the library */
} pilfer_shared_mutex;

/* Begins its life. */
PILFER_C_API int pilfer_shared_mutex_init(pilfer_shared_mutex* mutex);
/* Ends its life; no task or thread may wait for it. */
PILFER_C_API void pilfer_shared_mutex_destroy(pilfer_shared_mutex* mutex);
/* Locks it for the caller alone. First come, first served; PILFER_ETIMEDOUT as with pilfer_mutex. */
PILFER_C_API int pilfer_shared_mutex_lock(pilfer_shared_mutex* mutex);
/* As pilfer_mutex_lock_cancellable(). */
PILFER_C_API int pilfer_shared_mutex_lock_cancellable(pilfer_shared_mutex* mutex);
/* PILFER_ETIMEDOUT: it is locked. */
PILFER_C_API int pilfer_shared_mutex_try_lock(pilfer_shared_mutex* mutex);
/* PILFER_ETIMEDOUT: not locked within `ns` nanoseconds. */
PILFER_C_API int pilfer_shared_mutex_lock_for(pilfer_shared_mutex* mutex, uint64_t ns);
/* Ends a lock for the caller alone. */
PILFER_C_API int pilfer_shared_mutex_unlock(pilfer_shared_mutex* mutex);
/* Locks it, shared with other readers. A task must not do so twice: a writer may have come in between. */
PILFER_C_API int pilfer_shared_mutex_lock_shared(pilfer_shared_mutex* mutex);
/* As pilfer_mutex_lock_cancellable(), with readers. */
PILFER_C_API int pilfer_shared_mutex_lock_shared_cancellable(pilfer_shared_mutex* mutex);
/* PILFER_ETIMEDOUT: a writer has it or waits for it. */
PILFER_C_API int pilfer_shared_mutex_try_lock_shared(pilfer_shared_mutex* mutex);
/* PILFER_ETIMEDOUT: not locked within `ns` nanoseconds. */
PILFER_C_API int pilfer_shared_mutex_lock_shared_for(pilfer_shared_mutex* mutex, uint64_t ns);
/* Ends a lock with readers. */
PILFER_C_API int pilfer_shared_mutex_unlock_shared(pilfer_shared_mutex* mutex);

/* A condition variable: pilfer::condition_variable. */
typedef struct pilfer_condition {
    union {
        uint64_t words[8];
        void* pointers[8];
    } opaque; /* for the library */
} pilfer_condition;

/* Begins its life. */
PILFER_C_API int pilfer_condition_init(pilfer_condition* condition);
/* Ends its life; no task or thread may wait for it. */
PILFER_C_API void pilfer_condition_destroy(pilfer_condition* condition);
/* Unlocks the mutex, which the caller has locked, waits for a notification, and locks it again. No waiter
 * returns without a notification, but its reason may be over by then: call it in a loop. */
PILFER_C_API int pilfer_condition_wait(pilfer_condition* condition, pilfer_mutex* mutex);
/* PILFER_ETIMEDOUT: not notified in time; the mutex is nevertheless locked. */
PILFER_C_API int pilfer_condition_wait_for(pilfer_condition* condition, pilfer_mutex* mutex, uint64_t ns);
/* Wakes the waiter that came first. */
PILFER_C_API int pilfer_condition_notify_one(pilfer_condition* condition);
/* Wakes all waiters. */
PILFER_C_API int pilfer_condition_notify_all(pilfer_condition* condition);

/* A counting semaphore: pilfer::counting_semaphore. */
typedef struct pilfer_semaphore {
    union {
        uint64_t words[8];
        void* pointers[8];
    } opaque; /* for the library */
} pilfer_semaphore;

/* Makes a semaphore. PILFER_EINVAL for a count below 0. */
PILFER_C_API int pilfer_semaphore_init(pilfer_semaphore* semaphore, ptrdiff_t count);
/* Ends its life; no task or thread may wait for it. */
PILFER_C_API void pilfer_semaphore_destroy(pilfer_semaphore* semaphore);
/* Adds `update`, at least 0; the count must stay below PTRDIFF_MAX. */
PILFER_C_API int pilfer_semaphore_release(pilfer_semaphore* semaphore, ptrdiff_t update);
/* Takes one; waits while the count is 0. */
PILFER_C_API int pilfer_semaphore_acquire(pilfer_semaphore* semaphore);
/* Takes one. PILFER_ETIMEDOUT: the count is 0. */
PILFER_C_API int pilfer_semaphore_try_acquire(pilfer_semaphore* semaphore);
/* Takes one. PILFER_ETIMEDOUT: none within `ns` nanoseconds. */
PILFER_C_API int pilfer_semaphore_acquire_for(pilfer_semaphore* semaphore, uint64_t ns);

/* Opens once, after a number of arrivals: pilfer::latch. */
typedef struct pilfer_latch {
    union {
        uint64_t words[8];
        void* pointers[8];
    } opaque; /* for the library */
} pilfer_latch;

/* Makes a latch that opens after `expected` arrivals. PILFER_EINVAL for less than 0. */
PILFER_C_API int pilfer_latch_init(pilfer_latch* latch, ptrdiff_t expected);
/* Ends its life; no task or thread may wait for it. */
PILFER_C_API void pilfer_latch_destroy(pilfer_latch* latch);
/* Counts `update` arrivals, at least 0 and not more than are still expected. */
PILFER_C_API int pilfer_latch_count_down(pilfer_latch* latch, ptrdiff_t update);
/* Waits until it is open. */
PILFER_C_API int pilfer_latch_wait(pilfer_latch* latch);
/* PILFER_ETIMEDOUT: it is not open. */
PILFER_C_API int pilfer_latch_try_wait(pilfer_latch* latch);
/* PILFER_ETIMEDOUT: not open within `ns` nanoseconds. */
PILFER_C_API int pilfer_latch_wait_for(pilfer_latch* latch, uint64_t ns);

/* Ends a phase when all have arrived: pilfer::barrier. */
typedef struct pilfer_barrier {
    union {
        uint64_t words[16];
        void* pointers[16];
    } opaque; /* for the library */
} pilfer_barrier;

/* Makes a barrier. The last task to arrive in a phase calls completion(arg) before the others return; NULL:
 * nothing. PILFER_EINVAL for less than 0. */
PILFER_C_API int pilfer_barrier_init(pilfer_barrier* barrier, ptrdiff_t expected, void (*completion)(void*),
                                     void* arg);
/* Ends its life; no task or thread may wait for it. */
PILFER_C_API void pilfer_barrier_destroy(pilfer_barrier* barrier);
/* Counts `update` arrivals, at least 1 and not more than are still expected in this phase. The number of the
 * phase goes to *phase, unless that is NULL. */
PILFER_C_API int pilfer_barrier_arrive(pilfer_barrier* barrier, ptrdiff_t update, uint64_t* phase);
/* Waits for the end of a phase: one in which the caller has arrived, while no later one has ended. */
PILFER_C_API int pilfer_barrier_wait(pilfer_barrier* barrier, uint64_t phase);
/* PILFER_ETIMEDOUT: it did not end in time, and may be waited for again. */
PILFER_C_API int pilfer_barrier_wait_for(pilfer_barrier* barrier, uint64_t phase, uint64_t ns);
/* PILFER_ECANCELED: the task is stopped, and what it did was pilfer_barrier_arrive_and_drop(). */
PILFER_C_API int pilfer_barrier_arrive_and_wait(pilfer_barrier* barrier);
/* Arrives, and is not expected in the phases that follow. */
PILFER_C_API int pilfer_barrier_arrive_and_drop(pilfer_barrier* barrier);

/* A flag to wait for: pilfer::event. */
typedef struct pilfer_event {
    union {
        uint64_t words[8];
        void* pointers[8];
    } opaque; /* for the library */
} pilfer_event;

/* Makes an event. `set`: 0, or it is set from the beginning. */
PILFER_C_API int pilfer_event_init(pilfer_event* event, int set);
/* Ends its life; no task or thread may wait for it. */
PILFER_C_API void pilfer_event_destroy(pilfer_event* event);
/* Sets the event: until reset, all present and later waiters return. */
PILFER_C_API int pilfer_event_set(pilfer_event* event);
/* Clears it: later waits wait. */
PILFER_C_API int pilfer_event_reset(pilfer_event* event);
/* 1 or 0. */
PILFER_C_API int pilfer_event_is_set(pilfer_event* event);
/* Waits until it is set. */
PILFER_C_API int pilfer_event_wait(pilfer_event* event);
/* PILFER_ETIMEDOUT: not set within `ns` nanoseconds. */
PILFER_C_API int pilfer_event_wait_for(pilfer_event* event, uint64_t ns);

/* ---- channels ---- */

typedef struct pilfer_channel pilfer_channel;

/* Makes a channel. It holds at most `capacity` pointers, which are received in the order in which they were
 * accepted. 0: a send waits until its pointer is received. On an error *out is NULL. */
PILFER_C_API int pilfer_channel_new(pilfer_channel** out, size_t capacity);
/* Frees the channel. No task or thread may wait for it any more. The objects of its pointers stay the
 * caller's. NULL: nothing. */
PILFER_C_API void pilfer_channel_free(pilfer_channel* channel);
/* Sends a pointer. Not 0: nothing was sent. PILFER_ECLOSED: the channel is closed. PILFER_ENOMEM: a send
 * takes a cell. */
PILFER_C_API int pilfer_channel_send(pilfer_channel* channel, void* value);
/* Sends if that needs no wait. PILFER_ETIMEDOUT: there is no room. */
PILFER_C_API int pilfer_channel_try_send(pilfer_channel* channel, void* value);
/* As pilfer_channel_send(), within `ns` nanoseconds. */
PILFER_C_API int pilfer_channel_send_for(pilfer_channel* channel, void* value, uint64_t ns);
/* Receives a pointer. PILFER_ECLOSED: the channel is closed, and everything was received. Not 0: *value is as
 * before. */
PILFER_C_API int pilfer_channel_receive(pilfer_channel* channel, void** value);
/* Receives if that needs no wait. PILFER_ETIMEDOUT: there is no pointer. */
PILFER_C_API int pilfer_channel_try_receive(pilfer_channel* channel, void** value);
/* As pilfer_channel_receive(), within `ns` nanoseconds. */
PILFER_C_API int pilfer_channel_receive_for(pilfer_channel* channel, void** value, uint64_t ns);
/* Closes the channel; tasks that wait for room get PILFER_ECLOSED. May be called again. */
PILFER_C_API int pilfer_channel_close(pilfer_channel* channel);
/* 1 or 0. */
PILFER_C_API int pilfer_channel_closed(pilfer_channel* channel);
/* The number of pointers in it; 0 for NULL. */
PILFER_C_API size_t pilfer_channel_size(pilfer_channel* channel);

#ifdef __cplusplus
}
#endif

#endif
