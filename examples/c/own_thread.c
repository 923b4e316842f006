/* A frame may hold a pthread_mutex_t, or use errno or a thread-local, across a wait. Then it must resume on
 * the thread that it waited on. Other frames resume on the thread where their last child ended, which is
 * faster. No other task of the pool may lock that mutex: it may run on this very thread meanwhile. */
#define _POSIX_C_SOURCE 200809L
#include <pilfer/pilfer.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

static pthread_mutex_t report = PTHREAD_MUTEX_INITIALIZER; /* unlocked by the thread that has locked it */

static void read_files(size_t begin, size_t end, void* files) {
    atomic_fetch_add((atomic_int*)files, (int)(end - begin));
}

static void read_folder(void* files) { pilfer_for_each(0, 10, read_files, files); }

static void read_all(void* data) {
    atomic_int* files = data;
    pilfer_scope scope;
    pilfer_scope_begin_at(&scope, PILFER_RESUME_OWN_THREAD);
    pthread_mutex_lock(&report);
    for (int folder = 0; folder < 100; ++folder) {
        pilfer_scope_fork(&scope, read_folder, files); /* not spawn, which moves its caller */
    }
    pilfer_scope_sync(&scope);
    printf("%d files\n", atomic_load(files));
    pthread_mutex_unlock(&report);
    pilfer_scope_end(&scope);
}

int main(void) {
    pilfer_pool* pool;
    atomic_int files = 0;
    if (pilfer_pool_new(&pool, NULL) != 0 || pilfer_pool_run(pool, read_all, &files) != 0) {
        return 1;
    }
    return pilfer_pool_destroy(pool);
}
