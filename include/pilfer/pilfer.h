/* pilfer for C11. What a call means, costs and allows is said at its C++ twin: see docs/c-interface.md.
 *
 * All calls may be made from any thread at any time unless said otherwise. Those that can fail return 0 or
 * one of the negative codes below. Functions that are handed to pilfer come back by returning: a C++
 * exception, or pthread_exit, that leaves one ends the program with a message; longjmp must stay inside it.
 * While such a function waits in a call of pilfer (a sync, a get, a lock, a join, a loop, a spawn) it may go
 * on on another thread: its locals keep their addresses, but errno, thread-locals and the ownership of a
 * pthread_mutex_t do not follow it; that of a pilfer_mutex does.
 *
 * A program is linked with libpilfer and, where that is static, with the C++ runtime, both of which
 * `pkg-config --libs pilfer` names. */
#ifndef PILFER_PILFER_H
#define PILFER_PILFER_H

#include <stddef.h>
#include <stdint.h>

#include <pilfer/detail/base/same_sanitizer.h>

#ifdef PILFER_STATIC
#define PILFER_C_API
#else
/* Stands before each function of the library. */
#define PILFER_C_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- errors ---- */

enum {
    PILFER_EINVAL = -1,  /* an argument is NULL or out of its range */
    PILFER_ENOMEM = -2,  /* no memory, or no address space for a stack */
    PILFER_ECLOSED = -3, /* pool_closed: the pool is shut down or shutting down; or a channel is closed */
    PILFER_EBROKEN = -4, /* broken_promise: the task was dropped by a shutdown, the promise freed unset */
    PILFER_EUSAGE = -5,  /* usage_error: not the owner of the scope, by one of the pool's own tasks, a promise
                            that is set */
    PILFER_ESYSTEM = -6, /* the system refused: not a single thread, or a file that cannot be written */
    PILFER_ETIMEDOUT = -7, /* it did not happen in time; for the calls with `try`: it would have to wait */
    PILFER_EFULL = -8,     /* queue_full: the pool's queue is full, and the option when_full says fail */
    PILFER_ECANCELED = -9, /* somebody has called pilfer_io_forget or pilfer_io_close for this descriptor, or
                              pilfer_scope_cancel for a scope that the task is below of */
    PILFER_EFORKED = -10,  /* pool_forked: in a child of fork(), a pool or a future of the parent process */
    PILFER_EERRNO =
        -100, /* PILFER_EERRNO - EMFILE, and so on down to -999: an errno of the system, from the
                 calls for descriptors. Its own ETIMEDOUT, ECANCELED and ENOMEM are those above. */
};
/* One line; for 0, and for a number that is no code, too. Never NULL, never freed. */
PILFER_C_API const char* pilfer_strerror(int code);
/* The errno in a code of PILFER_EERRNO, 0 for any other. */
PILFER_C_API int pilfer_errno(int code);

/* ---- options ---- */

typedef struct pilfer_options pilfer_options;

/* The defaults of C++. Options are used by one thread at a time. */
PILFER_C_API int pilfer_options_new(pilfer_options** out);
/* NULL: nothing. Pools keep none of it. */
PILFER_C_API void pilfer_options_free(pilfer_options* options);
/* Sets one member of pilfer::options by its name. Numbers are decimal digits; `0` and `1` are no and yes.
 * Numbers: workers, max_workers, stack_size, max_contexts, max_extra_workers, attachable, queue_capacity,
 * priority (which may be negative), debug.stall_report, debug.dump_signal, debug.trace_events.
 * 0 or 1: only_workers, debug.overflow_message, debug.count_all, debug.profile.
 * Words: pin = automatic, off, compact or spread; governor = automatic, off or on; spin = automatic, latency,
 * balanced or battery; resume = anywhere, own-thread or elsewhere; when_full = grow, wait or fail; backend =
 * automatic, work_stealing or one_lock; balance.take_back = one or all.
 * Texts: name; balance, a text as PILFER_BALANCE takes it, which sets the rest of that group: it makes
 * automatic all that it does not name.
 * Ranges are checked by pilfer_pool_new. PILFER_EINVAL: see pilfer_options_error; nothing changed.
 */
PILFER_C_API int pilfer_options_set(pilfer_options* options, const char* name, const char* value);
/* options.advice: advise(arg) says at most how many workers should take work now, 0: no opinion. It is asked
 * twenty times a second while the pool works, on a thread of the pool's own, until the pool has ended. NULL:
 * nobody is asked. */
PILFER_C_API int pilfer_options_set_advice(pilfer_options* options, unsigned (*advise)(void*), void* arg);
/* Writes the value, as text that pilfer_options_set takes, and its terminating 0 to `text`. PILFER_EINVAL
 * also if `size` bytes are too few (128 always do). A balance that is all automatic is "". */
PILFER_C_API int pilfer_options_get(const pilfer_options* options, const char* name, char* text, size_t size);
/* f(worker, arg) on the thread of each worker, before its first task and after its last one; NULL: nothing. f
 * must not wait for the pool. Both must be callable until the pool is destroyed. */
PILFER_C_API int pilfer_options_on_start(pilfer_options* options, void (*f)(unsigned worker, void* arg),
                                         void* arg);
