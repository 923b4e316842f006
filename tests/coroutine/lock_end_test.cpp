// Reports of coroutines that wait for a mutex, and coroutines that end with one.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include "coroutine/locks.hpp"
#include "waits/waits.hpp"

namespace {

using namespace coroutine_tests;

TEST_F(coroutine_lock_ends, a_dump_names_the_wait_for_a_mutex) {
    pilfer::pool pool(workers(2));
    pilfer::mutex m;
    m.lock();
    std::atomic<int> begun{0};
    int got = 0;
    const auto waits = pool.async(waits_for_lock(m, begun, got));
    std::string text;
    EXPECT_TRUE(eventually([&] {
        std::ostringstream out;
        pool.dump(out);
        text = out.str();
        return text.find("waits for a mutex (0x") != std::string::npos;
    })) << text;
    EXPECT_NE(text.find("), which is held"), std::string::npos) << text;
    EXPECT_NE(text.find("waits_for_lock"), std::string::npos) << text;
    m.unlock();
    waits.get();
}

/// `body` waits for ever, and `text` appears on standard error.
template <class Body>
void expect_named(const char* text, Body body) {
    const auto says = in_child([&] {
        waits::own_stderr err;
        std::thread([&body] { body(); }).detach();
        err.await(text);
        err.give_back();
        return 0;
    });
    if (pilfer::detail::checked_build) {
        EXPECT_TRUE(says.killed_by(SIGABRT)) << says;
    } else {
        EXPECT_TRUE(says.exited_with(0)) << says;
    }
}

task<> locks_both(pilfer::mutex& a, pilfer::mutex& b, pilfer::latch& all) {
    const auto first = co_await pilfer::scoped_lock(a);
    all.arrive_and_wait();
    co_await pilfer::resume_after(1us); // on any worker
    const auto second = co_await pilfer::scoped_lock(b);
}

TEST_F(coroutine_lock_ends, a_cycle_through_coroutines_is_named_at_once) {
    expect_named("a cycle of tasks or threads that wait for each other's mutexes: ", [] {
        pilfer::pool pool(workers(3));
        pilfer::mutex m[3];
        pilfer::latch all(3);
        auto a = pool.async(locks_both(m[0], m[1], all));
        auto b = pool.async(locks_both(m[1], m[2], all));
        const std::lock_guard first(m[2]);
        all.arrive_and_wait();
        const std::lock_guard second(m[0]);
    });
}

TEST_F(coroutine_lock_ends, a_coroutine_that_locks_twice_is_named_at_once) {
    expect_named("a mutex is locked twice by the same task or thread", [] {
        pilfer::pool pool(workers(1));
        pilfer::mutex m;
        pool.run([](pilfer::mutex& mutex) -> task<> {
            const auto first = co_await pilfer::scoped_lock(mutex);
            const auto second = co_await pilfer::scoped_lock(mutex);
        }(m));
    });
}

/// The guard's end would write to the root, which is gone.
TEST_F(coroutine_lock_ends, a_lock_that_outlives_its_coroutine_ends_the_program) {
    const auto keeps = [](mutex_guard& out) -> task<> {
        static pilfer::mutex m;
        out = co_await pilfer::scoped_lock(m);
    };
    using way = void (*)(pilfer::pool&, task<>);
    constexpr way ways[] = {[](pilfer::pool& p, task<> t) { p.run(std::move(t)); },
                            [](pilfer::pool& p, task<> t) { p.async(std::move(t)).get(); },
                            [](pilfer::pool& p, task<> t) { p.submit(std::move(t)); }};
    for (const way begin : ways) {
        const auto says = in_child([&] {
            pilfer::pool pool(workers(1));
            begin(pool, keeps(*new mutex_guard));
            pool.shutdown();
            return 0;
        });
        EXPECT_TRUE(says.killed_by(SIGABRT)) << says;
        EXPECT_TRUE(says.said("a coroutine ended that holds a lock of the library")) << says;
    }
}

/// The parameter lives until the frame ends, after the coroutine.
task<> keeps_in_a_parameter(pilfer::pool& p, pilfer::mutex& m, bool suspends, mutex_guard parameter) {
    parameter = co_await pilfer::scoped_lock(m);
    if (suspends) {
        co_await p.schedule();
    }
}
task<> fails_with_a_lock(pilfer::pool& p, pilfer::mutex& m, bool suspends, mutex_guard parameter) {
    parameter = co_await pilfer::scoped_lock(m);
    if (suspends) {
        co_await p.schedule();
    }
    throw std::runtime_error("its own");
}
task<mutex_guard> gives_away(pilfer::mutex& m) { co_return co_await pilfer::scoped_lock(m); }

void expect_free(pilfer::mutex& m) {
    EXPECT_FALSE(pilfer::detail::this_activation()->holds_lock());
    EXPECT_TRUE(m.try_lock()) << "still locked";
    m.unlock();
}

/// A root: no coroutine awaits it that could hold the lock.
TEST_F(coroutine_lock_ends, a_root_that_ends_with_a_lock_throws_and_unlocks) {
    if (pilfer::detail::checked_build) {
        return; // it aborts there
    }
    pilfer::mutex m;
    std::atomic<int> refused{0};
    std::atomic<int> own{0};
    pilfer::options o = workers(2);
    o.on_error = [&](const std::exception_ptr& e) { // NOLINT(performance-unnecessary-value-param)
        try {
            std::rethrow_exception(e);
        } catch (const pilfer::usage_error&) {
            ++refused;
        } catch (const std::runtime_error&) {
            ++own;
        }
    };
    pilfer::pool pool(o);
    const auto submit = [&](task<> t, const std::atomic<int>& errors) {
        const int before = errors;
        pool.submit(std::move(t));
        while (errors == before) {
            std::this_thread::yield();
            pilfer::yield();
        }
        m.lock(); // it may run yet
        m.unlock();
    };
    const auto all_ways = [&] {
        for (const bool suspends : {false, true}) {
            const auto ends = [&] { return keeps_in_a_parameter(pool, m, suspends, mutex_guard()); };
            const auto fails = [&] { return fails_with_a_lock(pool, m, suspends, mutex_guard()); };
            EXPECT_THROW(pool.run(ends()), pilfer::usage_error);
            expect_free(m);
            EXPECT_THROW(pool.run(fails()), std::runtime_error);
            expect_free(m);
            EXPECT_THROW(pool.async(ends()).get(), pilfer::usage_error);
            expect_free(m);
            EXPECT_THROW(pool.async(fails()).get(), std::runtime_error);
            expect_free(m);
            submit(ends(), refused);
            submit(fails(), own);
        }
        EXPECT_THROW((void)pool.run(gives_away(m)), pilfer::usage_error);
        expect_free(m);
        EXPECT_THROW((void)pool.async(gives_away(m)).take(), pilfer::usage_error);
        expect_free(m);
    };
    all_ways();
    pool.run(all_ways);
    pilfer::pool other(workers(1));
    other.run(all_ways);
    pool.run([&] { // no count of locks is left
        for (int i = 0; i < 100; ++i) {
            pool.async([&] { expect_free(*std::make_unique<pilfer::mutex>()); }).get();
        }
    });
    EXPECT_EQ(refused, 6);
    EXPECT_EQ(own, 6);
}

} // namespace
