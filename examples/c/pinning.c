/* Each worker on a CPU of its own. Pinning is off by default: it pays if no other program uses the
 * machine. */
#include <pilfer/pilfer.h>

#include <stdio.h>
#include <string.h>

struct number {
    int n;
    long result;
};

static void fib(void* data) {
    struct number* self = data;
    if (self->n < 2) {
        self->result = self->n;
        return;
    }
    struct number a = {self->n - 1, 0};
    struct number b = {self->n - 2, 0};
    pilfer_join2(fib, &a, fib, &b);
    self->result = a.result + b.result;
}

int main(void) {
    pilfer_options* options;
    pilfer_pool* pool;
    char pin[128];
    /* compact: one package and cache after the other, for workers that share data. spread: packages and
     * caches in turn, for workers that each need much cache or memory bandwidth. PILFER_PIN=... chooses from
     * outside. nearest: thieves first rob workers that share a cache with them. */
    if (pilfer_options_new(&options) != 0 || pilfer_options_set(options, "workers", "2") != 0 ||
        pilfer_options_set(options, "pin", "compact") != 0 ||
        pilfer_options_set(options, "balance", "nearest") != 0 || pilfer_pool_new(&pool, options) != 0) {
        return 1;
    }
    pilfer_pool_settings(pool, options);
    pilfer_options_get(options, "pin", pin, sizeof pin);
    printf("pinned: %s\n", strcmp(pin, "compact") == 0 ? pin : "no");
    struct number whole = {20, 0};
    pilfer_pool_run(pool, fib, &whole);
    printf("fib(%d): %ld\n", whole.n, whole.result);
    /* Which worker is on which CPU: pilfer_pool_dump(), or `pilfer info --pin compact` without a program. */
    pilfer_options_free(options);
    return pilfer_pool_destroy(pool);
}