/* As pilfer_options_on_start(), after the last task of a worker. */
PILFER_C_API int pilfer_options_on_stop(pilfer_options* options, void (*f)(unsigned worker, void* arg),
                                        void* arg);
/* What was wrong with the last call that was given these options and failed, with the name of the option and
 * its range; "" if none did. Valid until the next such call. */
PILFER_C_API const char* pilfer_options_error(const pilfer_options* options);

/* ---- pools ---- */

typedef struct pilfer_pool pilfer_pool;
/* pilfer::shutdown_mode. */
enum {
    PILFER_DRAIN = 0, /* everything that was accepted runs */
    PILFER_DROP = 1,  /* accepted tasks that have not started are dropped and counted */
};

/* pilfer::priority. */
enum {
    PILFER_AUTOMATIC = 0, /* that of the task that submits it, else normal */
    PILFER_HIGH = 1,      /* before all others */
    PILFER_NORMAL = 2,    /* after high */
    PILFER_LOW = 3,       /* after normal */
};
/* What a task may be given beside its function: pilfer::task_options. All zeros, and a null pointer: nothing.
 */
typedef struct pilfer_task_options {
    int priority;     /* of a submission; PILFER_AUTOMATIC: that of the task that submits it, else normal */
    uint64_t weight;  /* from 1 to 2^32; 0: 1 */
    const char* name; /* at most 255 bytes without control characters, which are copied; NULL: none */
} pilfer_task_options;

/* Options NULL: the defaults. On an error *out is NULL. */
PILFER_C_API int pilfer_pool_new(pilfer_pool** out, pilfer_options* options);
/* The pool of everybody who made none. It must not be destroyed. */
PILFER_C_API int pilfer_pool_common(pilfer_pool** out);
/* shutdown(drain), and frees the pool. NULL: nothing. PILFER_EUSAGE from a task of this very pool,
 * PILFER_EINVAL for the common pool: then it lives on. */
PILFER_C_API int pilfer_pool_destroy(pilfer_pool* pool);
/* Ends the pool: PILFER_DRAIN runs what was accepted, PILFER_DROP drops what has not started. */
PILFER_C_API int pilfer_pool_shutdown(pilfer_pool* pool, int mode);
/* Calls f(arg) on a worker, and waits for its end. */
PILFER_C_API int pilfer_pool_run(pilfer_pool* pool, void (*f)(void*), void* arg);
/* Until pilfer_detach the calling thread, which is none of a pool, works for `pool` wherever it would block
 * without a time limit, until its own wait ends. PILFER_EUSAGE: the option attachable is 0, the caller is a
 * task, or attached already. For a pool that records, or with one lock, the thread blocks. On an error *out
 * is NULL. */
typedef struct pilfer_attachment pilfer_attachment;
/* Attaches the calling thread; see pilfer_attachment. */
PILFER_C_API int pilfer_attach(pilfer_pool* pool, pilfer_attachment** out);
/* On the thread that was attached, before the pool is destroyed. NULL: nothing. */
PILFER_C_API void pilfer_detach(pilfer_attachment* attachment);
/* The calling thread works for `pool` until done(arg) is not 0: for a main loop. It is called between two
 * tasks, before the thread sleeps, and when pilfer_pool_notify has woken it; it should neither wait nor take
 * long. Returns early when the pool is shut down. PILFER_EUSAGE: the caller is a task, or no seat is free
 * (the option attachable). For a pool that records, or with one lock, the thread runs no tasks: it calls
 * done at once and after each pilfer_pool_notify, and sleeps in between. */
PILFER_C_API int pilfer_pool_run_until(pilfer_pool* pool, int (*done)(void*), void* arg);
/* All that are in pilfer_pool_run_until look again. NULL: nothing. */
PILFER_C_API void pilfer_pool_notify(pilfer_pool* pool);
/* f(arg) as a task that nobody waits for, but shutdown. PILFER_EFULL here and wherever else a task is handed
 * to a pool, from outside of it. */
PILFER_C_API int pilfer_submit(pilfer_pool* pool, void (*f)(void*), void* arg);
/* These two with options; PILFER_EINVAL for wrong ones. */
PILFER_C_API int pilfer_pool_run_with(pilfer_pool* pool, const pilfer_task_options* options, void (*f)(void*),
                                      void* arg);
/* pilfer_submit() with options. */
PILFER_C_API int pilfer_submit_with(pilfer_pool* pool, const pilfer_task_options* options, void (*f)(void*),
                                    void* arg);
/* Of the calling task; NULL if it has none, or outside of pools. Valid until the task ends. */
PILFER_C_API const char* pilfer_task_name(void);
/* 0 for NULL. */
PILFER_C_API unsigned pilfer_pool_workers(const pilfer_pool* pool);
/* From now on n workers take work, of 1 to the option max_workers: pilfer::pool::resize. `there`, unless
 * NULL, is how many there are: fewer where no more threads can be made. PILFER_EINVAL, PILFER_ECLOSED. */
