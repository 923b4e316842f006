/* Objects that are reached by calls only; a part of <pilfer/pilfer.h>. */
#ifndef PILFER_PILFER_OBJECTS_H
#define PILFER_PILFER_OBJECTS_H

#include <pilfer/pilfer.h>

#ifdef __cplusplus
extern "C" {
#endif

/* An object is a handle around a pointer of the caller's, `value`: what that refers to is touched inside of
 * calls only. Functions that are called get it, and the `arg` of their call. Who has to wait suspends if it
 * is a task, and blocks otherwise. A call of the same object by such a function gives PILFER_EUSAGE. Times
 * are in nanoseconds. */

/* ---- an object and its lock ---- */

typedef struct pilfer_synchronized pilfer_synchronized;

/* On an error *out is NULL. */
PILFER_C_API int pilfer_synchronized_new(pilfer_synchronized** out, void* value);
/* With a shared mutex: calls of pilfer_synchronized_read run beside each other; each costs more. */
PILFER_C_API int pilfer_synchronized_new_shared(pilfer_synchronized** out, void* value);
/* Nobody may be inside or wait any more. What `value` refers to stays the caller's. NULL: nothing. */
PILFER_C_API void pilfer_synchronized_free(pilfer_synchronized* object);
/* f(value, arg) on the caller, under the object's lock. f may wait, spawn and call other objects, and the
 * lock stays held: two tasks that take the same two in different orders may wait for good, see
 * pilfer_call_all. Cost where nobody else is there: that of a mutex. */
PILFER_C_API int pilfer_synchronized_call(pilfer_synchronized* object, void (*f)(void* value, void* arg),
                                          void* arg);
/* The same for an f that changes nothing. */
PILFER_C_API int pilfer_synchronized_read(pilfer_synchronized* object,
                                          void (*f)(const void* value, void* arg), void* arg);
/* PILFER_ETIMEDOUT: somebody is inside; f was not called. */
PILFER_C_API int pilfer_synchronized_try_call(pilfer_synchronized* object, void (*f)(void* value, void* arg),
                                              void* arg);
/* PILFER_ETIMEDOUT: the lock was not free within `ns` nanoseconds; f has not run. */
PILFER_C_API int pilfer_synchronized_call_for(pilfer_synchronized* object, void (*f)(void* value, void* arg),
                                              void* arg, uint64_t ns);
/* f(values, arg) under the locks of all `n` objects, at least 1; values[i] is that of objects[i]. They are
 * taken in the order of their addresses, so that such calls never wait for each other in a cycle.
 * PILFER_EUSAGE: one is named twice, or the caller is inside of one. Over 8 of them: two allocations,
 * and PILFER_ENOMEM without memory for them. */
PILFER_C_API int pilfer_call_all(pilfer_synchronized* const* objects, size_t n,
                                 void (*f)(void* const* values, void* arg), void* arg);

/* ---- an object whose calls may have a condition ---- */

typedef struct pilfer_monitor pilfer_monitor;

/* On an error *out is NULL. */
PILFER_C_API int pilfer_monitor_new(pilfer_monitor** out, void* value);
/* Nobody may be inside or wait any more, and calls with a time limit, or of tasks below of a scope, have
 * returned. What `value` refers to stays the caller's. NULL: nothing. */
PILFER_C_API void pilfer_monitor_free(pilfer_monitor* object);
/* f(value, arg) under the object's lock. */
PILFER_C_API int pilfer_monitor_call(pilfer_monitor* object, void (*f)(void* value, void* arg), void* arg);
/* The same for an f that changes nothing: nobody's condition is asked behind it. */
PILFER_C_API int pilfer_monitor_read(pilfer_monitor* object, void (*f)(const void* value, void* arg),
                                     void* arg);
/* f(value, arg) under the object's lock as soon as ready(value, arg) is not 0. Calls whose conditions hold
 * take place in the order in which they came; nobody is woken in vain, nobody signals anything. `ready` is
 * asked by any task or thread that uses the object, as often as it likes: it depends on the object only,
 * changes nothing, and neither waits nor calls. f may run on the stack of another task of the pool, which
 * made the condition true; it should not wait. So `arg` says all that either needs. PILFER_ECANCELED: the
 * caller was stopped while it waited; f was not called. Cost: where nobody waits, that of a mutex; where n
 * wait, each change asks up to n conditions per call that it serves. */
PILFER_C_API int pilfer_monitor_call_when(pilfer_monitor* object, int (*ready)(const void* value, void* arg),
                                          void (*f)(void* value, void* arg), void* arg);
/* PILFER_ETIMEDOUT: somebody is inside, or the condition does not hold; f was not called. */
PILFER_C_API int pilfer_monitor_try_call_when(pilfer_monitor* object,
                                              int (*ready)(const void* value, void* arg),
                                              void (*f)(void* value, void* arg), void* arg);
/* PILFER_ETIMEDOUT: it did not hold in time; f was not called. A call that is being served by then takes
 * place. */
PILFER_C_API int pilfer_monitor_call_when_for(pilfer_monitor* object,
                                              int (*ready)(const void* value, void* arg),
                                              void (*f)(void* value, void* arg), void* arg, uint64_t ns);

/* ---- a value of its own for each use ---- */

/* Instances of anything, for tasks that collect, count or need scratch space. One is leased for each use: a
 * use that spawns, waits or is suspended keeps its own. No more are made than are in use at the same time.
 * Any thread, tasks of any number of pools. */
typedef struct pilfer_worker_local pilfer_worker_local;
/* The right to use one instance alone: pilfer::worker_lease. */
typedef struct pilfer_lease pilfer_lease;

/* make(arg) returns an instance, NULL where it cannot; several may call it at once. end(instance, arg) is
 * called for each when the object is freed; NULL: nothing is. On an error *out is NULL. */
PILFER_C_API int pilfer_worker_local_new(pilfer_worker_local** out, void* (*make)(void* arg),
                                         void (*end)(void* instance, void* arg), void* arg);
/* While an instance is leased it says so and ends the program. NULL: nothing. */
PILFER_C_API void pilfer_worker_local_free(pilfer_worker_local* object);
/* An instance for the caller alone, as its last user left it. On an error *out is NULL. PILFER_ENOMEM: there
 * is none, and none could be made. */
PILFER_C_API int pilfer_worker_local_lease(pilfer_worker_local* object, pilfer_lease** out);
/* Not of NULL. */
PILFER_C_API void* pilfer_lease_instance(const pilfer_lease* lease);
/* On any thread; the handle is gone then. NULL: nothing. */
PILFER_C_API void pilfer_lease_end(pilfer_lease* lease);
/* f(instance, arg) for each, in the order in which they were made. PILFER_EUSAGE: one is leased. All are
 * leased meanwhile. */
PILFER_C_API int pilfer_worker_local_for_each(pilfer_worker_local* object,
                                              void (*f)(void* instance, void* arg), void* arg);
/* How many instances have been made; 0 of NULL. */
PILFER_C_API size_t pilfer_worker_local_size(const pilfer_worker_local* object);

#ifdef __cplusplus
}
#endif

#endif
