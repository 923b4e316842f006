// The one-lock back-end: its own promises, and a comparison with work stealing.
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "pool/pool_core.hpp"
#include "support/child.hpp"
#include "support/harness.hpp"
#include "support/process.hpp"
#include "waits/waits.hpp"

namespace {

using namespace support;
using namespace std::chrono_literals;

[[nodiscard]] pilfer::options on(pilfer::backend b, unsigned n) {
    pilfer::options o = workers(n);
    o.backend = b;
    return o;
}
[[nodiscard]] pilfer::options one_lock(unsigned n) { return on(pilfer::backend::one_lock, n); }

// ---- random programs --------------------------------------------------------------------------

/// splitmix64 (Steele, Lea and Flood, 2014).
[[nodiscard]] std::uint64_t mixed(std::uint64_t x) {
    x += 0x9e3779b97f4a7c15U;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
    return x ^ (x >> 31);
}

/// Counts of a running program. They must not depend on the back-end.
struct books {
    std::atomic<std::uint64_t> tasks{0};      ///< Functions of async.
    std::atomic<std::uint64_t> detached{0};   ///< Functions of submit, and their contributions.
    std::atomic<std::uint64_t> behind{0};     ///< Functions of then and continue_with.
    std::atomic<std::uint64_t> thrown{0};     ///< By tasks.
    std::atomic<std::uint64_t> with_value{0}; ///< Futures with a value when their maker ended.
    std::atomic<std::uint64_t> with_error{0};
    std::atomic<std::uint64_t> broken{0};
    std::atomic<std::uint64_t> went_back{0}; ///< Futures that were ready, and then were not.

    [[nodiscard]] std::array<std::uint64_t, 8> numbers() const {
        return {tasks, detached, behind, thrown, with_value, with_error, broken, went_back};
    }
};

/// A seed is a program: equal calls with equal values on any back-end, since each node draws from numbers of
/// its own. The places of the waits are drawn, too.
class program {
public:
    program(pilfer::pool& p, books& b) : m_pool(p), m_books(b) {}
    [[nodiscard]] std::uint64_t node(std::uint64_t seed, int depth) { // NOLINT(misc-no-recursion)
        std::vector<pilfer::future<std::uint64_t>> made;
        std::uint64_t sum = seed;
        const auto draw = [&seed](std::uint64_t n) { return (seed = mixed(seed)) % n; };
        const auto any = [&] { return made[draw(made.size())]; };
        const std::uint64_t steps = 1 + draw(4);
        for (std::uint64_t i = 0; i < steps; ++i) {
            const std::uint64_t what = draw(10);
            if (made.empty() || what < 3) {
                made.push_back(child(draw(1'000'000), depth));
                continue;
            }
            switch (what) {
            case 3:
                sum = mixed(sum + value_of(any()));
                break;
            case 4:
                made.push_back(any().then([this](std::uint64_t v) {
                    m_books.behind += 1;
                    return mixed(v);
                }));
                break;
            case 5:
                made.push_back(any().continue_with([this](pilfer::future<std::uint64_t> f) {
                    m_books.behind += 1;
                    m_books.went_back += f.ready() ? 0 : 1;
                    return value_of(f) + 1;
                }));
                break;
            case 6: {
                auto all = pilfer::when_all(std::vector{any(), any()});
                made.push_back(all.then([this](const std::vector<pilfer::future<std::uint64_t>>& both) {
                    m_books.behind += 1;
                    return mixed(value_of(both[0]) + value_of(both[1]));
                }));
                break;
            }
            case 7: { // set by a task, or never
                auto p = std::make_shared<pilfer::promise<std::uint64_t>>();
                made.push_back(p->get_future());
                if (draw(4) != 0) {
                    m_pool.submit([p, v = draw(1000)] { p->set_value(v); });
                }
                break;
            }
            case 8:
                m_pool.submit([this, add = draw(100)] { m_books.detached += 1 + add; });
                break;
            default:
                sum = mixed(sum + m_pool.run([this, s = draw(1'000'000), depth] { return leaf(s, depth); }));
            }
        }
        for (std::size_t n = made.size(); n > 0; --n) {
            const auto& f = made[seed % 2 == 0 ? n - 1 : made.size() - n];
            sum = mixed(sum ^ value_of(f));
            m_books.went_back += f.ready() ? 0 : 1;
        }
        return sum;
    }

private:
    [[nodiscard]] std::uint64_t leaf(std::uint64_t seed, int depth) { // NOLINT(misc-no-recursion)
        return depth > 0 && seed % 3 != 0 ? node(seed, depth - 1) : mixed(seed);
    }
    [[nodiscard]] pilfer::future<std::uint64_t> child(std::uint64_t seed, int depth) {
        return m_pool.async([this, seed, depth] {
            m_books.tasks += 1;
            if (seed % 7 == 0) {
                m_books.thrown += 1;
                throw std::runtime_error(std::to_string(seed));
            }
            return leaf(seed, depth);
        });
    }
    /// Whatever it ended with, as a number.
    [[nodiscard]] std::uint64_t value_of(const pilfer::future<std::uint64_t>& f) {
        try {
            const std::uint64_t v = f.get();
            m_books.with_value += 1;
            return v;
        } catch (const pilfer::broken_promise&) {
            m_books.broken += 1;
            return 1;
        } catch (const std::runtime_error& e) {
            m_books.with_error += 1;
            return mixed(std::strtoull(e.what(), nullptr, 10));
        }
    }