PILFER_C_API int pilfer_pool_resize(pilfer_pool* pool, unsigned n, unsigned* there);
/* Copies the options in force, with automatic ones filled in. */
PILFER_C_API int pilfer_pool_settings(const pilfer_pool* pool, pilfer_options* into);
/* Until as many calls of _end the pool's workers do not sleep: pilfer::keep_warm. PILFER_EUSAGE from an _end
 * without its _begin. */
PILFER_C_API int pilfer_keep_warm_begin(pilfer_pool* pool);
/* Ends one pilfer_keep_warm_begin(). */
PILFER_C_API int pilfer_keep_warm_end(pilfer_pool* pool);
/* Writes what each worker does and each task waits for to the descriptor `file`: pilfer::pool::dump. */
PILFER_C_API int pilfer_pool_dump(const pilfer_pool* pool, int file);
/* Writes the recorded events to the file `path`: pilfer::write_trace. */
PILFER_C_API int pilfer_pool_write_trace(const pilfer_pool* pool, const char* path);

/* Of one worker, or sums over a pool: pilfer::counters says what each counts. */
struct pilfer_counters {
    uint64_t run_own;               /* entries the scheduler took from its own deque */
    uint64_t run_submitted;         /* from the submission queue */
    uint64_t run_stolen;            /* from another worker */
    uint64_t tasks_stolen;          /* tasks that thefts moved */
    uint64_t run_resumed;           /* contexts resumed from an inbox */
    uint64_t steals_tried;          /* == failed + lost + those that took something */
    uint64_t steals_failed;         /* nothing there to take */
    uint64_t steals_lost;           /* another thief was faster */
    uint64_t reaches;               /* private tasks of a silent owner made stealable */
    uint64_t exposures;             /* times tasks moved to the shared part by their owner */
    uint64_t exposed_tasks;         /* tasks that those exposures moved */
    uint64_t scopes_shared;         /* scopes that became shared */
    uint64_t suspends;              /* contexts that were suspended */
    uint64_t resumes;               /* suspended contexts that went on */
    uint64_t sleeps;                /* times a worker slept in the kernel */
    uint64_t wakes;                 /* other workers that this one woke */
    uint64_t dropped;               /* tasks never started: a sibling failed, or shutdown(drop) */
    uint64_t exceptions_suppressed; /* all but the first of a join */
    uint64_t no_context;            /* tasks that got no stack */
    uint64_t contexts_live;         /* pool only: stacks in use or cached */
    uint64_t contexts_peak;         /* pool only */
    uint64_t announced;             /* tasks that were announced; only if all are counted */
    uint64_t run_inline;            /* taken back by the frame that announced it */
};
/* Sums over the workers of the pool. */
PILFER_C_API int pilfer_pool_counters(const pilfer_pool* pool, struct pilfer_counters* out);
/* Counters of the worker with this number. */
PILFER_C_API int pilfer_worker_counters(const pilfer_pool* pool, unsigned worker,
                                        struct pilfer_counters* out);

/* pilfer::work_span. PILFER_EUSAGE unless the pool records (the option debug.profile). */
struct pilfer_work_span {
    uint64_t work_ns;          /* time of all strands together */
    uint64_t span_ns;          /* time of the longest chain of strands */
    uint64_t burdened_span_ns; /* the span with a theft for each fork and a resumption for each wait */
    uint64_t strands;          /* all strands */
    uint64_t span_strands;     /* strands of the longest chain */
    uint64_t tasks;            /* all tasks */
    uint64_t span_tasks;       /* tasks of the longest chain */
    uint64_t theft_ns;         /* the cost of a theft */
    uint64_t resume_ns;        /* the cost of a resumption */
    int complete;              /* 0: memory ran out, and later tasks were not counted */
};
/* Work and span of all that has run so far. */
PILFER_C_API int pilfer_pool_profile(const pilfer_pool* pool, struct pilfer_work_span* out);

/* ---- fork and join ---- */

/* f(fa) and g(ga), perhaps in parallel; returns when both have ended. Outside a pool: in the common one.
 * PILFER_ECANCELED: a scope that the caller is below of was cancelled, or a join that the caller is a branch
 * of has failed; f or g may not have run, or not to its end. */
PILFER_C_API int pilfer_join2(void (*f)(void*), void* fa, void (*g)(void*), void* ga);

/* A scope lies where the caller puts it, in a local as a rule, and stays there from begin to end. Only the
 * task that began it may spawn, sync and end; each task below may fork into it. */
typedef struct pilfer_scope {
    union {
        uint64_t words[20];
        void* pointers[20];
    } opaque; /* for the library */
} pilfer_scope;
/* pilfer::resume. */
enum {
    PILFER_RESUME_ANYWHERE = 0,   /* on the worker that has time */
    PILFER_RESUME_OWN_THREAD = 1, /* on the thread that called */
};

/* Begins a scope of the calling task. */
PILFER_C_API int pilfer_scope_begin(pilfer_scope* scope);
/* Begins a scope; `resume` says where a sync may go on: PILFER_RESUME_ANYWHERE or _OWN_THREAD. */
PILFER_C_API int pilfer_scope_begin_at(pilfer_scope* scope, int resume);
/* f(arg) runs at once, on another stack; the caller, from the return of this call on, is offered to idle
 * workers: it may go on on another thread, as in C++. Whoever wants no such thing uses fork. */
