// Functions that run each time: how often, in which order, cancelled, and at the end of their pool.
#include <gtest/gtest.h>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <memory>
#include <numeric>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include <pilfer/named.hpp>
#include <pilfer/on.hpp>
#include <pilfer/yield.hpp>

#include "io/support.hpp"
#include "support/harness.hpp"

namespace {

using namespace support;
using namespace std::chrono_literals;

template <class Condition>
void await(Condition so) {
    while (!so()) {
        std::this_thread::yield();
    }
}

/// True if it is over within 10 s. Otherwise cancels it, so that the test can go on.
[[nodiscard]] bool over_soon(pilfer::subscription s) {
    const auto end = std::chrono::steady_clock::now() + 10s;
    while (!s.over() && std::chrono::steady_clock::now() < end) {
        std::this_thread::yield();
    }
    const bool ended = s.over();
    (void)s.cancel();
    await([&] { return s.over(); });
    return ended;
}

class functions_on_events : public over_workers {};
PILFER_OVER_WORKERS(functions_on_events);

TEST_P(functions_on_events, an_event_runs_it_once_for_each_setting) {
    pilfer::pool pool(with_workers());
    pilfer::event e;
    std::atomic<unsigned> runs{0};
    pilfer::subscription s = pilfer::on(pool, e, [&] { ++runs; });
    const auto times = static_cast<unsigned>(hundredth_of(20'000, 20));
    for (unsigned i = 0; i < times; ++i) {
        if (i % 3 == 0) {
            e.reset();
        }
        e.set();
        await([&] { return runs == i + 1; });
    }
    EXPECT_FALSE(s.over());
    EXPECT_TRUE(s.cancel());
    EXPECT_FALSE(s.cancel());
    await([&] { return s.over(); });
    e.set();
    pool.shutdown();
    EXPECT_EQ(runs, times);

    pilfer::pool other(with_workers());
    pilfer::event is_set(true);
    const auto at_once = pilfer::on(other, is_set, [&] {
        ++runs;
        return false;
    });
    await([&] { return at_once.over(); });
    EXPECT_EQ(runs, times + 1);
}

TEST_P(functions_on_events, settings_during_a_run_give_one_more) {
    pilfer::pool pool(with_workers());
    pilfer::event e;
    pilfer::event go;
    std::atomic<unsigned> begun{0};
    std::atomic<unsigned> ended{0};
    auto s = pilfer::on(pool, e, [&] {
        ++begun;
        go.wait();
        ++ended;
    });
    e.set();
    await([&] { return begun == 1; });
    for (unsigned i = 0; i < 5; ++i) {
        e.set();
    }
    EXPECT_EQ(begun, 1U) << "it never overlaps itself";
    go.set();
    await([&] { return ended == 2; });
    EXPECT_TRUE(s.cancel());
    await([&] { return s.over(); });
    EXPECT_EQ(begun, 2U);
}

TEST_P(functions_on_events, an_exception_names_its_function) {
    std::atomic<unsigned> named{0};
    pilfer::options o = with_workers();
    o.on_error = [&](const std::exception_ptr&) {
        const char* const name = pilfer::current_task_name();
        named += name != nullptr && std::string(name) == "thrower" ? 1 : 0;
    };
    pilfer::pool pool(o);
    pilfer::event e;
    auto s = pilfer::on(pool, e, pilfer::named("thrower", [] { throw 1; }));
    e.set();
    await([&] { return named == 1; });
    s.cancel();
    await([&] { return s.over(); });
    pilfer::channel<int> c(1);
    const auto t = pilfer::on(pool, c, pilfer::named("thrower", [](int i) { throw i; }));
    EXPECT_TRUE(c.send(7));
    c.close();
    await([&] { return t.over(); });
    EXPECT_EQ(named, 2U);
}

TEST_P(functions_on_events, a_channel_hands_it_each_value_in_order) {
    std::atomic<unsigned> thrown{0};
    pilfer::options o = with_workers();
    o.on_error = [&](const std::exception_ptr&) { ++thrown; };
    pilfer::pool pool(o);
    for (const std::size_t capacity : {std::size_t{0}, std::size_t{1}, std::size_t{100}}) {
        pilfer::channel<std::unique_ptr<unsigned>> c(capacity);
        const auto n = static_cast<unsigned>(hundredth_of(50'000, 50));
        std::vector<unsigned> got;
        std::atomic<int> inside{0};
        const auto s = pilfer::on(pool, c, [&](std::unique_ptr<unsigned> value) {
            EXPECT_EQ(++inside, 1);
            got.push_back(*value);
            if (*value % 8 == 0) {
                pilfer::yield();
            }
            --inside;
            if (*value % 16 == 3) {
                throw *value; // goes to on_error, and the function stays set
            }
        });
        if (capacity == 1) {
            pool.run([&] {
                for (unsigned i = 0; i < n; ++i) {
                    EXPECT_TRUE(c.send(std::make_unique<unsigned>(i)));
                }
            });
        } else {
            for (unsigned i = 0; i < n; ++i) {
                EXPECT_TRUE(c.send(std::make_unique<unsigned>(i)));
            }
        }
        c.close();
        await([&] { return s.over(); });
        std::vector<unsigned> all(n);
        std::iota(all.begin(), all.end(), 0U);
        EXPECT_EQ(got, all);
        EXPECT_EQ(thrown.exchange(0), (n + 12) / 16);
        EXPECT_TRUE(pilfer::on(pool, c, [](std::unique_ptr<unsigned>) {}).over()) << "closed and empty";
    }
}

TEST_P(functions_on_events, no_value_is_lost_when_it_is_cancelled) {
    pilfer::pool pool(with_workers());
    const auto rounds = static_cast<unsigned>(hundredth_of(5'000, 20));
    pilfer::channel<unsigned> c(4);
    unsigned next = 0; // of the function, then of the loop below
    std::thread sender([&] {
        for (unsigned i = 0; i < rounds * 3; ++i) {
            EXPECT_TRUE(c.send(i));
        }
        c.close();
    });
    for (unsigned round = 0; round < rounds; ++round) {
        auto s = pilfer::on(pool, c, [&](unsigned value) { EXPECT_EQ(value, next++); });
        for (unsigned k = 0; k < round % 7; ++k) {
            std::this_thread::yield();
        }
        (void)s.cancel();
        await([&] { return s.over(); });
    }
    while (const auto value = c.receive()) {
        EXPECT_EQ(*value, next++);
    }
    sender.join();
    EXPECT_EQ(next, rounds * 3);
}

TEST_P(functions_on_events, cancelled_while_it_is_notified) {
    pilfer::pool pool(with_workers());
    const auto rounds = static_cast<unsigned>(hundredth_of(10'000, 20));
    std::atomic<unsigned> runs{0};
    unsigned alive = 0;
    for (unsigned i = 0; i < rounds; ++i) {
        pilfer::event e;
        auto guard = std::make_shared<int>(7);
        auto s = pilfer::on(pool, e, [&runs, guard] { ++runs; });
        std::thread setter([&] { e.set(); });
        const bool first = s.cancel();
        setter.join();
        EXPECT_TRUE(first);
        await([&] { return s.over(); });
        alive += guard.use_count() != 1 ? 1 : 0;
    }
    EXPECT_EQ(alive, 0U) << "the function ends with it";
    EXPECT_LE(runs, rounds);
}

TEST_P(functions_on_events, a_function_may_cancel_itself_or_return_false) {
    pilfer::pool pool(with_workers());
    pilfer::event e;
    pilfer::subscription self;
    std::atomic<bool> there{false};
    unsigned runs = 0;
    self = pilfer::on(pool, e, [&] {
        await([&] { return there.load(); });
        EXPECT_EQ(self.cancel(), ++runs == 1);
        e.set();
    });
    there = true;
    e.set();
    await([&] { return self.over(); });
    EXPECT_EQ(runs, 1U);
    pilfer::channel<int> c(3);
    for (int i = 0; i < 3; ++i) {
        EXPECT_TRUE(c.send(int{i}));
    }
    const auto s = pilfer::on(pool, c, [](int i) { return i < 1; });
    await([&] { return s.over(); });
    EXPECT_EQ(c.receive(), 2);
}

TEST_P(functions_on_events, a_descriptor_runs_it_as_long_as_it_is_ready) {
    pilfer::pool pool(with_workers());
    int fd[2];
    ASSERT_EQ(pipe2(fd, O_NONBLOCK | O_CLOEXEC), 0);
    const auto n = hundredth_of(20'000, 20);
    std::atomic<std::uint64_t> heard{0};
    auto s = pilfer::on(pool, pilfer::io::readable(fd[0]), [&] {
        char c = 0;
        if (::read(fd[0], &c, 1) == 1) { // one of perhaps several: the next run takes the next
            heard += c == 'h' ? 1 : 0;
        }
    });
    for (std::uint64_t i = 0; i < n; ++i) {
        EXPECT_EQ(::write(fd[1], "hh", 2), 2);
        if (i % 8 == 0) {
            await([&] { return heard == 2 * (i + 1); });
        }
    }
    await([&] { return heard == 2 * n; });
    EXPECT_FALSE(s.over());
    EXPECT_FALSE(pilfer::io::close(fd[0]));
    await([&] { return s.over(); });
    EXPECT_THROW((void)pilfer::on(pool, pilfer::io::readable(-1), [] {}), std::system_error);
    EXPECT_THROW((void)pilfer::on(pool, pilfer::io::writable(fd[0]), [] {}), std::system_error);
    const int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    EXPECT_THROW((void)pilfer::on(pool, pilfer::io::readable(file), [] {}), std::system_error) << "always";
    ::close(file);
    std::atomic<unsigned> writes{0};
    int other[2];
    ASSERT_EQ(pipe2(other, O_NONBLOCK | O_CLOEXEC), 0);
    const auto w = pilfer::on(pool, pilfer::io::writable(other[1]), [&] { return ++writes < 3; });
    await([&] { return w.over(); });
    EXPECT_EQ(writes, 3U);
    for (const int one : {fd[1], other[0], other[1]}) {
        ::close(one);
    }
}

/// Puts the file of `from` under the number `to`, which is free.
void reuse(int from, int to) { ASSERT_EQ(fcntl(from, F_DUPFD_CLOEXEC, to), to); }

TEST_P(functions_on_events, forgetting_the_descriptor_during_a_run_ends_it) {
    pilfer::pool pool(with_workers());
    for (const bool inside : {false, true}) {
        const io_tests::ends one;
        one.say();
        std::atomic<unsigned> begun{0};
        std::atomic<bool> go{inside};
        const auto s = pilfer::on(pool, pilfer::io::readable(one.in()), [&] {
            ++begun;
            await([&] { return go.load(); });
            if (inside) {
                EXPECT_EQ(pilfer::io::forget(one.in()), 0U);
            }
        });
        await([&] { return begun != 0; });
        if (!inside) {
            EXPECT_EQ(pilfer::io::forget(one.in()), 0U) << "it does not wait";
            go = true;
        }
        EXPECT_TRUE(over_soon(s));
        EXPECT_EQ(begun, 1U) << "the descriptor is still readable";
        std::atomic<unsigned> later{0};
        const auto t = pilfer::on(pool, pilfer::io::readable(one.in()), [&] { return ++later < 3; });
        EXPECT_TRUE(over_soon(t));
        EXPECT_EQ(later, 3U) << "one that begins later is not affected";
    }
}

TEST_P(functions_on_events, closing_the_descriptor_during_a_run_spares_the_next_file_of_its_number) {
    pilfer::pool pool(with_workers());
    io_tests::ends one;
    const io_tests::ends stranger;
    one.say();
    stranger.say('s');
    const int number = one.in();
    std::atomic<unsigned> runs{0};
    const auto s = pilfer::on(pool, pilfer::io::readable(number), [&] {
        if (++runs == 1) {
            EXPECT_FALSE(pilfer::io::close(number));
            reuse(stranger.in(), number);
        }
        (void)one.hear();
    });
    EXPECT_TRUE(over_soon(s));
    EXPECT_EQ(runs, 1U);
}

// One worker: the event resumes the task and queues the function, which begins after the task.
TEST(functions_on_events_of_one_worker, forgetting_the_descriptor_before_a_queued_run_prevents_it) {
    pilfer::pool pool({.workers = 1});
    const io_tests::ends one;
    std::atomic<unsigned> runs{0};
    unsigned before = 0;
    const auto s = pilfer::on(pool, pilfer::io::readable(one.in()), [&] { ++runs; });
    pool.run([&] {
        one.say();
        EXPECT_FALSE(pilfer::io::wait_readable(one.in()));
        before = runs;
        (void)pilfer::io::forget(one.in());
    });
    EXPECT_TRUE(over_soon(s));
    EXPECT_EQ(runs, before);
}

TEST_P(functions_on_events, ends_with_its_pool) {
    for (const auto mode : {pilfer::shutdown_mode::drain, pilfer::shutdown_mode::drop}) {
        int fd[2];
        ASSERT_EQ(pipe2(fd, O_NONBLOCK | O_CLOEXEC), 0);
        pilfer::event e;
        pilfer::channel<int> c(1'000);
        const auto guard = std::make_shared<int>(7);
        std::vector<pilfer::subscription> all;
        std::atomic<int> got{0};
        std::thread busy;
        {
            pilfer::pool pool(with_workers());
            all.push_back(pilfer::on(pool, e, [guard] {}));
            all.push_back(pilfer::on(pool, pilfer::io::readable(fd[0]), [guard] {}));
            all.push_back(pilfer::on(pool, c, [guard, &got](int) { ++got; }));
            busy = std::thread([&] {
                for (int i = 0; i < 500; ++i) {
                    e.set();
                    EXPECT_TRUE(c.send(int{i}));
                }
            });
            std::this_thread::yield();
            pool.shutdown(mode);
            EXPECT_THROW((void)pilfer::on(pool, e, [] {}), pilfer::pool_closed);
        }
        busy.join();
        for (auto& s : all) {
            EXPECT_TRUE(s.over());
            EXPECT_FALSE(s.cancel());
        }
        EXPECT_EQ(guard.use_count(), 1);
        EXPECT_EQ(got + static_cast<int>(c.size()), 500)
            << "each value was handed over, or is in the channel";
        ::close(fd[0]);
        ::close(fd[1]);
    }
}

TEST_P(functions_on_events, the_end_of_a_pool_races_settings_and_cancellations) {
    const auto rounds = static_cast<unsigned>(hundredth_of(GetParam() < 64 ? 5'000 : 500, 5));
    for (unsigned i = 0; i < rounds; ++i) {
        pilfer::event e;
        pilfer::subscription s;
        pilfer::subscription t;
        std::thread setter;
        std::thread canceller;
        {
            pilfer::pool pool(with_workers());
            s = pilfer::on(pool, e, [] {});
            t = pilfer::on(pool, e, [] {});
            setter = std::thread([&] { e.set(); });
            canceller = std::thread([&] { (void)t.cancel(); });
            if (i % 2 != 0) {
                std::this_thread::yield();
            }
        }
        EXPECT_TRUE(s.over());
        setter.join();
        canceller.join();
        EXPECT_TRUE(t.over());
    }
}

} // namespace
