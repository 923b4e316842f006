// Coroutines that wait for shared mutexes, semaphores and condition variables.
#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <shared_mutex>
#include <thread>
#include <vector>

#include "coroutine/cancelled.hpp"
#include "sync/support.hpp"

namespace {

using namespace coroutine_tests;

class coroutine_shared_locks : public over_workers {};
class coroutine_semaphores : public over_workers {};
class coroutine_conditions : public over_workers {};
class coroutine_lock_kinds_cancel : public in_a_pool {};
INSTANTIATE_TEST_SUITE_P(workers, coroutine_lock_kinds_cancel, testing::Values(1U, 2U, 3U, 8U));

void get_all(std::vector<pilfer::future<void>>& all) {
    for (auto& f : all) {
        f.get();
    }
}

// ---- shared mutexes ---------------------------------------------------------------------------

struct shared_count {
    pilfer::shared_mutex mutex;
    long count = 0;
    std::atomic<int> readers{0};
    std::atomic<int> most_readers{0};
    std::atomic<bool> writes{false};

    void begin_write() {
        EXPECT_FALSE(writes.exchange(true)) << "two writers";
        EXPECT_EQ(readers, 0);
    }
    void end_write() {
        ++count;
        writes = false;
    }
    void begin_read() {
        EXPECT_FALSE(writes);
        const int now = ++readers;
        int most = most_readers;
        while (most < now && !most_readers.compare_exchange_weak(most, now)) {
        }
    }
    void end_read() { --readers; }
};

task<> writes_to(pilfer::pool& p, shared_count& c, int rounds) {
    for (int i = 0; i < rounds; ++i) {
        const auto guard = co_await pilfer::scoped_lock(c.mutex);
        c.begin_write();
        if (i % 4 == 0) {
            co_await p.schedule();
        }
        c.end_write();
    }
}
task<> reads_from(pilfer::pool& p, shared_count& c, int rounds) {
    for (int i = 0; i < rounds; ++i) {
        const auto guard = co_await pilfer::scoped_lock_shared(c.mutex);
        c.begin_read();
        if (i % 4 == 0) {
            co_await p.schedule();
        }
        c.end_read();
    }
}

TEST_P(coroutine_shared_locks, exclude_writers_from_all) {
    pilfer::pool pool(with_workers());
    shared_count c;
    const int rounds = static_cast<int>(hundredth_of(10'000));
    std::vector<pilfer::future<void>> all;
    for (int i = 0; i < 5; ++i) {
        all.push_back(pool.async(writes_to(pool, c, rounds)));
        all.push_back(pool.async(reads_from(pool, c, rounds)));
    }
    sync_tests::all_at_once(pool, 4, 2, [&](unsigned id) {
        for (int i = 0; i < rounds; ++i) {
            if (id % 2 == 0) {
                const std::lock_guard guard(c.mutex);
                c.begin_write();
                c.end_write();
            } else {
                const std::shared_lock guard(c.mutex);
                c.begin_read();
                c.end_read();
            }
        }
    });
    get_all(all);
    EXPECT_EQ(c.count, 8L * rounds);
    EXPECT_TRUE(c.mutex.try_lock());
    c.mutex.unlock();
}

TEST_P(coroutine_shared_locks, readers_hold_it_together) {
    pilfer::pool pool(with_workers());
    pilfer::shared_mutex m;
    pilfer::event all_in;
    std::atomic<int> in{0};
    const auto reads = [](pilfer::shared_mutex& mutex, pilfer::event& all, std::atomic<int>& n) -> task<> {
        const auto guard = co_await pilfer::scoped_lock_shared(mutex);
        if (++n == 10) {
            all.set();
        }
        co_await all;
        EXPECT_FALSE(mutex.try_lock());
    };
    m.lock(); // so that all wait
    std::vector<pilfer::future<void>> all;
    for (int i = 0; i < 10; ++i) {
        all.push_back(pool.async(reads(m, all_in, in)));
    }
    m.unlock();
    get_all(all);
    EXPECT_TRUE(m.try_lock());
    m.unlock();
}

PILFER_OVER_WORKERS(coroutine_shared_locks);

/// A reader behind a writer that is taken out goes on with the reader before it.
TEST_P(coroutine_lock_kinds_cancel, a_writer_that_leaves_lets_readers_go_on) {
    pool.run([&] {
        pilfer::shared_mutex m;
        pilfer::event writer_waits;
        std::atomic<bool> had{false};
        m.lock_shared();
        pilfer::scope s;
        s.fork([&] {
            pool.run([](pilfer::shared_mutex& mutex, pilfer::event& e, std::atomic<bool>& got) -> task<> {
                e.set();
                const auto guard = co_await pilfer::scoped_lock(mutex);
                got = true;
            }(m, writer_waits, had));
        });
        writer_waits.wait();
        pilfer::sleep_for(100us);
        const auto reader = pool.async([](pilfer::shared_mutex& mutex) -> task<> {
            const auto guard = co_await pilfer::scoped_lock_shared(mutex);
        }(m));
        pilfer::sleep_for(100us);
        s.cancel();
        s.sync();
        reader.get(); // hangs if nobody lets it go on
        EXPECT_FALSE(had);
        m.unlock_shared();
        EXPECT_TRUE(m.try_lock());
        m.unlock();
    });
}

// ---- semaphores -------------------------------------------------------------------------------

TEST_P(coroutine_semaphores, admit_so_many) {
    pilfer::pool pool(with_workers());
    pilfer::counting_semaphore<> s(3);
    std::atomic<int> inside{0};
    std::atomic<int> done{0};
    const auto one = [](pilfer::pool& p, pilfer::counting_semaphore<>& sem, std::atomic<int>& in,
                        std::atomic<int>& n) -> task<> {
        for (int i = 0; i < 20; ++i) {
            co_await pilfer::acquire(sem);
            EXPECT_LE(++in, 3);
            co_await p.schedule();
            --in;
            ++n;
            sem.release();
        }
    };
    std::vector<pilfer::future<void>> all;
    for (int i = 0; i < 10; ++i) {
        all.push_back(pool.async(one(pool, s, inside, done)));
    }
    std::thread outside([&] {
        for (int i = 0; i < 20; ++i) {
            s.acquire();
            EXPECT_LE(++inside, 3);
            --inside;
            s.release();
        }
    });
    get_all(all);
    outside.join();
    EXPECT_EQ(done, 200);
    for (int i = 0; i < 3; ++i) {
        EXPECT_TRUE(s.try_acquire());
    }
    EXPECT_FALSE(s.try_acquire());
}

PILFER_OVER_WORKERS(coroutine_semaphores);

/// A release and a cancellation at once: the permit is taken or still there.
TEST_P(coroutine_lock_kinds_cancel, no_permit_is_lost) {
    for (std::uint64_t round = 0; round < hundredth_of(50'000); ++round) {
        pool.run([&] {
            pilfer::binary_semaphore sem(0);
            std::atomic<bool> begun{false};
            bool got = false;
            pilfer::scope s;
            s.fork([&] {
                pool.run([](pilfer::binary_semaphore& b, std::atomic<bool>& begins, bool& has) -> task<> {
                    begins = true;
                    co_await pilfer::acquire(b);
                    has = true;
                }(sem, begun, got));
            });
            until([&] { return begun.load(); });
            const auto done = pilfer::async([&] { sem.release(); });
            for (std::atomic<std::uint64_t> i{0}; i < round * 37 % 400;) {
                ++i;
            }
            s.cancel();
            s.sync();
            done.get();
            EXPECT_EQ(sem.try_acquire(), !got);
        });
    }
}

// ---- conditions -------------------------------------------------------------------------------

struct bounded {
    pilfer::mutex mutex;
    pilfer::condition_variable not_full;
    pilfer::condition_variable not_empty;
    std::vector<int> items;
    static constexpr std::size_t capacity = 2;
};

task<> puts(bounded& b, int from, int count) {
    for (int i = 0; i < count; ++i) {
        auto guard = co_await pilfer::scoped_lock(b.mutex);
        while (b.items.size() == bounded::capacity) {
            co_await pilfer::wait(b.not_full, guard);
            EXPECT_TRUE(guard.owns_lock());
        }
        b.items.push_back(from + i);
        b.not_empty.notify_one();
    }
}
task<long> takes(bounded& b, int count) {
    long sum = 0;
    for (int i = 0; i < count; ++i) {
        auto guard = co_await pilfer::scoped_lock(b.mutex);
        while (b.items.empty()) {
            co_await pilfer::wait(b.not_empty, guard);
        }
        sum += b.items.back();
        b.items.pop_back();
        guard.unlock();
        b.not_full.notify_one();
    }
    co_return sum;
}

TEST_P(coroutine_conditions, carry_a_bounded_buffer) {
    pilfer::pool pool(with_workers());
    bounded b;
    std::vector<pilfer::future<void>> producers;
    std::vector<pilfer::future<long>> consumers;
    for (int i = 0; i < 4; ++i) {
        producers.push_back(pool.async(puts(b, 100 * i, 50)));
        consumers.push_back(pool.async(takes(b, 50)));
    }
    long sum = 0;
    std::thread thread_consumer([&] {
        for (int i = 0; i < 50; ++i) {
            std::unique_lock lock(b.mutex);
            b.not_empty.wait(lock, [&] { return !b.items.empty(); });
            sum += b.items.back();
            b.items.pop_back();
            b.not_full.notify_one();
        }
    });
    const auto task_producer = pool.async([&] {
        for (int i = 0; i < 50; ++i) {
            std::unique_lock lock(b.mutex);
            b.not_full.wait(lock, [&] { return b.items.size() < bounded::capacity; });
            b.items.push_back(1000);
            b.not_empty.notify_one();
        }
    });
    get_all(producers);
    task_producer.get();
    thread_consumer.join();
    for (auto& f : consumers) {
        sum += f.get();
    }
    EXPECT_EQ(sum, 50L * (0 + 100 + 200 + 300) + 4 * (49 * 50 / 2) + 50L * 1000);
    EXPECT_TRUE(b.mutex.try_lock());
    b.mutex.unlock();
}

TEST_P(coroutine_conditions, need_a_lock_and_nothing_else) {
    pilfer::pool pool(with_workers());
    pool.run([]() -> task<> {
        pilfer::mutex m;
        pilfer::condition_variable c;
        pilfer::coroutine_lock<pilfer::mutex> none;
        bool refused = false;
        try {
            co_await pilfer::wait(c, none);
        } catch (const pilfer::usage_error&) {
            refused = true;
        }
        EXPECT_TRUE(refused);
        auto guard = co_await pilfer::scoped_lock(m);
        pilfer::mutex plain;
        refused = false;
        try {
            const std::lock_guard own(plain);
            co_await pilfer::wait(c, guard);
        } catch (const pilfer::usage_error&) {
            refused = true;
        }
        EXPECT_TRUE(refused);
        EXPECT_TRUE(guard.owns_lock());
        EXPECT_FALSE(m.try_lock()) << "it unlocked before it threw";
    }());
}

PILFER_OVER_WORKERS(coroutine_conditions);

/// The lock is locked when `stopped` comes.
TEST_P(coroutine_lock_kinds_cancel, a_condition_is_left_with_the_lock) {
    for (int round = 0; round < 20; ++round) {
        pool.run([&] {
            pilfer::mutex m;
            pilfer::condition_variable c;
            std::atomic<int> waiting{0};
            int left = 0; // under the lock
            pilfer::scope s;
            for (int i = 0; i < 4; ++i) {
                s.fork([&] {
                    pool.run([](pilfer::mutex& mutex, pilfer::condition_variable& cv, std::atomic<int>& n,
                                int& out) -> task<> {
                        auto guard = co_await pilfer::scoped_lock(mutex);
                        ++n;
                        try {
                            co_await pilfer::wait(cv, guard);
                            ADD_FAILURE() << "nobody notifies";
                        } catch (const pilfer::stopped&) {
                            EXPECT_TRUE(guard.owns_lock());
                            EXPECT_FALSE(mutex.try_lock());
                            ++out;
                            throw;
                        }
                    }(m, c, waiting, left));
                });
            }
            until([&] { return waiting == 4; });
            {
                const std::lock_guard all_wait(m); // the last one has unlocked
            }
            s.cancel();
            s.sync();
            EXPECT_EQ(left, 4);
            EXPECT_TRUE(m.try_lock());
            m.unlock();
        });
    }
}

/// A notification and a cancellation at once: the notification reaches exactly one waiter.
TEST_P(coroutine_lock_kinds_cancel, no_notification_is_lost) {
    for (std::uint64_t round = 0; round < hundredth_of(50'000); ++round) {
        pool.run([&] {
            pilfer::mutex m;
            pilfer::condition_variable c;
            int notified = 0;
            std::atomic<int> waiting{0};
            const auto waits = [](pilfer::mutex& mutex, pilfer::condition_variable& cv, std::atomic<int>& n,
                                  int& out) -> task<> {
                auto guard = co_await pilfer::scoped_lock(mutex);
                ++n;
                co_await pilfer::wait(cv, guard);
                ++out;
            };
            const auto stays = [&] { return pool.async(waits(m, c, waiting, notified)); };
            pilfer::scope s;
            s.fork([&] { pool.run(waits(m, c, waiting, notified)); });
            until([&] { return waiting == 1; });
            const auto second = stays(); // in no scope
            until([&] { return waiting == 2; });
            { const std::lock_guard both_wait(m); }
            const auto done = pilfer::async([&] { c.notify_one(); });
            for (std::atomic<std::uint64_t> i{0}; i < round * 37 % 400;) {
                ++i;
            }
            s.cancel();
            s.sync();
            done.get();
            {
                const std::lock_guard guard(m);
                if (notified == 1 && !second.ready()) {
                    c.notify_one(); // the first one had it
                }
            }
            second.get(); // hangs if the notification went to the one that left
            EXPECT_GE(notified, 1);
            EXPECT_LE(notified, 2);
        });
    }
}

} // namespace