    pilfer::pool& m_pool;
    books& m_books;
};

class one_lock_backend_over_workers : public over_workers {};

TEST_P(one_lock_backend_over_workers, both_back_ends_agree_on_random_programs) {
    pilfer::options simple = one_lock(GetParam());
    simple.max_extra_workers = 64; // a wait for a promise blocks its thread
    pilfer::pool stealing(on(pilfer::backend::work_stealing, GetParam()));
    pilfer::pool oracle(simple);
    ASSERT_EQ(stealing.settings().backend, pilfer::backend::work_stealing);
    ASSERT_EQ(oracle.settings().backend, pilfer::backend::one_lock);
    books counts[2];
    program programs[2] = {{stealing, counts[0]}, {oracle, counts[1]}};
    const std::uint64_t n = hundredth_of(100'000 / (GetParam() == 64 ? 10 : 1));
    std::uint64_t tasks = 0;
    for (std::uint64_t seed = 0; seed < n; ++seed) {
        // From outside, from inside, and three at once.
        const auto play = [seed](pilfer::pool& pool, program& one) -> std::uint64_t {
            const std::uint64_t first = mixed(seed);
            switch (seed % 3) {
            case 0:
                return one.node(first, 2);
            case 1:
                return pool.run([&] { return one.node(first, 2); });
            default:
                auto a = pool.async([&] { return one.node(first, 2); });
                auto b = pool.async([&] { return one.node(first + 1, 2); });
                const std::uint64_t c = one.node(first + 2, 1);
                return mixed(a.get()) ^ mixed(b.get() + 1) ^ c;
            }
        };
        const std::uint64_t results[2] = {play(stealing, programs[0]), play(oracle, programs[1])};
        ASSERT_EQ(results[0], results[1]) << "seed " << seed;
    }
    stealing.shutdown(); // detached tasks have run, too
    oracle.shutdown();
    EXPECT_EQ(counts[0].numbers(), counts[1].numbers());
    EXPECT_EQ(counts[0].went_back, 0U);
    EXPECT_GT(counts[0].thrown, n / 100) << "the programs do little";
    EXPECT_GT(counts[0].broken, n / 100);
    EXPECT_GT(counts[0].behind, n / 10);
    tasks = counts[0].tasks;
    EXPECT_GT(tasks, n);
}

/// drop, drain, and calls on a closed pool: equal states and errors.
TEST_P(one_lock_backend_over_workers, both_back_ends_end_alike) {
    for (const auto b : {pilfer::backend::work_stealing, pilfer::backend::one_lock}) {
        pilfer::pool pool(on(b, GetParam()));
        std::atomic<unsigned> inside{0};
        std::atomic<bool> open{false};
        std::vector<pilfer::future<int>> running;
        for (unsigned i = 0; i < GetParam(); ++i) {
            running.push_back(pool.async([&] {
                inside += 1;
                while (!open) {
                    std::this_thread::yield();
                }
                return 1;
            }));
        }
        ASSERT_TRUE(eventually([&] { return inside == GetParam(); }, 60s));
        std::vector<pilfer::future<int>> queued;
        for (int i = 0; i < 20; ++i) {
            queued.push_back(pool.async([] { return 2; }));
        }
        std::thread opener([&] {
            EXPECT_TRUE(eventually([&] { return pool.core().gate.is_closed(); }, 60s));
            open = true;
        });
        pool.shutdown(pilfer::shutdown_mode::drop);
        opener.join();
        for (auto& f : running) {
            EXPECT_EQ(f.get(), 1);
        }
        for (auto& f : queued) {
            EXPECT_TRUE(f.ready());
            EXPECT_THROW((void)f.get(), pilfer::broken_promise);
        }
        EXPECT_EQ(pool.counters().dropped, 20U);
        EXPECT_THROW((void)pool.async([] {}), pilfer::pool_closed);
        EXPECT_THROW(pool.run([] {}), pilfer::pool_closed);
    }
}

// ---- the rest of the interface, simply --------------------------------------------------------

TEST_P(one_lock_backend_over_workers, forks_are_calls_and_waits_block) {
    pilfer::pool pool(one_lock(GetParam()));
    EXPECT_EQ(pool.run([] { return fib_join(12) + fib_spawn(12) + fib_fork(12); }), 3 * fib(12));
    const long sum = pool.run([] {
        std::atomic<long> all{0};
        pilfer::for_each(0L, 1000L, [&](long i) { all += i; });
        return all.load();
    });
    EXPECT_EQ(sum, 999L * 1000 / 2);
    // Locks, channels, time: tasks of one worker that wait for each other need a second thread.
    pilfer::mutex mutex;
    pilfer::channel<int> channel(1);
    int shared = 0;
    std::vector<pilfer::future<void>> tasks;
    for (int i = 0; i < 4; ++i) {
        tasks.push_back(pool.async([&] {
            const std::lock_guard lock(mutex);
            pilfer::sleep_for(100us);
            ++shared;
        }));
    }
    auto reader = pool.async([&] {
        int got = 0;
        for (int i = 0; i < 20; ++i) {
            got += channel.receive().value_or(-1000);
        }
        return got;
    });
    auto writer = pool.async([&] {
        for (int i = 0; i < 20; ++i) {
            (void)channel.send(i);
        }
    });
    EXPECT_EQ(reader.get(), 190);
    writer.get();
    for (auto& t : tasks) {
        t.get();
    }
    EXPECT_EQ(shared, 4);
    EXPECT_EQ(pool.run([] { return pilfer::blocking([] { return 5; }); }), 5);
    pool.run([] { pilfer::yield(); });
    const auto coroutine = [](pilfer::pool& p) -> pilfer::task<int> {
        co_await p.schedule();
        co_return 1 + co_await p.async([] { return 6; });
    };
    EXPECT_EQ(pool.run([&] { return pool.async(coroutine(pool)).get() + pool.run(coroutine(pool)); }), 14)
        << "who waits for a coroutine does not take it out of its list";
    std::atomic<int> ticks{0};
    auto late = pilfer::after(pool, 200us, [&] { ++ticks; });
    EXPECT_TRUE(eventually([&] { return ticks == 1; }, 60s));
    EXPECT_THROW(pool.run([&] { pool.shutdown(); }), pilfer::usage_error);
}

PILFER_OVER_WORKERS(one_lock_backend_over_workers);

class one_lock_backend : public guarded {};

TEST_F(one_lock_backend, own_tasks_are_taken_newest_first_and_those_of_others_oldest_first) {
    std::mutex mutex;
    std::vector<int> order;
    const auto note = [&](int i) {
        const std::lock_guard lock(mutex);
        order.push_back(i);
    };
    const auto noted = [&] {
        const std::lock_guard lock(mutex);
        return order.size();
    };
    {
        pilfer::pool pool(one_lock(1));
        pool.run([&] {
            for (int i = 0; i < 5; ++i) {
                pool.submit([&, i] { note(i); });
            }
        });
    }
    EXPECT_EQ(order, (std::vector{4, 3, 2, 1, 0}));
    order.clear();
    pilfer::pool pool(one_lock(2));
    pool.run([&] {
        for (int i = 0; i < 5; ++i) {
            pool.submit([&, i] { note(i); });
        }
        EXPECT_TRUE(eventually([&] { return noted() == 5; }, 60s)) << "the other worker takes them";
    });
    EXPECT_EQ(order, (std::vector{0, 1, 2, 3, 4}));
}

TEST_F(one_lock_backend, a_get_takes_its_task_out_of_any_list) {
    pilfer::pool pool(one_lock(1));
    pool.run([&] {
        const long here = thread_id();
        std::vector<pilfer::future<long>> all;
        for (int i = 0; i < 100; ++i) {
            all.push_back(pilfer::async([] { return thread_id(); }));
        }
        std::thread outside([&] { all.push_back(pool.async([] { return thread_id(); })); });
        outside.join();
        for (const auto& f : all) { // neither the newest nor the oldest of its list, as a rule
            EXPECT_EQ(f.get(), here);
        }
    });
    pool.shutdown();
    EXPECT_EQ(pool.counters().run_own, 0U);
    EXPECT_EQ(pool.counters().run_submitted, 1U) << "the run() alone";
}

TEST_F(one_lock_backend, the_environment_chooses_for_pools_without_an_option) {
    const char* const before = std::getenv("PILFER_BACKEND");
    const std::optional<std::string> kept =
        before != nullptr ? std::optional<std::string>(before) : std::nullopt;
    setenv("PILFER_BACKEND", "one_lock", 1);
    EXPECT_EQ(pilfer::pool(workers(1)).settings().backend, pilfer::backend::one_lock);
    EXPECT_EQ(pilfer::pool(on(pilfer::backend::work_stealing, 1)).settings().backend,
              pilfer::backend::work_stealing);
    EXPECT_EQ(pilfer::pool(workers(1)).settings().resume, pilfer::resume::own_thread);
    unsetenv("PILFER_BACKEND");
    EXPECT_EQ(pilfer::pool(workers(1)).settings().backend, pilfer::backend::work_stealing);
    if (kept) {
        setenv("PILFER_BACKEND", kept->c_str(), 1);
    }
}

// ---- one more thread when all are stuck --------------------------------------------------------

class extra_worker : public guarded {
protected:
    /// Two tasks wait for the third one; all are queued before one begins.
    template <class Wait, class Bring>
    static void two_wait_for_a_third(pilfer::pool& pool, Wait wait, Bring bring) {
        std::vector<pilfer::future<int>> tasks;
        tasks.push_back(pool.async([wait] { return wait(0); }));
        tasks.push_back(pool.async([wait] { return wait(1); }));
        pool.submit(bring);
        EXPECT_EQ(tasks[0].get() + tasks[1].get(), 6);
    }
};

TEST_F(extra_worker, two_tasks_that_block_and_a_third_that_is_ready) {
    const auto before = thread_count();
    pilfer::options o = one_lock(2);
    o.max_extra_workers = 3;
    pilfer::pool pool(o);
    for (int round = 0; round < 20; ++round) {
        pilfer::promise<int> p;
        two_wait_for_a_third(
            pool, [f = p.get_future()](int) { return f.get(); },
            [&] {
                (void)fib_fork(6); // the temporary thread has its own records
                p.set_value(3);
            });
        EXPECT_LE(thread_count(), before + 2 + 3);
    }
    EXPECT_TRUE(threads_become(before + 2)) << "the temporary one ends when it has nothing to do";
    int pipes[2][2];
    ASSERT_EQ(pipe(pipes[0]), 0);
    ASSERT_EQ(pipe(pipes[1]), 0);
    two_wait_for_a_third(
        pool,
        [&](int i) {
            char c = 0;
            return pilfer::blocking([&] { return read(pipes[i][0], &c, 1); }) == 1 ? 3 : 0;
        },
        [&] {
            EXPECT_EQ(write(pipes[0][1], "x", 1), 1);
            EXPECT_EQ(write(pipes[1][1], "x", 1), 1);
        });
    for (auto& ends : pipes) {
        close(ends[0]);
        close(ends[1]);
    }
    pilfer::monitor<int> box(0);
    two_wait_for_a_third(
        pool, [&](int) { return box.call_when([](int v) { return v != 0; }, [](int& v) { return v; }); },
        [&] { box.call([](int& v) { v = 3; }); });
    EXPECT_TRUE(threads_become(before + 2));
}

TEST_F(extra_worker, the_cap_is_reported_as_a_stall) {
    const auto result = in_child([] {
        waits::own_stderr err;
        pilfer::options o = one_lock(2);
        o.max_extra_workers = 0;
        o.debug.stall_report = 50;
        auto& pool = *new pilfer::pool(o);
        static pilfer::promise<int> p;
        static const auto f = p.get_future();
        static const auto first = pool.async([] { return f.get(); });
        static const auto second = pool.async([] { return f.get(); });
        pool.submit([] { p.set_value(3); });
        err.await("pilfer: stall: ");
        pool.dump();
        err.await("blocks in a task", 2);
        err.give_back();
        return f.ready() ? 1 : 0;
    });
    EXPECT_TRUE(result.exited_with(0)) << result;
    EXPECT_TRUE(result.said("pilfer: stall: ")) << result;
    EXPECT_TRUE(result.said("tasks that are ready: 1 (options.max_extra_workers: 0)")) << result;
    EXPECT_TRUE(result.said("one lock, 2 threads; 2 blocked threads; 1 ready task")) << result;
    EXPECT_TRUE(result.said("blocks in a task")) << result;
}

TEST_F(extra_worker, no_more_than_the_cap) {
    const auto before = thread_count();
    pilfer::options o = one_lock(1);
    o.max_extra_workers = 0;
    pilfer::pool pool(o);
    pilfer::promise<int> p;
    std::atomic<bool> third{false};
    auto waits = pool.async([f = p.get_future()] { return f.get(); });
    pool.submit([&] { third = true; });
    EXPECT_TRUE(eventually([&] { return pool.counters().suspends == 1; }, 60s));
    EXPECT_LE(thread_count(), before + 1);
    EXPECT_FALSE(third) << "the only thread blocks";
    p.set_value(1);
    EXPECT_EQ(waits.get(), 1);
    EXPECT_TRUE(eventually([&] { return third.load(); }, 60s));
}

pilfer::task<int> suspends_twice() {
    pilfer::scope own;
    co_await pilfer::resume_after(100us);
    std::atomic<int> ran{0};
    own.fork([&] { ++ran; });
    own.sync();
    co_await pilfer::resume_after(100us);
    co_return ran;
}

TEST(one_lock_coroutines, belong_to_the_scopes_of_their_waiters) {
    const watchdog dog{40};
    for (const unsigned n : {1U, 2U, 3U}) {
        pilfer::pool pool(one_lock(n));
        for (int i = 0; i < 20; ++i) {
            EXPECT_EQ(pool.run([&] {
                const pilfer::scope s;
                return pool.run(suspends_twice());
            }),
                      1);
            EXPECT_EQ(pool.async(suspends_twice()).get(), 1);
            pool.run([] { const pilfer::scope behind; });
        }
    }
}

TEST(one_lock_blocking, a_wait_inside_blocks_like_a_foreign_thread) {
    const watchdog dog{40};
    pilfer::options o = one_lock(1);
    o.max_extra_workers = 1;
    pilfer::pool pool(o);
    pilfer::event e;
    auto waits = pool.async([&] { pilfer::blocking([&] { e.wait(); }); });
    auto sets = pool.async([&] {           // by a temporary thread
        std::this_thread::sleep_for(20ms); // so that it does wait
        e.set();
    });
    waits.get();
    sets.get();
    // And no worker is counted as blocked for good: this takes a temporary thread once more.
    pilfer::event go;
    auto second = pool.async([&] { go.wait(); });
    auto third = pool.async([&] { go.set(); });
    third.wait();
    second.get();
    SUCCEED() << "with one worker each of the two waits would last for ever without a temporary thread";
}

TEST(one_lock_io, a_wait_for_a_descriptor_blocks_its_thread_and_a_temporary_one_helps) {
    const watchdog dog{40};
    std::array<int, 2> pipe{};
    ASSERT_EQ(::pipe(pipe.data()), 0);
    {
        pilfer::options o = one_lock(1);
        o.max_extra_workers = 1;
        pilfer::pool pool(o);
        auto reader = pool.async([&] { return pilfer::io::wait_readable(pipe[0]); });
        auto writer = pool.async([&] { return ::write(pipe[1], "x", 1); }); // by a temporary thread
        EXPECT_FALSE(reader.get());
        EXPECT_EQ(writer.get(), 1);
        EXPECT_EQ(pool.run([&] { return pilfer::io::wait_writable(pipe[0], 1ms).value(); }), ETIMEDOUT);
        EXPECT_EQ(pool.run([&] { return pilfer::io::wait_readable(-1).value(); }), EBADF);
        EXPECT_THROW(pilfer::on(pool, pilfer::io::readable(pipe[0]), [] {}), std::system_error);
        std::atomic<unsigned> times{0};
        pilfer::event event;
        auto subscription = pilfer::on(pool, event, [&] { ++times; });
        event.set();
        while (times == 0) {
            std::this_thread::yield();
        }
        subscription.cancel();
    }
    ::close(pipe[0]);
    ::close(pipe[1]);
}

} // namespace
