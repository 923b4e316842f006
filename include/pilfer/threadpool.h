/* A thread pool for C: submit functions, get their results. C11, and C++.
 *
 * The pool has exactly the requested number of threads, and only they run tasks. The thread that made the
 * pool runs none. A task may submit others to its pool and wait for them, even if the pool has one thread.
 *
 * It comes as a library of its own, pilfer::threadpool (pkg-config pilfer-threadpool), because its names have
 * no prefix. It also comes as an object file, pilfer_threadpool.o, that defines no other names:
 *
 *     gcc -std=c11 program.c pilfer_threadpool.o -lstdc++ -lpthread
 *
 * and -lhwloc if pilfer was built with it.
 *
 * All functions may be called from any thread at any time unless said otherwise. An error of a call is
 * reported on standard error. */
#ifndef PILFER_THREADPOOL_H
#define PILFER_THREADPOOL_H

#ifdef __cplusplus
extern "C" {
#endif

struct thread_pool;
struct future;

/* Starts a pool of `nthreads` threads, 1 to 4,096. Returns NULL, with a message, if the number is out of
 * range, if not all threads can be made, or without memory. A task has 2 MiB of stack; one that needs more
 * ends the program with a message. Cost: some 50 us per thread. An idle thread sleeps in the kernel. */
struct thread_pool* thread_pool_new(int nthreads);

/* Waits until all submitted tasks have run, including those that tasks submit meanwhile; then joins all
 * threads and frees the pool. Futures stay valid: they may be got, and must be freed, afterwards as well as
 * before.
 *
 * The pool itself must not be used any more, nor by another thread at the same time. A call from a task of
 * this very pool ends the program with a message, because a thread cannot join itself. NULL: nothing. */
void thread_pool_shutdown_and_destroy(struct thread_pool*);

/* A task. It gets the pool that it runs in, and future_get returns its result. A C++ function must not let an
 * exception out, and no task may call pthread_exit or longjmp out of itself: for the first two the program
 * ends with a message. After a wait a task may be resumed on another thread of the pool: errno, thread-locals
 * and locked mutexes do not follow it. */
typedef void* (*fork_join_task_t)(struct thread_pool* pool, void* data);

/* Submits task(pool, data) to the pool. Tasks from outside begin in the order of their submission. Of the
 * tasks of one task of this pool, its thread takes the newest first, the other threads the oldest first.
 * Returns the future, which must be freed. Returns NULL, with a message, if `pool` or `task` is NULL, if the
 * pool is being shut down, or without memory. One allocation. */
struct future* thread_pool_submit(struct thread_pool*, fork_join_task_t task, void* data);

/* Waits for the task and returns its result. May be called again and by several threads until future_free. On
 * a thread of the task's pool, a task that has not begun runs here, as a plain call. If the task runs
 * elsewhere, the caller is suspended, and its thread runs other tasks. Any other thread blocks. NULL ends the
 * program with a message. */
void* future_get(struct future*);

/* Frees the future, which must not be used any more. NULL: nothing. A task that has not ended runs
 * nevertheless, and its result is lost. Libraries built with PILFER_CHECKED treat that as an error of the
 * caller and end the program with a message. */
void future_free(struct future*);

#ifdef __cplusplus
}
#endif

#endif
