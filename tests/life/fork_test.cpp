// fork(). In the child the common pool is new, and a call of any other pool throws `pool_forked`.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <latch>
#include <optional>

#include <pilfer/pilfer.h>
#include <pilfer/threadpool.h>

#include "life/life.hpp"
#include "support/process.hpp"

namespace {

using life::checks;
using life::children_may_have_threads;
using life::fib;
using life::workers;
using support::in_child;

template <class F>
[[nodiscard]] bool forked(F f) {
    try {
        f();
    } catch (const pilfer::pool_forked&) {
        return true;
    } catch (...) {
    }
    return false;
}

class process_fork : public ::testing::Test {
protected:
    void SetUp() override {
        if (!children_may_have_threads) {
            GTEST_SKIP() << "ThreadSanitizer allows no threads in the child";
        }
    }
    support::watchdog m_end{120};
};

TEST_F(process_fork, every_call_of_the_parents_pool_throws_and_its_end_joins_nothing) {
    for (const unsigned n : {1U, 2U, 8U}) {
        auto p = std::make_unique<pilfer::pool>(workers(n));
        (void)p->run([] { return fib(10); });
        const auto r = in_child([&p] {
            checks c;
            c.that(forked([&] { p->run([] {}); }));
            c.that(forked([&] { (void)p->async([] {}); }));
            c.that(forked([&] { p->submit([] {}); }));
            c.that(forked([&] { (void)p->resize(1); }));
            c.that(forked([&] { p->shutdown(); }));
            c.that(forked([&] { p->shutdown(pilfer::shutdown_mode::drop); }));
            c.that(forked([&] { (void)pilfer::after(*p, std::chrono::milliseconds(1), [] {}); }));
            c.that(forked([&] { (void)pilfer::every(*p, std::chrono::milliseconds(1), [] {}); }));
            c.that(forked([&] { (void)p->run([]() -> pilfer::task<int> { co_return 1; }()); }));
            c.that(forked([&] { p->submit([]() -> pilfer::task<void> { co_return; }()); }));
            c.that(forked([&] { (void)p->async([]() -> pilfer::task<int> { co_return 1; }()); }));
            c.that(p->workers() != 0 && p->settings().workers == p->workers());
            p->dump();
            p.reset();
            return c.first_failed();
        });
        EXPECT_TRUE(r.exited_with(0)) << r;
        EXPECT_TRUE(r.said("left behind by fork()")) << r;
        EXPECT_EQ(p->run([] { return fib(10); }), 55) << "the parent goes on";
    }
}

TEST_F(process_fork, the_common_pool_is_new_at_first_use_in_children_and_grandchildren) {
    EXPECT_EQ(fib(12), 144);
    pilfer::pool* const before = &pilfer::pool::common();
    const auto r = in_child([before] {
        checks c;
        c.that(support::thread_count() == 1);
        c.that(fib(15) == 610);
        c.that(&pilfer::pool::common() != before);
        c.that(forked([&] { before->run([] {}); }));
        c.that(pilfer::pool::common().async([] { return fib(12); }).get() == 144);
        std::atomic<int> sum{0};
        pilfer::for_each(0, 1000, [&](int i) { sum += i; });
        c.that(sum == 499500);
        pilfer::pool own(workers(3));
        c.that(own.run([] { return fib(12); }) == 144);
        const auto grandchild = in_child([&own] {
            checks d;
            d.that(fib(12) == 144);
            d.that(forked([&] { own.run([] {}); }));
            return d.first_failed();
        });
        c.that(grandchild.exited_with(0));
        return c.first_failed();
    });
    EXPECT_TRUE(r.exited_with(0)) << r;
    EXPECT_EQ(&pilfer::pool::common(), before);
    EXPECT_EQ(fib(12), 144);
}

TEST_F(process_fork, a_common_pool_that_cannot_be_made_keeps_nothing) {
    const auto r = in_child([] {
        checks c;
        ::setenv("PILFER_SPIN", "no such word", 1);
        const auto given = std::make_shared<int>(0); // each function holds it
        pilfer::event e;
        pilfer::channel<int> values(1);
        const auto fails = [](auto f) {
            try {
                (void)f();
            } catch (const std::invalid_argument&) {
                return true;
            }
            return false;
        };
        const auto again = [given] { return true; };
        c.that(fails([&] { return pilfer::async([given] {}); }));
        c.that(fails([&] {
            return pilfer::async([](std::shared_ptr<int>) -> pilfer::task<void> { co_return; }(given));
        }));
        c.that(fails([&] { return pilfer::after(std::chrono::hours(1), [given] {}); }));
        c.that(fails([&] { return pilfer::every(std::chrono::hours(1), again); }));
        c.that(fails([&] {
            return pilfer::detail::start_prompt<decltype(again), pilfer::timer>(again, pilfer::detail::never);
        }));
        c.that(fails([&] { return pilfer::on(e, again); }));
        c.that(fails([&] { return pilfer::on(values, [given](int) {}); }));
        c.that(fails([&] { return pilfer::on(pilfer::io::readable(0), again); }));
        c.that(given.use_count() == 2); // `given` and the copy in `again`
        return c.first_failed();
    });
    EXPECT_TRUE(r.exited_with(0)) << r;
}

/// A thread that works for a pool while it waits does not work for the parent's in the child.
TEST_F(process_fork, an_attached_thread_runs_nothing_of_the_parents_pool) {
    pilfer::options o = workers(1);
    o.attachable = 1;
    pilfer::pool p(o);
    std::latch begun{1};
    std::latch go{1};
    auto busy = p.async([&] {
        begun.count_down();
        go.wait();
    });
    begun.wait();
    const auto here = p.attach();
    const pid_t parent = getpid();
    auto queued = p.async([parent] { return getpid() == parent; });
    const auto timer = pilfer::after(p, std::chrono::milliseconds(1), [parent] {
        if (getpid() != parent) {
            _exit(99);
        }
    });
    const auto r = in_child([&] {
        checks c;
        pilfer::pool own(workers(1));
        own.run([] { std::this_thread::sleep_for(std::chrono::milliseconds(20)); });
        c.that(!queued.ready());
        c.that(forked([&] { (void)p.attach(); }));
        c.that(forked([&] { p.run_until([] { return true; }); }));
        p.notify();
        return c.first_failed();
    });
    EXPECT_TRUE(r.exited_with(0)) << r;
    go.count_down();
    busy.get();
    EXPECT_TRUE(queued.get());
}

TEST_F(process_fork, a_condition_of_run_until_may_fork) {
    pilfer::options o = workers(1);
    o.attachable = 1;
    pilfer::pool p(o);
    pid_t child = -1;
    bool thrown = false;
    try {
        p.run_until([&child] {
            if (child == -1) {
                child = fork();
            }
            return child != 0; // the condition is asked again in the child
        });
    } catch (const pilfer::pool_forked&) {
        thrown = true;
    }
    if (child == 0) {
        _exit(thrown ? 0 : 1);
    }
    EXPECT_FALSE(thrown);
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
    EXPECT_EQ(p.run([] { return fib(10); }), 55);
}

TEST_F(process_fork, a_future_of_the_parent_throws_unless_it_is_done) {
    pilfer::pool p(workers(2));
    std::latch go{1};
    auto done = p.async([] { return 7; });
    done.wait();
    auto pending = p.async([&go] {
        go.wait();
        return 8;
    });
    const auto r = in_child([&] {
        checks c;
        c.that(done.get() == 7);
        c.that(forked([&] { pending.wait(); }));
        c.that(forked([&] { (void)pending.wait_for(std::chrono::hours(1)); }));
        c.that(forked([&] { (void)pending.get(); }));
        return c.first_failed();
    });
    EXPECT_TRUE(r.exited_with(0)) << r;
    go.count_down();
    EXPECT_EQ(pending.get(), 8);
}

TEST_F(process_fork, an_open_scope_reports_that_its_children_are_in_the_parent) {
    std::latch go{1};
    std::atomic<int> ran{0};
    support::child_result r;
    {
        pilfer::scope s;
        for (int i = 0; i < 3; ++i) {
            s.fork([&] {
                go.wait();
                ++ran;
            });
        }
        r = in_child([&s] {
            checks c;
            c.that(forked([&] { s.sync(); }));
            int more = 0; // and it may be used again, by the new common pool
            s.fork([&more] { more = 1; });
            s.sync();
            c.that(more == 1);
            return c.first_failed();
        });
        go.count_down();
    }
    EXPECT_TRUE(r.exited_with(0)) << r;
    EXPECT_EQ(ran, 3);
}

TEST_F(process_fork, an_open_scope_that_ends_unsynced_ends_the_child) {
    const auto r = in_child([] {
        std::latch go{1};
        pid_t child = -1;
        {
            pilfer::scope s;
            s.fork([&go] { go.wait(); });
            child = fork();
            if (child != 0) {
                go.count_down();
            }
        }
        if (child == 0) {
            _exit(0);
        }
        int status = -1;
        waitpid(child, &status, 0);
        return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT ? 0 : 1;
    });
    EXPECT_TRUE(r.exited_with(0)) << r;
    EXPECT_TRUE(r.said("an exception of a child that no sync() rethrew")) << r;
}

TEST_F(process_fork, the_c_interfaces) {
    pilfer_pool* p = nullptr;
    ASSERT_EQ(pilfer_pool_new(&p, nullptr), 0);
    thread_pool* const simple = thread_pool_new(2);
    const auto r = in_child([&] {
        checks c;
        const auto nothing = [](void*) {};
        c.that(pilfer_pool_run(p, nothing, nullptr) == PILFER_EFORKED);
        c.that(pilfer_submit(p, nothing, nullptr) == PILFER_EFORKED);
        c.that(pilfer_pool_shutdown(p, PILFER_DRAIN) == PILFER_EFORKED);
        c.that(pilfer_pool_destroy(p) == 0);
        c.that(thread_pool_submit(
                   simple, [](thread_pool*, void*) -> void* { return nullptr; }, nullptr) == nullptr);
        thread_pool_shutdown_and_destroy(simple);
        pilfer_pool* common = nullptr;
        c.that(pilfer_pool_common(&common) == 0 && pilfer_pool_run(common, nothing, nullptr) == 0);
        return c.first_failed();
    });
    EXPECT_TRUE(r.exited_with(0)) << r;
    EXPECT_TRUE(r.said("left in the parent")) << r;
    EXPECT_EQ(pilfer_pool_destroy(p), 0);
    thread_pool_shutdown_and_destroy(simple);
}

TEST_F(process_fork, descriptors_of_the_parent_work_after_the_end_of_the_childs_copy) {
    auto p = std::make_unique<pilfer::pool>(workers(2));
    int ends[2];
    ASSERT_EQ(pipe2(ends, O_NONBLOCK | O_CLOEXEC), 0);
    auto got = p->async([&] {
        const auto error = pilfer::io::wait_readable(ends[0]);
        return !error;
    });
    while (p->counters().suspends == 0) {
        std::this_thread::yield();
    }
    const auto r = in_child([&] {
        p.reset();
        return 0;
    });
    EXPECT_TRUE(r.exited_with(0)) << r;
    ASSERT_EQ(write(ends[1], "x", 1), 1);
    EXPECT_TRUE(got.get());
    close(ends[0]);
    close(ends[1]);
}

// ---- by a task --------------------------------------------------------------------------------

/// By a task on a worker: what the child exits with, or the signal that ended it.
/// That a cancellation is over says the child as its parent does, and not twice: else the next to end takes a
/// third one with it.
TEST_F(process_fork, a_cancelled_scope_ends_in_the_child_without_its_cancelled_tasks) {
    pilfer::scope before;
    before.cancel();
    const auto r = in_child([&before] {
        checks c;
        before.sync();
        pilfer::pool p(workers(2));
        p.run([&c] {
            pilfer::scope outer;
            outer.spawn([&] {
                {
                    pilfer::scope ends_first;
                    ends_first.cancel();
                    outer.cancel();
                    c.that(pilfer::cancelled());
                }
                c.that(pilfer::cancelled());
            });
            outer.sync();
            c.that(!pilfer::cancelled());
        });
        return c.first_failed();
    });
    EXPECT_TRUE(r.exited_with(0)) << r;
}

template <class Body>
[[nodiscard]] support::child_result forked_by_a_task(pilfer::pool& p, Body body) {
    return p.run([&] { return in_child(body); });
}

TEST_F(process_fork, a_task_that_forks_may_exec_exit_and_compute) {
    pilfer::pool p(workers(2));
    auto r = forked_by_a_task(p, []() -> int {
        execl("/bin/true", "true", nullptr);
        return 1;
    });
    EXPECT_TRUE(r.exited_with(0)) << r;
    r = forked_by_a_task(p, [] { return fib(15) == 610 ? 0 : 1; }); // by this thread alone
    EXPECT_TRUE(r.exited_with(0)) << r;
    r = forked_by_a_task(p, [&p] {
        checks c;
        c.that(forked([&] { (void)p.async([] {}); }));
        c.that(forked([&] { p.submit([] {}); }));
        c.that(forked([&] { p.submit({.priority = pilfer::priority::high}, [] {}); }));
        c.that(forked([&] { (void)p.async({.priority = pilfer::priority::low}, [] {}); }));
        c.that(forked([&] { (void)p.async([]() -> pilfer::task<void> { co_return; }()); }));
        c.that(forked([&] { (void)pilfer::async([]() -> pilfer::task<void> { co_return; }()); }));
        c.that(forked([&] { p.submit([]() -> pilfer::task<void> { co_return; }()); }));
        c.that(forked([&] { p.shutdown(); }));
        c.that(forked([&] { (void)pilfer::after(std::chrono::milliseconds(1), [] {}); }));
        c.that(forked([] { (void)pilfer::pool::common(); }));
        int i = 0;
        pilfer::scope s;
        s.spawn([&i] { ++i; });
        s.fork([&i] { ++i; });
        s.sync();
        c.that(i == 2);
        return c.first_failed();
    });
    EXPECT_TRUE(r.exited_with(0)) << r;
    r = forked_by_a_task(p, [] { // a cancellation reaches the inner scopes
        checks c;
        int ran = 0;
        pilfer::scope outer;
        outer.spawn([&] {
            pilfer::scope inner;
            outer.cancel();
            c.that(pilfer::cancelled());
            inner.fork([&ran] { ++ran; });
            inner.sync();
            ++ran;
        });
        outer.sync();
        c.that(ran == 0 && !pilfer::cancelled());
        return c.first_failed();
    });
    EXPECT_TRUE(r.exited_with(0)) << r;
    r = forked_by_a_task(p, []() -> int { std::exit(0); });
    EXPECT_TRUE(r.exited_with(0)) << r;
    EXPECT_EQ(p.run([] { return fib(12); }), 144);
}

TEST_F(process_fork, a_task_that_forks_and_returns_or_waits_in_the_child_gets_a_message) {
    const auto told = [](const support::child_result& r) {
        return r.killed_by(SIGABRT) && r.said("all that it may do here is to exec or to exit");
    };
    for (const unsigned n : {1U, 2U}) {
        auto r = in_child([n] { // so that the message is caught
            pilfer::pool p(workers(n));
            int status = 0;
            p.run([&status] {
                const pid_t child = fork();
                if (child != 0) {
                    waitpid(child, &status, 0);
                }
            });
            if (WIFSIGNALED(status)) {
                raise(WTERMSIG(status));
            }
            return 0;
        });
        EXPECT_TRUE(told(r)) << r;
        pilfer::pool p(workers(n));
        pilfer::event never;
        r = forked_by_a_task(p, [&never] {
            never.wait();
            return 0;
        });
        EXPECT_TRUE(told(r)) << r;
        r = forked_by_a_task(p, [] {
            pilfer::sleep_for(std::chrono::milliseconds(1));
            return 0;
        });
        EXPECT_TRUE(told(r)) << r;
    }
}

TEST_F(process_fork, a_task_of_a_pool_on_one_lock_that_waits_in_the_child_gets_a_message) {
    pilfer::options o = workers(2);
    o.backend = pilfer::backend::one_lock;
    pilfer::pool p(o);
    const auto r = forked_by_a_task(p, [] {
        pilfer::sleep_for(std::chrono::milliseconds(1));
        return 0;
    });
    EXPECT_TRUE(r.killed_by(SIGABRT)) << r;
    EXPECT_TRUE(r.said("all that it may do here is to exec or to exit")) << r;
}

/// Thieves ask the worker that forks, hold the lock of its deque, and other tasks wait for it.
TEST_F(process_fork, a_task_of_a_busy_pool_that_forks_computes_alone) {
    for (const bool spawns : {false, true}) {
        pilfer::pool p(workers(4));
        std::atomic<bool> stop{false};
        for (int i = 0; i < 3; ++i) {
            p.submit([&stop] {
                while (!stop) {
                    (void)fib(12);
                    pilfer::sleep_for(std::chrono::microseconds(50));
                }
            });
        }
        for (std::uint64_t i = 0; i < support::hundredth_of(5'000, 10); ++i) {
            const auto r = forked_by_a_task(p, [spawns] {
                checks c;
                std::uint64_t v = 0;
                std::atomic<int> sum{0};
                if (spawns) {
                    pilfer::scope s;
                    for (int k = 0; k < 100; ++k) {
                        s.spawn([&sum] { ++sum; });
                    }
                    s.spawn([&v] { v = static_cast<std::uint64_t>(fib(10)); });
                    s.fork([&sum] { ++sum; });
                    s.sync();
                    c.that(sum == 101);
                } else {
                    v = static_cast<std::uint64_t>(fib(10));
                    pilfer::for_each(0, 10'000, [&sum](int) { ++sum; });
                    c.that(sum == 10'000);
                }
                pilfer::yield();
                c.that(v == 55);
                return c.first_failed();
            });
            EXPECT_TRUE(r.exited_with(0)) << r;
            if (::testing::Test::HasFailure()) {
                break;
            }
        }
        stop = true;
        p.shutdown();
    }
}

// ---- at random moments ------------------------------------------------------------------------

TEST_F(process_fork, locks_that_others_hold_are_never_waited_for) {
    std::optional<life::busy> load(std::in_place);
    auto p = std::make_unique<pilfer::pool>(workers(2));
    for (std::uint64_t i = 0; i < support::hundredth_of(5'000, 10); ++i) {
        const auto r = in_child([&p] {
            checks c;
            c.that(fib(8) == 21);
            c.that(forked([&] { p->run([] {}); }));
            p.reset();
            pilfer::pool own(workers(2));
            c.that(own.async([] { return fib(8); }).get() == 21);
            own.run([] {
                pilfer::scope s;
                s.spawn([] {});
                s.cancel();
            });
            pilfer::mutex m;
            std::thread other([&m] { const std::lock_guard lock(m); });
            { const std::lock_guard lock(m); }
            other.join();
            own.dump();
            own.shutdown();
            return c.first_failed();
        });
        ASSERT_TRUE(r.exited_with(0)) << i << ": " << r;
    }
}

template <class Start>
void start_under_load(Start start) {
    const life::busy load;
    for (std::uint64_t i = 0; i < support::hundredth_of(10'000, 20); ++i) {
        const pid_t child = start();
        ASSERT_GT(child, 0);
        int status = -1;
        ASSERT_EQ(waitpid(child, &status, 0), child);
        ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << i << ": " << status;
    }
}

TEST_F(process_fork, fork_and_exec_under_load) {
    start_under_load([]() -> pid_t {
        const pid_t child = fork();
        if (child == 0) {
            execl("/bin/true", "true", nullptr);
            _exit(1);
        }
        return child;
    });
}

TEST_F(process_fork, fork_and_exec_under_load_by_a_task) {
    pilfer::pool p(workers(2));
    start_under_load([&p] {
        return p.run([]() -> pid_t {
            const pid_t child = fork();
            if (child == 0) {
                execl("/bin/true", "true", nullptr);
                _exit(1);
            }
            return child;
        });
    });
}

TEST_F(process_fork, vfork_and_exec_under_load) {
    start_under_load([]() -> pid_t {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
        const pid_t child = vfork();
#pragma GCC diagnostic pop
        if (child == 0) {
            execl("/bin/true", "true", nullptr);
            _exit(1);
        }
        return child;
    });
}

} // namespace
