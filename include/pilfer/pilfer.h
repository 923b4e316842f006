/* pilfer for C11. The documentation of a call's C++ twin says what the call means, costs and allows: see
 * docs/c-interface.md.
 *
 * All calls may be made from any thread at any time unless said otherwise. Those that can fail return 0 or
 * one of the negative codes below. A function that is passed to pilfer must return. A C++ exception, or
 * pthread_exit, that leaves it ends the program with a message; longjmp must stay inside it.
 *
 * While such a function waits in a call of pilfer (a sync, a get, a lock, a join, a loop, a spawn) it may be
 * resumed on another thread. Its locals keep their addresses, and it keeps a pilfer_mutex. Errno,
 * thread-locals and the ownership of a pthread_mutex_t do not follow it.
 *
 * A program is linked with libpilfer. If libpilfer is static, it is also linked with the C++ runtime.
 * `pkg-config --libs pilfer` names both. */
#ifndef PILFER_PILFER_H
#define PILFER_PILFER_H

#include <stddef.h>
#include <stdint.h>

#include <pilfer/detail/base/same_sanitizer.h>

#ifdef PILFER_STATIC
#define PILFER_C_API
#else
/* Precedes each function of the library. */
#define PILFER_C_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- errors ---- */

enum {
    PILFER_EINVAL = -1,  /* An argument is NULL or out of its range. */
    PILFER_ENOMEM = -2,  /* No memory, or no address space for a stack. */
    PILFER_ECLOSED = -3, /* pool_closed: the pool is shut down or shutting down. Or a channel is closed. */
    PILFER_EBROKEN = -4, /* broken_promise: the task was dropped by a shutdown, the promise freed unset. */
    PILFER_EUSAGE = -5,  /* usage_error: not the owner of the scope, by one of the pool's own tasks, a promise
                            that is set, a graph with a cycle or one that runs. */
    PILFER_ESYSTEM = -6, /* The system refused: not a single thread, or a file that cannot be written. */
    PILFER_ETIMEDOUT = -7,  /* It did not happen in time. For the calls with `try`: it would have to wait. */
    PILFER_EFULL = -8,      /* queue_full: the pool's queue is full, and the option when_full says fail. */
    PILFER_ECANCELED = -9,  /* The task was cancelled by pilfer_scope_cancel of an enclosing scope. Or
                               pilfer_io_forget or pilfer_io_close was called for the descriptor. */
    PILFER_EFORKED = -10,   /* pool_forked: in a child of fork(), a pool or a future of the parent process. */
    PILFER_EREMOTE = -11,   /* A job of <pilfer/pilfer_cluster.h> failed: pilfer_cluster_error says more. */
    PILFER_EMISMATCH = -12, /* The ranks of <pilfer/pilfer_cluster.h> run different programs. */
    PILFER_EERRNO =
        -100, /* PILFER_EERRNO - EMFILE, and so on down to -999: an errno of the system, from the
                 calls for descriptors. Its own ETIMEDOUT, ECANCELED and ENOMEM are those above. */
};
/* The text of a code, one line. Never NULL, also for 0 and for a number that is no code. Never freed. */
PILFER_C_API const char* pilfer_strerror(int code);
/* The errno in a code of PILFER_EERRNO, 0 for any other. */
PILFER_C_API int pilfer_errno(int code);

/* ---- options ---- */

typedef struct pilfer_options pilfer_options;

/* The defaults of C++. Options are used by one thread at a time. */
PILFER_C_API int pilfer_options_new(pilfer_options** out);
/* Frees options. NULL: nothing. Pools do not refer to them. */
PILFER_C_API void pilfer_options_free(pilfer_options* options);
/* Sets one member of pilfer::options by its name. Numbers are decimal digits; `0` and `1` are no and yes.
 * Numbers: workers, max_workers, stack_size, max_contexts, max_extra_workers, attachable, queue_capacity,
 * priority (which may be negative), debug.stall_report, debug.dump_signal, debug.trace_events.
 * 0 or 1: only_workers, debug.overflow_message, debug.count_all, debug.profile.
 * Words: pin = automatic, off, compact or spread; governor = automatic, off or on; spin = automatic, latency,
 * balanced or battery; resume = anywhere, own-thread or elsewhere; when_full = grow, wait or fail; backend =
 * automatic, work_stealing or one_lock; balance.unshare = one or all.
 * Texts: name; balance, a text as PILFER_BALANCE takes it, which sets the rest of that group: it makes
 * automatic all that it does not name.
 * Ranges are checked by pilfer_pool_new. PILFER_EINVAL: see pilfer_options_error; nothing changed.
 */
