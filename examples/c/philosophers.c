/* Dining philosophers: a task that waits for a fork suspends, and its worker runs another philosopher. An
 * order replaces std::scoped_lock: every philosopher takes the fork with the smaller number first. */
#include <pilfer/pilfer.h>

#include <stdio.h>

enum { seats = 5, meals = 1000 };

struct table {
    pilfer_mutex forks[seats];
    pilfer_latch begin; /* all sit down before the first one eats */
};

struct philosopher {
    struct table* at;
    int seat;
    int eaten;
};

static void* dine(void* data) {
    struct philosopher* p = data;
    const int left = p->seat;
    const int right = (p->seat + 1) % seats;
    pilfer_mutex* first = &p->at->forks[left < right ? left : right];
    pilfer_mutex* second = &p->at->forks[left < right ? right : left];
    pilfer_latch_count_down(&p->at->begin, 1);
    pilfer_latch_wait(&p->at->begin);
    for (int i = 0; i < meals; ++i) {
        pilfer_mutex_lock(first);
        pilfer_mutex_lock(second);
        ++p->eaten;
        pilfer_mutex_unlock(second);
        pilfer_mutex_unlock(first);
    }
    return NULL;
}

int main(void) {
    struct table table;
    struct philosopher all[seats];
    pilfer_future* ends[seats];
    pilfer_pool* pool;
    if (pilfer_pool_new(&pool, NULL) != 0 || pilfer_latch_init(&table.begin, seats) != 0) {
        return 1;
    }
    for (int i = 0; i < seats; ++i) {
        pilfer_mutex_init(&table.forks[i]);
    }
    for (int i = 0; i < seats; ++i) {
        all[i] = (struct philosopher){&table, i, 0};
        if (pilfer_async(pool, dine, &all[i], &ends[i]) != 0) {
            return 1;
        }
    }
    for (int i = 0; i < seats; ++i) {
        pilfer_future_get(ends[i], NULL);
        pilfer_future_free(ends[i]);
        printf("philosopher %d has eaten %d times\n", i, all[i].eaten);
    }
    pilfer_pool_destroy(pool);
    for (int i = 0; i < seats; ++i) {
        pilfer_mutex_destroy(&table.forks[i]);
    }
    pilfer_latch_destroy(&table.begin);
    return 0;
}