PILFER_C_API int pilfer_scope_spawn(pilfer_scope* scope, void (*f)(void*), void* arg);
/* f(arg) is offered to idle workers, the caller goes on. */
PILFER_C_API int pilfer_scope_fork(pilfer_scope* scope, void (*f)(void*), void* arg);
/* These two with options: the weight is that of the caller's rest for spawn, of f for fork. PILFER_EINVAL for
 * wrong ones, and for a priority, which children have not. */
PILFER_C_API int pilfer_scope_spawn_with(pilfer_scope* scope, const pilfer_task_options* options,
                                         void (*f)(void*), void* arg);
/* pilfer_scope_fork() with options. */
PILFER_C_API int pilfer_scope_fork_with(pilfer_scope* scope, const pilfer_task_options* options,
                                        void (*f)(void*), void* arg);
/* Waits for all children. PILFER_EBROKEN: some of them were dropped, by a shutdown of the common pool. The
 * scope may be used again. */
PILFER_C_API int pilfer_scope_sync(pilfer_scope* scope);
/* The same, but PILFER_ETIMEDOUT if some have not ended after `ns` nanoseconds; then the scope is as before.
 * It runs no children itself. */
PILFER_C_API int pilfer_scope_sync_for(pilfer_scope* scope, uint64_t ns);
/* Stops all tasks below the scope: those that have not started never start, and the calls of the others that
 * spawn, join, loop or wait give PILFER_ECANCELED, waits for a time, a future, a channel, an event, a
 * semaphore, a latch, a condition (the mutex is locked then) or a descriptor at once. A task that holds a
 * mutex or shared mutex, or is inside a call of a pilfer_synchronized or pilfer_monitor, is stopped after the
 * unlock, and so are the scopes that it begins under the lock. One that waits under a lock for what a stopped
 * task was to bring waits on, and so does sync. A stopped task frees what it has and returns. By any task or
 * thread, while the scope lives; the scope may be used again behind its next sync, which waits as ever. */
PILFER_C_API int pilfer_scope_cancel(pilfer_scope* scope);
/* 1 if this scope was cancelled and no sync has begun to return since, else 0. */
PILFER_C_API int pilfer_scope_cancelled(const pilfer_scope* scope);
/* 1 if a scope was cancelled that the running task is below of, else 0. */
PILFER_C_API int pilfer_cancelled(void);
/* 1 if others than the worker of its task may reach the scope (scope::shared()), else 0. */
PILFER_C_API int pilfer_scope_shared(const pilfer_scope* scope);
/* A sync, after which the memory is the caller's again; also with PILFER_EBROKEN, but not with PILFER_EINVAL
 * or PILFER_EUSAGE. */
PILFER_C_API int pilfer_scope_end(pilfer_scope* scope);

/* A time limit of a scope: it lies where the caller puts it, and stays there from begin to end. */
typedef struct pilfer_deadline {
    union {
        uint64_t words[8];
        void* pointers[8];
    } opaque; /* for the library */
} pilfer_deadline;

/* In `ns` nanoseconds pilfer_scope_cancel is called for the scope, unless the limit ends before; the scope
 * must live until it does. As late as any timer (pilfer_after) where every worker is inside a task that
 * neither ends nor waits. PILFER_ENOMEM, PILFER_ECLOSED: there is no limit. Cost: a timer and one
 * allocation. */
PILFER_C_API int pilfer_deadline_begin(pilfer_deadline* limit, pilfer_scope* scope, uint64_t ns);
/* Waits for a cancellation that is under way. From then on the limit does nothing, and its memory is the
 * caller's again. Whether it was in time says pilfer_scope_cancelled, until the sync. */
PILFER_C_API int pilfer_deadline_end(pilfer_deadline* limit);

/* A scope that each task below may leave with a value: that stops all the others, as pilfer_scope_cancel
 * does. What is said of scopes holds. */
typedef struct pilfer_first_result_scope {
    union {
        uint64_t words[24];
        void* pointers[24];
    } opaque; /* for the library */
} pilfer_first_result_scope;

/* Begins a scope whose first result cancels the rest. */
PILFER_C_API int pilfer_first_result_scope_begin(pilfer_first_result_scope* scope);
/* As pilfer_scope_spawn(). */
PILFER_C_API int pilfer_first_result_scope_spawn(pilfer_first_result_scope* scope, void (*f)(void*),
                                                 void* arg);
/* As pilfer_scope_fork(). */
PILFER_C_API int pilfer_first_result_scope_fork(pilfer_first_result_scope* scope, void (*f)(void*),
                                                void* arg);
/* Claims the exit. 1: this call was the first since the last sync; all tasks below were stopped, and
 * make(arg, value) has set *value, which is NULL before, and returned 0. It may wait, and spawn into scopes
 * that it begins: that is excepted, unless a scope further out is cancelled or exits; its calls then give
 * PILFER_ECANCELED. The caller, where it is not the owner, is stopped as soon as this has returned, but not
 * while it holds a lock. 0: another one was first, or it was cancelled; make was not called. If make returns
 * a negative code, so does this call, and the exit stays claimed without a value; a positive one is
 * PILFER_EINVAL. By the owner, and by every task below. Cost of the first: that of pilfer_scope_cancel; of
 * the others one load. */
