/* A program for several machines, here on one. */
#include <stdio.h>
#include <stdlib.h>

#include <pilfer/pilfer_cluster.h>

static int twice(pilfer_cluster_job* job, const void* input, size_t size) {
    const int n = *(const int*)input * 2;
    return size == sizeof n ? pilfer_cluster_write(job, &n, sizeof n)
                            : pilfer_cluster_fail(job, "not a number");
}
static void add(void* left, const void* right, void* arg) {
    (void)arg;
    *(int*)left += *(const int*)right;
}

int main(int argc, char** argv) {
    if (pilfer_cluster_register("twice", twice) != 0 || pilfer_cluster_begin(argc, argv, NULL) != 0) {
        fprintf(stderr, "%s\n", pilfer_cluster_error(NULL));
        return 1;
    }
    const int numbers[5] = {1, 2, 3, 4, 5};
    const int n = 21;
    int sum = 25;
    void* result = NULL;
    size_t size = 0;
    const int code = pilfer_cluster_run("twice", &n, sizeof n, &result, &size);
    if (code == 0 && pilfer_cluster_reduce("twice", numbers, 5, sizeof n, add, NULL, &sum, sizeof sum) == 0) {
        printf("consumed %d and %d\n", *(int*)result, sum);
    }
    free(result);
    return pilfer_cluster_end() == 0 ? 0 : 1;
}
