// Threads outside that work for a pool while they wait.
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cfenv>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "io/support.hpp"
#include "support/child.hpp"
#include "support/harness.hpp"
#include "support/process.hpp"

namespace {

using namespace support;

class attached_thread_over_workers : public over_workers {};
PILFER_OVER_WORKERS(attached_thread_over_workers);
class attached_thread : public guarded {};

[[nodiscard]] pilfer::options seats(unsigned workers, unsigned n) {
    pilfer::options o;
    o.workers = workers;
    o.attachable = n;
    return o;
}
/// Read from the system each time: compilers keep the result of std::this_thread::get_id().
[[nodiscard]] long thread_now() { return syscall(SYS_gettid); }

void wait_until(const std::atomic<bool>& flag) {
    while (!flag) {
        std::this_thread::yield();
    }
}

/// Keeps all workers of a pool until they are let go.
class busy {
public:
    explicit busy(pilfer::pool& p) : m_pool(p) {
        for (unsigned i = 0; i < p.workers(); ++i) {
            p.submit([this] {
                m_there.fetch_add(1);
                wait_until(m_go_on);
                m_gone.fetch_add(1);
            });
        }
        while (m_there != p.workers()) {
            std::this_thread::yield();
        }
    }
    void let_go() { m_go_on = true; }
    ~busy() {
        let_go();
        while (m_gone != m_pool.workers()) {
            std::this_thread::yield();
        }
    }

private:
    pilfer::pool& m_pool;
    std::atomic<unsigned> m_there{0};
    std::atomic<unsigned> m_gone{0};
    std::atomic<bool> m_go_on{false};
};

TEST_P(attached_thread_over_workers, runs_the_tasks_that_it_waits_for) {
    pilfer::pool pool(seats(GetParam(), 1));
    EXPECT_EQ(pool.workers(), GetParam());
    const long me = thread_now();
    EXPECT_NE(pool.run(thread_now), me) << "off by default";
    busy workers(pool);
    {
        const pilfer::attachment here = pool.attach();
        EXPECT_EQ(pool.run(thread_now), me);
        EXPECT_EQ(pool.async(thread_now).get(), me);
        EXPECT_EQ(pool.run([] { return fib_join(10) + fib_spawn(8) + fib_fork(8); }),
                  fib(10) + fib(8) + fib(8));
    }
    workers.let_go();
    EXPECT_NE(pool.run(thread_now), me) << "it is detached";
}

/// A task that needs another thread gets the attached one: a spark is stolen.
TEST_F(attached_thread, steals) {
    pilfer::pool pool(seats(1, 1));
    const pilfer::attachment here = pool.attach();
    const long me = thread_now();
    for (std::uint64_t i = 0; i < hundredth_of(5000, 10); ++i) {
        std::atomic<bool> stolen{false};
        std::set<long> threads;
        pool.run([&] {
            const auto [a, b] = pilfer::join(
                [&] {
                    wait_until(stolen);
                    return thread_now();
                },
                [&] {
                    stolen = true;
                    return thread_now();
                });
            threads = {a, b};
        });
        EXPECT_EQ(threads.size(), 2U);
        EXPECT_TRUE(threads.contains(me));
    }
}

/// A task that began on the seat and outlasts the guest's wait continues elsewhere, with its children.
TEST_P(attached_thread_over_workers, unfinished_tasks_resume_elsewhere) {
    pilfer::pool pool(seats(GetParam(), 1));
    const long me = thread_now();
    for (int round = 0; round < 20; ++round) {
        pilfer::event go;
        std::atomic<int> children{0};
        pilfer::promise<long> begun;
        auto has_begun = begun.get_future();
        pilfer::promise<long> ended;
        auto has_ended = ended.get_future();
        {
            busy workers(pool);
            const pilfer::attachment here = pool.attach();
            pool.submit([&] {
                pilfer::scope s;
                for (int i = 0; i < 100; ++i) {
                    s.fork([&] { children.fetch_add(1); });
                }
                begun.set_value(thread_now());
                go.wait();
                s.sync();
                ended.set_value(thread_now());
            });
            EXPECT_EQ(has_begun.get(), me);
        }
        go.set();
        EXPECT_NE(has_ended.get(), me);
        EXPECT_EQ(children, 100);
    }
}

/// A scope that must return to its origin would wait for ever for a thread that has left.
TEST_P(attached_thread_over_workers, a_scope_returns_to_it_only_while_it_is_attached) {
    pilfer::pool pool(seats(GetParam(), 1));
    const long me = thread_now();
    for (int round = 0; round < 20; ++round) {
        pilfer::event go;
        pilfer::promise<long> begun;
        auto has_begun = begun.get_future();
        std::atomic<bool> ended{false};
        {
            busy workers(pool);
            const pilfer::attachment here = pool.attach();
            pool.submit([&] {
                pilfer::scope s(pilfer::resume::own_thread);
                s.spawn([&] { go.wait(); });
                begun.set_value(thread_now());
                s.sync(); // suspends here, before the guest sees that its wait is over
                ended = true;
            });
            EXPECT_EQ(has_begun.get(), me);
        }
        go.set();
        wait_until(ended);
    }
}

TEST_F(attached_thread, keeps_its_exceptions_and_rounding_mode) {
    pilfer::pool pool(seats(1, 1));
    busy workers(pool);
    const pilfer::attachment here = pool.attach();
    const auto throws = [&] {
        EXPECT_EQ(std::current_exception(), nullptr) << "a task has none of its guest's";
        EXPECT_EQ(std::uncaught_exceptions(), 0);
        EXPECT_EQ(std::fegetround(), FE_TONEAREST);
        throw std::runtime_error("of the task");
    };
    std::fesetround(FE_UPWARD);
    try {
        throw std::logic_error("mine");
    } catch (const std::logic_error& e) {
        EXPECT_THROW(pool.run(throws), std::runtime_error);
        try {
            throw;
        } catch (const std::logic_error& again) {
            EXPECT_EQ(&e, &again);
        }
    }
    struct waits {
        pilfer::pool& pool;
        ~waits() {
            EXPECT_EQ(std::uncaught_exceptions(), 1);
            EXPECT_EQ(pool.run([] { return std::uncaught_exceptions(); }), 0);
            EXPECT_EQ(std::uncaught_exceptions(), 1);
        }
    };
    EXPECT_THROW(([&] {
                     const waits w{pool};
                     throw std::logic_error("mine");
                 }()),
                 std::logic_error);
    EXPECT_EQ(std::fegetround(), FE_UPWARD);
    std::fesetround(FE_TONEAREST);
}

TEST_P(attached_thread_over_workers, run_until_works_until_its_condition_holds) {
    pilfer::pool pool(seats(GetParam(), 1));
    const long me = thread_now();
    busy workers(pool);
    std::atomic<int> ran{0};
    std::atomic<int> here{0};
    for (int i = 0; i < 100; ++i) {
        pool.submit([&] {
            here.fetch_add(thread_now() == me);
            ran.fetch_add(1);
        });
    }
    pool.run_until([&] { return ran == 70; });
    EXPECT_EQ(ran, 70);
    pool.run_until([&] { return ran == 100; });
    EXPECT_EQ(here, 100);
    pool.run_until([] { return true; });
}

/// It sleeps, and is woken by submissions and by notify().
TEST_P(attached_thread_over_workers, run_until_is_woken) {
    pilfer::pool pool(seats(GetParam(), 1));
    for (std::uint64_t round = 0; round < hundredth_of(5000, 20); ++round) {
        std::atomic<bool> stop{false};
        std::atomic<int> ran{0};
        std::thread other([&] {
            for (int i = 0; i < 5; ++i) {
                pool.submit([&] {
                    ran.fetch_add(1);
                    pool.notify();
                });
            }
            stop = true;
            pool.notify();
        });
        pool.run_until([&] { return stop.load(); });
        EXPECT_TRUE(stop);
        other.join();
        std::thread last([&] {
            pool.submit([&] {
                ran.fetch_add(1);
                pool.notify();
            });
        });
        pool.run_until([&] { return ran == 6; });
        EXPECT_EQ(ran, 6);
        last.join();
    }
}

TEST_F(attached_thread, run_until_sleeps_in_the_kernel) {
    pilfer::pool pool(seats(1, 1));
    std::atomic<bool> stop{false};
    std::thread other([&] {
        while (pool.counters(1).sleeps == 0) { // the seat's
            std::this_thread::yield();
        }
        stop = true;
        pool.notify();
    });
    pool.run_until([&] { return stop.load(); });
    EXPECT_GT(pool.counters(1).sleeps, 0U);
    other.join();
}

TEST_F(attached_thread, the_condition_is_called_as_on_a_foreign_thread) {
    pilfer::pool pool(seats(1, 1));
    pilfer::pool other(workers(1));
    struct spoiled {};
    int asked = 0;
    pool.run_until([&] {
        EXPECT_EQ(pool.run([] { return 3; }), 3);
        EXPECT_EQ(other.run([] { return 4; }), 4);
        EXPECT_THROW((void)pool.attach(), pilfer::usage_error);
        EXPECT_THROW(pool.run_until([] { return true; }), pilfer::usage_error);
        return ++asked > 0;
    });
    EXPECT_EQ(asked, 1) << "once is enough";
    EXPECT_THROW(pool.run_until([]() -> bool { throw spoiled(); }), spoiled);
    EXPECT_EQ(pool.run([] { return 5; }), 5);
}

/// The condition is asked again after a sleep, too: the wake-up that it causes is for the worker.
TEST_F(attached_thread, the_condition_may_run_a_task_at_each_call) {
    for (const auto spin : {pilfer::idle::balanced, pilfer::idle::latency}) {
        pilfer::options o = seats(1, 1);
        o.spin = spin;
        pilfer::pool pool(o);
        std::atomic<bool> over{false};
        std::thread other([&] {
            while (!over) {
                pool.notify();
                std::this_thread::sleep_for(std::chrono::microseconds(300));
            }
        });
        std::uint64_t asked = 0;
        pool.run_until([&] {
            EXPECT_EQ(pool.run([] { return 3; }), 3);
            return ++asked > hundredth_of(10'000, 20);
        });
        over = true;
        other.join();
    }
}

TEST_F(attached_thread, the_condition_must_not_end_the_pool) {
    pilfer::pool pool(seats(1, 1));
    bool refused = false;
    pool.run_until([&] {
        try {
            pool.shutdown();
        } catch (const pilfer::usage_error&) {
            refused = true;
        }
        return true;
    });
    EXPECT_TRUE(refused);
    EXPECT_EQ(pool.run([] { return 5; }), 5);
    // It also keeps the earlier role of its thread.
    pilfer::pool outer(workers(1));
    outer.run([&] {
        pilfer::blocking([&] {
            pool.run_until([] { return true; });
            EXPECT_THROW(outer.shutdown(), pilfer::usage_error);
        });
    });
}

/// Also descriptors are watched that the worker did not ask for before it slept.
TEST_F(attached_thread, descriptors_are_watched_while_a_visitor_sleeps) {
    for (const bool main_loop : {false, true}) {
        pilfer::pool pool(seats(1, 1));
        for (std::uint64_t round = 0; round < hundredth_of(2000, 5); ++round) {
            const io_tests::ends e;
            std::thread writer([&] {
                std::this_thread::sleep_for(std::chrono::milliseconds(3));
                e.say();
            });
            if (main_loop) {
                std::atomic<bool> read{false};
                pool.submit([&] {
                    EXPECT_FALSE(pilfer::io::wait_readable(e.in()));
                    read = true;
                    pool.notify();
                });
                pool.run_until([&] { return read.load(); });
            } else {
                const pilfer::attachment here = pool.attach();
                EXPECT_FALSE(pool.run([&] { return pilfer::io::wait_readable(e.in()); }));
            }
            writer.join();
        }
    }
}

/// One that is handed a lock, or waits with a limit, starts nothing that may take long.
TEST_F(attached_thread, nothing_runs_on_a_thread_that_waits_for_a_lock_or_with_a_limit) {
    pilfer::pool pool(seats(1, 1));
    const long me = thread_now();
    pilfer::mutex m;
    std::atomic<bool> held{false};
    std::atomic<bool> let_go{false};
    pool.submit([&] {
        const std::lock_guard lock(m);
        held = true;
        wait_until(let_go);
    });
    wait_until(held);
    const pilfer::attachment here = pool.attach();
    auto queued = pool.async(thread_now);
    EXPECT_EQ(queued.wait_for(std::chrono::milliseconds(20)), pilfer::future_status::timeout);
    std::thread opens([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        let_go = true;
    });
    m.lock();
    m.unlock();
    opens.join();
    while (!queued.ready()) {
        std::this_thread::yield();
    }
    EXPECT_NE(queued.get(), me);
}

TEST_F(attached_thread, a_foreign_alternate_stack_stays) {
    pilfer::pool pool(seats(1, 1));
    std::thread([&] { // its own thread: main's may have one by a sanitizer
        stack_t none{};
        none.ss_flags = SS_DISABLE;
        ASSERT_EQ(sigaltstack(&none, nullptr), 0);
        std::vector<char> memory(64 * 1024);
        std::optional<pilfer::attachment> here(pool.attach());
        stack_t mine{};
        mine.ss_sp = memory.data();
        mine.ss_size = memory.size();
        ASSERT_EQ(sigaltstack(&mine, nullptr), 0);
        here.reset();
        stack_t now{};
        ASSERT_EQ(sigaltstack(nullptr, &now), 0);
        EXPECT_EQ(now.ss_sp, memory.data());
        ASSERT_EQ(sigaltstack(&none, nullptr), 0);
    })
        .join();
}

TEST_F(attached_thread, a_standstill_is_reported_after_the_last_sleeper_has_left) {
    const auto died = in_child([] {
        auto o = seats(1, 1);
        o.debug.stall_report = 50;
        pilfer::pool pool(o);
        pilfer::event never;
        const auto waits = pool.async([&] { never.wait(); });
        std::atomic<bool> over{false};
        std::thread main_loop([&] { pool.run_until([&] { return over.load(); }); });
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        for (int i = 0; i < 5; ++i) {
            pool.notify(); // it lies down again, after the worker
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
        }
        over = true;
        pool.notify();
        main_loop.join();
        std::this_thread::sleep_for(std::chrono::seconds(1));
        std::_Exit(7); // the event is never set
        return 0;
    });
    EXPECT_TRUE(died.exited_with(7)) << died;
    EXPECT_TRUE(died.said("pilfer: stall: ")) << died;
}

TEST_F(attached_thread, dump_distinguishes_workers_from_attached_threads) {
    pilfer::pool pool(seats(2, 1));
    std::ostringstream out;
    pool.dump(out);
    EXPECT_NE(out.str().find(": 2 workers;"), std::string::npos) << out.str();
    EXPECT_NE(out.str().find("  seat 2: free; deque: 0 shared, 0 private\n"), std::string::npos) << out.str();
    pool.run_until([&] {
        std::ostringstream taken;
        pool.dump(taken);
        EXPECT_NE(taken.str().find("  worker 2 (thread "), std::string::npos) << taken.str();
        return true;
    });
}

TEST_F(attached_thread, more_threads_than_slots) {
    pilfer::pool pool(seats(1, 1));
    std::atomic<bool> stop{false};
    std::atomic<bool> inside{false};
    std::thread first([&] {
        pool.run_until([&] {
            inside = true;
            return stop.load();
        });
    });
    wait_until(inside);
    EXPECT_THROW(pool.run_until([] { return true; }), pilfer::usage_error);
    {
        const pilfer::attachment here = pool.attach();
        EXPECT_EQ(pool.run([] { return 7; }), 7) << "waits as ever";
    }
    stop = true;
    pool.notify();
    first.join();
}

TEST_P(attached_thread_over_workers, a_shutdown_ends_its_wait) {
    for (const auto mode : {pilfer::shutdown_mode::drain, pilfer::shutdown_mode::drop}) {
        auto pool = std::make_unique<pilfer::pool>(seats(GetParam(), 2));
        std::atomic<int> inside{0};
        const auto visit = [&] {
            bool first = true;
            pool->run_until([&] {
                inside.fetch_add(std::exchange(first, false) ? 1 : 0);
                return false;
            });
        };
        std::thread a(visit);
        std::thread b(visit);
        while (inside != 2) {
            std::this_thread::yield();
        }
        (void)pool->run([] { return fib_join(12); });
        pool->shutdown(mode);
        a.join();
        b.join();
        EXPECT_NO_THROW(pool->run_until([] { return false; })) << "ends at once";
        const pilfer::attachment here = pool->attach();
        EXPECT_THROW(pool->run([] {}), pilfer::pool_closed);
    }
}

/// Threads come and go, all waits and all kinds of tasks.
TEST_P(attached_thread_over_workers, many_threads_come_and_go) {
    pilfer::pool pool(seats(GetParam(), 2));
    const auto n = hundredth_of(5000, 20);
    std::atomic<std::uint64_t> slept{0};
    const auto visit = [&](unsigned who) {
        std::optional<pilfer::attachment> here;
        here.emplace(pool.attach());
        pilfer::mutex m;
        for (std::uint64_t i = 0; i < n; ++i) {
            EXPECT_EQ(pool.run([] { return fib_join(9); }), fib(9));
            auto f = pool.async([] { return fib_spawn(8); });
            pool.submit([&] {
                pilfer::sleep_for(std::chrono::microseconds(20));
                slept.fetch_add(1);
            });
            EXPECT_EQ(f.get(), fib(8));
            pool.run([&] {
                pilfer::scope s;
                for (int k = 0; k < 20; ++k) {
                    s.fork([&] { const std::lock_guard lock(m); });
                }
                s.sync();
            });
            if (i % 8 == who) {
                here.reset();
                here.emplace(pool.attach());
            }
        }
    };
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < 4; ++i) {
        threads.emplace_back(visit, i);
    }
    for (auto& t : threads) {
        t.join();
    }
    pool.shutdown();
    EXPECT_EQ(slept, 4 * n);
}

/// Workers block SIGPIPE, an attached thread does not.
TEST_F(attached_thread, a_task_on_it_gets_no_sigpipe) {
    const auto r = in_child([] {
        signal(SIGPIPE, SIG_DFL);
        pilfer::pool pool(seats(1, 1));
        const pilfer::attachment here = pool.attach();
        busy workers(pool);
        io_tests::ends e;
        e.close(0);
        const auto written = pool.run([&] { return pilfer::io::write(e.out(), "x", 1); });
        return written.error == std::errc::broken_pipe ? 0 : 1;
    });
    EXPECT_TRUE(r.exited_with(0)) << r;
    const auto raised = in_child([] { // one that was pending before stays
        sigset_t pipe{};
        sigemptyset(&pipe);
        sigaddset(&pipe, SIGPIPE);
        pthread_sigmask(SIG_BLOCK, &pipe, nullptr);
        raise(SIGPIPE);
        pilfer::pool pool(seats(1, 1));
        const pilfer::attachment here = pool.attach();
        busy workers(pool);
        io_tests::ends e;
        e.close(0);
        (void)pool.run([&] { return pilfer::io::write(e.out(), "x", 1); });
        sigset_t pending{};
        sigpending(&pending);
        return sigismember(&pending, SIGPIPE) != 0 ? 0 : 1;
    });
    EXPECT_TRUE(raised.exited_with(0)) << raised;
}

TEST_F(attached_thread, bad_input) {
    pilfer::pool none(workers(1));
    EXPECT_THROW((void)none.attach(), pilfer::usage_error);
    EXPECT_THROW(none.run_until([] { return true; }), pilfer::usage_error);
    none.notify();
    pilfer::pool pool(seats(2, 1));
    pool.notify();
    pool.run([&] {
        EXPECT_THROW((void)pool.attach(), pilfer::usage_error);
        EXPECT_THROW(pool.run_until([] { return true; }), pilfer::usage_error);
        EXPECT_THROW(none.run_until([] { return true; }), pilfer::usage_error);
        pool.notify();
    });
    pilfer::attachment here = pool.attach();
    EXPECT_THROW((void)pool.attach(), pilfer::usage_error);
    const pilfer::attachment moved = std::move(here);
    EXPECT_EQ(pool.run([] { return 1; }), 1);
    EXPECT_THROW((void)pool.counters(3), std::out_of_range);

    EXPECT_THROW(pilfer::pool(seats(1, 65)), std::invalid_argument);
    auto o = seats(1, 1);
    o.resume = pilfer::resume::own_thread;
    EXPECT_THROW(pilfer::pool{o}, std::invalid_argument);
    EXPECT_EQ(pilfer::pool(seats(1, 64)).run([] { return 1; }), 1);
}

} // namespace