PILFER_C_API int pilfer_first_result_scope_exit(pilfer_first_result_scope* scope,
                                                int (*make)(void* arg, void** value), void* arg);
/* The same with a value that is there. 0: it stays the caller's. */
PILFER_C_API int pilfer_first_result_scope_exit_value(pilfer_first_result_scope* scope, void* value);
/* Stops all tasks below without a value, unless one has claimed the exit. By the owner, and by every task
 * below. */
PILFER_C_API int pilfer_first_result_scope_cancel(pilfer_first_result_scope* scope);
/* Waits for all children. 1: *value is that of the exit; 0: there was none, *value is NULL. Codes are those
 * of pilfer_scope_sync: with PILFER_EUSAGE *value is as before, with others it is what the exit has made, to
 * be let go of, or NULL. `value` may be NULL. The scope may be used again. */
PILFER_C_API int pilfer_first_result_scope_sync(pilfer_first_result_scope* scope, void** value);
/* A sync whose value is lost, and never 1; the memory as after pilfer_scope_end. */
PILFER_C_API int pilfer_first_result_scope_end(pilfer_first_result_scope* scope);

/* ---- loops ---- */

/* Calls body(begin, end, arg) for pieces that together are [first, last), each index once, in any order and
 * in parallel. A piece takes some 4 us where single indices take less. An empty or reversed range: nothing.
 */
PILFER_C_API int pilfer_for_each(size_t first, size_t last, void (*body)(size_t begin, size_t end, void* arg),
                                 void* arg);

/* What pilfer_reduce sums up. A value is `size` bytes anywhere in memory, aligned for any type; pilfer never
 * copies it. */
struct pilfer_reducer {
    size_t size; /* bytes of a value */
    /* Makes *value, which holds nothing yet, the one that changes nothing: 0 for a sum. */
    void (*identity)(void* value, void* arg);
    /* *value = *value combined with the elements of [begin, end), in order. */
    void (*fold)(void* value, size_t begin, size_t end, void* arg);
    /* *left = *left combined with *right, which is not used any more. Associative; it need not commute. */
    void (*combine)(void* left, void* right, void* arg);
};
/* Combines *result with all elements of [first, last), in order. How they are grouped depends on who was
 * idle. PILFER_ECANCELED: the task is stopped; *result was combined with some of them, and so was every value
 * that `identity` has made. */
PILFER_C_API int pilfer_reduce(size_t first, size_t last, const struct pilfer_reducer* how, void* arg,
                               void* result);

/* ---- futures ---- */

typedef struct pilfer_future pilfer_future;

/* f(arg) as a task of `pool`; NULL: of the caller's pool, or the common one. On an error *out is NULL. */
PILFER_C_API int pilfer_async(pilfer_pool* pool, void* (*f)(void*), void* arg, pilfer_future** out);
/* pilfer_async() with options. */
PILFER_C_API int pilfer_async_with(pilfer_pool* pool, const pilfer_task_options* options, void* (*f)(void*),
                                   void* arg, pilfer_future** out);
/* Waits, and stores the result (what f returned), unless `result` is NULL. May be called again and by several
 * threads. PILFER_EBROKEN: f was dropped, or the promise was freed unset. Other codes: of a promise, of a
 * task behind it, or PILFER_ECLOSED where the pool took no task behind it any more. */
PILFER_C_API int pilfer_future_get(pilfer_future* future, void** result);
/* Waits until the result or the code is there. */
PILFER_C_API int pilfer_future_wait(pilfer_future* future);
/* As pilfer_future_wait, but PILFER_ETIMEDOUT after `ns` nanoseconds. It never runs the task itself. */
PILFER_C_API int pilfer_future_wait_for(pilfer_future* future, uint64_t ns);
/* 1: get would not wait; 0: it would. */
PILFER_C_API int pilfer_future_ready(const pilfer_future* future);
/* One more handle to the same future, which has to be freed once more. NULL for NULL. */
PILFER_C_API pilfer_future* pilfer_future_copy(pilfer_future* future);
/* Gives a handle back; the task runs all the same. NULL: nothing. */
PILFER_C_API void pilfer_future_free(pilfer_future* future);
/* When the result is there, f(result, arg) runs as a task of the future's pool (the caller's or the common
 * one, if it has none), never on the stack of whoever made it. *out gets what f returns; where there is no
 * result, f is not called, and *out gets the code. On an error *out is NULL. */
PILFER_C_API int pilfer_future_then(pilfer_future* future, void* (*f)(void* result, void* arg), void* arg,
                                    pilfer_future** out);
/* The same whichever way it ended: f gets the future, which is ready. That handle ends when f returns: not to
 * be freed, copied where it is needed longer. */
PILFER_C_API int pilfer_future_continue_with(pilfer_future* future,
                                             void* (*f)(pilfer_future* done, void* arg), void* arg,
                                             pilfer_future** out);
/* The same as a task of `pool`; NULL: as without. Where that pool is shut down or destroyed by the time of
 * the result, *out gets PILFER_ECLOSED. */
