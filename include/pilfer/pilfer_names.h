/* Names of objects that tasks wait for, for reports; a part of <pilfer/pilfer.h>. */
#ifndef PILFER_PILFER_NAMES_H
#define PILFER_PILFER_NAMES_H

#include <pilfer/pilfer.h>

#ifdef __cplusplus
extern "C" {
#endif

struct pilfer_mutex;
struct pilfer_shared_mutex;
struct pilfer_condition;
struct pilfer_semaphore;
struct pilfer_latch;
struct pilfer_barrier;
struct pilfer_event;
struct pilfer_channel;
struct pilfer_synchronized;
struct pilfer_monitor;

/* Each function gives an object a name, until it gets another one or is destroyed or freed. Dumps, reports of
 * stalls and of cycles, traces, profiles, gdb and `pilfer top` show it. NULL removes the name. It is copied:
 * 1 to 255 bytes without control characters, else PILFER_EINVAL, and the object keeps the name that it had.
 * Objects without a name cost nothing. */

/* Names a mutex. */
PILFER_C_API int pilfer_mutex_set_name(const struct pilfer_mutex* mutex, const char* name);
/* Names a shared mutex. */
PILFER_C_API int pilfer_shared_mutex_set_name(const struct pilfer_shared_mutex* mutex, const char* name);
/* Names a condition variable. */
PILFER_C_API int pilfer_condition_set_name(const struct pilfer_condition* condition, const char* name);
/* Names a semaphore. */
PILFER_C_API int pilfer_semaphore_set_name(const struct pilfer_semaphore* semaphore, const char* name);
/* Names a latch. */
PILFER_C_API int pilfer_latch_set_name(const struct pilfer_latch* latch, const char* name);
/* Names a barrier. */
PILFER_C_API int pilfer_barrier_set_name(const struct pilfer_barrier* barrier, const char* name);
/* Names an event. */
PILFER_C_API int pilfer_event_set_name(const struct pilfer_event* event, const char* name);
/* Names a channel. */
PILFER_C_API int pilfer_channel_set_name(const struct pilfer_channel* channel, const char* name);
/* Names an object of pilfer_synchronized_new(). */
PILFER_C_API int pilfer_synchronized_set_name(const struct pilfer_synchronized* object, const char* name);
/* Names a monitor. */
PILFER_C_API int pilfer_monitor_set_name(const struct pilfer_monitor* object, const char* name);

#ifdef __cplusplus
}
#endif

#endif