PILFER_C_API int pilfer_options_set(pilfer_options* options, const char* name, const char* value);
/* options.advice: advise(arg) says at most how many workers should take work now, 0: no opinion. It is asked
 * twenty times a second while the pool works, on a thread of the pool's own, until the pool has ended. NULL:
 * no function is asked. */
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
/* Why pilfer_options_set, pilfer_options_get or pilfer_pool_new failed with these options the last time, with
 * the name of the option and its range; "" if none failed. Valid until the next such call. */
PILFER_C_API const char* pilfer_options_error(const pilfer_options* options);

/* ---- pools ---- */

typedef struct pilfer_pool pilfer_pool;
/* pilfer::shutdown_mode. */
enum {
    PILFER_DRAIN = 0, /* Everything that was accepted runs. */
    PILFER_DROP = 1,  /* Accepted tasks that have not started are dropped and counted. */
};

/* pilfer::priority. */
enum {
    PILFER_AUTOMATIC = 0, /* The level of the task that submits it, else normal. */
    PILFER_HIGH = 1,      /* Before all others. */
    PILFER_NORMAL = 2,    /* After high. */
    PILFER_LOW = 3,       /* After normal. */
};
/* Options of a task: pilfer::task_options. All zeros, and a null pointer: the defaults. */
typedef struct pilfer_task_options {
    int priority;     /* of a submission; PILFER_AUTOMATIC: that of the task that submits it, else normal */
    uint64_t weight;  /* from 1 to 2^32; 0: 1 */
    const char* name; /* at most 255 bytes without control characters, which are copied; NULL: none */
} pilfer_task_options;

/* Makes a pool. Options NULL: the defaults. On an error *out is NULL. */
PILFER_C_API int pilfer_pool_new(pilfer_pool** out, pilfer_options* options);
/* The common pool, for programs that make none. It must not be destroyed. */
PILFER_C_API int pilfer_pool_common(pilfer_pool** out);
/* Shuts the pool down (PILFER_DRAIN) and frees it. NULL: nothing. PILFER_EUSAGE from a task of this very
 * pool, PILFER_EINVAL for the common pool: then it stays alive. */
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
/* Ends the attachment, on the thread that was attached, before the pool is destroyed. NULL: nothing. */
PILFER_C_API void pilfer_detach(pilfer_attachment* attachment);
/* The calling thread works for `pool` until done(arg) is not 0: for a main loop. done is called between two
 * tasks, before the thread sleeps, and when pilfer_pool_notify has woken it. It should neither wait nor take
 * long. Returns early when the pool is shut down. PILFER_EUSAGE: the caller is a task, or no seat is free
 * (the option attachable). For a pool that records, or with one lock, the thread runs no tasks: it calls
 * done at once and after each pilfer_pool_notify, and sleeps in between. */
PILFER_C_API int pilfer_pool_run_until(pilfer_pool* pool, int (*done)(void*), void* arg);
/* Lets all threads in pilfer_pool_run_until look again. NULL: nothing. */
PILFER_C_API void pilfer_pool_notify(pilfer_pool* pool);
/* Runs f(arg) as a task for which only shutdown waits. PILFER_EFULL here and in any other call that gives a
 * task to a pool, from outside of it. */
PILFER_C_API int pilfer_submit(pilfer_pool* pool, void (*f)(void*), void* arg);
/* pilfer_pool_run() with options. PILFER_EINVAL for wrong ones. */
PILFER_C_API int pilfer_pool_run_with(pilfer_pool* pool, const pilfer_task_options* options, void (*f)(void*),
                                      void* arg);
/* pilfer_submit() with options. PILFER_EINVAL for wrong ones. */
PILFER_C_API int pilfer_submit_with(pilfer_pool* pool, const pilfer_task_options* options, void (*f)(void*),
                                    void* arg);
/* The name of the calling task; NULL if it has none, or outside of pools. Valid until the task ends. */
PILFER_C_API const char* pilfer_task_name(void);
/* The number of workers; 0 for NULL. */
PILFER_C_API unsigned pilfer_pool_workers(const pilfer_pool* pool);
/* From now on n workers take work, of 1 to the option max_workers: pilfer::pool::resize. `there`, unless
 * NULL, gets the number of workers. It is less than n if no more threads can be made. PILFER_EINVAL,
 * PILFER_ECLOSED. */
