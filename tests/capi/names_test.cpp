// Names of objects through <pilfer/pilfer_names.h>.
#include <pilfer/pilfer_names.h>

#include <cstdio>
#include <string>

#include "capi/support.hpp"

namespace {

using namespace capi_tests;

[[nodiscard]] std::string dump_of(const pilfer_pool* pool) {
    std::FILE* const file = std::tmpfile();
    EXPECT_NE(file, nullptr);
    EXPECT_EQ(pilfer_pool_dump(pool, fileno(file)), 0);
    std::rewind(file);
    std::string text;
    for (int c; (c = std::fgetc(file)) != EOF;) {
        text += static_cast<char>(c);
    }
    (void)std::fclose(file);
    return text;
}

/// What the only waiting task of a pool waits for: 'an event ("name", 0x...)'. `end` lets it go on.
template <class Wait, class End>
[[nodiscard]] std::string awaited(Wait wait, End end) {
    const c_pool pool(2);
    std::string text;
    tasks(pool, 2, [&](unsigned i) {
        if (i == 0) {
            wait();
            return;
        }
        constexpr const char* before = ", waits for ";
        std::size_t at = text.npos;
        while (at == text.npos) {
            text = dump_of(pool);
            at = text.find(before);
        }
        at += std::string(before).size();
        text = text.substr(at, text.find('\n', at) - at);
        end();
    });
    return text;
}

class c_names : public guarded {
protected:
    pilfer_event event{};
    [[nodiscard]] std::string awaited_event() {
        return awaited([this] { EXPECT_EQ(pilfer_event_wait(&event), 0); },
                       [this] { EXPECT_EQ(pilfer_event_set(&event), 0); });
    }
};

TEST_F(c_names, are_replaced_and_removed) {
    ASSERT_EQ(pilfer_event_init(&event, 0), 0);
    EXPECT_EQ(pilfer_event_set_name(&event, "first"), 0);
    EXPECT_EQ(pilfer_event_set_name(&event, "second"), 0);
    EXPECT_EQ(awaited_event().find("an event (\"second\", 0x"), 0U);
    EXPECT_EQ(pilfer_event_set_name(&event, nullptr), 0);
    EXPECT_EQ(pilfer_event_set_name(&event, nullptr), 0);
    EXPECT_EQ(pilfer_event_reset(&event), 0);
    EXPECT_EQ(awaited_event().find("an event (0x"), 0U);
    pilfer_event_destroy(&event);
}

TEST_F(c_names, end_with_their_objects) {
    ASSERT_EQ(pilfer_event_init(&event, 0), 0);
    EXPECT_EQ(pilfer_event_set_name(&event, "first"), 0);
    pilfer_event_destroy(&event);
    ASSERT_EQ(pilfer_event_init(&event, 0), 0); // at the same address
    EXPECT_EQ(awaited_event().find("an event (0x"), 0U);
    pilfer_event_destroy(&event);
}

TEST_F(c_names, that_are_wrong_are_refused_and_the_object_keeps_its_name) {
    ASSERT_EQ(pilfer_event_init(&event, 0), 0);
    EXPECT_EQ(pilfer_event_set_name(&event, "right"), 0);
    EXPECT_EQ(pilfer_event_set_name(&event, ""), PILFER_EINVAL);
    EXPECT_EQ(pilfer_event_set_name(&event, "two\nlines"), PILFER_EINVAL);
    EXPECT_EQ(pilfer_event_set_name(&event, std::string(256, 'x').c_str()), PILFER_EINVAL);
    EXPECT_EQ(awaited_event().find("an event (\"right\", 0x"), 0U);
    pilfer_event_destroy(&event);
}

TEST_F(c_names, of_no_object_are_refused) {
    EXPECT_EQ(pilfer_mutex_set_name(nullptr, "it"), PILFER_EINVAL);
    EXPECT_EQ(pilfer_shared_mutex_set_name(nullptr, "it"), PILFER_EINVAL);
    EXPECT_EQ(pilfer_condition_set_name(nullptr, "it"), PILFER_EINVAL);
    EXPECT_EQ(pilfer_semaphore_set_name(nullptr, "it"), PILFER_EINVAL);
    EXPECT_EQ(pilfer_latch_set_name(nullptr, "it"), PILFER_EINVAL);
    EXPECT_EQ(pilfer_barrier_set_name(nullptr, "it"), PILFER_EINVAL);
    EXPECT_EQ(pilfer_event_set_name(nullptr, "it"), PILFER_EINVAL);
    EXPECT_EQ(pilfer_channel_set_name(nullptr, "it"), PILFER_EINVAL);
    EXPECT_EQ(pilfer_synchronized_set_name(nullptr, "it"), PILFER_EINVAL);
    EXPECT_EQ(pilfer_monitor_set_name(nullptr, nullptr), PILFER_EINVAL);
}

TEST_F(c_names, of_storage_are_shown) {
    pilfer_mutex mutex;
    ASSERT_EQ(pilfer_mutex_init(&mutex), 0);
    EXPECT_EQ(pilfer_mutex_set_name(&mutex, "it"), 0);
    EXPECT_EQ(pilfer_mutex_lock(&mutex), 0); // by this thread
    const c_pool pool(2);
    pilfer_future* waiter = nullptr;
    const auto locks = [](void* m) -> void* {
        EXPECT_EQ(pilfer_mutex_lock(static_cast<pilfer_mutex*>(m)), 0);
        EXPECT_EQ(pilfer_mutex_unlock(static_cast<pilfer_mutex*>(m)), 0);
        return nullptr;
    };
    ASSERT_EQ(pilfer_async(pool, locks, &mutex, &waiter), 0);
    while (dump_of(pool).find(", waits for a mutex (\"it\", 0x") == std::string::npos) {
    }
    EXPECT_EQ(pilfer_mutex_unlock(&mutex), 0);
    EXPECT_EQ(pilfer_future_get(waiter, nullptr), 0);
    pilfer_future_free(waiter);
    pilfer_mutex_destroy(&mutex);

    pilfer_semaphore semaphore;
    ASSERT_EQ(pilfer_semaphore_init(&semaphore, 0), 0);
    EXPECT_EQ(pilfer_semaphore_set_name(&semaphore, "it"), 0);
    EXPECT_EQ(awaited([&] { EXPECT_EQ(pilfer_semaphore_acquire(&semaphore), 0); },
                      [&] { EXPECT_EQ(pilfer_semaphore_release(&semaphore, 1), 0); })
                  .find("a semaphore (\"it\", 0x"),
              0U);
    pilfer_semaphore_destroy(&semaphore);
    pilfer_latch latch;
    ASSERT_EQ(pilfer_latch_init(&latch, 1), 0);
    EXPECT_EQ(pilfer_latch_set_name(&latch, "it"), 0);
    EXPECT_EQ(awaited([&] { EXPECT_EQ(pilfer_latch_wait(&latch), 0); },
                      [&] { EXPECT_EQ(pilfer_latch_count_down(&latch, 1), 0); })
                  .find("a latch (\"it\", 0x"),
              0U);
    pilfer_latch_destroy(&latch);
    pilfer_barrier barrier;
    ASSERT_EQ(pilfer_barrier_init(&barrier, 2, nullptr, nullptr), 0);
    EXPECT_EQ(pilfer_barrier_set_name(&barrier, "it"), 0);
    EXPECT_EQ(awaited([&] { EXPECT_EQ(pilfer_barrier_arrive_and_wait(&barrier), 0); },
                      [&] { EXPECT_EQ(pilfer_barrier_arrive_and_wait(&barrier), 0); })
                  .find("a barrier (\"it\", 0x"),
              0U);
    pilfer_barrier_destroy(&barrier);
    pilfer_shared_mutex shared;
    pilfer_condition condition;
    ASSERT_EQ(pilfer_shared_mutex_init(&shared), 0);
    ASSERT_EQ(pilfer_condition_init(&condition), 0);
    EXPECT_EQ(pilfer_shared_mutex_set_name(&shared, "it"), 0);
    EXPECT_EQ(pilfer_condition_set_name(&condition, "it"), 0);
    pilfer_condition_destroy(&condition);
    pilfer_shared_mutex_destroy(&shared);
}

TEST_F(c_names, of_handles_are_shown) {
    pilfer_channel* channel = nullptr;
    ASSERT_EQ(pilfer_channel_new(&channel, 1), 0);
    EXPECT_EQ(pilfer_channel_set_name(channel, "it"), 0);
    void* value = nullptr;
    EXPECT_EQ(awaited([&] { EXPECT_EQ(pilfer_channel_receive(channel, &value), 0); },
                      [&] { EXPECT_EQ(pilfer_channel_send(channel, &value), 0); })
                  .find("a channel's next value (\"it\", 0x"),
              0U);
    pilfer_channel_free(channel);

    pilfer_monitor* monitor = nullptr;
    int count = 0;
    ASSERT_EQ(pilfer_monitor_new(&monitor, &count), 0);
    EXPECT_EQ(pilfer_monitor_set_name(monitor, "it"), 0);
    const auto ready = [](const void* n, void*) -> int { return *static_cast<const int*>(n); };
    const auto count_up = [](void* n, void*) { ++*static_cast<int*>(n); };
    EXPECT_EQ(awaited([&] { EXPECT_EQ(pilfer_monitor_call_when(monitor, ready, count_up, nullptr), 0); },
                      [&] { EXPECT_EQ(pilfer_monitor_call(monitor, count_up, nullptr), 0); })
                  .find("the condition of a monitor call (\"it\", 0x"),
              0U);
    pilfer_monitor_free(monitor);
    pilfer_synchronized* object = nullptr;
    ASSERT_EQ(pilfer_synchronized_new(&object, &count), 0);
    EXPECT_EQ(pilfer_synchronized_set_name(object, "it"), 0);
    pilfer_synchronized_free(object);
}

} // namespace