PILFER_C_API int pilfer_future_then_in(pilfer_pool* pool, pilfer_future* future,
                                       void* (*f)(void* result, void* arg), void* arg, pilfer_future** out);
/* pilfer_future_continue_with(), as a task of `pool`. */
PILFER_C_API int pilfer_future_continue_with_in(pilfer_pool* pool, pilfer_future* future,
                                                void* (*f)(pilfer_future* done, void* arg), void* arg,
                                                pilfer_future** out);
/* Ready when all of them are, with the result NULL and no code: those of the futures are in them. The handles
 * and the array stay the caller's, and may be freed. Of none: ready. On an error *out is NULL. */
PILFER_C_API int pilfer_when_all(pilfer_future* const* futures, size_t n, pilfer_future** out);
/* Ready when one of them is: the result is its handle, as it stands in the array (valid as long as the caller
 * keeps that). Of none: ready, with NULL. Some bytes for each future live on until that one ends. */
PILFER_C_API int pilfer_when_any(pilfer_future* const* futures, size_t n, pilfer_future** out);

/* A result that is set once: pilfer::promise. */
typedef struct pilfer_promise pilfer_promise;

/* Makes a promise that is not set. On an error *out is NULL. */
PILFER_C_API int pilfer_promise_new(pilfer_promise** out);
/* Once, by any task or thread: PILFER_EUSAGE if it was set before. Whoever has seen the result may free the
 * promise, even while this call has not returned. */
PILFER_C_API int pilfer_promise_set_value(pilfer_promise* promise, void* value);
/* The same for a failure: `code` is what pilfer_future_get then returns, negative. Those from -1000 down
 * never become pilfer's own. */
PILFER_C_API int pilfer_promise_set_error(pilfer_promise* promise, int code);
/* A handle, which has to be freed. As often as wanted. NULL for NULL. */
PILFER_C_API pilfer_future* pilfer_promise_future(pilfer_promise* promise);
/* Unset, it gives PILFER_EBROKEN to whoever waits. NULL: nothing. */
PILFER_C_API void pilfer_promise_free(pilfer_promise* promise);

/* ---- waiting for each other ---- */

/* These lie where the caller puts them and stay there from init to destroy; nobody may use them outside that
 * time, nor wait when they are destroyed. A task that waits suspends, any other thread blocks; tasks of
 * several pools and threads may share one. Times are in nanoseconds. */

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
/* Not recursive. It belongs to the task or thread that locked it, and is unlocked by it. */
PILFER_C_API int pilfer_mutex_lock(pilfer_mutex* mutex);
/* The same, but a task that is stopped while it waits gets PILFER_ECANCELED, without the mutex. */
PILFER_C_API int pilfer_mutex_lock_cancellable(pilfer_mutex* mutex);
/* PILFER_ETIMEDOUT: somebody has it. */
PILFER_C_API int pilfer_mutex_try_lock(pilfer_mutex* mutex);
/* PILFER_ETIMEDOUT: not locked within `ns` nanoseconds. */
PILFER_C_API int pilfer_mutex_lock_for(pilfer_mutex* mutex, uint64_t ns);
/* By the task or thread that locked it. */
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
/* For the caller alone. First come, first served; PILFER_ETIMEDOUT as with pilfer_mutex. */
PILFER_C_API int pilfer_shared_mutex_lock(pilfer_shared_mutex* mutex);
/* As pilfer_mutex_lock_cancellable(). */
PILFER_C_API int pilfer_shared_mutex_lock_cancellable(pilfer_shared_mutex* mutex);
/* PILFER_ETIMEDOUT: it is locked. */
PILFER_C_API int pilfer_shared_mutex_try_lock(pilfer_shared_mutex* mutex);
/* PILFER_ETIMEDOUT: not locked within `ns` nanoseconds. */
PILFER_C_API int pilfer_shared_mutex_lock_for(pilfer_shared_mutex* mutex, uint64_t ns);
/* Ends a lock for the caller alone. */
PILFER_C_API int pilfer_shared_mutex_unlock(pilfer_shared_mutex* mutex);
/* With others who share it. A task must not do so twice: a writer may have come in between. */
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
/* Unlocks the mutex, which the caller has locked, waits for a notification, and locks it again. Nobody goes
 * on without one, but what it was about may be over by then: call it in a loop. */
PILFER_C_API int pilfer_condition_wait(pilfer_condition* condition, pilfer_mutex* mutex);
/* PILFER_ETIMEDOUT: not notified in time; the mutex is locked all the same. */
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

/* PILFER_EINVAL for a count below 0. */
PILFER_C_API int pilfer_semaphore_init(pilfer_semaphore* semaphore, ptrdiff_t count);
/* Ends its life; no task or thread may wait for it. */
PILFER_C_API void pilfer_semaphore_destroy(pilfer_semaphore* semaphore);
/* Gives `update`, at least 0; all that is there must stay below PTRDIFF_MAX. */
PILFER_C_API int pilfer_semaphore_release(pilfer_semaphore* semaphore, ptrdiff_t update);
/* Takes one; waits while there is none. */
PILFER_C_API int pilfer_semaphore_acquire(pilfer_semaphore* semaphore);
/* Takes one. PILFER_ETIMEDOUT: there is none. */
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

