/* Objects that are reached by calls only; a part of <pilfer/pilfer.h>. */
#ifndef PILFER_PILFER_OBJECTS_H
#define PILFER_PILFER_OBJECTS_H

#include <pilfer/pilfer.h>

#ifdef __cplusplus
extern "C" {
#endif

/* An object is a handle of a pointer of the caller's, `value`. The data that it refers to is touched inside
 * calls only. A called function gets this pointer, and the `arg` of its call. A task that has to wait
 * suspends, any other thread blocks. If such a function calls the same object, that call returns
 * PILFER_EUSAGE. In a read of a shared object that another reader has joined this is not noticed: the call
 * may succeed, or wait for ever. Times are in nanoseconds. */

/* ---- an object and its lock ---- */

typedef struct pilfer_synchronized pilfer_synchronized;

/* Makes an object. On an error *out is NULL. */
PILFER_C_API int pilfer_synchronized_new(pilfer_synchronized** out, void* value);
/* Makes an object with a shared mutex: calls of pilfer_synchronized_read run beside each other; each costs
 * more. */
PILFER_C_API int pilfer_synchronized_new_shared(pilfer_synchronized** out, void* value);
/* Frees the object. No task or thread may be inside or wait any more. The data of `value` stays the caller's.
 * NULL: nothing. */
PILFER_C_API void pilfer_synchronized_free(pilfer_synchronized* object);
/* Calls f(value, arg) on the caller, under the object's lock. f may wait, spawn and call other objects, and
 * the lock stays held. So two tasks that take two objects in different orders may wait for ever: see
 * pilfer_call_all. Cost without contention: that of a mutex. */
PILFER_C_API int pilfer_synchronized_call(pilfer_synchronized* object, void (*f)(void* value, void* arg),
                                          void* arg);
/* As pilfer_synchronized_call(), for an f that changes nothing. */
PILFER_C_API int pilfer_synchronized_read(pilfer_synchronized* object,
                                          void (*f)(const void* value, void* arg), void* arg);
/* Calls f(value, arg) if the lock is free. PILFER_ETIMEDOUT: it is not; f was not called. */
PILFER_C_API int pilfer_synchronized_try_call(pilfer_synchronized* object, void (*f)(void* value, void* arg),
                                              void* arg);
/* PILFER_ETIMEDOUT: the lock was not free within `ns` nanoseconds; f has not run. */
PILFER_C_API int pilfer_synchronized_call_for(pilfer_synchronized* object, void (*f)(void* value, void* arg),
                                              void* arg, uint64_t ns);
/* Calls f(values, arg) under the locks of all `n` objects, at least 1; values[i] is that of objects[i]. The
 * locks are taken in the order of their addresses, so that such calls never wait for each other in a cycle.
 * PILFER_EUSAGE: an object is named twice, or the caller is inside one. More than 8 objects: two allocations,
 * and PILFER_ENOMEM without memory for them. */
PILFER_C_API int pilfer_call_all(pilfer_synchronized* const* objects, size_t n,
                                 void (*f)(void* const* values, void* arg), void* arg);

/* ---- an object whose calls may have a condition ---- */

typedef struct pilfer_monitor pilfer_monitor;

/* Makes an object. On an error *out is NULL. */
PILFER_C_API int pilfer_monitor_new(pilfer_monitor** out, void* value);
/* Frees the object. No task or thread may be inside or wait any more. Calls with a time limit, and calls of
 * tasks below a scope, must have returned. The data of `value` stays the caller's. NULL: nothing. */
PILFER_C_API void pilfer_monitor_free(pilfer_monitor* object);
/* Calls f(value, arg) under the object's lock. */
PILFER_C_API int pilfer_monitor_call(pilfer_monitor* object, void (*f)(void* value, void* arg), void* arg);
/* As pilfer_monitor_call(), for an f that changes nothing: no condition is asked afterwards. */
PILFER_C_API int pilfer_monitor_read(pilfer_monitor* object, void (*f)(const void* value, void* arg),
                                     void* arg);
/* Calls f(value, arg) under the object's lock as soon as ready(value, arg) is not 0. Calls whose conditions
 * hold take place in the order in which they came. No waiter is woken in vain, and no call signals anything.
 *
 * Any task or thread that uses the object may ask `ready`, any number of times. `ready` depends on the object
 * only, changes nothing, and neither waits nor calls the object. f may run on the stack of another task of
 * the pool, which made the condition true; f should not wait. So `arg` must contain all that either needs.
 * PILFER_ECANCELED: the caller was stopped while it waited; f was not called. Cost without waiters: that of a
 * mutex. With n waiters each change asks up to n conditions per call that it serves. */
PILFER_C_API int pilfer_monitor_call_when(pilfer_monitor* object, int (*ready)(const void* value, void* arg),
                                          void (*f)(void* value, void* arg), void* arg);
/* Calls f if that needs no wait. PILFER_ETIMEDOUT: the lock is not free, or the condition does not hold; f
 * was not called. */
PILFER_C_API int pilfer_monitor_try_call_when(pilfer_monitor* object,
                                              int (*ready)(const void* value, void* arg),
                                              void (*f)(void* value, void* arg), void* arg);
/* PILFER_ETIMEDOUT: the condition did not hold in time; f was not called. A call that is being served by then
 * takes place. */
PILFER_C_API int pilfer_monitor_call_when_for(pilfer_monitor* object,
                                              int (*ready)(const void* value, void* arg),
                                              void (*f)(void* value, void* arg), void* arg, uint64_t ns);

/* ---- a value of its own for each use ---- */

/* Instances of anything, for tasks that collect, count or need scratch space. One is leased for each use: a
 * use that spawns, waits or is suspended keeps its own. The number of instances is at most the number of uses
 * at the same time. Usable from any thread, and from tasks of any number of pools. */
typedef struct pilfer_worker_local pilfer_worker_local;
/* The right to use one instance alone: pilfer::worker_lease. */
typedef struct pilfer_lease pilfer_lease;

/* make(arg) returns an instance, or NULL if it fails; several threads may call it at once. end(instance, arg)
 * is called for each when the object is freed; NULL: nothing is. On an error *out is NULL. */
PILFER_C_API int pilfer_worker_local_new(pilfer_worker_local** out, void* (*make)(void* arg),
                                         void (*end)(void* instance, void* arg), void* arg);
/* Frees the object. If an instance is leased, it prints a message and ends the program. NULL: nothing. */
PILFER_C_API void pilfer_worker_local_free(pilfer_worker_local* object);
/* Leases an instance to the caller alone, as its last user left it. On an error *out is NULL. PILFER_ENOMEM:
 * there is none, and none could be made. */
PILFER_C_API int pilfer_worker_local_lease(pilfer_worker_local* object, pilfer_lease** out);
/* The instance; `lease` must not be NULL. */
PILFER_C_API void* pilfer_lease_instance(const pilfer_lease* lease);
/* Ends the lease and frees its handle, on any thread. NULL: nothing. */
PILFER_C_API void pilfer_lease_end(pilfer_lease* lease);
/* Calls f(instance, arg) for each instance, in the order in which they were made. PILFER_EUSAGE: one is
 * leased. All are leased meanwhile. */
PILFER_C_API int pilfer_worker_local_for_each(pilfer_worker_local* object,
                                              void (*f)(void* instance, void* arg), void* arg);
/* The number of instances that have been made; 0 for NULL. */
PILFER_C_API size_t pilfer_worker_local_size(const pilfer_worker_local* object);

#ifdef __cplusplus
}
#endif

#endif
