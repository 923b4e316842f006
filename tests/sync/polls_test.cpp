// Loops of waits whose time is over before they begin. The awaited event may need the asking worker.
#include <gtest/gtest.h>

#include <unistd.h>

#include <atomic>
#include <mutex>
#include <optional>
#include <system_error>

#include "sync/support.hpp"

namespace {

using namespace sync_tests;

class polling_waits : public over_workers {
protected:
    /// body() in a task of a pool with contexts for all, and of one in which children run on top of it.
    template <class Body>
    void in_pools(Body body) {
        for (const unsigned contexts : {0U, 1U}) {
            pilfer::options o = with_workers();
            o.max_contexts = contexts;
            pilfer::pool pool(o);
            pool.run(body);
        }
    }
};

TEST_P(polling_waits, of_a_scope_run_its_children) {
    in_pools([] {
        std::atomic<int> ran{0};
        pilfer::scope s;
        for (int i = 0; i < 10; ++i) {
            s.fork([&] {
                s.fork([&] { ran.fetch_add(1); });
                ran.fetch_add(1);
            });
        }
        while (!s.sync_for(0ns)) {
        }
        EXPECT_EQ(ran, 20);
    });
}

TEST_P(polling_waits, of_a_future_run_its_task) {
    in_pools([] {
        auto f = pilfer::async([] { return 7; });
        while (f.wait_for(-1s) != pilfer::future_status::ready) {
        }
        EXPECT_EQ(f.get(), 7);
        auto g = pilfer::async([] { return 8; });
        while (g.wait_until(std::chrono::steady_clock::now()) != pilfer::future_status::ready) {
        }
        EXPECT_EQ(g.get(), 8);
    });
}

TEST_P(polling_waits, of_primitives_run_the_task_that_ends_them) {
    in_pools([] {
        pilfer::event e;
        pilfer::latch l(1);
        pilfer::counting_semaphore<> permits(0);
        pilfer::channel<int> values(1);
        auto f = pilfer::async([&] {
            e.set();
            l.count_down();
            permits.release();
            EXPECT_TRUE(values.send(3));
        });
        while (!e.wait_for(0ns)) {
        }
        while (!l.wait_for(0ns)) {
        }
        while (!permits.try_acquire_for(0ns)) {
        }
        std::optional<int> value;
        while (!value) {
            value = values.try_receive_for(0ns);
        }
        EXPECT_EQ(value, 3);
        f.get();
    });
}

TEST_P(polling_waits, of_a_barrier_and_of_a_condition) {
    in_pools([] {
        pilfer::barrier<> meets(2);
        pilfer::mutex m;
        pilfer::condition_variable changed;
        bool holds = false;
        auto f = pilfer::async([&] {
            (void)meets.arrive();
            const std::lock_guard lock(m);
            holds = true;
        });
        const auto mine = meets.arrive();
        while (!meets.wait_for(mine, 0ns)) {
        }
        std::unique_lock lock(m);
        while (!changed.wait_for(lock, 0ns, [&] { return holds; })) {
        }
        EXPECT_TRUE(holds);
        lock.unlock();
        f.get();
    });
}

TEST_P(polling_waits, of_a_pipe_run_the_writer) {
    in_pools([] {
        int ends[2];
        ASSERT_EQ(pipe(ends), 0);
        auto f = pilfer::async([&] { EXPECT_EQ(write(ends[1], "x", 1), 1); });
        while (pilfer::io::wait_readable(ends[0], 0ns)) {
        }
        f.get();
        close(ends[0]);
        close(ends[1]);
    });
}

/// A holder has a stack, and resumes after the poll.
template <class Lock>
void poll_beside_a_holder() {
    Lock m;
    pilfer::event holds;
    bool went_on = false;
    auto f = pilfer::async([&] {
        m.lock();
        holds.set();
        for (int i = 0; i < 10; ++i) {
            pilfer::yield();
        }
        went_on = true;
        m.unlock();
    });
    holds.wait();
    while (!m.try_lock_for(0ns)) {
    }
    EXPECT_TRUE(went_on);
    m.unlock();
    f.get();
}

TEST_P(polling_waits, of_locks_let_their_holder_run) {
    pilfer::pool pool(with_workers());
    pool.run([] {
        poll_beside_a_holder<pilfer::mutex>();
        poll_beside_a_holder<pilfer::shared_mutex>();
    });
}

/// No task that may want the lock runs on top of its holder.
TEST_P(polling_waits, under_a_lock_reach_the_unlock) {
    in_pools([] {
        pilfer::mutex m;
        m.lock();
        bool had_it = false;
        auto f = pilfer::async([&] {
            const std::lock_guard lock(m);
            had_it = true;
        });
        for (int i = 0; i < 3; ++i) {
            EXPECT_EQ(f.wait_for(0ns), pilfer::future_status::timeout);
            pilfer::sleep_for(0ns);
        }
        EXPECT_FALSE(had_it);
        m.unlock();
        f.get();
        EXPECT_TRUE(had_it);
    });
}

TEST_P(polling_waits, of_a_descriptor_end_with_a_cancellation) {
    pilfer::pool pool(with_workers());
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    pool.run([&] {
        std::error_code how;
        std::atomic<bool> begun{false};
        pilfer::scope s;
        s.fork([&] {
            begun = true;
            do {
                how = pilfer::io::wait_readable(ends[0], 0ns);
            } while (how == std::errc::timed_out);
        });
        s.fork([&] {
            while (!begun) {
                pilfer::yield();
            }
            s.cancel();
        });
        s.sync();
        EXPECT_EQ(how, std::errc::operation_canceled) << how.message();
    });
    close(ends[0]);
    close(ends[1]);
}

TEST_P(polling_waits, by_sleeps_without_length) {
    in_pools([] {
        auto f = pilfer::async([] { return 1; });
        while (!f.ready()) {
            pilfer::sleep_for(0ns);
        }
        EXPECT_EQ(f.get(), 1);
    });
}

TEST_P(polling_waits, let_sleepers_wake) {
    pilfer::pool pool(with_workers());
    pool.run([] {
        int woken = 0;
        pilfer::scope s;
        s.fork([&] {
            pilfer::sleep_for(200us);
            ++woken;
        });
        while (!s.sync_for(0ns)) {
        }
        EXPECT_EQ(woken, 1);
        auto f = pilfer::async([&] {
            pilfer::sleep_for(200us);
            ++woken;
        });
        while (f.wait_for(0ns) != pilfer::future_status::ready) {
        }
        f.get();
        EXPECT_EQ(woken, 2);
    });
}

/// The poller may wait for a task that is submitted meanwhile.
TEST_P(polling_waits, let_submissions_run) {
    pilfer::pool pool(with_workers());
    pilfer::event begun;
    pilfer::event told;
    auto f = pool.async([&] {
        begun.set();
        int polls = 0;
        while (!told.wait_for(0ns)) {
            ++polls;
        }
        return polls;
    });
    begun.wait();
    pool.run([&] { told.set(); }); // with one worker by the poller's, or never
    EXPECT_GE(f.get(), GetParam() == 1 ? 1 : 0);
}

/// Outside of every pool it is the system's threads that run.
TEST_P(polling_waits, of_threads_outside) {
    pilfer::pool pool(with_workers());
    auto f = pool.async([] { return 5; });
    while (f.wait_for(0ns) != pilfer::future_status::ready) {
    }
    EXPECT_EQ(f.get(), 5);
}

PILFER_OVER_WORKERS(polling_waits);

} // namespace
