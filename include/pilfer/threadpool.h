/* A thread pool for C: submit functions, get their results. C11, and C++.
 *
 * The pool has exactly the threads that were asked for, never one more, and only they run tasks: the thread
 * that made the pool never does. A task may submit others to its pool and wait for them; on one thread, too.
 *
 * It comes as a library of its own, pilfer::threadpool (pkg-config pilfer-threadpool), because its names have
 * no prefix, and as an object file, pilfer_threadpool.o, in which they are the only ones:
 *
 *     gcc -std=c11 program.c pilfer_threadpool.o -lstdc++ -lpthread
 *
 * and -lhwloc where pilfer was built with it.
 *
 * All functions may be called from any thread at any time unless said otherwise. What is wrong with a call
 * is said on standard error. */
#ifndef PILFER_THREADPOOL_H
#define PILFER_THREADPOOL_H

#ifdef __cplusplus
extern "C" {
#endif

struct thread_pool;
struct future;

/* Starts a pool of `nthreads` threads, 1 to 4,096. NULL, with a message, if not each of them can be made, if
 * the number is none of these, or without memory. A task has 2 MiB of stack; one that needs more ends the
 * program with a message. Cost: some 50 us per thread. An idle thread sleeps in the kernel. */
struct thread_pool* thread_pool_new(int nthreads);

/* Waits until all that was submitted has run, also what was submitted by tasks meanwhile; then joins all
 * threads and frees the pool. Futures stay: they may be got and have to be freed afterwards as well as
 * before. Nobody may use the pool itself any more; from another thread at the same time is an error of the
 * caller. From a task of this very pool it is one that ends the program with a message: a thread cannot join
 * itself. NULL: nothing. */
void thread_pool_shutdown_and_destroy(struct thread_pool*);

/* A task: what it returns is what future_get gives. It gets the pool that it runs in. A C++ function must
 * not let an exception out, and no task may call pthread_exit or longjmp out of itself: for the first two
 * the program ends with a message. A wait in it may go on on another thread of the pool: errno,
 * thread-locals and locked mutexes do not follow it. */
typedef void* (*fork_join_task_t)(struct thread_pool* pool, void* data);

/* Hands task(pool, data) to the pool. From outside: tasks are begun in the order of their submission. From a
 * task of this pool: the newest first by this thread, the oldest first by the others. Returns the future,
 * which has to be freed; NULL, with a message, if `pool` or `task` is NULL, if the pool is being shut down,
 * or without memory. One allocation. */
struct future* thread_pool_submit(struct thread_pool*, fork_join_task_t task, void* data);

/* What the task returned, once it has; again and by several threads as often as they like, until
 * future_free. On a thread of the task's pool: a task that nobody has begun runs here, as a plain call; for
 * one that runs elsewhere the caller is suspended, and its thread goes on with other tasks. On any other
 * thread it blocks. NULL ends the program with a message. */
void* future_get(struct future*);

/* Gives the future back: nobody may use it any more. NULL: nothing. A task that has not ended runs all the
 * same, and its result is lost; libraries built with PILFER_CHECKED take that for an error of the caller and
 * end the program with a message. */
void future_free(struct future*);

#ifdef __cplusplus
}
#endif

#endif
