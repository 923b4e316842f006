// promise, and waits with a time limit.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "support/allocations.hpp"
#include "support/harness.hpp"
#include "support/peaks.hpp"
#include "support/process.hpp"

namespace {

using namespace support;
using namespace std::chrono_literals;

// ---- promises ---------------------------------------------------------------------------------

class promise_waits : public over_workers {};

enum class written { value, exception, never };

/// Writes, or destroys the promise.
void write(std::optional<pilfer::promise<int>>& p, written what) {
    switch (what) {
    case written::value:
        p->set_value(7);
        break;
    case written::exception:
        p->set_exception(std::make_exception_ptr(std::out_of_range("no")));
        break;
    case written::never:
        p.reset();
        break;
    }
}

[[nodiscard]] bool reads(const pilfer::future<int>& f, written what) {
    try {
        return f.get() == 7 && what == written::value;
    } catch (const std::out_of_range&) {
        return what == written::exception;
    } catch (const pilfer::broken_promise&) {
        return what == written::never;
    }
}

enum class when { before, meanwhile, afterwards };

/// One wait and one write, each by a task or by a thread of its own. That task or thread ends right
/// afterwards.
void wait_and_write(pilfer::pool& pool, bool task_waits, bool task_writes, when order, written what) {
    std::optional<pilfer::promise<int>> p(std::in_place);
    const pilfer::future<int> f = p->get_future();
    std::atomic<bool> waits{false};
    std::atomic<bool> right{false};
    const auto waiter = [&] {
        waits = true;
        right = reads(f, what);
    };
    if (order == when::before) {
        task_writes ? pool.run([&] { write(p, what); }) : std::thread([&] { write(p, what); }).join();
    }
    auto task = task_waits ? pool.async(waiter) : pilfer::future<void>();
    auto thread = task_waits ? std::thread() : std::thread(waiter);
    if (order != when::before) {
        const auto writer = [&] { write(p, what); };
        ASSERT_TRUE(order == when::meanwhile || eventually([&] { return waits.load(); }, 60s));
        if (order == when::afterwards) {
            std::this_thread::sleep_for(100us); // it has most likely left its stack by then
        }
        task_writes ? pool.async(writer).get() : std::thread(writer).join();
    }
    task_waits ? task.get() : thread.join();
    ASSERT_TRUE(right) << "task waits " << task_waits << ", writes " << task_writes << ", order "
                       << static_cast<int>(order) << ", written " << static_cast<int>(what);
}

TEST_P(promise_waits, tasks_and_threads_get_values_of_tasks_and_threads) {
    pilfer::pool pool(with_workers());
    for (const bool task_waits : {false, true}) {
        for (const bool task_writes : {false, true}) {
            for (const when order : {when::before, when::meanwhile, when::afterwards}) {
                for (const written what : {written::value, written::exception, written::never}) {
                    wait_and_write(pool, task_waits, task_writes, order, what);
                }
            }
        }
    }
}

TEST_P(promise_waits, the_frame_that_waits_ends_while_it_is_being_set) {
    pilfer::pool pool(with_workers());
    const std::uint64_t rounds = hundredth_of(20'000);
    std::atomic<pilfer::promise<std::string>*> handed{nullptr};
    std::atomic<bool> over{false};
    std::thread setter([&] {
        while (!over) {
            if (auto* p = handed.exchange(nullptr)) {
                p->set_value(std::string(100, 'p'));
            }
        }
    });
    for (std::uint64_t i = 0; i < rounds; ++i) {
        const auto frame = [&] {
            pilfer::promise<std::string> mine;
            const auto f = mine.get_future();
            handed = &mine;
            return f.get().size(); // the promise goes, perhaps before set_value() has returned
        };
        ASSERT_EQ(i % 2 == 0 ? pool.run(frame) : frame(), 100U);
    }
    over = true;
    setter.join();
}

TEST_P(promise_waits, is_written_once) {
    pilfer::pool pool(with_workers());
    for (int round = 0; round < 20; ++round) {
        pilfer::promise<int> p;
        std::atomic<int> wrote{0};
        std::atomic<int> refused{0};
        std::vector<pilfer::future<void>> tasks;
        for (int i = 0; i < 8; ++i) {
            tasks.push_back(pool.async([&, i] {
                try {
                    p.set_value(i);
                    wrote += 1 + 100 * i;
                } catch (const pilfer::promise_already_satisfied&) {
                    ++refused;
                }
            }));
        }
        for (auto& t : tasks) {
            t.get();
        }
        ASSERT_EQ(wrote % 100, 1);
        ASSERT_EQ(refused, 7);
        ASSERT_EQ(p.get_future().get(), wrote / 100);
        ASSERT_THROW(p.set_exception(std::make_exception_ptr(1)), pilfer::promise_already_satisfied);
        ASSERT_EQ(p.get_future().get(), wrote / 100) << "the second write left no trace";
    }
}

TEST_P(promise_waits, any_number_of_tasks_and_threads_wait) {
    PILFER_NOT_ON_ONE_LOCK("a thousand tasks would block a thread each");
    pilfer::pool pool(with_workers());
    const auto n = static_cast<std::size_t>(hundredth_of(100'000));
    // Two workers are asked for how much a waiter takes; in the others a part of it is theirs.
    const std::size_t before = GetParam() == 2 ? resident_bytes() : 0;
    pilfer::promise<std::string> p;
    const auto f = p.get_future();
    std::atomic<std::size_t> right{0};
    std::vector<pilfer::future<void>> tasks;
    for (std::size_t i = 0; i < n; ++i) {
        tasks.push_back(pool.async([&right, f] { right += f.get() == "text" ? 1 : 0; }));
    }
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
        threads.emplace_back([&right, f] { right += f.get() == "text" ? 1 : 0; });
    }
    EXPECT_TRUE(eventually([&] { return pool.counters().suspends >= n; }, 60s)) << "each leaves its worker";
    EXPECT_EQ(right, 0U);
    if (!sanitized && !emulated && before != 0) {
        std::this_thread::sleep_for(1ms); // counted a moment before it has left its stack
        const double each = static_cast<double>(resident_bytes() - before) / static_cast<double>(n);
        std::printf("[          ] %zu suspended tasks: %.0f bytes resident each\n", n, each);
        EXPECT_LE(each, 2 * 4096.0) << "two pages for each";
    }
    p.set_value("text");
    for (auto& t : threads) {
        t.join();
    }
    for (auto& t : tasks) {
        t.get();
    }
    EXPECT_EQ(right, n + 4);
}

PILFER_OVER_WORKERS(promise_waits);

class promise_handles : public guarded {};

TEST_F(promise_handles, results_of_every_kind) {
    int object = 1;
    pilfer::promise<int&> reference;
    pilfer::promise<void> nothing;
    pilfer::promise<std::unique_ptr<int>> only_moves;
    reference.set_value(object);
    nothing.set_value();
    only_moves.set_value(std::make_unique<int>(5));
    EXPECT_EQ(&reference.get_future().get(), &object);
    EXPECT_NO_THROW(nothing.get_future().get());
    EXPECT_EQ(*only_moves.get_future().take(), 5);
}

TEST_F(promise_handles, promises_move_and_misuse_throws) {
    pilfer::promise<int> p;
    const auto f = p.get_future();
    EXPECT_THROW(p.set_exception(nullptr), pilfer::usage_error);
    EXPECT_FALSE(f.ready()) << "an error is no write";
    pilfer::promise<int> q = std::move(p);
    EXPECT_FALSE(p.valid()); // NOLINT(bugprone-use-after-move)
    EXPECT_THROW(p.set_value(1), pilfer::usage_error);
    EXPECT_THROW((void)p.get_future(), pilfer::usage_error);
    q = pilfer::promise<int>(); // the one before is destroyed unset
    EXPECT_THROW((void)f.get(), pilfer::broken_promise);
    q.set_value(2);
    EXPECT_EQ(q.get_future().get(), 2);
    EXPECT_EQ(q.get_future().get(), 2) << "any number of handles";
}

TEST_F(promise_handles, a_value_that_throws_when_moved_is_an_exception) {
    struct thrower {
        thrower() = default;
        thrower(const thrower&) { throw std::length_error("copied"); }
        thrower& operator=(const thrower&) = delete;
    };
    pilfer::promise<thrower> p;
    const auto f = p.get_future();
    const thrower t;
    EXPECT_THROW(p.set_value(t), std::length_error) << "the caller's copy: nothing has happened";
    EXPECT_FALSE(f.ready());
    p.set_value({});
    EXPECT_THROW((void)f.get(), std::length_error);
}

TEST_F(promise_handles, a_recording_pool_follows_promises_and_continuations) {
    PILFER_NOT_ON_ONE_LOCK("it does not record");
    pilfer::options o;
    o.debug.profile = true;
    pilfer::pool pool(o);
    pilfer::promise<int> p;
    auto f = p.get_future();
    auto g = f.then(pool, [](int i) { return i + 1; });
    pool.run([&] {
        auto set = pilfer::async([&] { p.set_value(fib_join(10) > 0 ? 1 : 0); });
        EXPECT_EQ(f.get(), 1);
        EXPECT_EQ(g.then([](int i) { return i + 1; }).get(), 3);
        EXPECT_EQ(f.wait_for(1s), pilfer::future_status::ready);
        set.get();
        (void)pilfer::when_all(f, g).get();
        pilfer::promise<void> never;
        EXPECT_EQ(never.get_future().wait_for(100us), pilfer::future_status::timeout);
    });
    pool.shutdown();
    const auto figures = pool.profile();
    EXPECT_TRUE(figures.complete);
    EXPECT_LE(figures.span_ns, figures.work_ns);
}

// ---- waits with a time limit ------------------------------------------------------------------

class timed_waits : public over_workers {};

TEST_P(timed_waits, waits_end_by_the_time_or_by_the_result) {
    pilfer::pool pool(with_workers());
    pilfer::promise<int> p;
    const auto f = p.get_future();
    const auto times_out = [&f] {
        EXPECT_EQ(f.wait_for(-1s), pilfer::future_status::timeout);
        EXPECT_EQ(f.wait_for(0s), pilfer::future_status::timeout);
        EXPECT_EQ(f.wait_for(200us), pilfer::future_status::timeout);
        EXPECT_EQ(f.wait_until(std::chrono::steady_clock::now() + 200us), pilfer::future_status::timeout);
        EXPECT_EQ(f.wait_until(std::chrono::system_clock::now() - 1h), pilfer::future_status::timeout);
    };
    times_out();
    pool.run(times_out);
    const auto waits = [f] {
        return f.wait_for(std::chrono::hours::max()) == pilfer::future_status::ready &&
               f.wait_until(std::chrono::steady_clock::time_point::max()) == pilfer::future_status::ready &&
               f.wait_for(-1s) == pilfer::future_status::ready && f.get() == 3;
    };
    auto task = pool.async(waits);
    auto other = pool.async([f] { return f.wait_for(1h) == pilfer::future_status::ready; });
    std::atomic<bool> right{false};
    std::thread thread([&] { right = waits(); });
    std::this_thread::sleep_for(500us);
    p.set_value(3);
    EXPECT_TRUE(task.get());
    EXPECT_TRUE(other.get());
    thread.join();
    EXPECT_TRUE(right);
}

TEST_P(timed_waits, the_end_and_the_time_race_and_one_wins) {
    pilfer::pool pool(with_workers());
    const std::uint64_t rounds = hundredth_of(10'000);
    std::uint64_t late = 0;
    for (std::uint64_t i = 0; i < rounds; ++i) {
        pilfer::promise<std::uint64_t> p;
        const auto f = p.get_future();
        const auto limit = std::chrono::microseconds(1 + i % 7 * 20);
        const auto look = [f, limit, i] {
            const bool ready = f.wait_for(limit) == pilfer::future_status::ready;
            if (ready && !(f.ready() && f.get() == i)) {
                throw std::logic_error("ready without its result");
            }
            return ready ? 0U : 1U;
        };
        std::vector<pilfer::future<unsigned>> tasks;
        for (int k = 0; k < 6; ++k) {
            tasks.push_back(pool.async(look));
        }
        auto untimed = pool.async([f] { return f.get(); });
        unsigned outside = 0;
        std::thread setter([&p, i] { p.set_value(i); });
        outside = look();
        setter.join();
        late += outside;
        for (auto& t : tasks) {
            late += t.get();
        }
        ASSERT_EQ(untimed.get(), i);
        ASSERT_EQ(f.wait_for(0s), pilfer::future_status::ready);
    }
    EXPECT_LE(late, 7 * rounds);
}

TEST_P(timed_waits, waits_that_come_and_go_leave_nothing) {
    pilfer::pool pool(with_workers());
    pilfer::promise<void> p;
    const auto f = p.get_future();
    EXPECT_EQ(f.wait_for(1ns), pilfer::future_status::timeout);
    const std::uint64_t n = hundredth_of(100'000);
    const auto many = [&] {
        for (std::uint64_t i = n; i > 0; --i) {
            ASSERT_EQ(f.wait_for(std::chrono::nanoseconds(i % 2000)), pilfer::future_status::timeout);
        }
    };
    if (!support::on_one_lock()) {
        meet_all(pool); // no thread is still starting
    }
    many();
    pool.run(many);
    const auto before = allocations();
    many();
    const auto outside = allocations();
    pool.run(many);
    const auto inside = allocations();
    if (counts_allocations && !support::on_one_lock()) {
        EXPECT_EQ(outside, before);
        // A waiting frame may resume on any worker: a worker's lists grow at the first wait there.
        EXPECT_LE(inside, outside + (GetParam() == 1 ? 0 : 8 * GetParam()));
    }
    p.set_value();
    EXPECT_EQ(f.wait_for(1ns), pilfer::future_status::ready);
}

PILFER_OVER_WORKERS(timed_waits);

class waits_on_few_workers : public guarded {};

TEST_F(waits_on_few_workers, a_wait_with_a_limit_claims_nothing_and_lets_its_only_worker_go) {
    pilfer::pool pool(workers(1));
    pool.run([] {
        auto f = pilfer::async([] { return 4; });
        EXPECT_EQ(f.wait_for(std::chrono::hours(10)), pilfer::future_status::ready);
        EXPECT_EQ(f.get(), 4);
    });
    EXPECT_GE(pool.counters().suspends, 1U) << "the task ran on a stack of its own";
}

TEST_F(waits_on_few_workers, continuations_run_after_the_task_that_sets) {
    pilfer::pool pool(workers(1));
    pilfer::promise<int> p;
    std::atomic<bool> ran{false};
    std::atomic<long> where{0};
    auto g = p.get_future().then(pool, [&](int i) {
        ran = true;
        where = thread_id();
        return i;
    });
    pool.run([&] {
        p.set_value(1);
        EXPECT_FALSE(ran) << "not on the stack of the setter";
    });
    EXPECT_EQ(g.get(), 1);
    pilfer::promise<int> q;
    auto h = q.get_future().then(pool, [](int) { return thread_id(); });
    q.set_value(2);
    EXPECT_EQ(h.get(), where);
    EXPECT_NE(h.get(), thread_id());
}

TEST_F(waits_on_few_workers, a_deep_right_recursion) {
    pilfer::options o = workers(2);
    o.stack_size = std::size_t{64} << 20;
    pilfer::pool pool(o);
    struct level {
        static std::uint64_t down(std::uint64_t n) { // NOLINT(misc-no-recursion)
            if (n == 0) {
                return 0;
            }
            auto leaf = pilfer::async([n] { return n; });
            const std::uint64_t rest = down(n - 1);
            return rest + leaf.get();
        }
    };
    const std::uint64_t depth = hundredth_of(100'000);
    EXPECT_EQ(pool.run([depth] { return level::down(depth); }), depth * (depth + 1) / 2);
}

TEST_F(waits_on_few_workers, a_task_that_always_waits_accumulates_nothing) {
    pilfer::pool pool(workers(1));
    auto watched = std::make_shared<int>(1);
    pool.run([&] {
        for (int round = 0; round < 20; ++round) {
            std::vector<pilfer::future<int>> all;
            for (int i = 0; i < 50; ++i) {
                all.push_back(pilfer::async([watched] { return *watched; }));
            }
            for (int i = 0; i < 50; ++i) { // oldest first, newest first, and in between
                const int k = round % 3 == 0 ? i : (round % 3 == 1 ? 49 - i : i * 7 % 50);
                EXPECT_EQ(all[static_cast<std::size_t>(k)].get(), 1);
            }
            all.clear();
        }
    });
    // The scheduler takes the tasks that were left in the deque: few of a thousand.
    pool.shutdown();
    EXPECT_LE(pool.counters().run_own, 100U);
    EXPECT_EQ(watched.use_count(), 1);
}

} // namespace