/* PILFER_EINVAL for less than 0. */
PILFER_C_API int pilfer_latch_init(pilfer_latch* latch, ptrdiff_t expected);
/* Ends its life; no task or thread may wait for it. */
PILFER_C_API void pilfer_latch_destroy(pilfer_latch* latch);
/* By `update`, at least 0 and not more than are still expected. */
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

/* Whoever arrives last in a phase calls completion(arg) before the others go on; NULL: nothing.
 * PILFER_EINVAL for less than 0. */
PILFER_C_API int pilfer_barrier_init(pilfer_barrier* barrier, ptrdiff_t expected, void (*completion)(void*),
                                     void* arg);
/* Ends its life; no task or thread may wait for it. */
PILFER_C_API void pilfer_barrier_destroy(pilfer_barrier* barrier);
/* By `update`, at least 1 and not more than are still expected in this phase, whose number goes to *phase,
 * unless that is NULL. */
PILFER_C_API int pilfer_barrier_arrive(pilfer_barrier* barrier, ptrdiff_t update, uint64_t* phase);
/* For the end of the phase in which the caller has arrived: that one, or none behind it has ended. */
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

/* `set`: 0, or it is set from the beginning. */
PILFER_C_API int pilfer_event_init(pilfer_event* event, int set);
/* Ends its life; no task or thread may wait for it. */
PILFER_C_API void pilfer_event_destroy(pilfer_event* event);
/* Until reset everybody goes on who waits or comes. */
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

/* At most `capacity` pointers are under way, received in the order in which they were accepted. 0: a send
 * waits until its pointer is received. On an error *out is NULL. */
PILFER_C_API int pilfer_channel_new(pilfer_channel** out, size_t capacity);
/* Nobody may wait any more. What its pointers refer to stays the caller's. NULL: nothing. */
PILFER_C_API void pilfer_channel_free(pilfer_channel* channel);
/* Not 0: nothing was sent. PILFER_ECLOSED: it is closed. PILFER_ENOMEM: a send takes a cell. */
PILFER_C_API int pilfer_channel_send(pilfer_channel* channel, void* value);
/* PILFER_ETIMEDOUT: it would have to wait; there was no room in time. */
PILFER_C_API int pilfer_channel_try_send(pilfer_channel* channel, void* value);
/* As pilfer_channel_send(), within `ns` nanoseconds. */
PILFER_C_API int pilfer_channel_send_for(pilfer_channel* channel, void* value, uint64_t ns);
/* PILFER_ECLOSED: it is closed, and everything was received. Not 0: *value is as before. */
PILFER_C_API int pilfer_channel_receive(pilfer_channel* channel, void** value);
/* PILFER_ETIMEDOUT: it would have to wait; nothing came in time. */
PILFER_C_API int pilfer_channel_try_receive(pilfer_channel* channel, void** value);
/* As pilfer_channel_receive(), within `ns` nanoseconds. */
PILFER_C_API int pilfer_channel_receive_for(pilfer_channel* channel, void** value, uint64_t ns);
/* Nobody sends any more; those who wait for room get PILFER_ECLOSED. May be called again. */
PILFER_C_API int pilfer_channel_close(pilfer_channel* channel);
/* 1 or 0. */
PILFER_C_API int pilfer_channel_closed(pilfer_channel* channel);
/* How many pointers wait in it; 0 for NULL. */
PILFER_C_API size_t pilfer_channel_size(pilfer_channel* channel);

/* ---- time ---- */

/* The calling task suspends; any other thread blocks. Never shorter than `ns` nanoseconds, unless the task
 * is stopped: pilfer_cancelled(). */
PILFER_C_API void pilfer_sleep_for(uint64_t ns);
/* Lets others go first. */
PILFER_C_API void pilfer_yield(void);
/* Calls f(arg), which blocks in the system, on a thread beside the workers, while the caller's worker goes on
 * with other work: see pilfer::blocking for where it does not. What f leaves in errno is that thread's. */
PILFER_C_API int pilfer_blocking(void (*f)(void*), void* arg);

/* A handle to a function that runs later: pilfer::timer. */
typedef struct pilfer_timer pilfer_timer;

/* f(arg) as a task of `pool` (NULL: of the caller's pool, or the common one), in `ns` nanoseconds. `out` may
 * be NULL, else *out has to be freed; on an error it is NULL. */
PILFER_C_API int pilfer_after(pilfer_pool* pool, uint64_t ns, void (*f)(void*), void* arg,
                              pilfer_timer** out);
/* The same every `ns` nanoseconds, from 1 to those of 100 years, until f returns 0, the timer is cancelled or
 * the pool shut down. */
PILFER_C_API int pilfer_every(pilfer_pool* pool, uint64_t ns, int (*f)(void*), void* arg, pilfer_timer** out);
/* 1: thanks to this call it does not begin (again); 0: it would not have anyway. */
PILFER_C_API int pilfer_timer_cancel(pilfer_timer* timer);
/* 1: nothing runs any more, and nothing will. */
PILFER_C_API int pilfer_timer_over(const pilfer_timer* timer);
/* Gives the handle back; the function runs all the same. NULL: nothing. */
PILFER_C_API void pilfer_timer_free(pilfer_timer* timer);

