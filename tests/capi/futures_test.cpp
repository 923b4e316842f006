// Futures, promises, and the objects that tasks wait for, through <pilfer/pilfer.h>.
#include <pilfer/pilfer.h>

#include <unistd.h>

#include <array>
#include <atomic>
#include <climits>
#include <cstdint>
#include <fstream>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "capi/support.hpp"

namespace {

using namespace capi_tests;

class c_futures : public over_workers {};

/// A pointer that is a number, as tests send and return them.
void* numbered(std::uintptr_t n) { return reinterpret_cast<void*>(n); }
std::uintptr_t number_of(void* p) { return reinterpret_cast<std::uintptr_t>(p); }

/// The code of a future, which is freed, and its result.
int take(pilfer_future* f, std::uintptr_t& n) {
    void* result = numbered(77);
    const int code = pilfer_future_get(f, &result);
    n = number_of(result);
    pilfer_future_free(f);
    return code;
}

TEST_P(c_futures, a_promise_is_set_once) {
    const c_pool pool(GetParam());
    pilfer_promise* p = nullptr;
    ASSERT_EQ(pilfer_promise_new(&p), 0);
    pilfer_future* const first = pilfer_promise_future(p);
    pilfer_future* const second = pilfer_promise_future(p);
    EXPECT_EQ(pilfer_future_ready(first), 0);
    EXPECT_EQ(pilfer_future_wait_for(first, 0), PILFER_ETIMEDOUT);
    EXPECT_EQ(pilfer_future_wait_for(first, 1000), PILFER_ETIMEDOUT);
    // A task waits for it, on each worker, while one more sets it.
    std::vector<pilfer_future*> waiting(GetParam());
    for (auto& w : waiting) {
        EXPECT_EQ(pilfer_async(
                      pool,
                      [](void* f) -> void* {
                          void* got = nullptr;
                          EXPECT_EQ(pilfer_future_get(static_cast<pilfer_future*>(f), &got), 0);
                          return got;
                      },
                      first, &w),
                  0);
    }
    EXPECT_EQ(pilfer_submit(
                  pool,
                  [](void* set) {
                      EXPECT_EQ(pilfer_promise_set_value(static_cast<pilfer_promise*>(set), numbered(5)), 0);
                  },
                  p),
              0);
    std::uintptr_t n = 0;
    for (auto* w : waiting) {
        EXPECT_EQ(take(w, n), 0);
        EXPECT_EQ(n, 5U);
    }
    EXPECT_EQ(pilfer_promise_set_value(p, nullptr), PILFER_EUSAGE);
    EXPECT_EQ(pilfer_promise_set_error(p, -1000), PILFER_EUSAGE);
    pilfer_promise_free(p);
    EXPECT_EQ(pilfer_future_wait_for(first, UINT64_MAX), 0);
    pilfer_future_free(first);
    EXPECT_EQ(take(second, n), 0) << "also after the promise";
    EXPECT_EQ(n, 5U);

    ASSERT_EQ(pilfer_promise_new(&p), 0);
    pilfer_future* const failed = pilfer_promise_future(p);
    EXPECT_EQ(pilfer_promise_set_error(p, 0), PILFER_EINVAL);
    EXPECT_EQ(pilfer_promise_set_error(p, 1), PILFER_EINVAL);
    EXPECT_EQ(pilfer_promise_set_error(p, -1000), 0);
    pilfer_promise_free(p);
    EXPECT_EQ(pilfer_future_wait_for(failed, 0), -1000);
    EXPECT_EQ(take(failed, n), -1000);
    EXPECT_EQ(n, 77U) << "nothing was stored";

    ASSERT_EQ(pilfer_promise_new(&p), 0);
    pilfer_future* const broken = pilfer_promise_future(p);
    pilfer_promise_free(p);
    EXPECT_EQ(take(broken, n), PILFER_EBROKEN);
}

TEST_P(c_futures, continuations_get_the_results) {
    auto pool = std::make_unique<c_pool>(GetParam());
    const auto plus = [](void* result, void* arg) -> void* {
        return numbered(number_of(result) + number_of(arg));
    };
    const auto code_and_arg = [](pilfer_future* done, void* arg) -> void* {
        EXPECT_EQ(pilfer_future_ready(done), 1);
        return numbered(number_of(arg) + static_cast<std::uintptr_t>(-pilfer_future_wait(done)));
    };
    pilfer_future* f = nullptr;
    ASSERT_EQ(pilfer_async(
                  *pool, [](void* arg) { return arg; }, numbered(1), &f),
              0);
    for (unsigned i = 0; i < 50; ++i) { // the source may be freed at once
        pilfer_future* next = nullptr;
        ASSERT_EQ(pilfer_future_then(f, plus, numbered(2), &next), 0);
        pilfer_future_free(f);
        f = next;
    }
    pilfer_future* handled = nullptr;
    ASSERT_EQ(pilfer_future_continue_with(f, code_and_arg, numbered(10), &handled), 0);
    std::uintptr_t n = 0;
    EXPECT_EQ(take(f, n), 0);
    EXPECT_EQ(n, 101U);
    EXPECT_EQ(take(handled, n), 0);
    EXPECT_EQ(n, 10U);

    // Without a result, the error code continues instead.
    pilfer_promise* p = nullptr;
    ASSERT_EQ(pilfer_promise_new(&p), 0);
    f = pilfer_promise_future(p);
    pilfer_future* skipped = nullptr;
    const auto never = [](void*, void*) -> void* {
        ADD_FAILURE() << "called without a result";
        return nullptr;
    };
    ASSERT_EQ(pilfer_future_then_in(*pool, f, never, nullptr, &skipped), 0);
    ASSERT_EQ(pilfer_future_continue_with_in(*pool, skipped, code_and_arg, numbered(10), &handled), 0);
    EXPECT_EQ(pilfer_future_ready(handled), 0);
    EXPECT_EQ(pilfer_promise_set_error(p, -2000), 0);
    EXPECT_EQ(take(skipped, n), -2000);
    EXPECT_EQ(take(handled, n), 0);
    EXPECT_EQ(n, 2010U);
    pilfer_promise_free(p);
    pilfer_future_free(f);

    // A pool that is gone by the time of the result takes nothing.
    ASSERT_EQ(pilfer_promise_new(&p), 0);
    f = pilfer_promise_future(p);
    ASSERT_EQ(pilfer_future_then_in(*pool, f, never, nullptr, &skipped), 0);
    pilfer_future* late = nullptr;
    ASSERT_EQ(pilfer_future_then_in(*pool, skipped, never, nullptr, &late), 0);
    EXPECT_EQ(pilfer_future_ready(late), 0);
    pool.reset(); // not even there any more
    EXPECT_EQ(pilfer_promise_set_value(p, nullptr), 0);
    EXPECT_EQ(take(skipped, n), PILFER_ECLOSED);
    EXPECT_EQ(take(late, n), PILFER_ECLOSED);
    pilfer_promise_free(p);
    pilfer_future_free(f);
}

TEST_P(c_futures, when_all_and_when_any) {
    const c_pool pool(GetParam());
    constexpr std::size_t count = 20;
    std::array<pilfer_future*, count> futures{};
    std::array<pilfer_promise*, count> promises{};
    for (std::size_t i = 0; i < count; ++i) {
        ASSERT_EQ(pilfer_promise_new(&promises[i]), 0);
        futures[i] = pilfer_promise_future(promises[i]);
    }
    pilfer_future* all = nullptr;
    pilfer_future* any = nullptr;
    ASSERT_EQ(pilfer_when_all(futures.data(), count, &all), 0);
    ASSERT_EQ(pilfer_when_any(futures.data(), count, &any), 0);
    EXPECT_EQ(pilfer_future_ready(all), 0);
    EXPECT_EQ(pilfer_future_ready(any), 0);
    EXPECT_EQ(pilfer_promise_set_error(promises[7], -1000), 0);
    void* which = nullptr;
    EXPECT_EQ(pilfer_future_get(any, &which), 0);
    EXPECT_EQ(which, futures[7]);
    EXPECT_EQ(pilfer_future_ready(all), 0);
    pilfer_future_free(any);
    // Others see the end of all of them, set by tasks, some by being dropped.
    for (std::size_t i = 0; i < count; ++i) {
        EXPECT_EQ(pilfer_submit(
                      pool,
                      [](void* p) {
                          (void)pilfer_promise_set_value(static_cast<pilfer_promise*>(p), nullptr);
                          pilfer_promise_free(static_cast<pilfer_promise*>(p));
                      },
                      promises[i]),
                  0);
    }
    std::uintptr_t n = 0;
    EXPECT_EQ(take(all, n), 0) << "the codes are in the futures";
    EXPECT_EQ(n, 0U);
    ASSERT_EQ(pilfer_when_any(futures.data(), count, &any), 0) << "all of them ready";
    EXPECT_EQ(pilfer_future_get(any, &which), 0);
    EXPECT_EQ(which, futures[0]);
    pilfer_future_free(any);
    for (std::size_t i = 0; i < count; ++i) {
        EXPECT_EQ(pilfer_future_wait(futures[i]), i == 7 ? -1000 : 0);
        pilfer_future_free(futures[i]);
    }
    ASSERT_EQ(pilfer_when_all(nullptr, 0, &all), 0);
    EXPECT_EQ(take(all, n), 0);
    ASSERT_EQ(pilfer_when_any(nullptr, 0, &any), 0);
    EXPECT_EQ(take(any, n), 0);
    EXPECT_EQ(n, 0U) << "none";
}

/// Shared by tasks and a thread: a number under a mutex, and a condition that is notified when it changes.
struct shared_number {
    pilfer_mutex mutex;
    pilfer_condition changed;
    unsigned n = 0;
    unsigned wanted = 0;
};

TEST_P(c_futures, mutex_and_condition) {
    const c_pool pool(GetParam());
    shared_number shared;
    ASSERT_EQ(pilfer_mutex_init(&shared.mutex), 0);
    ASSERT_EQ(pilfer_condition_init(&shared.changed), 0);
    constexpr unsigned tasks = 20;
    constexpr unsigned each = 50;
    shared.wanted = tasks * each;
    const auto add = [](void* data) {
        auto& s = *static_cast<shared_number*>(data);
        for (unsigned i = 0; i < each; ++i) {
            EXPECT_EQ(pilfer_mutex_lock(&s.mutex), 0);
            const unsigned before = s.n;
            if (i % 10 == 0) {
                pilfer_yield(); // with the mutex held, unlike under one of pthreads
            }
            s.n = before + 1;
            EXPECT_EQ(s.n == s.wanted ? pilfer_condition_notify_all(&s.changed)
                                      : pilfer_condition_notify_one(&s.changed),
                      0);
            EXPECT_EQ(pilfer_mutex_unlock(&s.mutex), 0);
        }
    };
    const auto wait = [](void* data) {
        auto& s = *static_cast<shared_number*>(data);
        EXPECT_EQ(pilfer_mutex_lock(&s.mutex), 0);
        while (s.n != s.wanted) {
            EXPECT_EQ(pilfer_condition_wait(&s.changed, &s.mutex), 0);
        }
        EXPECT_EQ(pilfer_mutex_unlock(&s.mutex), 0);
    };
    for (unsigned i = 0; i < tasks; ++i) {
        EXPECT_EQ(pilfer_submit(pool, i % 2 == 0 ? +wait : +add, &shared), 0);
        EXPECT_EQ(pilfer_submit(pool, i % 2 == 0 ? +add : +wait, &shared), 0);
    }
    wait(&shared); // a thread
    // The last notification wakes the tasks that still wait; each of them takes the mutex once more.
    EXPECT_EQ(pilfer_pool_shutdown(pool, PILFER_DRAIN), 0);
    EXPECT_EQ(shared.n, shared.wanted);

    EXPECT_EQ(pilfer_mutex_try_lock(&shared.mutex), 0);
    std::thread([&] { // to lock twice is misuse
        EXPECT_EQ(pilfer_mutex_try_lock(&shared.mutex), PILFER_ETIMEDOUT);
        EXPECT_EQ(pilfer_mutex_lock_for(&shared.mutex, 1000), PILFER_ETIMEDOUT);
    })
        .join();
    EXPECT_EQ(pilfer_condition_wait_for(&shared.changed, &shared.mutex, 1000), PILFER_ETIMEDOUT);
    EXPECT_EQ(pilfer_mutex_unlock(&shared.mutex), 0) << "it was locked again";
    EXPECT_EQ(pilfer_mutex_lock_for(&shared.mutex, 0), 0);
    EXPECT_EQ(pilfer_mutex_unlock(&shared.mutex), 0);
    pilfer_condition_destroy(&shared.changed);
    pilfer_mutex_destroy(&shared.mutex);
}

struct signals {
    pilfer_semaphore semaphore;
    pilfer_latch latch;
    pilfer_event event;
    std::atomic<unsigned> passed{0};
};

TEST_P(c_futures, semaphore_latch_and_event) {
    const c_pool pool(GetParam());
    signals s;
    constexpr unsigned tasks = 12;
    ASSERT_EQ(pilfer_semaphore_init(&s.semaphore, 0), 0);
    ASSERT_EQ(pilfer_latch_init(&s.latch, tasks), 0);
    ASSERT_EQ(pilfer_event_init(&s.event, 0), 0);
    EXPECT_EQ(pilfer_semaphore_try_acquire(&s.semaphore), PILFER_ETIMEDOUT);
    EXPECT_EQ(pilfer_semaphore_acquire_for(&s.semaphore, 1000), PILFER_ETIMEDOUT);
    EXPECT_EQ(pilfer_latch_try_wait(&s.latch), PILFER_ETIMEDOUT);
    EXPECT_EQ(pilfer_latch_wait_for(&s.latch, 1000), PILFER_ETIMEDOUT);
    EXPECT_EQ(pilfer_event_is_set(&s.event), 0);
    EXPECT_EQ(pilfer_event_wait_for(&s.event, 1000), PILFER_ETIMEDOUT);
    const auto task = [](void* data) {
        auto& it = *static_cast<signals*>(data);
        EXPECT_EQ(pilfer_event_wait(&it.event), 0);
        EXPECT_EQ(pilfer_semaphore_acquire(&it.semaphore), 0);
        ++it.passed;
        EXPECT_EQ(pilfer_latch_count_down(&it.latch, 1), 0);
    };
    for (unsigned i = 0; i < tasks; ++i) {
        EXPECT_EQ(pilfer_submit(pool, task, &s), 0);
    }
    EXPECT_EQ(pilfer_event_set(&s.event), 0);
    EXPECT_EQ(pilfer_event_is_set(&s.event), 1);
    EXPECT_EQ(pilfer_semaphore_release(&s.semaphore, 0), 0);
    EXPECT_EQ(s.passed, 0U) << "nothing was released";
    EXPECT_EQ(pilfer_semaphore_release(&s.semaphore, tasks + 2), 0);
    EXPECT_EQ(pilfer_latch_wait(&s.latch), 0);
    EXPECT_EQ(s.passed, tasks);
    EXPECT_EQ(pilfer_latch_try_wait(&s.latch), 0);
    EXPECT_EQ(pilfer_latch_wait_for(&s.latch, 0), 0);
    EXPECT_EQ(pilfer_event_wait_for(&s.event, 0), 0);
    EXPECT_EQ(pilfer_semaphore_try_acquire(&s.semaphore), 0);
    EXPECT_EQ(pilfer_semaphore_acquire_for(&s.semaphore, 0), 0);
    EXPECT_EQ(pilfer_semaphore_try_acquire(&s.semaphore), PILFER_ETIMEDOUT);
    EXPECT_EQ(pilfer_pool_shutdown(pool, PILFER_DRAIN), 0);
    EXPECT_EQ(pilfer_event_reset(&s.event), 0);
    EXPECT_EQ(pilfer_event_is_set(&s.event), 0);
    pilfer_event_destroy(&s.event);
    ASSERT_EQ(pilfer_event_init(&s.event, 1), 0);
    EXPECT_EQ(pilfer_event_wait(&s.event), 0);
    pilfer_event_destroy(&s.event);
    pilfer_latch_destroy(&s.latch);
    pilfer_semaphore_destroy(&s.semaphore);
}

struct pipeline {
    pilfer_channel* channel = nullptr;
    std::atomic<std::uintptr_t> sum{0};
    std::atomic<unsigned> senders{0};
};

TEST_P(c_futures, channels_of_every_capacity) {
    for (const std::size_t capacity : {0U, 1U, 7U}) {
        const c_pool pool(GetParam());
        pipeline p;
        ASSERT_EQ(pilfer_channel_new(&p.channel, capacity), 0);
        constexpr unsigned senders = 4;
        constexpr std::uintptr_t each = 50;
        p.senders = senders;
        const auto send = [](void* data) {
            auto& to = *static_cast<pipeline*>(data);
            for (std::uintptr_t i = 1; i <= each; ++i) {
                EXPECT_EQ(pilfer_channel_send(to.channel, numbered(i)), 0);
            }
            if (--to.senders == 0) {
                EXPECT_EQ(pilfer_channel_close(to.channel), 0);
            }
        };
        const auto receive = [](void* data) {
            auto& from = *static_cast<pipeline*>(data);
            void* value = nullptr;
            int code = 0;
            while ((code = pilfer_channel_receive(from.channel, &value)) == 0) {
                from.sum += number_of(value);
            }
            EXPECT_EQ(code, PILFER_ECLOSED);
        };
        for (unsigned i = 0; i < senders; ++i) {
            EXPECT_EQ(pilfer_submit(pool, i % 2 == 0 ? +send : +receive, &p), 0);
            EXPECT_EQ(pilfer_submit(pool, i % 2 == 0 ? +receive : +send, &p), 0);
        }
        receive(&p); // a thread
        EXPECT_EQ(pilfer_pool_shutdown(pool, PILFER_DRAIN), 0);
        EXPECT_EQ(p.sum, senders * each * (each + 1) / 2);
        EXPECT_EQ(pilfer_channel_closed(p.channel), 1);
        EXPECT_EQ(pilfer_channel_size(p.channel), 0U);
        pilfer_channel_free(p.channel);
    }
}

TEST_P(c_futures, a_failed_channel_call_gives_its_reason) {
    pilfer_channel* c = nullptr;
    ASSERT_EQ(pilfer_channel_new(&c, 2), 0);
    void* value = numbered(77);
    EXPECT_EQ(pilfer_channel_try_receive(c, &value), PILFER_ETIMEDOUT);
    EXPECT_EQ(pilfer_channel_receive_for(c, &value, 1000), PILFER_ETIMEDOUT);
    EXPECT_EQ(number_of(value), 77U) << "as before";
    EXPECT_EQ(pilfer_channel_try_send(c, nullptr), 0) << "NULL is a value";
    EXPECT_EQ(pilfer_channel_send_for(c, numbered(2), 0), 0);
    EXPECT_EQ(pilfer_channel_try_send(c, numbered(3)), PILFER_ETIMEDOUT);
    EXPECT_EQ(pilfer_channel_send_for(c, numbered(3), 1000), PILFER_ETIMEDOUT);
    EXPECT_EQ(pilfer_channel_size(c), 2U);
    EXPECT_EQ(pilfer_channel_closed(c), 0);
    EXPECT_EQ(pilfer_channel_receive(c, nullptr), PILFER_EINVAL) << "nothing is received";
    EXPECT_EQ(pilfer_channel_receive(c, &value), 0);
    EXPECT_EQ(value, nullptr);
    EXPECT_EQ(pilfer_channel_close(c), 0);
    EXPECT_EQ(pilfer_channel_close(c), 0);
    EXPECT_EQ(pilfer_channel_closed(c), 1);
    EXPECT_EQ(pilfer_channel_send(c, numbered(4)), PILFER_ECLOSED);
    EXPECT_EQ(pilfer_channel_try_send(c, numbered(4)), PILFER_ECLOSED);
    EXPECT_EQ(pilfer_channel_send_for(c, numbered(4), 1000), PILFER_ECLOSED);
    EXPECT_EQ(pilfer_channel_receive_for(c, &value, 0), 0) << "what was accepted is there";
    EXPECT_EQ(number_of(value), 2U);
    EXPECT_EQ(pilfer_channel_receive(c, &value), PILFER_ECLOSED);
    EXPECT_EQ(pilfer_channel_try_receive(c, &value), PILFER_ECLOSED);
    EXPECT_EQ(pilfer_channel_receive_for(c, &value, 1000), PILFER_ECLOSED);
    EXPECT_EQ(number_of(value), 2U) << "as before";
    pilfer_channel_free(c);
}

/// More tasks than workers block until another task has run.
TEST_P(c_futures, blocking_calls_hold_no_worker_up) {
    c_options o(GetParam());
    o.set("max_extra_workers", std::to_string(GetParam() + 1));
    const c_pool pool(o);
    struct shared {
        std::array<int, 2> ends{};
        std::atomic<unsigned> got{0};
    } s;
    ASSERT_EQ(pipe(s.ends.data()), 0);
    const auto read_one = [](void* data) -> void* {
        EXPECT_EQ(pilfer_blocking(
                      [](void* all) {
                          auto& self = *static_cast<shared*>(all);
                          char byte = 0;
                          self.got += read(self.ends[0], &byte, 1) == 1 ? 1 : 0;
                      },
                      data),
                  0);
        return nullptr;
    };
    std::vector<pilfer_future*> readers(GetParam() + 1);
    for (auto& f : readers) {
        EXPECT_EQ(pilfer_async(pool, read_one, &s, &f), 0);
    }
    EXPECT_EQ(pilfer_pool_run(
                  pool,
                  [](void* data) {
                      auto& self = *static_cast<shared*>(data);
                      const std::string bytes(65, 'x'); // one for each reader at least
                      EXPECT_EQ(write(self.ends[1], bytes.data(), bytes.size()), 65);
                  },
                  &s),
              0);
    for (auto* const f : readers) {
        EXPECT_EQ(pilfer_future_wait(f), 0);
        pilfer_future_free(f);
    }
    EXPECT_EQ(s.got, readers.size());
    close(s.ends[0]);
    close(s.ends[1]);
}

PILFER_OVER_WORKERS(c_futures);

} // namespace
