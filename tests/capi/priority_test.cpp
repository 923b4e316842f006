// Priorities through <pilfer/pilfer.h>.
#include <pilfer/pilfer.h>

#include <array>
#include <atomic>
#include <climits>
#include <string>
#include <thread>

#include "capi/support.hpp"

namespace {

using namespace capi_tests;

class c_priority : public guarded {};

struct shared {
    std::string order;
    std::atomic<bool> there{false};
    std::atomic<bool> go_on{false};
};
struct named {
    shared* all;
    char name;
};
void stay(void* arg) {
    auto* all = static_cast<shared*>(arg);
    all->there = true;
    while (!all->go_on) {
        std::this_thread::yield();
    }
}
void note(void* arg) { static_cast<named*>(arg)->all->order += static_cast<named*>(arg)->name; }
void* note_value(void* arg) {
    note(arg);
    return arg;
}
void nothing(void*) {}

TEST_F(c_priority, order) {
    const c_pool pool(1);
    shared all;
    ASSERT_EQ(pilfer_submit(pool, stay, &all), 0);
    while (!all.there) {
        std::this_thread::yield();
    }
    std::array<named, 5> tasks{{{&all, 'l'}, {&all, 'n'}, {&all, 'h'}, {&all, 'H'}, {&all, 'L'}}};
    pilfer_future* future = nullptr;
    ASSERT_EQ(pilfer_submit_with(pool, at(PILFER_LOW), note, &tasks[0]), 0);
    ASSERT_EQ(pilfer_submit(pool, note, &tasks[1]), 0);
    ASSERT_EQ(pilfer_submit_with(pool, at(PILFER_HIGH), note, &tasks[2]), 0);
    ASSERT_EQ(pilfer_async_with(pool, at(PILFER_HIGH), note_value, &tasks[3], &future), 0);
    all.go_on = true;
    ASSERT_EQ(pilfer_pool_run_with(pool, at(PILFER_LOW), note, &tasks[4]), 0);
    void* value = nullptr;
    EXPECT_EQ(pilfer_future_get(future, &value), 0);
    EXPECT_EQ(value, &tasks[3]);
    pilfer_future_free(future);
    EXPECT_EQ(all.order, "hHnlL");
}

TEST_F(c_priority, wrong_calls) {
    const c_pool pool(1);
    pilfer_future* future = nullptr;
    for (const int none : {-1, 4, 256, 257, INT_MAX, INT_MIN}) {
        EXPECT_EQ(pilfer_submit_with(pool, at(none), nothing, nullptr), PILFER_EINVAL);
        EXPECT_EQ(pilfer_pool_run_with(pool, at(none), nothing, nullptr), PILFER_EINVAL);
        EXPECT_EQ(pilfer_async_with(pool, at(none), note_value, nullptr, &future), PILFER_EINVAL);
    }
    EXPECT_EQ(future, nullptr);
    EXPECT_EQ(pilfer_submit_with(nullptr, at(PILFER_LOW), nothing, nullptr), PILFER_EINVAL);
    EXPECT_EQ(pilfer_submit_with(pool, at(PILFER_LOW), nullptr, nullptr), PILFER_EINVAL);
    EXPECT_EQ(pilfer_pool_run_with(nullptr, at(PILFER_LOW), nothing, nullptr), PILFER_EINVAL);
    EXPECT_EQ(pilfer_pool_run_with(pool, at(PILFER_LOW), nullptr, nullptr), PILFER_EINVAL);
    EXPECT_EQ(pilfer_async_with(pool, at(PILFER_LOW), nullptr, nullptr, &future), PILFER_EINVAL);
    EXPECT_EQ(pilfer_async_with(pool, at(PILFER_LOW), note_value, nullptr, nullptr), PILFER_EINVAL);
    ASSERT_EQ(pilfer_pool_shutdown(pool, PILFER_DRAIN), 0);
    EXPECT_EQ(pilfer_submit_with(pool, at(PILFER_HIGH), nothing, nullptr), PILFER_ECLOSED);
    EXPECT_EQ(pilfer_pool_run_with(pool, at(PILFER_HIGH), nothing, nullptr), PILFER_ECLOSED);
    EXPECT_EQ(pilfer_async_with(pool, at(PILFER_HIGH), note_value, nullptr, &future), PILFER_ECLOSED);
}

} // namespace