/* ---- descriptors ---- */

/* A task that waits for a descriptor suspends, any other thread blocks in poll(). `ns`: for how many
 * nanoseconds at most; 0: look once; PILFER_FOREVER: for good. Besides what stands at each call they return
 * PILFER_ETIMEDOUT, PILFER_ECANCELED, PILFER_ENOMEM and the codes of PILFER_EERRNO.
 * A descriptor must stay open while somebody waits for it; pilfer_io_close sees to that. */
#define PILFER_FOREVER UINT64_MAX

/* 0: a read would not block (data, end of file, an error, a connection to accept); somebody else may be
 * faster. Any number of tasks may wait for one descriptor. */
PILFER_C_API int pilfer_io_wait_readable(int fd, uint64_t ns);
/* The same for a write, and for a connect that is under way. */
PILFER_C_API int pilfer_io_wait_writable(int fd, uint64_t ns);
/* These first try, and wait only where the call would block. So the descriptor must not block: see
 * pilfer_io_make_nonblocking; one that does blocks its worker. */
/* What is there, at most `bytes`: *got of them; 0 without an error: end of file, or `bytes` was 0. */
PILFER_C_API int pilfer_io_read(int fd, void* to, size_t bytes, uint64_t ns, size_t* got);
/* All of it, unless there is an error. *written, unless that is NULL, says how far it came in both cases. On
 * a worker no SIGPIPE ends the program: the code is PILFER_EERRNO - EPIPE. */
PILFER_C_API int pilfer_io_write(int fd, const void* from, size_t bytes, uint64_t ns, size_t* written);
/* The next connection of a listening socket. *fd does not block, and exec closes it; -1 on an error. */
PILFER_C_API int pilfer_io_accept(int listener, uint64_t ns, int* fd);
/* `to`: a struct sockaddr_in and the like, of `bytes` bytes. A local socket whose listener is busy gives
 * PILFER_EERRNO - EAGAIN: nothing tells when it is not. */
PILFER_C_API int pilfer_io_connect(int fd, const void* to, unsigned bytes, uint64_t ns);
/* Sets O_NONBLOCK. */
PILFER_C_API int pilfer_io_make_nonblocking(int fd);
/* All tasks that wait for this descriptor go on with PILFER_ECANCELED; who comes later waits. A thread that
 * is no worker stays in its poll(). Returns how many there were. */
PILFER_C_API size_t pilfer_io_forget(int fd);
/* The same, and closes it, in one step. What close(2) says; the descriptor is closed all the same. */
PILFER_C_API int pilfer_io_close(int fd);

/* ---- functions that run each time ---- */

typedef struct pilfer_subscription pilfer_subscription;

/* Each time f runs as a task of `pool` (NULL: of the caller's pool, or the common one), never twice at once
 * and without a stack in between, until it returns 0, is cancelled, what it waits for ends, or the pool is
 * shut down. What it waits for, and what `arg` refers to, must outlive it: until pilfer_subscription_over()
 * or the end of the pool. `out` may be NULL, else *out has to be freed; on an error it is NULL. A first run
 * may begin before *out is set. */

/* Once for each pilfer_event_set, but all that come before a run begins are one; and at once, if it is set.
 */
PILFER_C_API int pilfer_on_event(pilfer_pool* pool, pilfer_event* event, int (*f)(void* arg), void* arg,
                                 pilfer_subscription** out);
/* For each pointer, in order; ends behind the last one of a closed channel. One that was received, but f was
 * not called with, because the subscription ended, is the channel's first again. */
PILFER_C_API int pilfer_on_channel(pilfer_pool* pool, pilfer_channel* channel,
                                   int (*f)(void* value, void* arg), void* arg, pilfer_subscription** out);
/* As long as a read would not block: f should read what there is. Ends with pilfer_io_forget and
 * pilfer_io_close. Codes of PILFER_EERRNO: EBADF, EPERM for what is always ready (a file), ENOTSUP for a pool
 * on one lock. */
PILFER_C_API int pilfer_on_readable(pilfer_pool* pool, int fd, int (*f)(void* arg), void* arg,
                                    pilfer_subscription** out);
/* As long as a write would not block. */
PILFER_C_API int pilfer_on_writable(pilfer_pool* pool, int fd, int (*f)(void* arg), void* arg,
                                    pilfer_subscription** out);
/* 1: thanks to this call it does not begin again, though a run that has begun goes on; 0: it would not have
 * anyway. From f, too. */
PILFER_C_API int pilfer_subscription_cancel(pilfer_subscription* subscription);
/* 1: nothing runs any more, and nothing will. */
PILFER_C_API int pilfer_subscription_over(const pilfer_subscription* subscription);
/* Gives the handle back; f runs all the same. NULL: nothing. */
PILFER_C_API void pilfer_subscription_free(pilfer_subscription* subscription);

#ifdef __cplusplus
}
#endif

#include <pilfer/pilfer_objects.h>

#endif
