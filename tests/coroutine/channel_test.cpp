// Coroutines that wait for channels, among themselves and beside tasks and threads.
#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <memory>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "sync/support.hpp"
#include "waits/waits.hpp"

namespace {

using namespace support;
using namespace std::chrono_literals;
using pilfer::channel;
using pilfer::task;

class coroutine_channels : public over_workers {};

/// Sends `count` numbers from `from` on. True: all were accepted.
task<bool> produce(channel<int>& c, int from, int count) {
    for (int i = 0; i < count; ++i) {
        if (!co_await pilfer::send(c, from + i)) {
            co_return false;
        }
    }
    co_return true;
}
/// Until it is closed and empty; the values of each thousand must come in order.
task<long> consume(channel<int>& c, bool one_receiver) {
    long sum = 0;
    int latest[8] = {};
    while (const auto got = co_await pilfer::receive(c)) {
        int& before = latest[*got / 1000];
        EXPECT_TRUE(!one_receiver || *got > before) << *got << " behind " << before;
        before = *got;
        sum += *got;
    }
    co_return sum;
}
long sum_of(int from, int count) { return static_cast<long>(count) * (2 * from + count - 1) / 2; }

TEST_P(coroutine_channels, values_come_once_and_in_order) {
    pilfer::pool pool(with_workers());
    for (const std::size_t capacity : {0U, 1U, 8U}) {
        for (const unsigned receivers : {1U, 3U}) {
            channel<int> c(capacity);
            std::vector<pilfer::future<bool>> producers;
            std::vector<pilfer::future<long>> consumers;
            for (unsigned i = 0; i < receivers; ++i) {
                consumers.push_back(pool.async(consume(c, receivers == 1)));
            }
            for (const int from : {1, 1000, 2000}) {
                producers.push_back(pool.async(produce(c, from, 100)));
            }
            for (auto& p : producers) {
                EXPECT_TRUE(p.get());
            }
            c.close();
            long sum = 0;
            for (auto& one : consumers) {
                sum += one.get();
            }
            EXPECT_EQ(sum, sum_of(1, 100) + sum_of(1000, 100) + sum_of(2000, 100)) << capacity;
        }
    }
}

task<long> take_some(channel<int>& c, int count) {
    long sum = 0;
    for (int i = 0; i < count; ++i) {
        sum += *co_await pilfer::receive(c);
    }
    co_return sum;
}

TEST_P(coroutine_channels, tasks_threads_and_coroutines_share_one) {
    pilfer::pool pool(with_workers());
    channel<int> c(1);
    std::atomic<long> sum{0};
    const auto take = [&] {
        for (int i = 0; i < 100; ++i) {
            sum += *c.receive();
        }
    };
    const auto receiver = pool.async(take_some(c, 100));
    const auto more = pool.async(take);
    std::thread receives(take);
    const auto sender = pool.async(produce(c, 1, 100));
    std::thread sends([&] {
        for (int i = 0; i < 100; ++i) {
            EXPECT_TRUE(c.send(1000 + i));
        }
    });
    EXPECT_TRUE(pilfer::sync_wait(produce(c, 2000, 100)));
    EXPECT_TRUE(sender.get());
    sends.join();
    receives.join();
    more.get();
    EXPECT_EQ(sum + receiver.get(), sum_of(1, 100) + sum_of(1000, 100) + sum_of(2000, 100));
    EXPECT_EQ(c.size(), 0U);
}

TEST_P(coroutine_channels, thousands_wait_without_a_stack) {
    pilfer::pool pool(with_workers());
    channel<int> full(0);
    channel<int> empty(0);
    constexpr int waiting = 1000;
    std::vector<pilfer::future<bool>> senders;
    std::vector<pilfer::future<std::optional<int>>> receivers;
    const auto take = [](channel<int>& c) -> task<std::optional<int>> {
        co_return co_await pilfer::receive(c);
    };
    for (int i = 0; i < waiting; ++i) {
        senders.push_back(pool.async(produce(full, i, 1)));
        receivers.push_back(pool.async(take(empty)));
    }
    for (int i = 0; i < waiting / 2; ++i) {
        EXPECT_TRUE(full.receive().has_value());
        EXPECT_TRUE(empty.send(i));
    }
    EXPECT_EQ(pool.counters().suspends, 0U) << "a coroutine has kept its stack";
    full.close();
    empty.close();
    int accepted = 0;
    int received = 0;
    for (int i = 0; i < waiting; ++i) {
        accepted += senders[static_cast<std::size_t>(i)].get() ? 1 : 0;
        received += receivers[static_cast<std::size_t>(i)].get().has_value() ? 1 : 0;
    }
    EXPECT_EQ(accepted, waiting / 2);
    EXPECT_EQ(received, waiting / 2);
}

TEST_P(coroutine_channels, unsent_values_end_and_sent_values_may_wait) {
    const auto held = std::make_shared<int>(4);
    const auto give = [](channel<std::shared_ptr<int>>& c, std::shared_ptr<int> value) -> task<bool> {
        co_return co_await pilfer::send(c, std::move(value));
    };
    pilfer::pool pool(with_workers());
    {
        channel<std::shared_ptr<int>> c(1);
        EXPECT_TRUE(pool.run(give(c, held)));
        const auto late = pool.async(give(c, held));
        std::thread closer([&] { c.close(); });
        closer.join();
        EXPECT_FALSE(late.get());
        EXPECT_FALSE(pool.run(give(c, held)));
        EXPECT_EQ(held.use_count(), 2) << "one lies in the channel";
    }
    EXPECT_EQ(held.use_count(), 1);
}

/// Moves throw while `spoiled` is set.
struct moody {
    explicit moody(int n) : number(n) {}
    moody(moody&& other) : number(other.number) { // NOLINT(*-noexcept-move*): that is its purpose
        if (spoiled) {
            throw std::runtime_error("no move");
        }
    }
    int number;
    inline static std::atomic<bool> spoiled{false};
};

TEST_P(coroutine_channels, a_value_whose_move_throws_is_not_lost) {
    pilfer::pool pool(with_workers());
    channel<moody> c(2);
    const auto both = [](channel<moody>& ch) -> task<int> {
        EXPECT_TRUE(co_await pilfer::send(ch, moody(6)));
        moody::spoiled = true;
        bool thrown = false;
        try {
            (void)co_await pilfer::receive(ch);
        } catch (const std::runtime_error&) {
            thrown = true;
        }
        try {
            (void)co_await pilfer::send(ch, moody(7));
        } catch (const std::runtime_error&) {
            thrown = thrown && ch.size() == 1;
        }
        moody::spoiled = false;
        EXPECT_TRUE(thrown);
        co_return (co_await pilfer::receive(ch))->number;
    };
    EXPECT_EQ(pool.run(both(c)), 6);
    EXPECT_EQ(c.size(), 0U);
}

TEST_P(coroutine_channels, a_send_is_awaited_once) {
    pilfer::pool pool(with_workers());
    channel<int> c(4);
    const auto twice = [](channel<int>& ch) -> task<> {
        auto s = pilfer::send(ch, 3);
        EXPECT_TRUE(co_await std::move(s));
        EXPECT_TRUE(co_await std::move(s)); // NOLINT(bugprone-use-after-move): that is the point
    };
    EXPECT_THROW(pool.run(twice(c)), pilfer::usage_error);
    const auto again = [](channel<int>& ch) -> task<int> {
        const auto r = pilfer::receive(ch);
        const int first = *co_await r;
        EXPECT_TRUE(co_await pilfer::send(ch, first + 1));
        co_return *co_await r;
    };
    EXPECT_EQ(pool.run(again(c)), 4);
}

TEST_P(coroutine_channels, the_end_of_a_pool_waits_for_waiting_coroutines) {
    for (const auto mode : {pilfer::shutdown_mode::drain, pilfer::shutdown_mode::drop}) {
        channel<int> c(0);
        std::atomic<int> got{0};
        pilfer::event waits;
        const auto one = [](channel<int>& ch, std::atomic<int>& n, pilfer::event& e) -> task<> {
            e.set();
            n = (co_await pilfer::receive(ch)).value_or(-1);
        };
        pilfer::pool pool(with_workers());
        pool.submit(one(c, got, waits));
        waits.wait();
        std::thread sender([&] { EXPECT_TRUE(c.send(5)); });
        pool.shutdown(mode);
        EXPECT_EQ(got, 5);
        sender.join();
    }
}

PILFER_OVER_WORKERS(coroutine_channels);

// ---- reports ----------------------------------------------------------------------------------

class coroutine_reports : public over_workers {};

task<int> innermost_waits(channel<int>& c) { co_return (co_await pilfer::receive(c)).value_or(-1); }
task<int> outer_awaits(channel<int>& c) { co_return co_await innermost_waits(c) + 1; }
task<> waits_for_both(pilfer::future<int> f, channel<int>& full) {
    (void)co_await f;
    (void)co_await pilfer::send(full, 1);
}
task<> sleeps(pilfer::future<int> f) {
    co_await pilfer::resume_after(1us);
    (void)co_await f;
}

TEST_P(coroutine_reports, a_dump_lists_waiting_coroutines) {
    pilfer::pool pool(with_workers());
    channel<int> empty(0);
    channel<int> full(0);
    pilfer::promise<int> promise;
    const auto first = pool.async(outer_awaits(empty));
    const auto second = pool.async(waits_for_both(promise.get_future(), full));
    const auto third = pool.async(sleeps(promise.get_future()));
    std::string text;
    const auto says = [&](const char* part, std::size_t times) {
        std::size_t n = 0;
        for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
            ++n;
        }
        return n == times;
    };
    const auto dumped = [&](auto... parts) {
        return eventually([&] {
            std::ostringstream out;
            pool.dump(out);
            text = out.str();
            return (... && parts());
        });
    };
    EXPECT_TRUE(dumped([&] { return says("waits for a channel's next value (0x", 1); },
                       [&] { return says("waits for a future (0x", 2); },
                       [&] { return says("), which is not set", 2); }))
        << text;
    EXPECT_TRUE(says("awaited by ", 1)) << text;
    for (const char* const function : {"innermost_waits", "outer_awaits", "waits_for_both", "sleeps"}) {
        EXPECT_FALSE(says(function, 0)) << function << ": " << text;
    }
    promise.set_value(3);
    EXPECT_TRUE(dumped([&] { return says("waits for room in a channel (0x", 1); })) << text;
    EXPECT_TRUE(full.receive().has_value());
    EXPECT_TRUE(empty.send(1));
    EXPECT_EQ(first.get(), 2);
    second.get();
    third.get();
    EXPECT_TRUE(dumped([&] { return says("coroutine 0x", 0); })) << text;
}

