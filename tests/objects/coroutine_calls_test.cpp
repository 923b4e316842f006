// Calls of objects by coroutines, beside those of tasks and threads.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <deque>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <tuple>
#include <vector>

#include "coroutine/cancelled.hpp"
#include "sync/support.hpp"

namespace {

using namespace coroutine_tests;

class coroutine_calls : public over_workers {};
class coroutine_calls_cancel : public in_a_pool {};
INSTANTIATE_TEST_SUITE_P(workers, coroutine_calls_cancel, testing::Values(1U, 2U, 3U, 8U));

struct counted {
    long count = 0;
    std::atomic<bool> inside{false};
    void add() {
        EXPECT_FALSE(inside.exchange(true)) << "two calls inside";
        ++count;
        inside = false;
    }
};

template <class Object>
task<> calls(pilfer::pool& p, Object& object, int rounds) {
    for (int i = 0; i < rounds; ++i) {
        const long now = co_await pilfer::call(object, [i](counted& c) {
            c.add();
            if (i % 16 == 3) {
                pilfer::sleep_for(1us); // the object stays locked
            }
            return c.count;
        });
        EXPECT_GT(now, 0);
        if (i % 4 == 0) {
            co_await p.schedule();
        }
        const bool busy = co_await pilfer::read(object, [](const counted& c) { return c.inside.load(); });
        EXPECT_FALSE(busy);
    }
}

template <class Object>
void everybody_calls(unsigned workers) {
    pilfer::pool pool({.workers = workers});
    Object object;
    const int rounds = static_cast<int>(hundredth_of(5'000));
    std::vector<pilfer::future<void>> all;
    for (int i = 0; i < 8; ++i) {
        all.push_back(pool.async(calls(pool, object, rounds)));
    }
    sync_tests::all_at_once(pool, 3, 2, [&](unsigned) {
        for (int i = 0; i < rounds; ++i) {
            object.call([](counted& c) { c.add(); });
        }
    });
    for (auto& f : all) {
        f.get();
    }
    EXPECT_EQ(object.read([](const counted& c) { return c.count; }), 13L * rounds);
}

TEST_P(coroutine_calls, of_synchronized_objects_exclude_each_other) {
    everybody_calls<pilfer::synchronized<counted>>(GetParam());
}
TEST_P(coroutine_calls, of_objects_with_readers_exclude_each_other) {
    everybody_calls<pilfer::synchronized<counted, pilfer::shared_mutex>>(GetParam());
}
TEST_P(coroutine_calls, of_monitors_exclude_each_other) {
    everybody_calls<pilfer::monitor<counted>>(GetParam());
}

using buffer = pilfer::monitor<std::deque<int>>;
constexpr std::size_t capacity = 2;

const auto has_room = [](const std::deque<int>& d) { return d.size() < capacity; };
const auto has_items = [](const std::deque<int>& d) { return !d.empty(); };
const auto take_first = [](std::deque<int>& d) {
    const int first = d.front();
    d.pop_front();
    return first;
};

task<> puts(buffer& b, int from, int count) {
    for (int i = from; i < from + count; ++i) {
        co_await pilfer::call_when(b, has_room, [i](std::deque<int>& d) { d.push_back(i); });
    }
}
task<long> takes(buffer& b, int count) {
    long sum = 0;
    for (int i = 0; i < count; ++i) {
        sum += co_await pilfer::call_when(b, has_items, take_first);
    }
    co_return sum;
}
long sum_of(int from, int count) { return static_cast<long>(count) * (2 * from + count - 1) / 2; }

TEST_P(coroutine_calls, with_conditions_carry_a_buffer) {
    pilfer::pool pool(with_workers());
    buffer b;
    std::vector<pilfer::future<void>> producers;
    std::vector<pilfer::future<long>> consumers;
    for (int i = 0; i < 4; ++i) {
        producers.push_back(pool.async(puts(b, 1000 * i, 50)));
        consumers.push_back(pool.async(takes(b, 50)));
    }
    long sum = 0;
    std::thread thread_producer([&] {
        for (int i = 0; i < 50; ++i) {
            b.call_when(has_room, [i](std::deque<int>& d) { d.push_back(5000 + i); });
        }
    });
    const auto task_consumer = pool.async([&] {
        long got = 0;
        for (int i = 0; i < 50; ++i) {
            got += b.call_when(has_items, take_first);
        }
        return got;
    });
    for (auto& f : producers) {
        f.get();
    }
    thread_producer.join();
    for (auto& f : consumers) {
        sum += f.get();
    }
    sum += task_consumer.get();
    EXPECT_EQ(sum, sum_of(0, 50) + sum_of(1000, 50) + sum_of(2000, 50) + sum_of(3000, 50) + sum_of(5000, 50));
}

TEST_P(coroutine_calls, throw_what_the_functions_throw) {
    pilfer::pool pool(with_workers());
    pilfer::monitor<int> m(0);
    pilfer::synchronized<int> s(0);
    const auto body = [](pilfer::pool& p, pilfer::monitor<int>& mon,
                         pilfer::synchronized<int>& syn) -> task<> {
        int thrown = 0;
        const auto fails = [](int&) { throw std::runtime_error("in the call"); };
        try {
            co_await pilfer::call(syn, fails);
        } catch (const std::runtime_error&) {
            ++thrown;
        }
        try {
            co_await pilfer::call_when(
                mon, [](const int&) { return true; }, fails);
        } catch (const std::runtime_error&) {
            ++thrown;
        }
        try { // at once
            co_await pilfer::call_when(
                mon, [](const int&) -> bool { throw std::runtime_error("in the condition"); }, [](int&) {});
        } catch (const std::runtime_error&) {
            ++thrown;
        }
        auto later = p.async([&] {
            pilfer::sleep_for(1ms);
            mon.call([](int& n) { n = 1; });
        });
        try { // when another call looks at it
            co_await pilfer::call_when(
                mon,
                [](const int& n) {
                    if (n != 0) {
                        throw std::runtime_error("later");
                    }
                    return false;
                },
                [](int&) { ADD_FAILURE(); });
        } catch (const std::runtime_error&) {
            ++thrown;
        }
        EXPECT_EQ(thrown, 4);
        co_await later;
        co_await pilfer::call(mon, [](int& n) { n = 0; });
        co_await pilfer::call(syn, [](int& n) { ++n; });
    };
    pool.run(body(pool, m, s));
    EXPECT_EQ(s.read([](const int& n) { return n; }), 1);
}

/// A lock by co_await may be held; another one may not.
TEST_P(coroutine_calls, wait_under_locks_of_coroutines_only) {
    pilfer::pool pool(with_workers());
    pilfer::monitor<int> m(0);
    pool.run([](pilfer::pool& p, pilfer::monitor<int>& mon) -> task<> {
        pilfer::mutex held;
        pilfer::mutex plain;
        const auto guard = co_await pilfer::scoped_lock(held);
        const auto is_one = [](const int& n) { return n == 1; };
        bool refused = false;
        {
            const std::lock_guard own(plain);
            try {
                co_await pilfer::call_when(mon, is_one, [](int&) {});
            } catch (const pilfer::usage_error&) {
                refused = true;
            }
        }
        EXPECT_TRUE(refused);
        auto later = p.async([&] {
            pilfer::sleep_for(100us);
            mon.call([](int& n) { n = 1; }); // the refused call has left the object
        });
        co_await pilfer::call_when(mon, is_one, [](int& n) { n = 2; });
        EXPECT_FALSE(held.try_lock());
        co_await later;
    }(pool, m));
    EXPECT_EQ(m.read([](const int& n) { return n; }), 2);
}

/// Gives true if f has run.
template <class Object>
task<bool> adds_within(Object& object, std::chrono::microseconds limit) {
    const auto now = co_await pilfer::try_call_for(object, limit, [](long& n) { return ++n; });
    co_return now.has_value();
}

template <class Lock>
void calls_with_limits(unsigned workers) {
    pilfer::pool pool({.workers = workers});
    pilfer::synchronized<long, Lock> object(0L);
    pilfer::event inside;
    pilfer::event go;
    const auto holder = pool.async([&] {
        object.call([&](long&) {
            inside.set();
            go.wait();
        });
    });
    inside.wait();
    for (const auto limit : {-1us, 0us, 1us, 500us}) {
        EXPECT_FALSE(pool.run(adds_within(object, limit)));
    }
    std::vector<pilfer::future<bool>> in_time;
    for (int i = 0; i < 20; ++i) {
        in_time.push_back(pool.async(adds_within(object, 1h)));
    }
    go.set();
    for (auto& f : in_time) {
        EXPECT_TRUE(f.get());
    }
    holder.get();
    const auto until = std::chrono::steady_clock::now() + 1h;
    pool.run([](auto& of, auto t) -> task<> {
        const auto nothing = co_await pilfer::try_call_until(of, t, [](long& n) { ++n; });
        EXPECT_TRUE(nothing.has_value());
    }(object, until));
    EXPECT_EQ(object.read([](const long& n) { return n; }), 21);
}

TEST_P(coroutine_calls, end_with_their_time) { calls_with_limits<pilfer::mutex>(GetParam()); }
TEST_P(coroutine_calls, of_objects_with_readers_end_with_their_time) {
    calls_with_limits<pilfer::shared_mutex>(GetParam());
}

task<int> takes_within(buffer& b, std::chrono::microseconds limit) {
    const auto first = co_await pilfer::try_call_when_for(b, limit, has_items, take_first);
    co_return first.value_or(-1);
}

TEST_P(coroutine_calls, with_conditions_end_with_their_time) {
    pilfer::pool pool(with_workers());
    buffer b;
    for (const auto limit : {-1us, 0us, 1us, 500us}) {
        EXPECT_EQ(pool.run(takes_within(b, limit)), -1);
    }
    auto later = pool.async(takes_within(b, 1h));
    b.call([](std::deque<int>& d) { d.push_back(7); });
    EXPECT_EQ(later.get(), 7);
    // The object is free after all that.
    const auto until = std::chrono::steady_clock::now() + 1h;
    pool.run([](buffer& of, auto t) -> task<> {
        const auto put =
            co_await pilfer::try_call_when_until(of, t, has_room, [](std::deque<int>& d) { d.push_back(8); });
        EXPECT_TRUE(put.has_value());
    }(b, until));
    EXPECT_EQ(b.call(take_first), 8);
}

/// A change that makes the condition true, and the end of the time, at any moment.
TEST_P(coroutine_calls, happen_in_time_or_not_at_all) {
    pilfer::pool pool(with_workers());
    for (std::uint64_t round = 0; round < hundredth_of(20'000); ++round) {
        buffer b;
        auto got = pool.async(takes_within(b, std::chrono::microseconds(round % 50)));
        b.call([](std::deque<int>& d) { d.push_back(7); });
        const int first = got.get();
        EXPECT_EQ(b.read([](const std::deque<int>& d) { return d.size(); }), first == 7 ? 0U : 1U);
    }
}

// ---- several objects --------------------------------------------------------------------------

using account = pilfer::synchronized<long>;
using read_account = pilfer::synchronized<long, pilfer::shared_mutex>;

struct bank {
    account a{100L};
    read_account b{100L};
    account c{100L};
    [[nodiscard]] long total() {
        return pilfer::call_all([](long x, long y, long z) { return x + y + z; }, a, b, c);
    }
};
const auto move_one = [](long& from, long& to) {
    --from;
    ++to;
};
const auto there_and_back = [](long& n) {
    ++n;
    pilfer::yield();
    --n;
};

task<> moves(bank& all, int rounds) {
    for (int i = 0; i < rounds; ++i) {
        co_await pilfer::call_all(std::tie(all.c, all.b), move_one);
        co_await pilfer::call_all(std::tie(all.a, all.c), move_one);
        const long total =
            co_await pilfer::call_all(std::tie(all.b, all.a, all.c), [i](long x, long y, long z) {
                if (i % 16 == 3) {
                    pilfer::sleep_for(1us); // all stay locked
                }
                return x + y + z;
            });
        EXPECT_EQ(total, 300) << "a call has seen half of another one";
        co_await pilfer::call_all(std::tie(all.b, all.a), move_one);
        co_await pilfer::call(all.b, there_and_back);
        co_await pilfer::call_all(std::tie(all.b), there_and_back);
    }
}

/// Each of them names the objects in another order.
TEST_P(coroutine_calls, of_several_objects_do_not_wait_for_each_other) {
    pilfer::pool pool(with_workers());
    bank all;
    const int rounds = static_cast<int>(hundredth_of(3'000));
    std::vector<pilfer::future<void>> coroutines;
    for (int i = 0; i < 6; ++i) {
        coroutines.push_back(pool.async(moves(all, rounds)));
    }
    sync_tests::all_at_once(pool, 2, 1, [&](unsigned) {
        for (int i = 0; i < rounds; ++i) {
            pilfer::call_all(move_one, all.a, all.b);
            pilfer::call_all(move_one, all.b, all.c);
            pilfer::call_all(move_one, all.c, all.a);
        }
    });
    for (auto& f : coroutines) {
        f.get();
    }
    EXPECT_EQ(all.total(), 300);
}

TEST_P(coroutine_calls, of_several_objects_keep_no_stack) {
    pilfer::pool pool(with_workers());
    bank all;
    std::vector<pilfer::future<void>> coroutines;
    all.b.call([&](long&) {
        for (int i = 0; i < 20; ++i) {
            coroutines.push_back(pool.async(
                [](bank& of) -> task<> { co_await pilfer::call_all(std::tie(of.b, of.a), move_one); }(all)));
        }
        while (suspended_in(pool) != 20) {
            std::this_thread::yield();
        }
        EXPECT_FALSE(all.a.try_call([](long&) {}).has_value()) << "one of them has the first object";
    });
    for (auto& f : coroutines) {
        f.get();
    }
    EXPECT_EQ(pool.counters().suspends, 0U) << "a coroutine has kept its stack";
    EXPECT_EQ(all.a.read([](long n) { return n; }), 120);
    EXPECT_EQ(all.total(), 300);
}

TEST_P(coroutine_calls, of_several_objects_throw_and_leave_all) {
    pilfer::pool pool(with_workers());
    bank all;
    pool.run([](bank& of) -> task<> {
        int thrown = 0;
        try {
            co_await pilfer::call_all(std::tie(of.a, of.c, of.a), [](long, long, long) { ADD_FAILURE(); });
        } catch (const pilfer::usage_error&) {
            ++thrown;
        }
        try {
            co_await pilfer::call_all(std::tie(of.c, of.b, of.a),
                                      [](long, long, long) { throw std::runtime_error("in the call"); });
        } catch (const std::runtime_error&) {
            ++thrown;
        }
        try { // an object knows whose call is inside
            co_await pilfer::call_all(std::tie(of.c, of.b), [&](long, long) { of.c.call([](long&) {}); });
        } catch (const pilfer::usage_error&) {
            ++thrown;
        }
        pilfer::mutex plain;
        {
            const std::lock_guard own(plain); // free objects are entered without a wait
            co_await pilfer::call_all(std::tie(of.a, of.b), move_one);
            EXPECT_TRUE(pilfer::detail::this_activation()->holds_lock());
        }
        EXPECT_EQ(thrown, 3);
        EXPECT_FALSE(pilfer::detail::this_activation()->holds_lock());
        co_await pilfer::resume_after(1us); // no lock is left that would forbid it
    }(all));
    EXPECT_EQ(all.total(), 300);
}

/// Otherwise each lock would be unlocked twice, the second time perhaps that of its next owner.
TEST(coroutine_calls_ends, of_several_objects_leave_the_guards_empty) {
    pilfer::pool pool(workers(1));
    bank all;
    pool.run([](bank& of) -> task<> {
        pilfer::detail::locks_of_all<2> locks(std::tie(of.a, of.b));
        for (std::size_t i = 0; i < 2; ++i) {
            if (pilfer::mutex* const alone = locks.parts[i].alone) {
                locks.alone[i] = co_await pilfer::scoped_lock(*alone);
            } else {
                locks.shared[i] = co_await pilfer::scoped_lock(*locks.parts[i].shared);
            }
        }
        {
            const auto guard = locks.enter();
            for (std::size_t i = 0; i < 2; ++i) {
                EXPECT_FALSE(locks.alone[i].owns_lock());
                EXPECT_FALSE(locks.shared[i].owns_lock());
            }
            EXPECT_TRUE(pilfer::detail::this_activation()->holds_lock());
            EXPECT_THROW(of.a.call([](long&) {}), pilfer::usage_error) << "the task is inside";
        }
        EXPECT_FALSE(pilfer::detail::this_activation()->holds_lock());
    }(all));
    EXPECT_EQ(all.total(), 300);
}

PILFER_OVER_WORKERS(coroutine_calls);

/// The first wait is left, with the lock of none. Whoever has the first lock waits to the end.
TEST_P(coroutine_calls_cancel, of_several_objects_are_left_before_the_first) {
    pool.run([&] {
        pilfer::synchronized<long> objects[3] = {
            pilfer::synchronized<long>{0L}, pilfer::synchronized<long>{0L}, pilfer::synchronized<long>{0L}};
        const auto calls = [](auto& of, auto& with, std::atomic<int>& n) -> task<> {
            ++n;
            co_await pilfer::call_all(std::tie(with, of), [](long& x, long& y) {
                ++x;
                ++y;
            });
        };
        pilfer::event go;
        std::atomic<int> begun{0};
        const auto holder = pool.async([&] {
            objects[1].call([&](long&) {
                ++begun;
                go.wait();
            });
        });
        until([&] { return begun == 1; });
        pilfer::scope s;
        bool came_back = false;
        s.fork([&] {
            pool.run(calls(objects[1], objects[2], begun));
            came_back = true;
        });
        s.fork([&] { pool.run(calls(objects[1], objects[0], begun)); });
        const auto is_taken = [&] { return !objects[0].try_call([](long&) {}).has_value(); };
        until([&] { return begun == 3 && is_taken(); });
        s.cancel();
        EXPECT_TRUE(is_taken()) << "a holder is not cancelled";
        go.set();
        s.sync();
        holder.get();
        EXPECT_FALSE(came_back);
        EXPECT_FALSE(is_taken());
        for (int i = 0; i < 3; ++i) {
            EXPECT_EQ(objects[i].read([](long n) { return n; }), i < 2 ? 1 : 0);
        }
    });
}

TEST_P(coroutine_calls_cancel, a_waiting_call_is_left) {
    pool.run([&] {
        pilfer::monitor<int> m(0);
        pilfer::synchronized<int> s(0);
        pilfer::event inside;
        pilfer::event go;
        buffer empty;
        std::atomic<int> begun{0};
        const auto holder = pool.async([&] {
            s.call([&](int&) {
                inside.set();
                go.wait();
            });
        });
        inside.wait();
        pilfer::scope all;
        all.fork([&] {
            pool.run([](pilfer::monitor<int>& mon, std::atomic<int>& n) -> task<> {
                ++n;
                co_await pilfer::call_when(
                    mon, [](const int& v) { return v == 1; }, [](int&) { ADD_FAILURE(); });
            }(m, begun));
        });
        all.fork([&] {
            pool.run([](pilfer::synchronized<int>& syn, std::atomic<int>& n) -> task<> {
                ++n;
                co_await pilfer::call(syn, [](int&) { ADD_FAILURE(); });
            }(s, begun));
        });
        all.fork([&] {
            ++begun;
            EXPECT_EQ(pool.run(takes_within(empty, 1h)), 0) << "it is cancelled before";
        });
        until([&] { return begun == 3; });
        all.cancel();
        all.sync();
        go.set();
        holder.get();
        m.call([](int& v) { v = 1; });
        s.call([](int& v) { v = 1; });
    });
}

/// Also if its time was over first.
TEST(coroutine_calls_ends, a_cancelled_wait_for_a_condition_throws) {
    const watchdog w(patience);
    pilfer::monitor<int> m(0);
    const auto ready = [](const int& v) { return v == 1; };
    using condition = pilfer::detail::condition_of_call<int, decltype(ready), pilfer::detail::wait_limit>;
    expect_stopped_after_its_time([&](auto limit, auto late) -> task<> {
        auto& lock = pilfer::detail::object_access::lock(m);
        co_await pilfer::detail::object_entry<pilfer::mutex, pilfer::detail::no_limit>{lock,
                                                                                       pilfer::detail::never};
        (void)co_await late(condition{m, ready, pilfer::detail::after(limit)});
    });
    m.call([](int&) {}); // it is free
}

/// A change that makes the condition true, and a cancellation, at any moment.
TEST_P(coroutine_calls_cancel, exactly_one_of_a_call_and_a_cancellation) {
    for (std::uint64_t round = 0; round < hundredth_of(50'000); ++round) {
        pool.run([&] {
            pilfer::monitor<int> m(0);
            std::atomic<bool> begun{false};
            bool was_stopped = false;
            bool returned = false;
            pilfer::scope s;
            s.fork([&] {
                try {
                    pool.run([](pilfer::monitor<int>& mon, std::atomic<bool>& b) -> task<> {
                        b = true;
                        co_await pilfer::call_when(
                            mon, [](const int& v) { return v == 1; }, [](int& v) { v = 2; });
                    }(m, begun));
                    returned = true;
                } catch (const pilfer::stopped&) {
                    was_stopped = true;
                    throw;
                }
            });
            until([&] { return begun.load(); });
            const auto done = pilfer::async([&] { m.call([](int& v) { v = 1; }); });
            for (std::atomic<std::uint64_t> i{0}; i < round * 37 % 400;) {
                ++i;
            }
            s.cancel();
            s.sync();
            done.get();
            EXPECT_NE(was_stopped, returned);
            EXPECT_EQ(m.read([](const int& v) { return v; }), returned ? 2 : 1);
        });
    }
}

} // namespace
