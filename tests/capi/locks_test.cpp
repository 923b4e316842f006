// Shared mutexes, barriers, bounded queues, names and waits with a time limit through <pilfer/pilfer.h>.
#include <pilfer/pilfer.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "capi/support.hpp"

namespace {

using namespace capi_tests;

constexpr std::uint64_t hour = 3'600'000'000'000;

class lock_pool {
public:
    explicit lock_pool(unsigned workers, const std::vector<std::pair<const char*, const char*>>& more = {}) {
        pilfer_options* options = nullptr;
        EXPECT_EQ(pilfer_options_new(&options), 0);
        EXPECT_EQ(pilfer_options_set(options, "workers", std::to_string(workers).c_str()), 0);
        for (const auto& [name, value] : more) {
            EXPECT_EQ(pilfer_options_set(options, name, value), 0) << pilfer_options_error(options);
            char text[128];
            EXPECT_EQ(pilfer_options_get(options, name, text, sizeof text), 0);
            EXPECT_STREQ(text, value);
        }
        EXPECT_EQ(pilfer_pool_new(&m_pool, options), 0) << pilfer_options_error(options);
        pilfer_options_free(options);
    }
    lock_pool(const lock_pool&) = delete;
    lock_pool& operator=(const lock_pool&) = delete;
    ~lock_pool() { EXPECT_EQ(pilfer_pool_destroy(m_pool), 0); }
    operator pilfer_pool*() const { return m_pool; }

private:
    pilfer_pool* m_pool = nullptr;
};

class c_locks_over_workers : public over_workers {};

TEST_P(c_locks_over_workers, a_shared_mutex_lets_many_read_and_one_write) {
    const lock_pool pool(GetParam());
    pilfer_shared_mutex mutex;
    ASSERT_EQ(pilfer_shared_mutex_init(&mutex), 0);
    unsigned value = 0;
    std::atomic<unsigned> reads{0};
    std::atomic<unsigned> readers{0};
    constexpr unsigned rounds = 50;
    tasks(pool, 6, [&](unsigned who) {
        for (unsigned i = 0; i < rounds; ++i) {
            if (who < 2) {
                EXPECT_EQ(pilfer_shared_mutex_lock(&mutex), 0);
                EXPECT_EQ(readers, 0U);
                ++value;
                EXPECT_EQ(pilfer_shared_mutex_unlock(&mutex), 0);
            } else {
                EXPECT_EQ(pilfer_shared_mutex_lock_shared(&mutex), 0);
                readers.fetch_add(1);
                reads += value <= 2 * rounds ? 1 : 0;
                pilfer_yield();
                readers.fetch_sub(1);
                EXPECT_EQ(pilfer_shared_mutex_unlock_shared(&mutex), 0);
            }
        }
    });
    EXPECT_EQ(value, 2 * rounds);
    EXPECT_EQ(reads, 4 * rounds);
    EXPECT_EQ(pilfer_shared_mutex_try_lock_shared(&mutex), 0);
    EXPECT_EQ(pilfer_shared_mutex_lock_shared_for(&mutex, hour), 0);
    EXPECT_EQ(pilfer_shared_mutex_try_lock(&mutex), PILFER_ETIMEDOUT);
    EXPECT_EQ(pilfer_shared_mutex_lock_for(&mutex, 1000), PILFER_ETIMEDOUT);
    EXPECT_EQ(pilfer_shared_mutex_unlock_shared(&mutex), 0);
    EXPECT_EQ(pilfer_shared_mutex_unlock_shared(&mutex), 0);
    EXPECT_EQ(pilfer_shared_mutex_try_lock(&mutex), 0);
    EXPECT_EQ(pilfer_shared_mutex_try_lock_shared(&mutex), PILFER_ETIMEDOUT);
    EXPECT_EQ(pilfer_shared_mutex_lock_shared_for(&mutex, 1000), PILFER_ETIMEDOUT);
    EXPECT_EQ(pilfer_shared_mutex_unlock(&mutex), 0);
    EXPECT_EQ(pilfer_shared_mutex_lock_for(&mutex, 0), 0);
    EXPECT_EQ(pilfer_shared_mutex_unlock(&mutex), 0);
    pilfer_shared_mutex_destroy(&mutex);
}

TEST_P(c_locks_over_workers, a_barrier_keeps_tasks_in_step) {
    const lock_pool pool(GetParam());
    constexpr unsigned runners = 4;
    constexpr unsigned phases = 20;
    struct course {
        pilfer_barrier barrier;
        std::atomic<unsigned> ended{0};
        std::atomic<unsigned> arrived{0};
    } c;
    const auto at_end = [](void* p) {
        auto* const all = static_cast<course*>(p);
        all->ended += all->arrived.load() == runners * (all->ended + 1) ? 1 : 0;
    };
    ASSERT_EQ(pilfer_barrier_init(&c.barrier, runners, at_end, &c), 0);
    tasks(pool, runners, [&](unsigned who) {
        for (unsigned i = 0; i < phases; ++i) {
            c.arrived.fetch_add(1);
            std::uint64_t phase = 0;
            switch ((who + i) % 3) {
            case 0:
                EXPECT_EQ(pilfer_barrier_arrive_and_wait(&c.barrier), 0);
                break;
            case 1:
                EXPECT_EQ(pilfer_barrier_arrive(&c.barrier, 1, &phase), 0);
                EXPECT_EQ(phase, i);
                EXPECT_EQ(pilfer_barrier_wait(&c.barrier, phase), 0);
                break;
            default:
                EXPECT_EQ(pilfer_barrier_arrive(&c.barrier, 1, &phase), 0);
                while (pilfer_barrier_wait_for(&c.barrier, phase, 1000) == PILFER_ETIMEDOUT) {
                }
            }
            EXPECT_GE(c.ended, i + 1) << "somebody goes on before the completion";
        }
    });
    EXPECT_EQ(c.ended, phases);
    pilfer_barrier_destroy(&c.barrier);

    ASSERT_EQ(pilfer_barrier_init(&c.barrier, 3, nullptr, nullptr), 0);
    std::uint64_t phase = 7;
    EXPECT_EQ(pilfer_barrier_arrive_and_drop(&c.barrier), 0);
    EXPECT_EQ(pilfer_barrier_arrive(&c.barrier, 1, &phase), 0);
    EXPECT_EQ(phase, 0U);
    EXPECT_EQ(pilfer_barrier_wait_for(&c.barrier, phase, 1000), PILFER_ETIMEDOUT);
    EXPECT_EQ(pilfer_barrier_arrive(&c.barrier, 1, nullptr), 0);
    EXPECT_EQ(pilfer_barrier_wait(&c.barrier, phase), 0);
    EXPECT_EQ(pilfer_barrier_arrive(&c.barrier, 2, nullptr), 0) << "one has left for good";
    pilfer_barrier_destroy(&c.barrier);
}

TEST_P(c_locks_over_workers, a_full_queue_gives_an_error_code) {
    struct state {
        std::atomic<bool> open{false};
        std::atomic<unsigned> inside{0};
        std::atomic<unsigned> ran{0};
    } s;
    const auto gate = [](void* p) {
        auto* const all = static_cast<state*>(p);
        all->inside.fetch_add(1);
        while (!all->open) {
            std::this_thread::yield();
        }
    };
    const auto task = [](void* p) { static_cast<state*>(p)->ran.fetch_add(1); };
    const auto value = [](void* p) -> void* { return p; };
    unsigned accepted = 0;
    {
        const lock_pool pool(GetParam(), {{"queue_capacity", "2"}, {"when_full", "fail"}});
        while (s.inside < GetParam()) {
            const int code = pilfer_submit(pool, gate, &s);
            ASSERT_TRUE(code == 0 || code == PILFER_EFULL) << pilfer_strerror(code);
        }
        while (pilfer_submit(pool, task, &s) == 0) {
            ++accepted;
        }
        EXPECT_LE(accepted, 2U);
        pilfer_future* future = nullptr;
        EXPECT_EQ(pilfer_submit_with(pool, called("x"), task, &s), PILFER_EFULL);
        EXPECT_EQ(pilfer_pool_run(pool, task, &s), PILFER_EFULL);
        EXPECT_EQ(pilfer_async(pool, value, &s, &future), PILFER_EFULL);
        EXPECT_EQ(future, nullptr);
        s.open = true;
    }
    EXPECT_EQ(s.ran, accepted);
    const lock_pool waits(GetParam(), {{"queue_capacity", "1"}, {"when_full", "wait"}});
    for (unsigned i = 0; i < 50; ++i) {
        EXPECT_EQ(pilfer_submit(waits, task, &s), 0);
    }
    EXPECT_TRUE(eventually([&] { return s.ran == accepted + 50; }));
}

TEST_P(c_locks_over_workers, a_task_has_a_name_and_a_scope_a_limit) {
    const lock_pool pool(GetParam());
    const auto name = [](void*) -> void* {
        return new std::string(pilfer_task_name() != nullptr ? pilfer_task_name() : "nobody");
    };
    const auto named = [&](const char* text) {
        pilfer_future* future = nullptr;
        EXPECT_EQ(text != nullptr ? pilfer_async_with(pool, called(text), name, nullptr, &future)
                                  : pilfer_async(pool, name, nullptr, &future),
                  0);
        void* result = nullptr;
        EXPECT_EQ(pilfer_future_get(future, &result), 0);
        pilfer_future_free(future);
        const std::unique_ptr<std::string> said(static_cast<std::string*>(result));
        return *said;
    };
    EXPECT_EQ(pilfer_task_name(), nullptr);
    EXPECT_EQ(named("a reader"), "a reader");
    EXPECT_EQ(named(nullptr), "nobody");
    struct state {
        pilfer_event go_on;
        std::atomic<unsigned> ran{0};
    } s;
    ASSERT_EQ(pilfer_event_init(&s.go_on, 0), 0);
    const auto right = [](void* p) {
        static_cast<state*>(p)->ran += std::string("writer") == pilfer_task_name() ? 1 : 0;
    };
    EXPECT_EQ(pilfer_submit_with(pool, called("writer"), right, &s), 0);
    EXPECT_TRUE(eventually([&] { return s.ran == 1; }));
    const auto scoped = [](void* p) {
        const auto child = [](void* q) {
            auto* const all = static_cast<state*>(q);
            (void)pilfer_event_wait(&all->go_on);
            all->ran.fetch_add(1);
        };
        auto* const all = static_cast<state*>(p);
        pilfer_scope scope;
        EXPECT_EQ(pilfer_scope_begin(&scope), 0);
        EXPECT_EQ(pilfer_scope_sync_for(&scope, 0), 0);
        EXPECT_EQ(pilfer_scope_fork(&scope, child, all), 0);
        EXPECT_EQ(pilfer_scope_sync_for(&scope, 1000), PILFER_ETIMEDOUT);
        EXPECT_EQ(pilfer_event_set(&all->go_on), 0);
        EXPECT_EQ(pilfer_scope_sync_for(&scope, UINT64_MAX), 0);
        EXPECT_EQ(all->ran, 2U);
        EXPECT_EQ(pilfer_scope_end(&scope), 0);
    };
    EXPECT_EQ(pilfer_pool_run(pool, scoped, &s), 0);
    pilfer_event_destroy(&s.go_on);
}

PILFER_OVER_WORKERS(c_locks_over_workers);

TEST(c_locks, bad_input) {
    const watchdog end(patience);
    const lock_pool pool(1);
    pilfer_barrier barrier;
    const auto task = [](void*) {};
    const auto value = [](void*) -> void* { return nullptr; };
    for (const int code : {pilfer_shared_mutex_init(nullptr),
                           pilfer_shared_mutex_lock(nullptr),
                           pilfer_shared_mutex_try_lock(nullptr),
                           pilfer_shared_mutex_lock_for(nullptr, 1),
                           pilfer_shared_mutex_unlock(nullptr),
                           pilfer_shared_mutex_lock_shared(nullptr),
                           pilfer_shared_mutex_try_lock_shared(nullptr),
                           pilfer_shared_mutex_lock_shared_for(nullptr, 1),
                           pilfer_shared_mutex_unlock_shared(nullptr),
                           pilfer_barrier_init(nullptr, 1, nullptr, nullptr),
                           pilfer_barrier_init(&barrier, -1, nullptr, nullptr),
                           pilfer_barrier_init(&barrier, PTRDIFF_MIN, task, nullptr),
                           pilfer_barrier_arrive(nullptr, 1, nullptr),
                           pilfer_barrier_arrive(&barrier, 0, nullptr),
                           pilfer_barrier_arrive(&barrier, -1, nullptr),
                           pilfer_barrier_wait(nullptr, 0),
                           pilfer_barrier_wait_for(nullptr, 0, 1),
                           pilfer_barrier_arrive_and_wait(nullptr),
                           pilfer_barrier_arrive_and_drop(nullptr),
                           pilfer_scope_sync_for(nullptr, 1),
                           pilfer_submit_with(nullptr, called("x"), task, nullptr),
                           pilfer_submit_with(pool, called(""), task, nullptr),
                           pilfer_submit_with(pool, called("a\nb"), task, nullptr),
                           pilfer_submit_with(pool, called("x"), nullptr, nullptr),
                           pilfer_submit_with(pool, called(std::string(256, 'x').c_str()), task, nullptr),
                           pilfer_async_with(pool, called("x"), value, nullptr, nullptr)}) {
        EXPECT_EQ(code, PILFER_EINVAL);
    }
    for (const char* const name : {"", "\t"}) {
        auto* future = reinterpret_cast<pilfer_future*>(&barrier);
        EXPECT_EQ(pilfer_async_with(pool, called(name), value, nullptr, &future), PILFER_EINVAL);
        EXPECT_EQ(future, nullptr);
    }
    pilfer_shared_mutex_destroy(nullptr);
    pilfer_barrier_destroy(nullptr);
    pilfer_options* options = nullptr;
    ASSERT_EQ(pilfer_options_new(&options), 0);
    for (const auto& [name, text] :
         {std::pair{"when_full", "grows"}, std::pair{"when_full", ""}, std::pair{"queue_capacity", "many"},
          std::pair{"queue_capacity", "-1"}}) {
        EXPECT_EQ(pilfer_options_set(options, name, text), PILFER_EINVAL);
        EXPECT_NE(std::string(pilfer_options_error(options)).find(name), std::string::npos);
    }
    pilfer_pool* none = nullptr;
    EXPECT_EQ(pilfer_options_set(options, "queue_capacity", "0"), 0);
    EXPECT_EQ(pilfer_pool_new(&none, options), PILFER_EINVAL);
    EXPECT_EQ(none, nullptr);
    pilfer_options_free(options);
}

} // namespace
