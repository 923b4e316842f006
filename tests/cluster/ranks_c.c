/* One rank of a program for mpirun, in C11: ranks_c [other | other_bound]. Ends with 0 if everything was as
 * it has to be. With an argument rank 1 registers another job, or makes another bound. */
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <threads.h>

#include <pilfer/pilfer_cluster.h>

static int faults = 0;
static pilfer_cluster_bound* smallest = NULL; /* int */
static pilfer_cluster_bound* largest = NULL;  /* double */
static int journaled_calls = 0;               /* on this rank */

#define EXPECT(condition)                                                                                    \
    do {                                                                                                     \
        if (!(condition)) {                                                                                  \
            fprintf(stderr, "FAILED: line %d: %s (%s)\n", __LINE__, #condition, pilfer_cluster_error(NULL)); \
            __atomic_fetch_add(&faults, 1, __ATOMIC_RELAXED);                                                \
        }                                                                                                    \
    } while (0)

static int error_says(const char* text) { return strstr(pilfer_cluster_error(NULL), text) != NULL; }

static long fib_here(int n) { return n < 2 ? n : fib_here(n - 1) + fib_here(n - 2); }

static int fib(pilfer_cluster_job* job, const void* input, size_t size) {
    int n = 0;
    EXPECT(size == sizeof n);
    memcpy(&n, input, sizeof n);
    long sum = 0;
    if (n < 10) {
        sum = fib_here(n);
    } else {
        const int less[2] = {n - 1, n - 2};
        pilfer_cluster_branch both[2] = {{.name = "fib", .input = &less[0], .size = sizeof less[0]},
                                         {.name = "fib", .input = &less[1], .size = sizeof less[1]}};
        const int code = pilfer_cluster_join(job, both, 2);
        if (code != 0) {
            return code;
        }
        for (int i = 0; i < 2; ++i) {
            EXPECT(both[i].result_size == sizeof sum);
            sum += *(const long*)both[i].result;
            free(both[i].result);
        }
    }
    return pilfer_cluster_write(job, &sum, sizeof sum);
}

/* Keeps the worker, so that other ranks take some elements. */
static void take_a_moment(void) {
    const struct timespec moment = {.tv_nsec = 200000};
    (void)thrd_sleep(&moment, NULL);
}

static int square(pilfer_cluster_job* job, const void* input, size_t size) {
    const int n = *(const int*)input;
    EXPECT(size == sizeof n);
    take_a_moment();
    const int64_t result = (int64_t)n * n;
    return pilfer_cluster_write(job, &result, sizeof result);
}

static int inverse(pilfer_cluster_job* job, const void* input, size_t size) {
    EXPECT(size == sizeof(int));
    const double result = 1.0 / *(const int*)input;
    return pilfer_cluster_write(job, &result, sizeof result);
}

/* Fails for 63 alone. */
static int fail_at_63(pilfer_cluster_job* job, const void* input, size_t size) {
    const int n = *(const int*)input;
    EXPECT(size == sizeof n);
    take_a_moment();
    if (n == 63) {
        char text[32];
        snprintf(text, sizeof text, "no result for %d", n);
        return pilfer_cluster_fail(job, text);
    }
    return pilfer_cluster_write(job, &n, sizeof n);
}

/* Ends only if it is cancelled. */
static int endless(pilfer_cluster_job* job, const void* input, size_t size) {
    (void)job;
    (void)input;
    (void)size;
    while (!pilfer_cancelled()) {
        pilfer_yield();
    }
    return PILFER_ECANCELED;
}

/* Its first branch fails. */
static int pass_on(pilfer_cluster_job* job, const void* input, size_t size) {
    (void)input;
    (void)size;
    const int bad = 63;
    pilfer_cluster_branch both[2] = {{.name = "fail_at_63", .input = &bad, .size = sizeof bad},
                                     {.name = "endless"}};
    return pilfer_cluster_join(job, both, 2);
}

static int returns_7(pilfer_cluster_job* job, const void* input, size_t size) {
    (void)input;
    (void)size;
    EXPECT(pilfer_cluster_write(job, "lost", 4) == 0);
    return 7;
}

/* Says that it was cancelled, which is not so. */
static int gives_up(pilfer_cluster_job* job, const void* input, size_t size) {
    (void)input;
    (void)size;
    take_a_moment();
    EXPECT(pilfer_cluster_write(job, "lost", 4) == 0);
    return PILFER_ECANCELED;
}

/* Branches that say that they were cancelled: an error, wherever they run. */
static int expects_no_cancellation(pilfer_cluster_job* job, const void* input, size_t size) {
    const int good = 5;
    (void)input;
    (void)size;
    for (int i = 0; i < 20; ++i) {
        pilfer_cluster_branch both[2] = {{.name = "square", .input = &good, .size = sizeof good},
                                         {.name = "gives_up"}};
        EXPECT(pilfer_cluster_join(job, both, 2) == PILFER_EREMOTE);
        EXPECT(error_says("the job gives_up returned -9"));
    }
    return PILFER_ECANCELED;
}

/* Its input, in two parts. */
static int echo(pilfer_cluster_job* job, const void* input, size_t size) {
    const char* bytes = input;
    EXPECT(pilfer_cluster_write(job, bytes, size / 2) == 0);
    return pilfer_cluster_write(job, size == 0 ? NULL : bytes + size / 2, size - size / 2);
}

/* Offers its input and its half. */
static int offer(pilfer_cluster_job* job, const void* input, size_t size) {
    const int n = *(const int*)input;
    const double half = n / 2.0;
    int best = 0;
    EXPECT(size == sizeof n);
    take_a_moment();
    EXPECT(pilfer_cluster_bound_improve(smallest, &n) >= 0);
    EXPECT(pilfer_cluster_bound_get(smallest, &best) == 0 && best <= n);
    EXPECT(pilfer_cluster_bound_improve(smallest, &n) == 0);
    EXPECT(pilfer_cluster_bound_improve(largest, &half) >= 0);
    return pilfer_cluster_write(job, &n, sizeof n);
}

static int count_calls(pilfer_cluster_job* job, const void* input, size_t size) {
    __atomic_fetch_add(&journaled_calls, 1, __ATOMIC_RELAXED);
    take_a_moment();
    return inverse(job, input, size);
}

static void never_run(void* branch) { *(int*)branch = 1; }

/* Wrong calls inside of a job; then it goes on. */
static int misuse(pilfer_cluster_job* job, const void* input, size_t size) {
    (void)input;
    (void)size;
    const int bad = 63;
    const int good = 5;
    pilfer_cluster_branch three[3] = {{.name = "square", .input = &good, .size = sizeof good},
                                      {.name = "fail_at_63", .input = &bad, .size = sizeof bad},
                                      {.name = "square", .input = &good, .size = sizeof good}};
    EXPECT(pilfer_cluster_join(job, three, 0) == PILFER_EINVAL);
    EXPECT(pilfer_cluster_join(job, NULL, 1) == PILFER_EINVAL);
    EXPECT(pilfer_cluster_join(NULL, three, 3) == PILFER_EINVAL);
    three[2].name = "unknown";
    EXPECT(pilfer_cluster_join(job, three, 3) == PILFER_EINVAL);
    EXPECT(error_says("\"unknown\""));
    three[2].name = NULL;
    EXPECT(pilfer_cluster_join(job, three, 3) == PILFER_EINVAL);
    three[2].name = "square";
    three[2].input = NULL;
    EXPECT(pilfer_cluster_join(job, three, 3) == PILFER_EINVAL);
    three[2].input = &good;
    EXPECT(pilfer_cluster_join(job, three, 3) == PILFER_EREMOTE);
    int rank = -1;
    EXPECT(strcmp(pilfer_cluster_error(&rank), "no result for 63") == 0);
    EXPECT(rank >= 0 && rank < pilfer_cluster_size());
    for (int i = 0; i < 3; ++i) {
        EXPECT(three[i].result == NULL && three[i].result_size == 0);
    }
    void* result = &rank;
    size_t result_size = 0;
    EXPECT(pilfer_cluster_run("echo", "x", 1, &result, &result_size) == PILFER_EUSAGE);
    EXPECT(result == NULL);
    EXPECT(pilfer_cluster_end() == PILFER_EUSAGE);
    EXPECT(pilfer_cluster_register("later", echo) == PILFER_EUSAGE);
    EXPECT(pilfer_cluster_write(job, NULL, 1) == PILFER_EINVAL);
    EXPECT(pilfer_cluster_write(NULL, "x", 1) == PILFER_EINVAL);
    EXPECT(pilfer_cluster_fail(NULL, "x") == PILFER_EINVAL);
    EXPECT(pilfer_cluster_fail(job, NULL) == PILFER_EINVAL);
    /* A job is a task: a scope of it may be cancelled. */
    int began = 0;
    pilfer_scope scope;
    EXPECT(pilfer_scope_begin(&scope) == 0);
    pilfer_scope_cancel(&scope);
    EXPECT(pilfer_scope_fork(&scope, never_run, &began) == 0);
    (void)pilfer_scope_sync(&scope);
    (void)pilfer_scope_end(&scope);
    EXPECT(began == 0);
    return pilfer_cluster_write(job, "went on", 8);
}

static void add_doubles(void* left, const void* right, void* arg) {
    EXPECT(arg == &faults);
    *(double*)left += *(const double*)right;
}

/* The sum that one rank makes, in the shape of pilfer_cluster_reduce(). */
static double sum_of_inverses(int first, int count) {
    if (count == 1) {
        return 1.0 / first;
    }
    int half = 1;
    while (2 * half < count) {
        half *= 2;
    }
    return sum_of_inverses(first, half) + sum_of_inverses(first + half, count - half);
}

static void run_from_a_task(void* code) {
    void* result = NULL;
    size_t size = 0;
    *(int*)code = pilfer_cluster_run("echo", "x", 1, &result, &size);
}

static int is_less(const void* a, const void* b) { return *(const int*)a < *(const int*)b; }
static int is_at_most(const void* a, const void* b) { return *(const int*)a <= *(const int*)b; }
static int is_less_byte(const void* a, const void* b) { return *(const char*)a < *(const char*)b; }
static int is_more(const void* a, const void* b) { return *(const double*)a > *(const double*)b; }

static void bounds_before_a_session(void) {
    const int worst = 1000;
    const double none = -1;
    char longest[257];
    memset(longest, 'x', 256);
    longest[256] = '\0';
    pilfer_cluster_bound* b = NULL;
    EXPECT(pilfer_cluster_bound_new(&smallest, "smallest", &worst, sizeof worst, is_less) == 0);
    EXPECT(pilfer_cluster_bound_new(&largest, "largest", &none, sizeof none, is_more) == 0);
    EXPECT(pilfer_cluster_bound_new(&b, "largest", &worst, sizeof worst, is_less) == PILFER_EINVAL);
    EXPECT(error_says("two bounds have the name \"largest\"") && b == NULL);
    EXPECT(pilfer_cluster_bound_new(NULL, "b", &worst, sizeof worst, is_less) == PILFER_EINVAL);
    EXPECT(pilfer_cluster_bound_new(&b, NULL, &worst, sizeof worst, is_less) == PILFER_EINVAL);
    EXPECT(pilfer_cluster_bound_new(&b, "", &worst, sizeof worst, is_less) == PILFER_EINVAL);
    EXPECT(pilfer_cluster_bound_new(&b, longest, &worst, sizeof worst, is_less) == PILFER_EINVAL);
    EXPECT(pilfer_cluster_bound_new(&b, "b", NULL, sizeof worst, is_less) == PILFER_EINVAL);
    EXPECT(pilfer_cluster_bound_new(&b, "b", &worst, 0, is_less) == PILFER_EINVAL);
    EXPECT(pilfer_cluster_bound_new(&b, "b", &worst, 9, is_less) == PILFER_EINVAL);
    EXPECT(pilfer_cluster_bound_new(&b, "b", &worst, sizeof worst, NULL) == PILFER_EINVAL);
    EXPECT(pilfer_cluster_bound_new(&b, "b", &worst, sizeof worst, is_at_most) == PILFER_EINVAL);
    EXPECT(error_says("calls a value better than itself") && b == NULL);
    EXPECT(pilfer_cluster_bound_get(NULL, &b) == PILFER_EINVAL);
    EXPECT(pilfer_cluster_bound_get(smallest, NULL) == PILFER_EINVAL);
    EXPECT(pilfer_cluster_bound_improve(NULL, &worst) == PILFER_EINVAL);
    EXPECT(pilfer_cluster_bound_improve(smallest, NULL) == PILFER_EINVAL);
    int value[2] = {0, 4711};
    EXPECT(pilfer_cluster_bound_get(smallest, value) == 0);
    EXPECT(value[0] == worst && value[1] == 4711);
}

static void before_a_session(void) {
    char longest[257];
    memset(longest, 'x', 256);
    longest[256] = '\0';
    EXPECT(pilfer_cluster_register(NULL, echo) == PILFER_EINVAL);
    EXPECT(pilfer_cluster_register("", echo) == PILFER_EINVAL);
    EXPECT(pilfer_cluster_register(longest, echo) == PILFER_EINVAL);
    EXPECT(pilfer_cluster_register(longest + 1, echo) == 0);
    EXPECT(pilfer_cluster_register("none", NULL) == PILFER_EINVAL);
    EXPECT(pilfer_cluster_register("echo", echo) == 0);
    EXPECT(pilfer_cluster_register("echo", fib) == PILFER_EINVAL);
    EXPECT(error_says("\"echo\""));
    EXPECT(pilfer_cluster_rank() == -1);
    EXPECT(pilfer_cluster_size() == 0);
    EXPECT(pilfer_cluster_pool() == NULL);
    EXPECT(pilfer_cluster_end() == PILFER_EUSAGE);
    struct pilfer_cluster_stats stats;
    EXPECT(pilfer_cluster_rank_stats(0, &stats) == PILFER_EUSAGE);
    void* result = &stats;
    size_t size = 1;
    EXPECT(pilfer_cluster_run("echo", "x", 1, &result, &size) == PILFER_EUSAGE);
    EXPECT(result == NULL && size == 0);
    EXPECT(pilfer_cluster_begin(1, NULL, NULL) == PILFER_EINVAL);
}

static void runs(void) {
    void* result = NULL;
    size_t size = 0;
    const int n = 22;
    EXPECT(pilfer_cluster_run("fib", &n, sizeof n, &result, &size) == 0);
    EXPECT(size == sizeof(long) && *(const long*)result == 17711);
    free(result);
    EXPECT(pilfer_cluster_run("echo", "hello", 6, &result, &size) == 0);
    EXPECT(size == 6 && strcmp(result, "hello") == 0);
    free(result);
    EXPECT(pilfer_cluster_run("echo", NULL, 0, &result, &size) == 0);
    EXPECT(size == 0 && result == NULL);
    EXPECT(pilfer_cluster_run("misuse", NULL, 0, &result, &size) == 0);
    EXPECT(size == 8 && strcmp(result, "went on") == 0);
    free(result);

    result = &size;
    EXPECT(pilfer_cluster_run("unknown", "x", 1, &result, &size) == PILFER_EINVAL);
    EXPECT(error_says("\"unknown\"") && result == NULL);
    EXPECT(pilfer_cluster_run("echo", NULL, 1, &result, &size) == PILFER_EINVAL);
    EXPECT(pilfer_cluster_run("echo", "x", 1, NULL, &size) == PILFER_EINVAL);
    EXPECT(pilfer_cluster_run("echo", "x", 1, &result, NULL) == PILFER_EINVAL);
    int rank = -2;
    EXPECT(pilfer_cluster_run("returns_7", NULL, 0, &result, &size) == PILFER_EREMOTE);
    EXPECT(strcmp(pilfer_cluster_error(&rank), "the job returns_7 returned 7") == 0 && rank == 0);
    EXPECT(pilfer_cluster_run("gives_up", NULL, 0, &result, &size) == PILFER_EREMOTE);
    EXPECT(strcmp(pilfer_cluster_error(&rank), "the job gives_up returned -9") == 0 && rank == 0);
    EXPECT(pilfer_cluster_run("expects_no_cancellation", NULL, 0, &result, &size) == PILFER_EREMOTE);
    EXPECT(error_says("the job expects_no_cancellation returned -9"));
    for (int i = 0; i < 5; ++i) {
        EXPECT(pilfer_cluster_run("pass_on", NULL, 0, &result, &size) == PILFER_EREMOTE);
        EXPECT(strcmp(pilfer_cluster_error(&rank), "no result for 63") == 0 && rank == 0);
    }
    EXPECT(pilfer_cluster_run(NULL, NULL, 0, &result, &size) == PILFER_EINVAL);
    (void)pilfer_cluster_error(&rank);
    EXPECT(rank == -1);
    int code = 0;
    EXPECT(pilfer_pool_run(pilfer_cluster_pool(), run_from_a_task, &code) == 0);
    EXPECT(code == PILFER_EUSAGE);
}

static void maps(void) {
    int numbers[1000];
    int64_t squares[1000];
    double sum = 100;
    uint64_t in = 0;
    uint64_t out = 0;
    for (int i = 0; i < 1000; ++i) {
        numbers[i] = i + 1;
    }
    /* Again where the machine was so busy that another rank came too late. All ranks see the same counts. */
    for (int i = 0; i == 0 || (i < 100 && in == 0 && pilfer_cluster_size() > 1); ++i) {
        memset(squares, 0, sizeof squares);
        EXPECT(pilfer_cluster_map("square", numbers, 200, sizeof *numbers, squares, sizeof *squares) == 0);
        for (int k = 0; k < 1000; ++k) {
            EXPECT(squares[k] == (k < 200 ? (int64_t)(k + 1) * (k + 1) : 0));
        }
        in = out = 0;
        for (int r = 0; r < pilfer_cluster_size(); ++r) {
            struct pilfer_cluster_stats stats;
            EXPECT(pilfer_cluster_rank_stats(r, &stats) == 0);
            in += stats.tasks_in;
            out += stats.tasks_out;
        }
    }
    EXPECT((in > 0) == (pilfer_cluster_size() > 1));
    EXPECT(in == out);
    EXPECT(pilfer_cluster_reduce("inverse", numbers, 1000, sizeof *numbers, add_doubles, &faults, &sum,
                                 sizeof sum) == 0);
    EXPECT(sum == 100 + sum_of_inverses(1, 1000));

    int same = 4711;
    int rank = -1;
    EXPECT(pilfer_cluster_map("fail_at_63", numbers, 64, sizeof *numbers, &same, sizeof same) ==
           PILFER_EREMOTE);
    EXPECT(strcmp(pilfer_cluster_error(&rank), "no result for 63") == 0 && rank >= 0 &&
           rank < pilfer_cluster_size());
    EXPECT(pilfer_cluster_map("echo", numbers, 1000, sizeof *numbers, squares, sizeof *squares) ==
           PILFER_EREMOTE);
    EXPECT(error_says("the job echo has written 4 bytes instead of 8"));
    EXPECT(squares[0] == 1 && same == 4711);
    EXPECT(pilfer_cluster_map("gives_up", numbers, 64, sizeof *numbers, squares, sizeof *squares) ==
           PILFER_EREMOTE);
    EXPECT(error_says("the job gives_up returned -9") && squares[0] == 1);
    EXPECT(pilfer_cluster_reduce("fail_at_63", numbers, 64, sizeof *numbers, add_doubles, &faults, &sum,
                                 sizeof sum) == PILFER_EREMOTE);
    EXPECT(sum == 100 + sum_of_inverses(1, 1000));

    EXPECT(pilfer_cluster_map("square", NULL, 0, 1, NULL, 1) == 0);
    EXPECT(pilfer_cluster_map("unknown", numbers, 1, sizeof *numbers, squares, sizeof *squares) ==
           PILFER_EINVAL);
    EXPECT(pilfer_cluster_map("square", NULL, 1, sizeof *numbers, squares, sizeof *squares) == PILFER_EINVAL);
    EXPECT(pilfer_cluster_map("square", numbers, 1, sizeof *numbers, NULL, sizeof *squares) == PILFER_EINVAL);
    EXPECT(pilfer_cluster_map("square", numbers, 1, 0, squares, sizeof *squares) == PILFER_EINVAL);
    EXPECT(pilfer_cluster_map("square", numbers, 1, sizeof *numbers, squares, 0) == PILFER_EINVAL);
    EXPECT(pilfer_cluster_map("square", numbers, SIZE_MAX / 2, 4, squares, sizeof *squares) == PILFER_EINVAL);
    EXPECT(pilfer_cluster_reduce("inverse", numbers, 1, sizeof *numbers, NULL, NULL, &sum, sizeof sum) ==
           PILFER_EINVAL);
    struct pilfer_cluster_stats stats;
    EXPECT(pilfer_cluster_rank_stats(-1, &stats) == PILFER_EINVAL);
    EXPECT(pilfer_cluster_rank_stats(pilfer_cluster_size(), &stats) == PILFER_EINVAL);
    EXPECT(pilfer_cluster_rank_stats(0, NULL) == PILFER_EINVAL);
}

static void bounds(void) {
    int numbers[100];
    int same[100];
    int best = 0;
    double most = 0;
    for (int i = 0; i < 100; ++i) {
        numbers[i] = 100 - i;
    }
    for (int round = 0; round < 3; ++round) {
        memset(same, 0, sizeof same);
        EXPECT(pilfer_cluster_map("offer", numbers, 100, sizeof *numbers, same, sizeof *same) == 0);
        EXPECT(memcmp(numbers, same, sizeof same) == 0);
        EXPECT(pilfer_cluster_bound_get(smallest, &best) == 0);
        EXPECT(pilfer_cluster_bound_get(largest, &most) == 0);
        EXPECT(best == 1 && most == 50.0);
        EXPECT(pilfer_cluster_map("echo", numbers, 1, sizeof *numbers, same, sizeof *same) == 0);
        EXPECT(pilfer_cluster_bound_get(smallest, &best) == 0);
        EXPECT(pilfer_cluster_bound_get(largest, &most) == 0);
        EXPECT(best == 1000 && most == -1.0);
    }
    pilfer_cluster_bound* b = NULL;
    EXPECT(pilfer_cluster_bound_new(&b, "later", &best, sizeof best, is_less) == PILFER_EUSAGE);
    EXPECT(b == NULL);
}

static long size_of(const char* path) {
    FILE* f = fopen(path, "rb");
    long size = -1;
    if (f != NULL) {
        size = fseek(f, 0, SEEK_END) == 0 ? ftell(f) : -1;
        fclose(f);
    }
    return size;
}

/* Leaves the first bytes of a file. */
static void cut_off(const char* path, long size) {
    char bytes[65536];
    FILE* f = fopen(path, "rb");
    const size_t n = f != NULL ? fread(bytes, 1, sizeof bytes, f) : 0;
    EXPECT(f != NULL && n > (size_t)size && n < sizeof bytes);
    if (f != NULL) {
        fclose(f);
    }
    f = fopen(path, "wb");
    EXPECT(f != NULL && fwrite(bytes, 1, (size_t)size, f) == (size_t)size);
    if (f != NULL) {
        fclose(f);
    }
}

static int reduce_with(const char* path, const char* job, const int* numbers, size_t count, double* sum) {
    return pilfer_cluster_reduce_journaled(path, job, numbers, count, sizeof *numbers, add_doubles, &faults,
                                           sum, sizeof *sum);
}

/* An error of rank 0, which alone has the file. */
static int is_refused(const char* path, const char* job, const int* numbers, size_t count, const char* why) {
    double same = 4711;
    int rank = -1;
    const int code = reduce_with(path, job, numbers, count, &same);
    (void)pilfer_cluster_error(&rank);
    return code == PILFER_EREMOTE && rank == 0 && error_says(path) && error_says(why) && same == 4711;
}

static void journals(void) {
    int numbers[1000];
    for (int i = 0; i < 1000; ++i) {
        numbers[i] = i + 1;
    }
    char path[64];
    const int is_first = pilfer_cluster_rank() == 0;
    snprintf(path, sizeof path, "ranks_c_on_%d.journal",
             pilfer_cluster_size()); /* in the folder of the test */
    if (is_first) {
        (void)remove(path);
    }
    double sum = 100;
    EXPECT(reduce_with(path, "count_calls", numbers, 1000, &sum) == 0);
    EXPECT(sum == 100 + sum_of_inverses(1, 1000));
    EXPECT(pilfer_cluster_size() > 1 || journaled_calls == 1000);
    const long whole = is_first ? size_of(path) : 0;

    /* All parts are there: nothing runs. */
    journaled_calls = 0;
    sum = 100;
    EXPECT(reduce_with(path, "count_calls", numbers, 1000, &sum) == 0);
    EXPECT(sum == 100 + sum_of_inverses(1, 1000) && journaled_calls == 0);

    /* As a job leaves it that was killed. */
    const int record = 40; /* number, two sizes, value and checksum of a part, 8 bytes each */
    if (is_first) {
        cut_off(path, whole - 300 * record);
    }
    sum = 100;
    EXPECT(reduce_with(path, "count_calls", numbers, 1000, &sum) == 0);
    EXPECT(sum == 100 + sum_of_inverses(1, 1000) && journaled_calls <= 300);
    EXPECT(pilfer_cluster_size() > 1 || journaled_calls == 300);
    EXPECT(!is_first || size_of(path) == whole);

    EXPECT(is_refused(path, "count_calls", numbers, 999, "belongs to another call"));
    EXPECT(is_refused(path, "inverse", numbers, 1000, "or a C program's job or array is another one"));
    ++numbers[500];
    EXPECT(is_refused(path, "count_calls", numbers, 1000, "or a C program's job or array is another one"));
    EXPECT(is_refused(".", "inverse", numbers, 1000, "cannot be opened"));
    EXPECT(is_refused("no/such/folder", "inverse", numbers, 1000, "cannot be opened"));
    if (is_first) {
        cut_off(path, 16); /* as a job leaves it that was killed when it made the file */
    }
    EXPECT(reduce_with(path, "fail_at_63", numbers, 64, &sum) == PILFER_EREMOTE);
    EXPECT(error_says("fail_at_63") || error_says("no result for 63"));
    EXPECT(reduce_with(NULL, "inverse", numbers, 1000, &sum) == PILFER_EINVAL);
    EXPECT(reduce_with(path, "unknown", numbers, 1000, &sum) == PILFER_EINVAL);
    EXPECT(reduce_with(path, "inverse", NULL, 1000, &sum) == PILFER_EINVAL);
    EXPECT(reduce_with(path, "inverse", numbers, 1000, NULL) == PILFER_EINVAL);
    EXPECT(reduce_with("no/such/folder", "inverse", numbers, 0, &sum) == 0);
    if (is_first) {
        EXPECT(remove(path) == 0);
    }
}

int main(int argc, char** argv) {
    const char* number = getenv("OMPI_COMM_WORLD_RANK");
    before_a_session();
    bounds_before_a_session();
    EXPECT(pilfer_cluster_register("fib", fib) == 0);
    EXPECT(pilfer_cluster_register("square", square) == 0);
    EXPECT(pilfer_cluster_register("inverse", inverse) == 0);
    EXPECT(pilfer_cluster_register("fail_at_63", fail_at_63) == 0);
    EXPECT(pilfer_cluster_register("offer", offer) == 0);
    EXPECT(pilfer_cluster_register("count_calls", count_calls) == 0);
    EXPECT(pilfer_cluster_register("returns_7", returns_7) == 0);
    EXPECT(pilfer_cluster_register("gives_up", gives_up) == 0);
    EXPECT(pilfer_cluster_register("expects_no_cancellation", expects_no_cancellation) == 0);
    EXPECT(pilfer_cluster_register("misuse", misuse) == 0);
    EXPECT(pilfer_cluster_register("endless", endless) == 0);
    EXPECT(pilfer_cluster_register("pass_on", pass_on) == 0);
    const int is_other = argc > 1 && number != NULL && strcmp(number, "1") == 0;
    if (is_other && strcmp(argv[1], "other") == 0) {
        EXPECT(pilfer_cluster_register("only_here", echo) == 0);
    } else if (is_other) {
        const char byte = 1;
        pilfer_cluster_bound* here = NULL;
        EXPECT(pilfer_cluster_bound_new(&here, "only here", &byte, 1, is_less_byte) == 0);
    }
    const int code = pilfer_cluster_begin(argc, argv, NULL);
    if (code != 0) {
        printf("%d is %s: %s\n", code, pilfer_strerror(code), pilfer_cluster_error(NULL));
        EXPECT(code == (argc > 1 ? PILFER_EMISMATCH : 0));
        EXPECT(pilfer_cluster_rank() == -1);
        return 1 + faults;
    }
    EXPECT(pilfer_cluster_begin(argc, argv, NULL) == PILFER_EUSAGE);
    EXPECT(error_says("a process makes one session"));
    const int rank = pilfer_cluster_rank();
    const int size = pilfer_cluster_size();
    EXPECT(rank >= 0 && rank < size);
    runs();
    maps();
    bounds();
    journals();
    EXPECT(pilfer_cluster_end() == 0);
    EXPECT(pilfer_cluster_rank() == -1);
    EXPECT(pilfer_cluster_begin(argc, argv, NULL) == PILFER_EUSAGE);
    if (rank == 0) {
        printf("C on %d ranks: %d faults\n", size, faults);
    }
    return faults == 0 ? 0 : 1;
}
