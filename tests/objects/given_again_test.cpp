// What was given under a lock is stopped behind the unlock, once and for all: the parent may lock again. Row
// D6.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>

#include <pilfer/pilfer.hpp>

#include "support/harness.hpp"

namespace {

using namespace std::chrono_literals;

class row_D6_given_again : public testing::TestWithParam<unsigned> {
protected:
    support::watchdog limit{support::patience};
    pilfer::pool pool{{.workers = GetParam()}};
};
INSTANTIATE_TEST_SUITE_P(workers, row_D6_given_again, testing::Values(1U, 2U, 3U, 8U));

/// Everything that a task may wait for, and that nobody brings.
struct nothing {
    pilfer::pool& pool;
    pilfer::event never;
    pilfer::promise<int> promise;
    pilfer::future<int> future = promise.get_future();
    pilfer::channel<int> empty{1};
    pilfer::channel<int> full{1};
    pilfer::counting_semaphore<> none{0};
    pilfer::latch latch{1};
    pilfer::barrier<> barrier{2};
    pilfer::monitor<int> object{0};
    pilfer::mutex taken;
    pilfer::shared_mutex taken_shared;

    explicit nothing(pilfer::pool& p) : pool(p) { (void)full.send(1); }

    static constexpr int kinds = 18;
    /// Returns only where it was not stopped and has not got it, but for the last two, which may end rightly.
    void wait_for(int kind) {
        switch (kind) {
        case 0:
            return never.wait();
        case 1:
            return future.wait();
        case 2:
            return (void)future.get();
        case 3:
            return (void)empty.receive();
        case 4:
            return (void)full.send(2);
        case 5:
            return none.acquire();
        case 6:
            return latch.wait();
        case 7:
            return pilfer::sleep_for(1h);
        case 8:
            return object.call_when([](int) { return false; }, [](int&) {});
        case 9: {
            pilfer::mutex m;
            pilfer::condition_variable c;
            std::unique_lock lock(m);
            return c.wait(lock);
        }
        case 10:
            return taken.lock_cancellable();
        case 11:
            return taken_shared.lock_cancellable();
        case 12:
            return taken_shared.lock_shared_cancellable();
        case 13:
            return (void)barrier.arrive_and_wait();
        case 14:
            return (void)never.wait_for(1h);
        case 15:
            return pool.run([](pilfer::event& e) -> pilfer::task<void> { co_await e; }(never));
        case 16: { // children of its own, which have been stopped
            pilfer::scope below;
            below.spawn([&] { never.wait(); });
            return below.sync();
        }
        default: { // a branch that may have been stolen
            (void)pilfer::join([&] { never.wait(); }, [&] { never.wait(); });
        }
        }
    }
};

// The unlock takes it out of its wait, and the lock is held again before it goes on.
TEST_P(row_D6_given_again, leaves_its_wait_by_stopped) {
    for (int kind = 0; kind < nothing::kinds; ++kind) {
        for (std::uint64_t round = 0; round < support::hundredth_of(500); ++round) {
            std::atomic<bool> stopped{false};
            pool.run([&] {
                nothing all(pool);
                pilfer::scope holder;
                pilfer::event locked;
                pilfer::event over;
                holder.spawn([&] {
                    const std::scoped_lock both(all.taken, all.taken_shared);
                    locked.set();
                    over.wait();
                });
                locked.wait();
                {
                    pilfer::mutex m;
                    pilfer::event began;
                    pilfer::scope own;
                    m.lock();
                    own.spawn([&] {
                        began.set();
                        try {
                            all.wait_for(kind);
                            ADD_FAILURE() << "goes on, kind " << kind;
                        } catch (const pilfer::stopped&) {
                            stopped = true;
                            throw;
                        }
                    });
                    began.wait();
                    own.cancel();
                    m.unlock();
                    m.lock();
                    (void)own.sync_for(1ms); // who has not begun to wait waits on
                    m.unlock();
                    own.sync();
                }
                over.set();
                holder.sync();
            });
            ASSERT_TRUE(stopped) << "kind " << kind;
        }
    }
}

// Its scope's destructor has awaited children that were stopped: it must not go on without what they were to
// bring.
TEST_P(row_D6_given_again, is_stopped_behind_a_scope_that_nobody_synced) {
    for (std::uint64_t round = 0; round < support::hundredth_of(2'000); ++round) {
        std::atomic<bool> stopped{false};
        pool.run([&] {
            pilfer::mutex m;
            pilfer::event began;
            pilfer::event never;
            pilfer::scope own;
            m.lock();
            own.spawn([&] {
                {
                    pilfer::scope below;
                    below.spawn([&] {
                        began.set();
                        never.wait();
                    });
                }
                stopped = pilfer::cancelled();
            });
            began.wait();
            own.cancel();
            m.unlock();
            m.lock();
            (void)own.sync_for(1ms);
            m.unlock();
            own.sync();
        });
        ASSERT_TRUE(stopped);
    }
}

// The lock is free while a condition is awaited. Either a child has all of its results, or it is stopped.
TEST_P(row_D6_given_again, all_or_nothing_around_a_condition) {
    for (std::uint64_t round = 0; round < support::hundredth_of(6'000); ++round) {
        std::atomic<int> ends{0};
        pool.run([&] {
            pilfer::mutex m;
            pilfer::condition_variable c;
            int turns = 0;
            pilfer::scope others;
            pilfer::scope own;
            std::unique_lock lock(m);
            others.spawn([&] {
                for (int i = 0; i < 5; ++i) {
                    const std::lock_guard guard(m);
                    ++turns;
                    c.notify_one();
                }
            });
            own.spawn([&] {
                std::atomic<int> got{0};
                try {
                    pilfer::scope below;
                    for (int i = 0; i < 4; ++i) {
                        below.spawn([&] {
                            pilfer::sleep_for(100us);
                            ++got;
                        });
                    }
                    below.sync();
                    EXPECT_EQ(got, 4);
                    ++ends;
                } catch (const pilfer::stopped&) {
                    ++ends;
                    throw;
                }
            });
            own.cancel();
            c.wait(lock, [&] { return turns >= 1; });
            own.sync();
            lock.unlock();
            others.sync();
        });
        EXPECT_LE(ends, 1); // 0: it has not begun before the condition
    }
}

// One permit, which keeps others out: nobody passes without it.
TEST_P(row_D6_given_again, nobody_passes_a_semaphore_without_a_permit) {
    for (std::uint64_t round = 0; round < support::hundredth_of(5'000); ++round) {
        std::atomic<int> inside{0};
        pool.run([&] {
            pilfer::counting_semaphore<> one(1);
            pilfer::mutex m;
            pilfer::scope own;
            one.acquire();
            ++inside;
            m.lock();
            for (int i = 0; i < 4; ++i) {
                own.spawn([&] {
                    one.acquire();
                    EXPECT_EQ(++inside, 1);
                    --inside;
                    one.release();
                });
            }
            own.cancel();
            m.unlock();
            m.lock();
            pilfer::yield();
            m.unlock();
            own.sync();
            --inside;
            one.release();
        });
    }
}

// A child of a scope that began under the first lock, and from before the second one.
TEST_P(row_D6_given_again, a_second_lock_takes_nothing_away) {
    for (const bool second : {false, true}) {
        std::atomic<int> ran{0};
        pool.run([&] {
            pilfer::mutex a;
            pilfer::mutex b;
            pilfer::event go;
            pilfer::scope own;
            own.cancel();
            a.lock();
            pilfer::scope younger;
            younger.spawn([&] {
                go.wait();
                own.fork([&] { ++ran; });
            });
            if (second) {
                b.lock();
            }
            go.set();
            younger.sync();
            own.sync();
            if (second) {
                b.unlock();
            }
            a.unlock();
        });
        EXPECT_EQ(ran, 1) << "second lock " << second;
    }
}

// What another pool runs for a branch of the holder's gives as a stranger, and goes up through none of the
// scopes that end meanwhile.
TEST_P(row_D6_given_again, another_pool_gives_while_scopes_end_out_of_turn) {
    pilfer::pool other({.workers = 1});
    for (std::uint64_t round = 0; round < support::hundredth_of(5'000); ++round) {
        pool.run([&] {
            pilfer::mutex m;
            pilfer::scope own;
            std::array<std::unique_ptr<pilfer::scope>, 8> middle;
            for (auto& s : middle) {
                s = std::make_unique<pilfer::scope>();
            }
            const pilfer::scope innermost;
            std::atomic<bool> began{false};
            std::atomic<bool> over{false};
            const std::lock_guard guard(m);
            (void)pilfer::join(
                [&] {
                    for (int i = 0; i < 3000 && !began; ++i) {
                        pilfer::yield();
                    }
                    for (auto& s : middle) {
                        s.reset();
                    }
                    over = true;
                },
                [&] {
                    other.run([&] {
                        began = true;
                        for (int i = 0; i < 300 && !over; ++i) {
                            own.fork([] {});
                        }
                    });
                });
            own.sync();
        });
    }
}

} // namespace