PILFER_C_API int pilfer_pool_resize(pilfer_pool* pool, unsigned n, unsigned* there);
/* Copies the options in force, with automatic ones filled in. */
PILFER_C_API int pilfer_pool_settings(const pilfer_pool* pool, pilfer_options* into);
/* Keeps the pool's workers from sleeping until as many calls of _end: pilfer::keep_warm. PILFER_EUSAGE from
 * an _end without its _begin. */
PILFER_C_API int pilfer_keep_warm_begin(pilfer_pool* pool);
/* Ends one pilfer_keep_warm_begin(). */
PILFER_C_API int pilfer_keep_warm_end(pilfer_pool* pool);
/* Writes to the descriptor `file` what each worker does and each task waits for: pilfer::pool::dump. */
PILFER_C_API int pilfer_pool_dump(const pilfer_pool* pool, int file);
/* Stores at most `size` bytes of pilfer::prometheus_text, the ending zero included, and the length of the
 * whole text in *length. So a first call with size 0 asks for the length; the text may be longer in the
 * second one. */
PILFER_C_API int pilfer_prometheus_text(char* text, size_t size, size_t* length);
/* Writes the recorded events to the file `path`: pilfer::write_trace. */
PILFER_C_API int pilfer_pool_write_trace(const pilfer_pool* pool, const char* path);

/* Counts of one worker, or their sums over a pool: see pilfer::counters. */
struct pilfer_counters {
    uint64_t run_own;               /* Tasks that the scheduler took from its own deque. */
    uint64_t run_submitted;         /* Tasks taken from the submission queue. */
    uint64_t run_stolen;            /* Tasks taken from another worker. */
    uint64_t tasks_stolen;          /* Tasks that thefts moved. */
    uint64_t run_resumed;           /* Contexts resumed from an inbox. */
    uint64_t steals_tried;          /* Attempts: failed + lost + successful ones. */
    uint64_t steals_failed;         /* Attempts that found nothing to take. */
    uint64_t steals_lost;           /* Attempts that another thief won. */
    uint64_t reaches;               /* Times a thief made private tasks stealable. */
    uint64_t exposures;             /* Times an owner moved tasks to the shared part. */
    uint64_t exposed_tasks;         /* Tasks that those exposures moved. */
    uint64_t scopes_shared;         /* Scopes that became shared. */
    uint64_t suspends;              /* Contexts that were suspended. */
    uint64_t resumes;               /* Suspended contexts that were resumed. */
    uint64_t sleeps;                /* Times a worker slept in the kernel. */
    uint64_t wakes;                 /* Other workers that this one woke. */
    uint64_t dropped;               /* Tasks never started: a sibling failed, or shutdown(drop). */
    uint64_t exceptions_suppressed; /* Exceptions of joins after the first one. */
    uint64_t no_context;            /* Tasks that got no stack. */
    uint64_t contexts_live;         /* Pool only: stacks in use or cached. */
    uint64_t contexts_peak;         /* Pool only. */
    uint64_t announced;             /* Tasks that were announced; only if all are counted. */
    uint64_t run_inline;            /* Tasks that the announcing frame took back. */
};
/* Sums over the workers of the pool. */
PILFER_C_API int pilfer_pool_counters(const pilfer_pool* pool, struct pilfer_counters* out);
/* Counters of the worker with this number. */
PILFER_C_API int pilfer_worker_counters(const pilfer_pool* pool, unsigned worker,
                                        struct pilfer_counters* out);

/* pilfer::work_span. PILFER_EUSAGE unless the pool records (the option debug.profile). */
struct pilfer_work_span {
    uint64_t work_ns;          /* Time of all strands together. */
    uint64_t span_ns;          /* Time of the longest chain of strands. */
    uint64_t burdened_span_ns; /* The span with a theft for each fork and a resumption for each wait. */
    uint64_t strands;          /* All strands. */
    uint64_t span_strands;     /* Strands of the longest chain. */
    uint64_t tasks;            /* All tasks. */
    uint64_t span_tasks;       /* Tasks of the longest chain. */
    uint64_t theft_ns;         /* The cost of a theft. */
    uint64_t resume_ns;        /* The cost of a resumption. */
    int complete;              /* 0: memory ran out, and later tasks were not counted. */
};
/* Work and span of all that has run so far. */
PILFER_C_API int pilfer_pool_profile(const pilfer_pool* pool, struct pilfer_work_span* out);

