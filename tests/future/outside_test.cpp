// Futures of threads outside the pool: the bounds of their kept memory, and the look before such a thread
// blocks.
#include <gtest/gtest.h>

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>
#include <thread>
#include <vector>

#include <pilfer/pilfer.hpp>

#include "pool/pool_core.hpp"
#include "support/harness.hpp"
#include "wait/short_wait.hpp"

namespace {

std::atomic<long> news{0};
std::atomic<long> deletes{0};

} // namespace

#if defined(PILFER_SANITIZED)
constexpr bool counts = false; // sanitizers have an operator new of their own, and nothing is kept under some
#else
constexpr bool counts = true;
[[gnu::noinline]] void* operator new(std::size_t n) {
    if (void* p = std::malloc(n != 0 ? n : 1)) {
        news.fetch_add(1);
        return p;
    }
    throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* p) noexcept {
    deletes.fetch_add(p != nullptr ? 1 : 0);
    std::free(p);
}
[[gnu::noinline]] void operator delete(void* p, std::size_t) noexcept { operator delete(p); }
#endif

namespace {

using namespace support;

[[nodiscard]] long alive() { return news.load() - deletes.load(); }

/// When this returns, the worker has returned its objects of earlier tasks.
void settle(pilfer::pool& one_worker) {
    one_worker.run([] {});
}

void get_all(pilfer::pool& pool, std::vector<pilfer::future<int>>& futures, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) {
        futures.push_back(pool.async([] { return 1; }));
    }
    int sum = 0;
    for (auto& f : futures) {
        sum += f.get();
    }
    EXPECT_EQ(sum, static_cast<int>(n));
    settle(pool);
    futures.clear(); // the last references are this thread's
}

class futures_outside : public guarded {};

TEST_F(futures_outside, a_thread_reuses_futures_that_it_has_dropped) {
    pilfer::pool pool(workers(1));
    std::vector<pilfer::future<int>> futures;
    futures.reserve(3'000);
    for (const std::size_t n : {1U, 31U, 32U, 33U, 255U, 256U, 257U, 2'000U}) {
        get_all(pool, futures, n);
        const long before = news.load();
        for (int round = 0; round < 3; ++round) {
            get_all(pool, futures, n);
        }
        if (counts) {
            EXPECT_EQ(news.load(), before) << n;
        }
    }
}

TEST_F(futures_outside, a_thread_keeps_a_bounded_number_of_futures) {
    pilfer::pool pool(workers(1));
    std::vector<pilfer::future<int>> futures;
    futures.reserve(20'000);
    const long before = alive();
    get_all(pool, futures, 20'000);
    if (counts) {
        EXPECT_LE(alive() - before, 65 * 32 + 256) << "64 batches for all threads, 8 of its own";
    }
}

/// Its futures end on workers. Those beyond the workers' limit return to the submitting threads.
TEST_F(futures_outside, a_thread_that_only_submits_is_supplied_by_the_workers) {
    pilfer::pool pool(workers(1));
    const auto round = [&] {
        std::atomic<bool> go_on{false}; // so that all end on the worker
        (void)pool.async([&] {
            while (!go_on) {
                std::this_thread::yield();
            }
        });
        for (int i = 0; i < 1'000; ++i) {
            (void)pool.async([] {});
        }
        go_on = true;
        settle(pool);
    };
    for (int warm = 0; warm < 10; ++warm) {
        round();
    }
    const long before = news.load();
    round();
    round();
    if (counts) {
        EXPECT_EQ(news.load(), before);
    }
}

TEST_F(futures_outside, the_end_of_a_thread_returns_its_futures) {
    pilfer::pool pool(workers(1));
    std::vector<pilfer::future<int>> futures;
    futures.reserve(200);
    const auto on_a_thread = [&] { std::thread([&] { get_all(pool, futures, 200); }).join(); };
    for (int i = 0; i < 20; ++i) {
        on_a_thread(); // takes the objects that earlier tests have left for all threads: at most 64 batches
    }
    const long before = alive();
    for (int i = 0; i < 5; ++i) {
        on_a_thread();
        if (counts) {
            EXPECT_EQ(alive(), before);
        }
    }
}

/// Destructors of thread-specific data run in the order of their keys: this one after the library's.
TEST_F(futures_outside, futures_dropped_after_the_end_of_their_thread_are_not_kept) {
    pilfer::pool pool(workers(1));
    pool.async([] {}).get(); // the library's key is there
    pthread_key_t key;
    ASSERT_EQ(pthread_key_create(&key, [](void* f) { delete static_cast<pilfer::future<int>*>(f); }), 0);
    const auto on_a_thread = [&] {
        std::thread([&] {
            auto* f = new pilfer::future<int>(pool.async([] { return 7; }));
            EXPECT_EQ(f->get(), 7);
            settle(pool);
            pool.async([] {}).get();
            ASSERT_EQ(pthread_setspecific(key, f), 0);
        }).join();
        settle(pool);
    };
    on_a_thread();
    const long before = alive();
    on_a_thread();
    if (counts) {
        EXPECT_LE(alive(), before + 1) << "the last one may have ended on the worker";
    }
    EXPECT_EQ(pthread_key_delete(key), 0);
}

TEST_F(futures_outside, a_child_of_fork_uses_the_futures_that_its_thread_kept) {
    {
        pilfer::pool pool(workers(1));
        std::vector<pilfer::future<int>> futures;
        get_all(pool, futures, 600);
    }
    const pid_t child = fork();
    ASSERT_NE(child, -1);
    if (child == 0) {
        alarm(60);
        int sum = 0;
        {
            pilfer::pool pool(workers(2));
            std::vector<pilfer::future<int>> futures;
            for (int i = 0; i < 600; ++i) {
                futures.push_back(pool.async([] { return 1; }));
            }
            for (auto& f : futures) {
                sum += f.get();
            }
        }
        std::exit(sum == 600 ? 0 : 1); // by way of the destructors of statics
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

class short_waits : public guarded {
protected:
    /// How often a wait that ends with the look of number `over` looks; 0: it never ends.
    static int looks(int over) {
        int n = 0;
        const bool is_over = pilfer::detail::short_wait::is_over([&] { return ++n == over; });
        EXPECT_EQ(is_over, over != 0 && n == over);
        return n;
    }
    /// A thread that has never waited.
    template <class F>
    static void afresh(F f) {
        std::thread(f).join();
    }
    static bool alone() { return pilfer::os::affinity_cpus() == 1; }
};

TEST_F(short_waits, end_with_the_first_successful_look) {
    afresh([] {
        for (const int over : {1, 2, 5, 1}) {
            EXPECT_EQ(looks(over), alone() ? 0 : over);
        }
    });
}

TEST_F(short_waits, looks_become_rare_if_they_do_not_help) {
    if (alone()) {
        GTEST_SKIP() << "one CPU: nobody looks";
    }
    afresh([] {
        const int all = looks(0);
        EXPECT_GT(all, 4);
        EXPECT_LT(all, 16) << "each look takes the line away from who writes";
        EXPECT_EQ(looks(0), all);
        for (int again = 0; again < 3; ++again) {
            for (int i = 1; i < 32; ++i) {
                EXPECT_EQ(looks(0), 0);
            }
            EXPECT_EQ(looks(0), all) << "now and then";
        }
        for (int i = 1; i < 32; ++i) {
            EXPECT_EQ(looks(0), 0);
        }
        EXPECT_EQ(looks(1), 1);
        EXPECT_EQ(looks(0), all) << "it has helped again";
    });
}

} // namespace