TEST_P(coroutine_reports, reports_and_resumptions_at_once) {
    pilfer::pool pool(with_workers());
    std::atomic<bool> over{false};
    std::thread reporter([&] {
        while (!over) {
            std::ostringstream out;
            pool.dump(out);
        }
    });
    for (int i = 0; i < 5; ++i) {
        channel<int> c(0);
        const auto receiver = pool.async(consume(c, true));
        EXPECT_TRUE(pool.async(produce(c, 1, 50)).get());
        pool.run([](channel<int>& ch) -> task<> {
            co_await pilfer::resume_after(10us);
            EXPECT_TRUE(co_await pilfer::send(ch, 51));
        }(c));
        c.close();
        EXPECT_EQ(receiver.get(), sum_of(1, 51));
    }
    over = true;
    reporter.join();
}

PILFER_OVER_WORKERS(coroutine_reports);

TEST(coroutine_stall, a_wait_for_a_working_pool_is_no_stall) {
    const watchdog end(patience);
    testing::internal::CaptureStderr();
    {
        pilfer::options o = workers(1);
        o.debug.stall_report = 10;
        pilfer::pool waits(o);
        pilfer::pool works(workers(1));
        const auto slow = works.async([] { std::this_thread::sleep_for(200ms); });
        waits.run([](pilfer::future<void> f) -> task<> { co_await f; }(slow));
        waits.submit([](pilfer::future<void> f) -> task<> {
            co_await f;
        }(works.async([] { std::this_thread::sleep_for(200ms); })));
        waits.shutdown();
    }
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST(coroutine_stall, of_a_coroutine_is_reported) {
    const watchdog end(patience);
    const auto says = in_child([] {
        waits::own_stderr err;
        pilfer::pool& pool = waits::lasting(waits::reporting_after(100, 2));
        static pilfer::promise<int> never;
        pool.submit([](pilfer::future<int> f) -> task<> { (void)co_await f; }(never.get_future()));
        err.await("pilfer: stall: nothing has run in pool");
        err.await("  coroutine 0x");
        err.await("waits for a future (0x");
        err.await("), which is not set");
        err.give_back();
        return 0;
    });
    EXPECT_TRUE(says.exited_with(0)) << says;
}

} // namespace