/* ---- fork and join ---- */

/* f(fa) and g(ga), perhaps in parallel; returns when both have ended. Outside a pool: in the common one.
 * PILFER_ECANCELED: a scope that the caller is below of was cancelled, or a join that the caller is a branch
 * of has failed; f or g may not have run, or not to its end. */
PILFER_C_API int pilfer_join2(void (*f)(void*), void* fa, void (*g)(void*), void* ga);

/* A scope. The caller provides its memory, as a rule a local, which must not move from begin to end. Only the
 * task that began it may spawn, sync and end; each task below may fork into it. */
typedef struct pilfer_scope {
    union {
        uint64_t words[20];
        void* pointers[20];
    } opaque; /* for the library */
} pilfer_scope;
/* pilfer::resume. */
enum {
    PILFER_RESUME_ANYWHERE = 0,   /* on any worker that is idle */
    PILFER_RESUME_OWN_THREAD = 1, /* on the thread that called */
};

/* Begins a scope of the calling task. */
PILFER_C_API int pilfer_scope_begin(pilfer_scope* scope);
/* Begins a scope. `resume`: the thread on which a sync is resumed, PILFER_RESUME_ANYWHERE or _OWN_THREAD. */
PILFER_C_API int pilfer_scope_begin_at(pilfer_scope* scope, int resume);
/* Runs f(arg) at once, on another stack. The caller, from the return of this call on, is offered to idle
 * workers: it may be resumed on another thread, as in C++. To avoid that, use fork. */
PILFER_C_API int pilfer_scope_spawn(pilfer_scope* scope, void (*f)(void*), void* arg);
/* Offers f(arg) to idle workers; the caller runs on. */
PILFER_C_API int pilfer_scope_fork(pilfer_scope* scope, void (*f)(void*), void* arg);
/* pilfer_scope_spawn() with options. The weight is that of the caller's rest; for fork it is that of f.
 * PILFER_EINVAL for wrong ones, and for a priority, which children do not have. */
PILFER_C_API int pilfer_scope_spawn_with(pilfer_scope* scope, const pilfer_task_options* options,
                                         void (*f)(void*), void* arg);
/* pilfer_scope_fork() with options. */
PILFER_C_API int pilfer_scope_fork_with(pilfer_scope* scope, const pilfer_task_options* options,
                                        void (*f)(void*), void* arg);
/* Waits for all children. PILFER_EBROKEN: some of them were dropped, by a shutdown of the common pool. The
 * scope may be used again. */
PILFER_C_API int pilfer_scope_sync(pilfer_scope* scope);
/* pilfer_scope_sync() with a time limit: PILFER_ETIMEDOUT if some children have not ended after `ns`
 * nanoseconds; then the scope is as before. It runs no children itself. */
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
/* 1 if the running task was cancelled: an enclosing scope was cancelled, or a sibling branch of an enclosing
 * join failed. Else 0. */
PILFER_C_API int pilfer_cancelled(void);
/* 1 if workers other than that of its task may reach the scope (scope::shared()), else 0. */
PILFER_C_API int pilfer_scope_shared(const pilfer_scope* scope);
/* Syncs and ends the scope. Afterwards the memory is the caller's again, also with PILFER_EBROKEN, but not
 * with PILFER_EINVAL or PILFER_EUSAGE. */
PILFER_C_API int pilfer_scope_end(pilfer_scope* scope);

/* A time limit of a scope. The caller provides its memory, which must not move from begin to end. */
typedef struct pilfer_deadline {
    union {
        uint64_t words[8];
        void* pointers[8];
    } opaque; /* for the library */
} pilfer_deadline;

/* After `ns` nanoseconds pilfer_scope_cancel is called for the scope, unless the limit ends before. The scope
 * must live until the limit ends. If every worker is inside a task that neither ends nor waits, it is as late
 * as any timer (pilfer_after). PILFER_ENOMEM, PILFER_ECLOSED: there is no limit. Cost: a timer and one
 * allocation. */
PILFER_C_API int pilfer_deadline_begin(pilfer_deadline* limit, pilfer_scope* scope, uint64_t ns);
/* Waits for a cancellation that is under way. From then on the limit does nothing, and its memory is the
 * caller's again. pilfer_scope_cancelled says, until the sync, whether it cancelled in time. */
