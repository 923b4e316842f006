/* Bank accounts: each is an object with a lock, and a transfer takes two of them in one order. */
#include <pilfer/pilfer.h>

#include <stdio.h>

enum { people = 4, payments = 3000 };

static long money[people]; /* touched in calls of the accounts only */
static pilfer_synchronized* accounts[people];

static void give(void* value, void* arg) { *(long*)value += *(long*)arg; }

static void transfer(void* const* values, void* arg) {
    long* from = values[0];
    long* to = values[1];
    const long some = *(long*)arg;
    if (*from >= some) {
        *from -= some;
        *to += some;
    }
}

static void add_up(void* const* values, void* arg) {
    for (int i = 0; i < people; ++i) {
        *(long*)arg += *(long*)values[i];
    }
}

static void* pay(void* who) {
    const int from = *(int*)who;
    long some = from + 1;
    for (int i = 0; i < payments; ++i) {
        const int to = (from + 1 + i % (people - 1)) % people;
        /* Takes the locks by their addresses, so no two transfers wait for each other. */
        pilfer_synchronized* both[] = {accounts[from], accounts[to]};
        pilfer_call_all(both, 2, transfer, &some);
    }
    return NULL;
}

/* A spender waits until the account holds enough. */
static int enough(const void* value, void* arg) { return *(const long*)value >= *(long*)arg; }
static void spend(void* value, void* arg) { *(long*)value -= *(long*)arg; }
static void look(const void* value, void* arg) { *(long*)arg = *(const long*)value; }

static void* buy(void* savings) {
    long price = 300;
    pilfer_monitor_call_when(savings, enough, spend, &price);
    return NULL;
}

int main(void) {
    pilfer_pool* pool;
    pilfer_future* payers[people];
    int names[people];
    if (pilfer_pool_new(&pool, NULL) != 0) {
        return 1;
    }
    for (int i = 0; i < people; ++i) {
        long start = 1000;
        if (pilfer_synchronized_new(&accounts[i], &money[i]) != 0) {
            return 1;
        }
        pilfer_synchronized_call(accounts[i], give, &start);
    }
    /* Every account pays every other one, in both directions at once. */
    for (int i = 0; i < people; ++i) {
        names[i] = i;
        if (pilfer_async(pool, pay, &names[i], &payers[i]) != 0) {
            return 1;
        }
    }
    for (int i = 0; i < people; ++i) {
        pilfer_future_get(payers[i], NULL);
        pilfer_future_free(payers[i]);
    }
    long sum = 0;
    pilfer_call_all(accounts, people, add_up, &sum);
    printf("nothing is lost: %ld\n", sum);

    long saved = 0;
    long wages = 100;
    pilfer_monitor* savings;
    pilfer_future* spender;
    if (pilfer_monitor_new(&savings, &saved) != 0 || pilfer_async(pool, buy, savings, &spender) != 0) {
        return 1;
    }
    for (int month = 0; month < 4; ++month) {
        pilfer_monitor_call(savings, give, &wages);
    }
    pilfer_future_get(spender, NULL);
    pilfer_future_free(spender);
    long left = 0;
    pilfer_monitor_read(savings, look, &left);
    printf("left after spending: %ld\n", left);

    pilfer_pool_destroy(pool);
    pilfer_monitor_free(savings);
    for (int i = 0; i < people; ++i) {
        pilfer_synchronized_free(accounts[i]);
    }
    return 0;
}
