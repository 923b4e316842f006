/* Time, descriptors, and functions that run each time; a part of <pilfer/pilfer.h>. */
#ifndef PILFER_PILFER_IO_H
#define PILFER_PILFER_IO_H

#include <pilfer/pilfer.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- time ---- */

/* The calling task suspends; any other thread blocks. Never shorter than `ns` nanoseconds, unless the task
 * is stopped: pilfer_cancelled(). */
PILFER_C_API void pilfer_sleep_for(uint64_t ns);
/* Lets others go first. */
PILFER_C_API void pilfer_yield(void);
/* Calls f(arg), which blocks in the system, on a thread beside the workers. The caller's worker does other
 * work meanwhile; pilfer::blocking lists the exceptions. The errno of f is that thread's. */
PILFER_C_API int pilfer_blocking(void (*f)(void*), void* arg);

/* A handle to a function that runs later: pilfer::timer. */
typedef struct pilfer_timer pilfer_timer;

/* Runs f(arg) as a task of `pool` (NULL: of the caller's pool, or the common one), in `ns` nanoseconds. `out`
 * may be NULL, else *out must be freed; on an error it is NULL. */
PILFER_C_API int pilfer_after(pilfer_pool* pool, uint64_t ns, void (*f)(void*), void* arg,
                              pilfer_timer** out);
/* Runs f(arg) every `ns` nanoseconds, as pilfer_after(). `ns` is from 1 to those of 100 years. It ends when f
 * returns 0, the timer is cancelled or the pool is shut down. */
PILFER_C_API int pilfer_every(pilfer_pool* pool, uint64_t ns, int (*f)(void*), void* arg, pilfer_timer** out);
/* Cancels it. 1 if it does not begin (again) because of this call; 0 if it would not have begun anyway. */
PILFER_C_API int pilfer_timer_cancel(pilfer_timer* timer);
/* 1 if the function does not run and will not run again. */
PILFER_C_API int pilfer_timer_over(const pilfer_timer* timer);
/* Frees the handle; the function runs nevertheless. NULL: nothing. */
PILFER_C_API void pilfer_timer_free(pilfer_timer* timer);

/* ---- descriptors ---- */

/* A task that waits for a descriptor suspends, any other thread blocks in poll(). `ns`: the time limit in
 * nanoseconds; 0: look once; PILFER_FOREVER: no limit. All these calls may return PILFER_ETIMEDOUT,
 * PILFER_ECANCELED, PILFER_ENOMEM and the codes of PILFER_EERRNO. A descriptor must stay open while a task or
 * thread waits for it; pilfer_io_close sees to that. */
#define PILFER_FOREVER UINT64_MAX

/* Waits until a read would not block: data, end of file, an error, a connection to accept. Another thread may
 * read it first. Any number of tasks may wait for one descriptor. */
PILFER_C_API int pilfer_io_wait_readable(int fd, uint64_t ns);
/* Waits until a write would not block, or a connect that is under way has ended. */
PILFER_C_API int pilfer_io_wait_writable(int fd, uint64_t ns);
/* These calls first try, and wait only if the call would block. So the descriptor must be non-blocking: see
 * pilfer_io_make_nonblocking. One that blocks also blocks its worker. */
/* Reads at most `bytes` bytes; *got is their number. 0 without an error: end of file, or `bytes` was 0. */
PILFER_C_API int pilfer_io_read(int fd, void* to, size_t bytes, uint64_t ns, size_t* got);
/* Writes all of it, unless there is an error. *written, unless it is NULL, gets the number of written bytes
 * in both cases. In a task no SIGPIPE ends the program: the code is PILFER_EERRNO - EPIPE. */
PILFER_C_API int pilfer_io_write(int fd, const void* from, size_t bytes, uint64_t ns, size_t* written);
/* The next connection of a listening socket. *fd does not block, and exec closes it; -1 on an error. */
PILFER_C_API int pilfer_io_accept(int listener, uint64_t ns, int* fd);
/* Connects a socket. `to`: a struct sockaddr_in and the like, of `bytes` bytes. A local socket whose listener
 * is busy gives PILFER_EERRNO - EAGAIN: there is no notification when it is free. */
PILFER_C_API int pilfer_io_connect(int fd, const void* to, unsigned bytes, uint64_t ns);
/* Sets O_NONBLOCK. */
PILFER_C_API int pilfer_io_make_nonblocking(int fd);
/* Ends all waits of tasks for this descriptor with PILFER_ECANCELED; later ones wait. A thread that is no
 * worker, or is of a pool on one lock, stays in its poll(). Returns the number of ended waits. */
PILFER_C_API size_t pilfer_io_forget(int fd);
/* pilfer_io_forget(), and closes the descriptor, in one step. Returns the result of close(2); the descriptor
 * is closed in any case. */
PILFER_C_API int pilfer_io_close(int fd);

/* ---- functions that run each time ---- */

typedef struct pilfer_subscription pilfer_subscription;
/* Of <pilfer/pilfer_sync.h>, which may come later. No typedefs, which C99 allows only once. */
struct pilfer_event;
struct pilfer_channel;

/* Each time, f runs as a task of `pool` (NULL: of the caller's pool, or the common one). Two runs never
 * overlap, and there is no stack between them. It ends when f returns 0, it is cancelled, the object that it
 * waits for ends, or the pool is shut down. That object, and what `arg` refers to, must outlive it: until
 * pilfer_subscription_over() or the end of the pool. `out` may be NULL, else *out must be freed; on an error
 * it is NULL. A first run may begin before *out is set. */

/* Calls f once for each pilfer_event_set, and at once if the event is set. All settings before a run begins
 * count as one. */
PILFER_C_API int pilfer_on_event(pilfer_pool* pool, struct pilfer_event* event, int (*f)(void* arg),
                                 void* arg, pilfer_subscription** out);
/* Calls f for each pointer, in order; ends after the last one of a closed channel. If the subscription ends
 * after a pointer was received and before f was called, that pointer is the channel's first again. */
PILFER_C_API int pilfer_on_channel(pilfer_pool* pool, struct pilfer_channel* channel,
                                   int (*f)(void* value, void* arg), void* arg, pilfer_subscription** out);
/* Calls f as long as a read would not block: f should read all that is there. Ends with pilfer_io_forget and
 * pilfer_io_close. Codes of PILFER_EERRNO: EBADF, EPERM for a descriptor that is always ready (a file),
 * ENOTSUP for a pool on one lock. */
PILFER_C_API int pilfer_on_readable(pilfer_pool* pool, int fd, int (*f)(void* arg), void* arg,
                                    pilfer_subscription** out);
/* Calls f as long as a write would not block. */
PILFER_C_API int pilfer_on_writable(pilfer_pool* pool, int fd, int (*f)(void* arg), void* arg,
                                    pilfer_subscription** out);
/* Cancels it; f may call this, too. 1 if f does not begin again because of this call, though a run that has
 * begun is completed. 0 if it would not have begun anyway. */
PILFER_C_API int pilfer_subscription_cancel(pilfer_subscription* subscription);
/* 1 if f does not run and will not run again. */
PILFER_C_API int pilfer_subscription_over(const pilfer_subscription* subscription);
/* Frees the handle; f runs nevertheless. NULL: nothing. */
PILFER_C_API void pilfer_subscription_free(pilfer_subscription* subscription);

#ifdef __cplusplus
}
#endif

#endif
