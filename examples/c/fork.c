/* A child of fork() has none of the threads of its parent's pools: they say so, and the common pool is new.
 */
#define _POSIX_C_SOURCE 200809L
#include <pilfer/pilfer.h>

#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static void add_one(void* n) { ++*(int*)n; }

int main(void) {
    pilfer_pool* pool;
    int n = 0;
    if (pilfer_pool_new(&pool, NULL) != 0 || pilfer_pool_run(pool, add_one, &n) != 0) {
        return 1;
    }
    printf("parent: %d\n", n);
    fflush(stdout);

    const pid_t child = fork();
    if (child == 0) {
        const int code = pilfer_pool_run(pool, add_one, &n);
        printf("child: %s\n", code == PILFER_EFORKED ? pilfer_strerror(code) : "what?");
        pilfer_pool* common;
        if (pilfer_pool_common(&common) != 0 || pilfer_pool_run(common, add_one, &n) != 0) {
            return 1;
        }
        printf("child: %d\n", n);
        return pilfer_pool_destroy(pool); /* joins nothing */
    }
    int status = -1;
    waitpid(child, &status, 0);
    printf("the child has ended with %d\n", status);
    return pilfer_pool_destroy(pool);
}
