// Recordings of coroutines: which task resumes one depends on the operations of others.
#include "explore/recorded.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <pilfer/co_await.hpp>
#include <pilfer/co_barrier.hpp>
#include <pilfer/co_lock.hpp>
#include <pilfer/task.hpp>

namespace {

using namespace recorded_runs;
using bugs::shared;
using pilfer::task;
using pilfer::test::require;

void wait_for_all(std::vector<pilfer::future<void>>& all) {
    for (auto& one : all) {
        one.get();
    }
}

// ---- an error ---------------------------------------------------------------------------------

/// The balance is read in front of a co_await, and written after it.
task<void> deposit(shared<int>& balance, pilfer::channel<int>& requests) {
    while (const auto amount = co_await pilfer::receive(requests)) {
        const int before = balance;
        linger();
        balance = before + *amount;
    }
}

void coroutines_that_lose_an_update() {
    shared<int> balance{0};
    pilfer::channel<int> requests(1);
    std::vector<pilfer::future<void>> all;
    for (int i = 0; i < 3; ++i) {
        all.push_back(pilfer::async(deposit(balance, requests)));
    }
    for (int i = 0; i < 6; ++i) {
        (void)requests.send(1);
    }
    requests.close();
    wait_for_all(all);
    require(balance == 6, "all deposits count");
}

TEST(coroutine, that_loses_an_update_fails_again) { fails_again(&coroutines_that_lose_an_update); }

// ---- orders -----------------------------------------------------------------------------------

task<void> produce(pilfer::channel<std::uint64_t>& c, std::uint64_t from) {
    for (std::uint64_t i = 0; i < 6; ++i) {
        linger();
        (void)co_await pilfer::send(c, from + i);
    }
}
task<void> consume(pilfer::channel<std::uint64_t>& c, ordered_sum& s) {
    while (const auto got = co_await pilfer::receive(c)) {
        add_slowly(s, *got);
    }
}

TEST(coroutine, has_the_order_of_channels) {
    keep_their_order([] {
        ordered_sum s;
        pilfer::channel<std::uint64_t> c(1);
        std::vector<pilfer::future<void>> consumers;
        std::vector<pilfer::future<void>> producers;
        for (std::uint64_t i = 0; i < 3; ++i) {
            consumers.push_back(pilfer::async(consume(c, s)));
            producers.push_back(pilfer::async(produce(c, 100 * i)));
        }
        wait_for_all(producers);
        c.close();
        wait_for_all(consumers);
        return s.sum;
    });
}

task<void> add_under_a_lock(pilfer::mutex& m, std::uint64_t& sum, std::uint64_t n) {
    for (std::uint64_t i = 0; i < 4; ++i) {
        const auto held = co_await pilfer::scoped_lock(m);
        if (i % 2 == n % 2) {
            linger();
        }
        sum = sum * 31 + n;
    }
}

TEST(coroutine, has_the_order_of_a_mutex) {
    keep_their_order([] {
        pilfer::mutex m;
        std::uint64_t sum = 1;
        std::vector<pilfer::future<void>> all;
        for (std::uint64_t i = 0; i < 4; ++i) {
            all.push_back(pilfer::async(add_under_a_lock(m, sum, i)));
        }
        for (std::uint64_t i = 0; i < 4; ++i) {
            const lock l(m);
            sum = sum * 31 + 10 + i;
        }
        wait_for_all(all);
        return sum;
    });
}

task<void> read_or_write(pilfer::shared_mutex& m, ordered_sum& s, std::uint64_t n) {
    for (std::uint64_t i = 0; i < 3; ++i) {
        if ((n + i) % 2 == 0) {
            const auto held = co_await pilfer::scoped_lock(m);
            add_slowly(s, n);
        } else {
            const auto held = co_await pilfer::scoped_lock_shared(m);
            add_slowly(s, 10 + n);
        }
    }
}

TEST(coroutine, has_the_order_of_a_shared_mutex) {
    keep_their_order([] {
        ordered_sum s;
        pilfer::shared_mutex m;
        std::vector<pilfer::future<void>> all;
        for (std::uint64_t i = 0; i < 4; ++i) {
            all.push_back(pilfer::async(read_or_write(m, s, i)));
        }
        wait_for_all(all);
        return s.sum;
    });
}

struct meeting {
    pilfer::event begins;
    pilfer::latch all_here{4};
    pilfer::barrier<> phase{4};
    pilfer::counting_semaphore<> seats{2};
    ordered_sum s;
};

task<void> meet(meeting& m, std::uint64_t n) {
    co_await m.begins;
    add_slowly(m.s, n);
    co_await pilfer::arrive_and_wait(m.all_here);
    for (std::uint64_t i = 0; i < 2; ++i) {
        co_await pilfer::acquire(m.seats);
        add_slowly(m.s, 10 + n + i);
        m.seats.release();
        co_await pilfer::arrive_and_wait(m.phase);
        add_slowly(m.s, 20 + n + i);
    }
}

TEST(coroutine, has_the_order_of_events_latches_barriers_and_permits) {
    keep_their_order([] {
        meeting m;
        std::vector<pilfer::future<void>> all;
        for (std::uint64_t i = 0; i < 4; ++i) {
            all.push_back(pilfer::async(meet(m, i)));
        }
        linger();
        m.begins.set();
        wait_for_all(all);
        return m.s.sum;
    });
}

task<std::uint64_t> part(ordered_sum& s, std::uint64_t n) {
    auto slow = pilfer::async([&s, n] {
        add_slowly(s, n);
        return n;
    });
    const std::uint64_t got = co_await slow;
    (void)pilfer::join([&] { s.add(100 + n); }, [&] { s.add(200 + n); });
    co_return got;
}
task<void> whole(ordered_sum& s, std::uint64_t n) {
    const std::uint64_t first = co_await part(s, 10 * n);
    const std::uint64_t second = co_await part(s, 10 * n + 1);
    s.add(first + second);
}

TEST(coroutine, has_the_order_of_futures_and_of_coroutines_that_call_others) {
    keep_their_order([] {
        ordered_sum s;
        std::vector<pilfer::future<void>> all;
        for (std::uint64_t i = 0; i < 4; ++i) {
            all.push_back(pilfer::async(whole(s, i)));
        }
        pilfer::scope children;
        for (std::uint64_t i = 4; i < 7; ++i) { // with a scope, so a cancellation might end their waits
            children.fork([&s, i] { pilfer::sync_wait(whole(s, i)); });
        }
        children.sync();
        wait_for_all(all);
        return s.sum;
    });
}

struct buffer {
    pilfer::mutex m;
    pilfer::condition_variable changed;
    std::vector<std::uint64_t> values;
    std::uint64_t sum = 1;
};

task<void> put(buffer& b, std::uint64_t from) {
    for (std::uint64_t i = 0; i < 4; ++i) {
        auto held = co_await pilfer::scoped_lock(b.m);
        while (b.values.size() == 2) {
            co_await pilfer::wait(b.changed, held);
        }
        b.values.push_back(from + i);
        b.changed.notify_all();
    }
}
task<void> take(buffer& b, std::uint64_t by) {
    for (std::uint64_t i = 0; i < 4; ++i) {
        auto held = co_await pilfer::scoped_lock(b.m);
        while (b.values.empty()) {
            co_await pilfer::wait(b.changed, held);
        }
        b.sum = b.sum * 31 + by + b.values.back();
        b.values.pop_back();
        b.changed.notify_one();
        b.changed.notify_one();
    }
}

TEST(coroutine, has_the_order_of_conditions) {
    keep_their_order([] {
        buffer b;
        std::vector<pilfer::future<void>> all;
        for (std::uint64_t i = 0; i < 3; ++i) {
            all.push_back(pilfer::async(take(b, 1'000 * i)));
            all.push_back(pilfer::async(put(b, 100 * i)));
        }
        wait_for_all(all);
        return b.sum;
    });
}

task<void> come_and_go(ordered_sum& s, pilfer::pool_scheduler here, pilfer::latch& done, std::uint64_t n) {
    for (std::uint64_t i = 0; i < 3; ++i) {
        add_slowly(s, 10 * n + i);
        co_await here.schedule();
    }
    done.count_down();
}

TEST(coroutine, has_the_order_of_those_that_are_scheduled_again) {
    keep_their_order([] {
        ordered_sum s;
        pilfer::latch done(4);
        const pilfer::pool_scheduler here(*pilfer::detail::this_worker()->pool);
        for (std::uint64_t i = 0; i < 4; ++i) {
            (void)pilfer::async(come_and_go(s, here, done, i)); // the latch tells their ends
        }
        done.wait();
        return s.sum;
    });
}

/// Begins before the result of `f` is there, and looks at `f` afterwards.
task<bool> look_late(const pilfer::future<int>& f, pilfer::event& has_begun,
                     const std::atomic<bool>& may_look) {
    has_begun.set();
    while (!may_look) {
        std::this_thread::yield();
    }
    co_return co_await pilfer::wait_for(f, std::chrono::hours(1)) == pilfer::future_status::ready;
}

TEST(coroutine, has_its_look_at_a_future_with_a_limit) {
    const auto run = [](bool is_recorded) {
        pilfer::event has_begun;
        std::atomic<bool> may_look{!is_recorded}; // the recording does not know it
        auto value = pilfer::async([&] {
            has_begun.wait();
            return 1;
        });
        auto has_seen = pilfer::async(look_late(value, has_begun, may_look));
        (void)value.get();
        may_look = true;
        require(has_seen.get(), "the result was there");
    };
    const recording r = record({.workers = 3}, [&] { run(true); });
    ASSERT_TRUE(r) << r.message;
    ASSERT_EQ(r.schedule.find("\nn "), std::string::npos) << r.schedule;
    for (int i = 0; i < 20; ++i) {
        const result again = repeat(r.schedule, [&] { run(false); });
        ASSERT_TRUE(again) << again.message << '\n' << r.schedule;
    }
}

} // namespace