PILFER_C_API int pilfer_deadline_end(pilfer_deadline* limit);

/* A scope that each task below may leave with a value. That stops all other tasks below, as
 * pilfer_scope_cancel does. The rules for scopes apply. */
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
/* Claims the exit. 1: this call was the first since the last sync. All tasks below were stopped, and
 * make(arg, value) has set *value, which is NULL before, and returned 0. 0: another call was first, or the
 * scope was cancelled; make was not called. If make returns a negative code, so does this call, and the exit
 * stays claimed without a value. A positive one is PILFER_EINVAL.
 *
 * make may wait, and spawn into scopes that it begins. These tasks are not stopped, unless a scope further
 * out is cancelled or exits; then its calls return PILFER_ECANCELED. A caller that is not the owner is
 * stopped as soon as this has returned, but not while it holds a lock. By the owner, and by every task below.
 * Cost of the first: that of pilfer_scope_cancel; of the others one load. */
PILFER_C_API int pilfer_first_result_scope_exit(pilfer_first_result_scope* scope,
                                                int (*make)(void* arg, void** value), void* arg);
/* Claims the exit with `value`, as pilfer_first_result_scope_exit(). 0: the value stays the caller's. */
PILFER_C_API int pilfer_first_result_scope_exit_value(pilfer_first_result_scope* scope, void* value);
/* Stops all tasks below without a value, unless one has claimed the exit. By the owner, and by every task
 * below. */
PILFER_C_API int pilfer_first_result_scope_cancel(pilfer_first_result_scope* scope);
/* Waits for all children. 1: *value is that of the exit. 0: there was none, *value is NULL. Codes are those
 * of pilfer_scope_sync. With PILFER_EUSAGE *value is as before. With others it is the value of the exit, to
 * be freed, or NULL. `value` may be NULL. The scope may be used again. */
PILFER_C_API int pilfer_first_result_scope_sync(pilfer_first_result_scope* scope, void** value);
/* Syncs and ends the scope; the value is lost, and the result never 1. The memory is as after
 * pilfer_scope_end. */
PILFER_C_API int pilfer_first_result_scope_end(pilfer_first_result_scope* scope);

/* ---- loops ---- */

/* Calls body(begin, end, arg) for pieces that together are [first, last), each index once, in any order and
 * in parallel. A piece takes some 4 us if single indices take less. An empty or reversed range: nothing. */
PILFER_C_API int pilfer_for_each(size_t first, size_t last, void (*body)(size_t begin, size_t end, void* arg),
                                 void* arg);

/* The functions of pilfer_reduce. A value is `size` bytes anywhere in memory, aligned for any type; pilfer
 * never copies it. */
struct pilfer_reducer {
    size_t size; /* bytes of a value */
    /* Makes *value, which is uninitialised, the neutral value: 0 for a sum. */
    void (*identity)(void* value, void* arg);
    /* Combines *value with the elements of [begin, end), in order. */
    void (*fold)(void* value, size_t begin, size_t end, void* arg);
    /* Combines *left with *right, which is not used any more. Associative; it need not commute. */
    void (*combine)(void* left, void* right, void* arg);
};
/* Combines *result with all elements of [first, last), in order. The grouping depends on which workers were
 * idle. PILFER_ECANCELED: the task is stopped; *result was combined with some of them, and so was every value
 * that `identity` has made. */
PILFER_C_API int pilfer_reduce(size_t first, size_t last, const struct pilfer_reducer* how, void* arg,
                               void* result);

/* ---- futures ---- */

typedef struct pilfer_future pilfer_future;

/* Runs f(arg) as a task of `pool`; NULL: of the caller's pool, or the common one. On an error *out is NULL.
 */
PILFER_C_API int pilfer_async(pilfer_pool* pool, void* (*f)(void*), void* arg, pilfer_future** out);
/* pilfer_async() with options. */
PILFER_C_API int pilfer_async_with(pilfer_pool* pool, const pilfer_task_options* options, void* (*f)(void*),
                                   void* arg, pilfer_future** out);
/* Waits, and stores the result of f, unless `result` is NULL. May be called again and by several threads.
 * PILFER_EBROKEN: f was dropped, or the promise was freed unset. Other codes: of a promise, of the task that
 * it follows, or PILFER_ECLOSED if the pool did not take a following task any more. */
