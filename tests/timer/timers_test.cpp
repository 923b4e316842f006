// Tasks that sleep, functions that run later or again and again, and their ends when the pool ends.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <pilfer/timer.hpp>
#include <pilfer/yield.hpp>

#include "platform/clock.hpp"
#include "platform/os.hpp"
#include "support/child.hpp"
#include "support/harness.hpp"

namespace {

using namespace support;
using namespace std::chrono_literals;
using std::chrono::steady_clock;
namespace os = pilfer::os;
namespace detail = pilfer::detail;

/// Blocks this thread, not its worker, until it is so.
template <class Condition>
void wait_until(Condition so) {
    while (!so()) {
        std::this_thread::sleep_for(1ms);
    }
}

// ---- the heap by itself -----------------------------------------------------------------------

using heap = detail::timer_heap<detail::std_atom, detail::futex_park>;

class timer_heap : public guarded {};

TEST_F(timer_heap, fires_in_order_whatever_was_armed_and_disarmed) {
    std::mt19937 random(7);
    for (unsigned round = 0; round < hundredth_of(20'000, 20); ++round) {
        heap h;
        std::vector<heap::timer> timers(1 + random() % 60);
        // By time, and among equals in the order of arming.
        std::multimap<std::uint64_t, heap::timer*> expected;
        const auto disarm = [&](heap::timer& t) {
            const auto at =
                std::find_if(expected.begin(), expected.end(), [&](const auto& e) { return e.second == &t; });
            const bool is_armed = at != expected.end();
            if (is_armed) {
                expected.erase(at);
                EXPECT_TRUE(heap::disarm(t));
                EXPECT_FALSE(heap::disarm(t)) << "twice";
            }
            return is_armed;
        };
        std::uint64_t past = 0;
        for (unsigned step = 0; step < 300; ++step) {
            heap::timer& t = timers[random() % timers.size()];
            if (random() % 4 != 0) {
                (void)disarm(t);
                const std::uint64_t due = past + random() % 40;
                h.arm(t, due);
                expected.emplace(due, &t);
            } else if (!disarm(t)) {
                past += random() % 10;
                while (auto* first = h.take_due(past)) {
                    ASSERT_FALSE(expected.empty());
                    EXPECT_EQ(first, expected.begin()->second);
                    EXPECT_LE(expected.begin()->first, past);
                    expected.erase(expected.begin());
                    first->over();
                }
            }
            ASSERT_EQ(h.earliest(), expected.empty() ? heap::never : expected.begin()->first);
        }
        // An alarm that is taken by a condition comes at any time, and each once.
        while (auto* t = h.take_if([&](heap::timer& one) { return &one >= &timers[timers.size() / 2]; })) {
            EXPECT_GE(t, &timers[timers.size() / 2]);
            t->over();
            EXPECT_EQ(std::erase_if(expected, [&](const auto& e) { return e.second == t; }), 1U);
        }
        EXPECT_TRUE(std::none_of(expected.begin(), expected.end(),
                                 [&](const auto& e) { return e.second >= &timers[timers.size() / 2]; }));
        while (auto* t = h.take_due(heap::never - 1)) {
            EXPECT_EQ(t, expected.begin()->second);
            expected.erase(expected.begin());
            t->over();
        }
        EXPECT_TRUE(expected.empty());
    }
}

// ---- a clock that the test winds --------------------------------------------------------------

std::atomic<std::uint64_t> virtual_now{0};
std::atomic<std::uint64_t> virtual_waits{0};

/// A sleep until a time sets the clock to that time: no sleep takes long, and none is ever late.
const os::time_source winding{
    []() noexcept { return virtual_now.load(); },
    [](std::atomic<std::uint32_t>& word, std::uint32_t expected, std::uint64_t ns) noexcept {
        if (word.load() == expected) {
            virtual_waits.fetch_add(1);
            virtual_now.fetch_add(ns);
        }
    },
    nullptr};

class by_virtual_clock : public guarded {
protected:
    by_virtual_clock() {
        virtual_now = std::uint64_t{1} << 40;
        os::set_time_source(&winding);
        m_options.workers = 1;            // more would wind the clock on while one of them still looks
        m_options.debug.stall_report = 0; // which sleeps, too
    }
    ~by_virtual_clock() override { os::set_time_source(nullptr); }
    pilfer::options m_options;
};

TEST_F(by_virtual_clock, every_runs_exactly_as_often_as_there_is_time_for) {
    const std::uint64_t start = virtual_now;
    pilfer::pool pool(m_options);
    unsigned runs = 0;
    std::vector<std::uint64_t> when;
    pool.run([&] {
        const auto t = pilfer::every(1ms, [&] {
            ++runs;
            if (runs % 1000 == 0) {
                when.push_back(virtual_now);
            }
        });
        pilfer::sleep_for(10s + 500us);
        EXPECT_TRUE(pilfer::timer(t).cancel());
    });
    EXPECT_EQ(runs, 10'000U);
    ASSERT_EQ(when.size(), 10U);
    for (std::size_t i = 0; i < when.size(); ++i) {
        EXPECT_EQ(when[i] - start, (i + 1) * 1'000'000'000) << "on the grid";
    }
}

TEST_F(by_virtual_clock, late_runs_are_made_up_for_up_to_a_limit) {
    pilfer::pool pool(m_options);
    unsigned runs = 0;
    bool is_first = true;
    pool.run([&] {
        auto t = pilfer::every(1ms, [&] {
            ++runs;
            if (std::exchange(is_first, false)) {
                virtual_now += 5'300'000; // one run that takes more than five periods
            }
        });
        pilfer::sleep_for(10ms + 100us);
        EXPECT_EQ(runs, 10U);
        virtual_now += std::uint64_t{10} * 365 * 86'400 * 1'000'000'000; // the machine was asleep for years
        runs = 0;
        pilfer::sleep_for(1ms + 1us);
        EXPECT_GE(runs, 16U);
        EXPECT_LE(runs, 19U);
        EXPECT_TRUE(t.cancel());
    });
}

TEST_F(by_virtual_clock, sleeps_end_in_order_of_their_times) {
    pilfer::pool pool(m_options);
    std::vector<unsigned> order(100);
    std::atomic<unsigned> ended{0};
    const std::uint64_t waits_before = virtual_waits;
    pool.run([&] {
        pilfer::scope s;
        for (unsigned i = 0; i < 100; ++i) {
            s.fork([&, i] {
                pilfer::sleep_for(std::chrono::hours(1 + (i * 37) % 100));
                order[ended++] = (i * 37) % 100;
            });
        }
        s.sync();
    });
    EXPECT_EQ(ended, 100U);
    EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
    EXPECT_LE(virtual_waits - waits_before, 200U) << "a sleep for each time, not a poll";
}

template <class Clock, class Duration>
void expect_ends_of_the_scale() {
    using point = std::chrono::time_point<Clock, Duration>;
    EXPECT_GT(detail::at(point::max()), detail::never / 4) << "centuries from now";
    const detail::instant long_ago = detail::at(point::min());
    EXPECT_LE(long_ago, detail::now());
}

TEST(times, time_points_of_any_unit_do_not_overflow) {
    using std::chrono::system_clock;
    expect_ends_of_the_scale<steady_clock, steady_clock::duration>();
    expect_ends_of_the_scale<steady_clock, std::chrono::milliseconds>();
    expect_ends_of_the_scale<steady_clock, std::chrono::hours>();
    expect_ends_of_the_scale<steady_clock, std::chrono::duration<float>>();
    expect_ends_of_the_scale<system_clock, system_clock::duration>();
    expect_ends_of_the_scale<system_clock, std::chrono::seconds>();
    expect_ends_of_the_scale<system_clock, std::chrono::duration<int, std::ratio<86'400>>>();
    expect_ends_of_the_scale<system_clock, std::chrono::duration<double>>();
}

TEST_F(by_virtual_clock, times_at_the_ends_of_the_scale) {
    pilfer::pool pool(m_options);
    pool.run([] {
        const std::uint64_t before = virtual_now;
        pilfer::sleep_for(0s);
        pilfer::sleep_for(-1h);
        pilfer::sleep_for(std::chrono::duration<double>(-1e300));
        pilfer::sleep_for(std::chrono::duration<double>(std::numeric_limits<double>::quiet_NaN()));
        pilfer::sleep_until(steady_clock::time_point::min());
        pilfer::sleep_until(std::chrono::system_clock::time_point{});
        EXPECT_EQ(virtual_now, before);
        pilfer::sleep_for(std::chrono::duration<double, std::nano>(0.25));
        EXPECT_EQ(virtual_now, before + 1) << "never shorter";
        pilfer::sleep_for(std::chrono::duration<int, std::ratio<31'557'600>>(100)); // years
        EXPECT_EQ(virtual_now, before + 1 + std::uint64_t{100} * 31'557'600 * 1'000'000'000);
    });
    EXPECT_THROW((void)pilfer::every(pool, 0s, [] {}), std::invalid_argument);
    EXPECT_THROW((void)pilfer::every(pool, -1s, [] {}), std::invalid_argument);
    EXPECT_THROW((void)pilfer::every(pool, std::chrono::hours::max(), [] {}), std::invalid_argument);
    EXPECT_THROW((void)pilfer::every(pool, std::chrono::duration<double>(std::nan("")), [] {}),
                 std::invalid_argument);
    EXPECT_FALSE(pilfer::timer().cancel());
    EXPECT_TRUE(pilfer::timer().over());
    EXPECT_FALSE(pilfer::timer().valid());
}

// ---- by the real clock ------------------------------------------------------------------------

class timers : public over_workers {};
PILFER_OVER_WORKERS(timers);

TEST_P(timers, no_sleep_is_too_short_and_each_ends) {
    pilfer::pool pool(with_workers());
    std::atomic<unsigned> early{0};
    std::atomic<unsigned> ended{0};
    const auto n = static_cast<unsigned>(hundredth_of(100'000, 100));
    pool.run([&] {
        pilfer::scope s;
        for (unsigned i = 0; i < n; ++i) {
            s.fork([&, i] {
                const auto until = steady_clock::now() + std::chrono::microseconds(i * 7919 % 20'000);
                pilfer::sleep_until(until);
                early += steady_clock::now() < until ? 1 : 0;
                ++ended;
            });
        }
        s.sync();
    });
    EXPECT_EQ(early, 0U);
    EXPECT_EQ(ended, n);
}

TEST_P(timers, an_alarm_wakes_a_pool_in_which_all_sleep) {
    pilfer::pool pool(with_workers());
    pool.run([] {});
    for (unsigned i = 0; i < 5; ++i) {
        std::atomic<bool> done{false};
        const auto begin = std::chrono::steady_clock::now();
        (void)pilfer::after(pool, 1ms, [&] { done = true; });
        wait_until([&] { return done.load(); }); // Endless if no worker wakes.
        pilfer::sleep_for(1ms);                  // And of a thread that is none of its workers.
        EXPECT_GE(std::chrono::steady_clock::now() - begin, 2ms);
    }
}

TEST_P(timers, a_worker_inside_a_long_task_holds_up_no_alarm_of_its_own) {
    if (GetParam() == 1) {
        GTEST_SKIP() << "with every worker inside a long task an alarm is late";
    }
    pilfer::pool pool(with_workers());
    pool.run([] {
        for (unsigned i = 0; i < 3; ++i) {
            std::atomic<bool> done{false};
            (void)pilfer::after(1ms, [&] { done = true; });
            wait_until([&] { return done.load(); }); // blocks this worker
        }
        // A sleep, whose alarm is in a frame.
        std::atomic<bool> woken{false};
        pilfer::scope s;
        s.fork([&] {
            pilfer::sleep_for(2ms);
            woken = true;
        });
        wait_until([&] { return woken.load(); });
        s.sync();
        SUCCEED() << "each of these waits would be endless if the alarm waited for this worker";
    });
}

TEST_P(timers, cancelled_or_run_but_never_both) {
    pilfer::pool pool(with_workers());
    const auto n = static_cast<unsigned>(hundredth_of(100'000, 200));
    std::atomic<unsigned> ran{0};
    unsigned cancelled = 0;
    std::vector<pilfer::timer> all;
    for (unsigned i = 0; i < n; ++i) {
        all.push_back(pilfer::after(pool, std::chrono::microseconds(i * 3), [&] { ++ran; }));
    }
    std::thread other([&] {
        unsigned mine = 0;
        for (unsigned i = 0; i < n; i += 2) {
            mine += all[i].cancel() ? 1 : 0;
        }
        ran += mine; // counted together: each of these has not run
    });
    for (unsigned i = n; i-- > 0;) {
        cancelled += (i % 2 == 1 && all[i].cancel()) ? 1 : 0;
    }
    other.join();
    pool.shutdown();
    EXPECT_EQ(ran + cancelled, n);
    EXPECT_TRUE(std::all_of(all.begin(), all.end(), [](const auto& t) { return t.over(); }));
    EXPECT_FALSE(all[0].cancel()) << "also when its pool is gone";
}

TEST_P(timers, every_never_overlaps_and_ends_itself) {
    pilfer::pool pool(with_workers());
    std::atomic<int> inside{0};
    std::atomic<int> overlaps{0};
    std::atomic<int> runs{0};
    auto by_result = pilfer::every(pool, 100us, [&] {
        overlaps += inside.fetch_add(1);
        pilfer::sleep_for(50us); // it may suspend like any task
        --inside;
        return ++runs < 20;
    });
    pilfer::timer by_itself;
    std::atomic<bool> known{false};
    std::atomic<int> others{0};
    by_itself = pilfer::every(pool, 100us, [&] {
        if (known && ++others == 10) {
            EXPECT_TRUE(by_itself.cancel());
            EXPECT_FALSE(by_itself.over()) << "it runs";
        }
    });
    known = true;
    wait_until([&] { return by_result.over() && by_itself.over(); });
    EXPECT_EQ(runs, 20);
    EXPECT_EQ(others, 10);
    EXPECT_EQ(overlaps, 0);
}

TEST_P(timers, captures_end_with_the_last_run) {
    pilfer::pool pool(with_workers());
    const auto token = std::make_shared<int>(1);
    const auto run_once = pilfer::after(pool, 0s, [token] {});
    auto never_run = pilfer::after(pool, 1h, [token] {});
    auto again = pilfer::every(pool, 1h, [token] {});
    EXPECT_TRUE(never_run.cancel());
    EXPECT_TRUE(again.cancel());
    wait_until([&] { return run_once.over(); });
    EXPECT_EQ(token.use_count(), 1) << "though there are handles";
}

TEST_P(timers, drain_waits_for_after_and_ends_every) {
    std::atomic<unsigned> ran{0};
    std::atomic<unsigned> periodic{0};
    const auto token = std::make_shared<int>(1);
    pilfer::timer endless;
    pilfer::timer rare;
    {
        pilfer::pool pool(with_workers());
        for (unsigned i = 0; i < 20; ++i) {
            (void)pilfer::after(pool, std::chrono::milliseconds(i), [&, token] { ++ran; });
        }
        endless = pilfer::every(pool, 20us, [&, token] { ++periodic; });
        rare = pilfer::every(pool, 1h, [token] {});
        pool.submit([&] {
            // One of its own tasks still may, while it closes.
            while (ran <= 10) {
                pilfer::sleep_for(1ms);
            }
            (void)pilfer::after(1ms, [&, token] { ++ran; });
        });
    }
    EXPECT_EQ(ran, 21U);
    EXPECT_TRUE(endless.over());
    EXPECT_TRUE(rare.over());
    EXPECT_FALSE(endless.cancel());
    EXPECT_EQ(token.use_count(), 1);
}

TEST_P(timers, drop_counts_functions_that_have_not_begun) {
    const auto token = std::make_shared<int>(1);
    pilfer::pool pool(with_workers());
    std::vector<pilfer::timer> all;
    for (unsigned i = 0; i < 10; ++i) {
        all.push_back(pilfer::after(pool, 1h, [token] { ADD_FAILURE(); }));
    }
    all.push_back(pilfer::every(pool, 1h, [token] { ADD_FAILURE(); }));
    // A drain would wait for an hour; another thread's drop ends that.
    std::thread drains([&] { pool.shutdown(pilfer::shutdown_mode::drain); });
    pool.shutdown(pilfer::shutdown_mode::drop);
    drains.join();
    EXPECT_EQ(pool.counters().dropped, 10U);
    EXPECT_EQ(token.use_count(), 1);
    EXPECT_TRUE(std::all_of(all.begin(), all.end(), [](const auto& t) { return t.over(); }));
    EXPECT_THROW((void)pilfer::after(pool, 1ms, [] {}), pilfer::pool_closed);
    EXPECT_THROW((void)pilfer::every(pool, 1ms, [] {}), pilfer::pool_closed);
    EXPECT_THROW(pool.submit([] {}), pilfer::pool_closed);
}

TEST_P(timers, cancelling_while_the_pool_ends) {
    for (unsigned round = 0; round < hundredth_of(2'000, 10); ++round) {
        std::vector<pilfer::timer> all;
        std::atomic<unsigned> ran{0};
        const auto mode = round % 2 == 0 ? pilfer::shutdown_mode::drain : pilfer::shutdown_mode::drop;
        std::thread cancels;
        {
            pilfer::options o = with_workers();
            o.workers = std::min(o.workers, 8U);
            pilfer::pool pool(o);
            for (unsigned i = 0; i < 20; ++i) {
                all.push_back(i % 3 == 0 ? pilfer::every(pool, 30us, [&] { ++ran; })
                                         : pilfer::after(pool, 50us * i, [&] { ++ran; }));
            }
            cancels = std::thread([&] {
                for (auto& t : all) {
                    (void)t.cancel();
                }
            });
            pool.shutdown(mode);
        }
        const unsigned then = ran;
        cancels.join();
        EXPECT_TRUE(std::all_of(all.begin(), all.end(), [](const auto& t) { return t.over(); }));
        EXPECT_EQ(ran, then) << "nothing runs behind the end";
    }
}

TEST_P(timers, exceptions_of_timed_functions_go_to_on_error) {
    std::atomic<unsigned> errors{0};
    std::atomic<unsigned> runs{0};
    pilfer::options o = with_workers();
    o.on_error = [&](const std::exception_ptr& e) {
        try {
            std::rethrow_exception(e);
        } catch (const std::runtime_error& what) {
            errors += what.what() == std::string("mine") ? 1 : 0;
        }
    };
    {
        pilfer::pool pool(o);
        pool.submit([] { throw std::runtime_error("mine"); });
        pool.run([&] {
            pool.submit([] { throw std::runtime_error("mine"); });
            pool.submit([moved = std::make_unique<int>(1), &runs] { runs += static_cast<unsigned>(*moved); });
        });
        (void)pilfer::after(pool, 1us, [] { throw std::runtime_error("mine"); });
        auto goes_on = pilfer::every(pool, 10us, [&]() -> bool {
            if (++runs % 2 == 0) {
                throw std::runtime_error("mine");
            }
            return runs < 10;
        });
        wait_until([&] { return goes_on.over(); });
    }
    EXPECT_GE(errors, 3U + 4U);
    EXPECT_GE(runs, 10U);
}

TEST_P(timers, yield_lets_all_other_ready_tasks_run) {
    pilfer::pool pool(with_workers());
    pool.run([&] {
        // Each waits for the others, and nothing suspends: without yield one worker would spin.
        std::atomic<unsigned> turn{0};
        pilfer::scope s;
        for (unsigned i = 0; i < 10; ++i) {
            s.fork([&turn, i] {
                while (turn != i) {
                    pilfer::yield();
                }
                ++turn;
            });
        }
        std::atomic<bool> submitted{false};
        std::thread outside([&] { pool.submit([&] { submitted = true; }); });
        while (turn != 10 || !submitted) {
            pilfer::yield();
        }
        outside.join();
        s.sync();
        EXPECT_EQ(turn, 10U);
        EXPECT_TRUE(submitted);
    });
    pilfer::yield(); // of a thread that is no worker
}

TEST_P(timers, times_at_the_end_of_the_clock) {
    pilfer::pool pool(with_workers());
    // As far away as a clock can say: armed, not lost, and cancelled.
    auto far = pilfer::after(pool, steady_clock::duration::max(), [] {});
    auto further = pilfer::after(pool, std::chrono::hours::max(), [] {});
    EXPECT_FALSE(far.over());
    EXPECT_TRUE(far.cancel());
    EXPECT_TRUE(further.cancel());
}

TEST_P(timers, destructors_at_the_end_of_the_pool_may_shut_it_down_again) {
    struct shuts_down {
        pilfer::pool* pool;
        explicit shuts_down(pilfer::pool& p) : pool(&p) {}
        shuts_down(shuts_down&& other) noexcept : pool(std::exchange(other.pool, nullptr)) {}
        shuts_down& operator=(shuts_down&&) = delete;
        ~shuts_down() {
            if (pool != nullptr) {
                pool->shutdown();
            }
        }
    };
    pilfer::pool pool(with_workers());
    const auto t = pilfer::every(pool, 1h, [guard = shuts_down(pool)] {});
    pool.shutdown();
    EXPECT_TRUE(t.over());
}

TEST_P(timers, a_yielding_task_finds_private_tasks) {
    if (GetParam() == 1) {
        GTEST_SKIP() << "takes two";
    }
    pilfer::pool pool(with_workers());
    pool.run([&] {
        std::atomic<bool> done{false};
        std::atomic<unsigned> yield_loops{0};
        pilfer::scope s;
        for (unsigned i = 1; i < pool.workers(); ++i) {
            s.fork([&] {
                ++yield_loops;
                while (!done) {
                    pilfer::yield();
                }
            });
        }
        wait_until(
            [&] { return yield_loops + 1 == pool.workers(); }); // blocks this worker: the others took them
        s.fork([&] { done = true; });                           // and looks at nothing any more
        wait_until([&] { return done.load(); });
        s.sync();
        SUCCEED() << "this worker looks at nothing: only one that yields can have found the task";
    });
}

class timers_death : public guarded {};

TEST_F(timers_death, without_on_error_the_program_prints_the_exception) {
    const auto says = in_child([] {
        pilfer::pool pool(workers(2));
        pool.submit([] { throw std::runtime_error("out of cheese"); });
        pool.shutdown();
        return 0;
    });
    EXPECT_TRUE(says.killed_by(SIGABRT)) << says;
    EXPECT_TRUE(says.said("a task that nobody waits for has thrown")) << says;
    EXPECT_TRUE(says.said("out of cheese")) << says;
    const auto number = in_child([] {
        pilfer::pool pool(workers(1));
        (void)pilfer::after(pool, 1ms, [] { throw 7; });
        pool.shutdown();
        return 0;
    });
    EXPECT_TRUE(number.killed_by(SIGABRT)) << number;
    EXPECT_TRUE(number.said("no std::exception")) << number;
}

TEST_F(timers_death, sleeping_tasks_are_no_stall) {
    pilfer::options o = workers(2);
    o.debug.stall_report = 1;
    testing::internal::CaptureStderr();
    {
        pilfer::pool pool(o);
        pool.run([] { pilfer::sleep_for(60ms); });
    }
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST_F(timers_death, sleepers_resume_with_few_stacks) {
    pilfer::options o = workers(2);
    o.max_contexts = 3;
    pilfer::pool pool(o);
    std::atomic<unsigned> ended{0};
    pool.run([&] {
        pilfer::scope s;
        for (unsigned i = 0; i < 40; ++i) {
            s.fork([&] {
                pilfer::sleep_for(100us);
                ++ended;
            });
        }
        s.sync();
    });
    EXPECT_EQ(ended, 40U);
}

} // namespace
