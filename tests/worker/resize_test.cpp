// More and fewer workers while a pool runs.
#include <stdlib.h>

#include <atomic>
#include <cfenv>
#include <chrono>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "platform/os.hpp"
#include "pool/pool_core.hpp"
#include "support/child.hpp"
#include "support/harness.hpp"
#include "support/process.hpp"

namespace {

using namespace support;
using namespace std::chrono_literals;

[[nodiscard]] pilfer::options resizable(unsigned workers, unsigned most) {
    pilfer::options o;
    o.workers = workers;
    o.max_workers = most;
    return o;
}

[[nodiscard]] bool all_aside(pilfer::pool& pool, unsigned from, unsigned to) {
    for (unsigned i = from; i < to; ++i) {
        if (!pool.core().idle().is_retired(i)) {
            return false;
        }
    }
    return true;
}

/// Until workers [from, to) have stepped aside; the watchdog bounds it.
void await_aside(pilfer::pool& pool, unsigned from, unsigned to) {
    while (!all_aside(pool, from, to)) {
        std::this_thread::sleep_for(100us);
    }
}

class pool_resize : public guarded {};

TEST_F(pool_resize, threads_are_made_once_and_end_with_the_pool) {
    const auto before = thread_count();
    {
        pilfer::pool pool(resizable(2, 8));
        EXPECT_EQ(pool.workers(), 2U);
        EXPECT_EQ(thread_count(), before + 2);
        EXPECT_EQ(pool.resize(5), 5U);
        EXPECT_EQ(pool.workers(), 5U);
        EXPECT_EQ(thread_count(), before + 5);
        EXPECT_EQ(pool.resize(1), 1U);
        EXPECT_EQ(pool.workers(), 1U);
        await_aside(pool, 1, 5);
        EXPECT_EQ(pool.resize(8), 8U);
        EXPECT_EQ(thread_count(), before + 8);
        EXPECT_EQ(pool.resize(3), 3U);
        EXPECT_EQ(pool.run([] { return fib_join(15); }), fib(15));
    }
    EXPECT_TRUE(threads_become(before));
}

TEST_F(pool_resize, a_parked_worker_runs_nothing) {
    pilfer::pool pool(resizable(4, 4));
    pool.resize(2);
    await_aside(pool, 2, 4);
    const auto before = pool.counters(2).run_stolen + pool.counters(3).run_stolen +
                        pool.counters(2).run_submitted + pool.counters(3).run_submitted;
    for (int round = 0; round < 20; ++round) {
        EXPECT_EQ(pool.run([] { return fib_join(16); }), fib(16));
        EXPECT_EQ(pool.run([] { return fib_spawn(14); }), fib(14));
    }
    EXPECT_EQ(pool.counters(2).run_stolen + pool.counters(3).run_stolen + pool.counters(2).run_submitted +
                  pool.counters(3).run_submitted,
              before);
    EXPECT_TRUE(all_aside(pool, 2, 4));
}

TEST_F(pool_resize, a_worker_that_is_called_back_takes_part) {
    pilfer::pool pool(resizable(1, 3));
    pool.resize(3);
    pool.resize(1);
    await_aside(pool, 1, 3);
    pool.resize(3);
    // Three tasks that need each other: each has a worker of its own.
    std::atomic<int> met{0};
    pool.run([&] {
        pilfer::scope s;
        for (int i = 0; i < 3; ++i) {
            s.fork([&] {
                ++met;
                while (met.load() < 3) {
                    std::this_thread::yield();
                }
            });
        }
        s.sync();
    });
    EXPECT_EQ(met.load(), 3);
}

/// On a worker other than the first one, which runs something else meanwhile.
template <class F>
void on_the_second_worker(pilfer::pool& pool, const F& f) {
    std::atomic<bool> over{false};
    std::atomic<bool> begun{false};
    pool.run([&] {
        pilfer::scope s;
        for (unsigned i = 0; i < 2; ++i) {
            s.fork([&] {
                if (pilfer::detail::this_worker()->index == 0) {
                    while (!over.load()) {
                        std::this_thread::yield();
                    }
                    return;
                }
                if (!begun.exchange(true)) { // it may have come to both
                    f();
                    over = true;
                }
            });
        }
        s.sync();
    });
}

TEST_F(pool_resize, tasks_of_a_leaving_worker_are_run_by_others) {
    for (int round = 0; round < 50; ++round) {
        pilfer::pool pool(resizable(2, 2));
        std::atomic<unsigned> ran{0};
        std::atomic<bool> asked{false};
        pool.run([&] {
            pilfer::scope s;
            std::atomic<bool> over{false};
            // Taken by the second worker: it announces, and waits for all of it to be run.
            s.fork([&] {
                pilfer::scope own;
                for (unsigned i = 0; i < 1000; ++i) {
                    own.fork([&] { ++ran; });
                }
                pool.resize(1);
                asked = true;
                own.sync();
                over = true;
            });
            while (!asked.load()) {
                std::this_thread::yield();
            }
            s.sync();
            EXPECT_TRUE(over.load());
        });
        EXPECT_EQ(ran.load(), 1000U);
    }
}

TEST_F(pool_resize, a_context_of_a_leaving_worker_resumes_elsewhere) {
    pilfer::pool pool(resizable(2, 2));
    pilfer::event go;
    std::uint64_t began = 0; // not std::this_thread::get_id(), which a compiler asks once for both
    std::uint64_t ended = 0;
    std::atomic<bool> waits{false};
    std::atomic<bool> over{false};
    pilfer::future<void> waiting;
    on_the_second_worker(pool, [&] {
        waiting = pool.async([&] {
            began = pilfer::os::thread_id();
            waits = true;
            go.wait();
            ended = pilfer::os::thread_id();
            over = true;
        });
        while (!waits.load()) {
            pilfer::yield(); // to this task, which no other worker can run now
        }
    });
    pool.resize(1);
    await_aside(pool, 1, 2);
    go.set();
    waiting.get();
    EXPECT_TRUE(over.load());
    EXPECT_NE(began, 0U);
    EXPECT_EQ(ended, pool.run([] { return pilfer::os::thread_id(); })); // the only one that works
    EXPECT_TRUE(all_aside(pool, 1, 2));
}

TEST_F(pool_resize, a_context_that_must_stay_resumes_on_the_leaving_worker) {
    auto o = resizable(2, 2);
    o.resume = pilfer::resume::own_thread;
    pilfer::pool pool(o);
    pilfer::event go;
    std::uint64_t began = 0; // not std::this_thread::get_id(), which a compiler asks once for both
    std::uint64_t ended = 0;
    std::atomic<bool> waits{false};
    pilfer::future<void> waiting;
    on_the_second_worker(pool, [&] {
        waiting = pool.async([&] {
            began = pilfer::os::thread_id();
            waits = true;
            go.wait();
            ended = pilfer::os::thread_id();
        });
        while (!waits.load()) {
            pilfer::yield();
        }
    });
    pool.resize(1);
    await_aside(pool, 1, 2);
    go.set();
    waiting.get();
    EXPECT_EQ(began, ended);
    await_aside(pool, 1, 2); // again
}

TEST_F(pool_resize, a_task_may_send_its_own_worker_away) {
    for (int round = 0; round < 100; ++round) {
        pilfer::pool pool(resizable(3, 3));
        std::uint64_t got = 0;
        pool.run([&] {
            pilfer::scope s;
            for (int i = 0; i < 8; ++i) {
                s.spawn([&] { pool.resize(1); });
            }
            got = fib_join(12);
        });
        EXPECT_EQ(got, fib(12));
        EXPECT_EQ(pool.workers(), 1U);
    }
}

TEST_F(pool_resize, an_endless_recursion_yields) {
    // Workers beyond the first one do not return to their schedulers by themselves.
    pilfer::pool pool(resizable(4, 4));
    std::atomic<bool> over{false};
    std::atomic<unsigned> begun{0};
    auto endless = pool.async([&] {
        pilfer::scope s;
        for (unsigned i = 0; i < 4; ++i) {
            s.fork([&] {
                ++begun;
                while (!over.load()) {
                    EXPECT_EQ(fib_join(10), fib(10));
                }
            });
        }
    });
    while (begun.load() < 4) {
        std::this_thread::sleep_for(1ms);
    }
    pool.resize(1);
    await_aside(pool, 1, 4);
    over = true;
    endless.get();
}

/// Announces without end. Its deque is empty each time it makes way.
void announce_until(const std::atomic<bool>& over) {
    while (!over.load()) {
        pilfer::join([] {}, [] {});
    }
}

TEST_F(pool_resize, a_displaced_frame_resumes_beside_endless_ones) {
    for (int round = 0; round < 20; ++round) {
        pilfer::pool pool(resizable(2, 2));
        std::atomic<bool> go{false};
        std::atomic<bool> flag{false};
        std::atomic<unsigned> begun{0};
        auto both = pool.async([&] {
            pilfer::scope s;
            s.fork([&] {
                ++begun;
                announce_until(flag);
            });
            s.fork([&] {
                ++begun;
                announce_until(go);
                flag = true;
            });
        });
        while (begun.load() < 2) {
            std::this_thread::sleep_for(100us);
        }
        pool.resize(1);
        await_aside(pool, 1, 2);
        go = true; // whichever of the two was displaced
        both.get();
        EXPECT_TRUE(flag); // the one that was displaced has gone on, or this would wait for ever
    }
}

TEST_F(pool_resize, tasks_left_in_its_deque_run_beside_endless_ones) {
    for (int round = 0; round < 20; ++round) {
        pilfer::pool pool(resizable(2, 2));
        std::atomic<bool> left{false};
        std::atomic<bool> ran{false};
        std::atomic<unsigned> begun{0};
        pool.run([&] {
            pilfer::scope s;
            for (int i = 0; i < 2; ++i) {
                s.fork([&] {
                    ++begun;
                    if (pilfer::detail::this_worker()->index == 0) {
                        announce_until(ran); // never robs another worker
                        return;
                    }
                    pilfer::scope own;
                    while (begun.load() < 2) {
                        std::this_thread::yield();
                    }
                    own.fork([&] { ran = true; }); // stays when this frame is displaced
                    left = true;
                    pool.resize(1);
                    announce_until(ran);
                });
            }
            s.sync();
        });
        EXPECT_TRUE(left.load());
    }
}

/// It was suspended on that thread, with a scope that resumes on its origin, and nothing holds it there
/// afterwards.
TEST_F(pool_resize, a_frame_that_returned_to_it_yields) {
    pilfer::pool pool(resizable(2, 2));
    pilfer::event go;
    std::atomic<bool> waits{false};
    std::atomic<bool> moved{false};
    pilfer::future<void> frame;
    on_the_second_worker(pool, [&] {
        frame = pool.async([&] {
            {
                pilfer::scope home(pilfer::resume::own_thread);
                home.fork([&] {
                    waits = true;
                    go.wait();
                });
                home.sync();
            }
            EXPECT_EQ(pilfer::detail::this_worker()->index, 1U);
            while (pilfer::detail::this_worker()->index != 0) {
                pilfer::join([] {}, [] {});
            }
            moved = true;
        });
        while (!waits.load()) {
            pilfer::yield();
        }
    });
    while (!pool.core().idle().is_left_asleep(1)) {
        std::this_thread::sleep_for(100us); // else it is summoned, and that might stay
    }
    pool.resize(1);
    await_aside(pool, 1, 2);
    auto other = pool.async([&] { announce_until(moved); }); // so that no worker robs the frame
    go.set();
    frame.get();
    other.get();
}

/// The thread is made by a task that rounds upwards.
TEST_F(pool_resize, later_threads_have_the_rounding_mode_of_the_first) {
    pilfer::pool pool(resizable(1, 2));
    pool.run([&] {
        std::fesetround(FE_UPWARD);
        pool.resize(2);
        std::fesetround(FE_TONEAREST);
    });
    std::atomic<unsigned> met{0};
    pool.run([&] {
        pilfer::scope s;
        for (int i = 0; i < 2; ++i) {
            s.fork([&] {
                ++met;
                while (met.load() < 2) {
                    std::this_thread::yield();
                }
                EXPECT_EQ(std::fegetround(), FE_TONEAREST);
            });
        }
    });
}

TEST_F(pool_resize, an_automatic_number_is_at_most_max_workers) {
    setenv("PILFER_WORKERS", "5", 1);
    pilfer::options o;
    o.max_workers = 3;
    const pilfer::pool small(o);
    EXPECT_EQ(small.workers(), 3U);
    o.max_workers = 7;
    const pilfer::pool large(o);
    EXPECT_EQ(large.workers(), 5U);
    EXPECT_EQ(large.settings().max_workers, 7U);
    unsetenv("PILFER_WORKERS");
}

TEST_F(pool_resize, alarms_of_a_leaving_worker_fire) {
    pilfer::pool pool(resizable(4, 4));
    std::atomic<unsigned> fired{0};
    std::vector<pilfer::future<void>> all;
    for (unsigned i = 0; i < 64; ++i) {
        all.push_back(pool.async([&] {
            pilfer::sleep_for(20ms);
            ++fired;
        }));
    }
    pool.resize(1);
    for (auto& f : all) {
        f.get();
    }
    EXPECT_EQ(fired.load(), 64U);
    await_aside(pool, 1, 4);
}

TEST_F(pool_resize, a_dump_lists_parked_workers) {
    pilfer::pool pool(resizable(2, 5));
    pool.resize(3);
    pool.resize(1);
    await_aside(pool, 1, 3);
    std::ostringstream out;
    pool.dump(out);
    const std::string text = out.str();
    EXPECT_NE(text.find(": 1 worker;"), std::string::npos) << text;
    EXPECT_NE(text.find("worker 1 (thread"), std::string::npos) << text;
    EXPECT_NE(text.find("has stepped aside"), std::string::npos) << text;
    EXPECT_EQ(text.find("worker 3"), std::string::npos) << text; // never made
}

TEST_F(pool_resize, a_standstill_is_reported_by_any_last_worker) {
    for (const bool others_first : {false, true}) {
        const auto died = in_child([others_first] {
            auto o = resizable(2, 2);
            o.debug.stall_report = 50;
            pilfer::pool pool(o);
            pilfer::event never;
            const auto waits = pool.async([&] { never.wait(); });
            if (others_first) {
                std::this_thread::sleep_for(20ms);
            }
            pool.resize(1);
            std::this_thread::sleep_for(1s);
            std::_Exit(7); // the event is never set
            return 0;
        });
        EXPECT_TRUE(died.exited_with(7)) << died;
        EXPECT_TRUE(died.said("pilfer: stall: ")) << died;
    }
}

TEST_F(pool_resize, other_back_ends_and_recordings_keep_their_workers) {
    auto o = resizable(2, 4);
    o.backend = pilfer::backend::one_lock;
    pilfer::pool simple(o);
    EXPECT_EQ(simple.resize(4), 2U);
    EXPECT_EQ(simple.resize(1), 2U);
    EXPECT_EQ(simple.workers(), 2U);
    EXPECT_EQ(simple.run([] { return fib_join(10); }), fib(10));
    auto r = resizable(1, 4);
    r.debug.profile = true;
    pilfer::pool recording(r);
    EXPECT_EQ(recording.resize(4), 1U);
    EXPECT_EQ(recording.run([] { return fib_join(10); }), fib(10));
}

TEST_F(pool_resize, bad_input) {
    pilfer::pool pool(resizable(2, 4));
    for (const unsigned n : {0U, 5U, 4096U, 4097U}) {
        try {
            pool.resize(n);
            FAIL() << n;
        } catch (const std::invalid_argument& e) {
            EXPECT_EQ(std::string(e.what()),
                      "pilfer: a pool is resized to 1 to 4 workers (options.max_workers), not to " +
                          std::to_string(n));
        }
        EXPECT_EQ(pool.workers(), 2U);
    }
    for (const unsigned most : {1U, 4097U}) {
        try {
            const pilfer::pool none(resizable(2, most));
            FAIL() << most;
        } catch (const std::invalid_argument& e) {
            EXPECT_EQ(std::string(e.what()),
                      "pilfer: options.max_workers must be from 2 to 4096 (or 0 for as many as the "
                      "pool begins with), not " +
                          std::to_string(most));
        }
    }
    pilfer::pool fixed(workers(2));
    EXPECT_EQ(fixed.settings().max_workers, 2U);
    EXPECT_THROW(fixed.resize(3), std::invalid_argument);
    pool.shutdown();
    EXPECT_THROW(pool.resize(1), pilfer::pool_closed);
}

constexpr unsigned depth = sanitized ? 6 : 8;

/// A tree whose shape is a hash of the position: as in uts, the size of a part is not known before.
std::uint64_t tree(std::uint64_t at, unsigned levels) {
    if (levels == 0) {
        return 1;
    }
    at = (at ^ (at >> 31)) * 0x9e3779b97f4a7c15ULL;
    const unsigned children = static_cast<unsigned>(at >> 61); // 0 .. 7
    std::atomic<std::uint64_t> sum{1};
    pilfer::scope s;
    for (unsigned i = 0; i < children; ++i) {
        s.spawn([&sum, at, i, levels] { sum += tree(at + i + 1, levels - 1); });
    }
    s.sync();
    return sum;
}

TEST_F(pool_resize, a_count_of_nodes_is_right_while_the_pool_is_resized) {
    pilfer::pool alone(workers(1));
    const std::uint64_t right = alone.run([] { return tree(3, depth); });
    ASSERT_GT(right, 500U);
    for (const auto how : {pilfer::resume::anywhere, pilfer::resume::own_thread, pilfer::resume::elsewhere}) {
        auto o = resizable(2, 64);
        o.resume = how;
        pilfer::pool pool(o);
        std::atomic<bool> over{false};
        std::thread changes([&] {
            for (unsigned k = 0; !over.load(); ++k) {
                constexpr unsigned sizes[] = {1, 64, 2, 3, 1, 2, 17};
                pool.resize(sizes[k % std::size(sizes)]);
                std::this_thread::sleep_for(k % 8 == 0 ? 0us : 2000us);
            }
        });
        for (std::uint64_t round = 0; round < hundredth_of(2000, 2); ++round) {
            EXPECT_EQ(pool.run([] { return tree(3, depth); }), right);
            EXPECT_EQ(pool.run([] { return fib_fork(12); }), fib(12));
        }
        over = true;
        changes.join();
    }
}

TEST_F(pool_resize, a_pool_ends_while_it_is_resized) {
    for (int round = 0; round < 30; ++round) {
        auto pool = std::make_unique<pilfer::pool>(resizable(2, 8));
        std::atomic<bool> begun{false};
        std::thread changes([&] {
            try {
                for (unsigned k = 0;; ++k) {
                    pool->resize(1 + k * 5 % 8);
                    begun = true;
                }
            } catch (const pilfer::pool_closed&) {
            }
        });
        while (!begun.load()) {
            std::this_thread::yield();
        }
        auto last = pool->async([] { return fib_join(10); });
        pool->shutdown(round % 2 == 0 ? pilfer::shutdown_mode::drain : pilfer::shutdown_mode::drop);
        changes.join();
        if (round % 2 == 0) {
            EXPECT_EQ(last.get(), fib(10));
        }
        pool.reset();
    }
}

class watch_over_alarms : public guarded {};

/// The watching worker is asked to step aside and wakes a successor. That worker is about to be asked, too.
TEST_F(watch_over_alarms, stays_with_workers_that_remain) {
    constexpr unsigned workers = 16;
    for (int round = 0; round < 10; ++round) {
        pilfer::pool pool(resizable(workers, workers));
        std::atomic<bool> begun{false};
        std::atomic<bool> slept{false};
        pool.submit([&] {
            begun = true;
            pilfer::sleep_for(20ms);
            slept = true;
        });
        while (!begun.load()) {
            std::this_thread::yield();
        }
        std::this_thread::sleep_for(5ms); // one watches by now, and the others sleep
        pool.resize(1);
        for (unsigned k = 0; k < 10'000 && !slept.load(); ++k) {
            std::this_thread::sleep_for(1ms);
        }
        const bool in_time = slept.load();
        pool.resize(workers); // whatever was lost is found again
        ASSERT_TRUE(in_time) << "round " << round;
    }
}

} // namespace