PILFER_C_API int pilfer_future_get(pilfer_future* future, void** result);
/* Waits until the result or the code is there. */
PILFER_C_API int pilfer_future_wait(pilfer_future* future);
/* As pilfer_future_wait, but PILFER_ETIMEDOUT after `ns` nanoseconds. It never runs the task itself. */
PILFER_C_API int pilfer_future_wait_for(pilfer_future* future, uint64_t ns);
/* 1 if get would not wait, else 0. */
PILFER_C_API int pilfer_future_ready(const pilfer_future* future);
/* Makes one more handle to the future, which must be freed, too. NULL for NULL. */
PILFER_C_API pilfer_future* pilfer_future_copy(pilfer_future* future);
/* Frees a handle; the task runs nevertheless. NULL: nothing. */
PILFER_C_API void pilfer_future_free(pilfer_future* future);
/* When the result is there, f(result, arg) runs as a task of the future's pool. If the future has no pool, it
 * is the caller's or the common one. f never runs on the stack of the task or thread that made the result.
 * *out gets what f returns. If there is no result, f is not called, and *out gets the code. On an error *out
 * is NULL. */
PILFER_C_API int pilfer_future_then(pilfer_future* future, void* (*f)(void* result, void* arg), void* arg,
                                    pilfer_future** out);
/* As pilfer_future_then(), but f gets the future, which is ready, also if there is no result. That handle
 * ends when f returns: do not free it, and copy it if it is needed longer. */
PILFER_C_API int pilfer_future_continue_with(pilfer_future* future,
                                             void* (*f)(pilfer_future* done, void* arg), void* arg,
                                             pilfer_future** out);
/* pilfer_future_then(), as a task of `pool`; NULL: as without. If that pool is shut down or destroyed by the
 * time of the result, *out gets PILFER_ECLOSED. */
PILFER_C_API int pilfer_future_then_in(pilfer_pool* pool, pilfer_future* future,
                                       void* (*f)(void* result, void* arg), void* arg, pilfer_future** out);
/* pilfer_future_continue_with(), as a task of `pool`. */
PILFER_C_API int pilfer_future_continue_with_in(pilfer_pool* pool, pilfer_future* future,
                                                void* (*f)(pilfer_future* done, void* arg), void* arg,
                                                pilfer_future** out);
/* The future is ready when all of them are. Its result is NULL without a code: their results are in the
 * futures. The handles and the array stay the caller's, and may be freed. With n = 0 it is ready. On an error
 * *out is NULL. */
PILFER_C_API int pilfer_when_all(pilfer_future* const* futures, size_t n, pilfer_future** out);
/* The future is ready when one of them is. Its result is the handle of that one in the array, valid as long
 * as the caller keeps it. With n = 0 it is ready, with NULL. Some bytes for each future live on until that
 * one ends. */
PILFER_C_API int pilfer_when_any(pilfer_future* const* futures, size_t n, pilfer_future** out);

/* A result that is set once: pilfer::promise. */
typedef struct pilfer_promise pilfer_promise;

/* Makes a promise that is not set. On an error *out is NULL. */
PILFER_C_API int pilfer_promise_new(pilfer_promise** out);
/* Sets the value, once, by any task or thread: PILFER_EUSAGE if it was set before. A waiter that has seen the
 * result may free the promise, even before this call has returned. */
PILFER_C_API int pilfer_promise_set_value(pilfer_promise* promise, void* value);
/* Sets a failure, as pilfer_promise_set_value(): pilfer_future_get then returns `code`, which is negative.
 * Codes from -1000 down never become pilfer's own. */
PILFER_C_API int pilfer_promise_set_error(pilfer_promise* promise, int code);
/* Makes a handle of the promise's future, which must be freed; as often as wanted. NULL for NULL. */
PILFER_C_API pilfer_future* pilfer_promise_future(pilfer_promise* promise);
/* Frees the promise. If it is unset, its waiters get PILFER_EBROKEN. NULL: nothing. */
PILFER_C_API void pilfer_promise_free(pilfer_promise* promise);

#ifdef __cplusplus
}
#endif

#include <pilfer/pilfer_algorithm.h>
#include <pilfer/pilfer_graph.h>
#include <pilfer/pilfer_io.h>
#include <pilfer/pilfer_names.h>
#include <pilfer/pilfer_objects.h>
#include <pilfer/pilfer_pipeline.h>
#include <pilfer/pilfer_sync.h>

#endif
