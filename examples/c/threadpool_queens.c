/* The ways to place n queens: main submits a task for each way to place the first three, some hundreds, and
 * collects the results in any order; tasks place one more queen by a task each, the rest by themselves.
 * threadpool_queens [threads] */
#include <pilfer/threadpool.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { board = 9, by_main = 3, by_tasks = 4, most_boards = board * board * board };

struct position {
    int rows;
    uint32_t columns, up, down; /* attacked columns of the next row */
};

static int free_square(const struct position* p, int column) {
    return (((p->columns | p->up | p->down) >> column) & 1) == 0;
}

static struct position with_queen(const struct position* p, int column) {
    const uint32_t queen = UINT32_C(1) << column;
    const struct position next = {p->rows + 1, p->columns | queen, (p->up | queen) << 1,
                                  (p->down | queen) >> 1};
    return next;
}

static uintptr_t count_alone(const struct position* p) {
    uintptr_t ways = p->rows == board;
    for (int column = 0; p->rows < board && column < board; ++column) {
        if (free_square(p, column)) {
            const struct position next = with_queen(p, column);
            ways += count_alone(&next);
        }
    }
    return ways;
}

static void* count(struct thread_pool* pool, void* data) {
    const struct position* p = data;
    if (p->rows >= by_tasks) {
        return (void*)count_alone(p);
    }
    struct position next[board];
    struct future* parts[board];
    int n = 0;
    for (int column = 0; column < board; ++column) {
        if (free_square(p, column)) {
            next[n] = with_queen(p, column);
            parts[n] = thread_pool_submit(pool, count, &next[n]);
            ++n;
        }
    }
    uintptr_t ways = 0;
    while (n-- > 0) {
        ways += (uintptr_t)future_get(parts[n]);
        future_free(parts[n]);
    }
    return (void*)ways;
}

static int place(struct position* boards, int n, const struct position* p) {
    if (p->rows == by_main) {
        boards[n] = *p;
        return n + 1;
    }
    for (int column = 0; column < board; ++column) {
        if (free_square(p, column)) {
            const struct position next = with_queen(p, column);
            n = place(boards, n, &next);
        }
    }
    return n;
}

int main(int argc, char** argv) {
    static struct position boards[most_boards];
    static struct future* results[most_boards];
    struct thread_pool* pool = thread_pool_new(argc > 1 ? atoi(argv[1]) : 2);
    if (pool == NULL) {
        return 1;
    }
    const struct position empty = {0, 0, 0, 0};
    const int n = place(boards, 0, &empty);
    for (int i = 0; i < n; ++i) {
        results[i] = thread_pool_submit(pool, count, &boards[i]);
    }
    uintptr_t ways = 0;
    for (int i = 0; i < n; ++i) {
        ways += (uintptr_t)future_get(results[i]);
    }
    for (int i = 0; i < n; ++i) {
        ways += (uintptr_t)future_get(results[i]); /* a second time */
        future_free(results[i]);
    }
    printf("%d queens, %d tasks by main: %lu ways\n", board, n, (unsigned long)ways / 2);
    thread_pool_shutdown_and_destroy(pool);
    return 0;
}
