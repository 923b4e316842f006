/* Drinking philosophers (Chandy and Misra, ACM TOPLAS 6:4, 1984). Neighbours share bottles. Each session
 * needs some of a philosopher's bottles, a new selection each time, and begins when all of them are free. */
#include <pilfer/pilfer.h>

#include <stdint.h>
#include <stdio.h>

enum { seats = 7, sessions = 500 };

/* The object: a bit for each bottle in use, shared with the right neighbour, and with the next one after
 * it. */
static uint32_t in_use;
static pilfer_monitor* bottles;

struct philosopher {
    unsigned seat;
    unsigned drunk;
};

static int are_free(const void* value, void* wanted) {
    return (*(const uint32_t*)value & *(uint32_t*)wanted) == 0;
}
static void take(void* value, void* wanted) { *(uint32_t*)value |= *(uint32_t*)wanted; }
static void put_back(void* value, void* wanted) { *(uint32_t*)value &= ~*(uint32_t*)wanted; }
static void count(const void* value, void* into) {
    for (uint32_t left = *(const uint32_t*)value; left != 0; left &= left - 1) {
        ++*(unsigned*)into;
    }
}

static void* drink(void* data) {
    struct philosopher* p = data;
    const unsigned around[] = {p->seat, (p->seat + seats - 1) % seats, seats + p->seat,
                               seats + (p->seat + seats - 2) % seats};
    uint32_t random = p->seat + 1;
    for (; p->drunk < sessions; ++p->drunk) {
        uint32_t wanted = 0;
        for (int i = 0; i < 4; ++i) {
            random = random * 1664525u + 1013904223u;
            wanted |= (random >> 31) << around[i];
        }
        if (pilfer_monitor_call_when(bottles, are_free, take, &wanted) != 0) {
            break;
        }
        pilfer_yield(); /* it drinks */
        pilfer_monitor_call(bottles, put_back, &wanted);
    }
    return NULL;
}

int main(void) {
    struct philosopher all[seats];
    pilfer_future* ends[seats];
    pilfer_pool* pool;
    if (pilfer_pool_new(&pool, NULL) != 0 || pilfer_monitor_new(&bottles, &in_use) != 0) {
        return 1;
    }
    for (unsigned seat = 0; seat < seats; ++seat) {
        all[seat] = (struct philosopher){seat, 0};
        if (pilfer_async(pool, drink, &all[seat], &ends[seat]) != 0) {
            return 1;
        }
    }
    for (unsigned seat = 0; seat < seats; ++seat) {
        pilfer_future_get(ends[seat], NULL);
        pilfer_future_free(ends[seat]);
        printf("philosopher %u has drunk %u times\n", seat, all[seat].drunk);
    }
    unsigned left = 0;
    pilfer_monitor_read(bottles, count, &left);
    printf("bottles in use: %u\n", left);
    pilfer_pool_destroy(pool);
    pilfer_monitor_free(bottles);
    return 0;
}
