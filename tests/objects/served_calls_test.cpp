// A call of a monitor that another task serves: on whose stack it runs, and what exceptions and
// cancellations do to it.
#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <stdexcept>
#include <stop_token>

#include "objects/entered.hpp"
#include "sync/support.hpp"

namespace {

using namespace sync_tests;
using support::workers;

class served_calls : public over_workers {};
class served_calls_alone : public support::guarded {};
PILFER_OVER_WORKERS(served_calls);

TEST_F(served_calls_alone, run_calls_on_the_documented_stack) {
    // A thread runs its own calls, also those that others make possible, and no other calls. The caller that
    // makes a task's call possible runs it, unless tasks of its pool stay on their threads.
    for (const bool own_thread : {false, true}) {
        pilfer::options o = workers(3);
        o.resume = own_thread ? pilfer::resume::own_thread : pilfer::resume::anywhere;
        pilfer::pool pool(o);
        pilfer::monitor<int> q(0);
        entered calls; // one that comes late would run itself, whatever the rule
        std::atomic<bool> begun{false};
        long servers = 0;
        auto server = pool.async([&] {
            begun = true;
            while (!calls.are(3)) { // so the callers are on other threads
                std::this_thread::yield();
            }
            q.call([&](int& v) {
                servers = support::thread_id(); // here: it may have waited for the lock
                v = 1;
            });
        });
        ASSERT_TRUE(support::eventually([&] { return begun.load(); }));
        enum { first_task = 1, thread, second_task };
        const auto caller = [&](int want) {
            const long self = support::thread_id();
            q.call_when(calls([want](int v) { return v == want; }), [&](int& v) {
                if (want == first_task && !own_thread) {
                    EXPECT_EQ(support::thread_id(), servers);
                } else if (want == thread || own_thread) {
                    EXPECT_EQ(support::thread_id(), self);
                }
                ++v;
            });
        };
        std::thread outside(caller, thread);
        auto first = pool.async([&] { caller(first_task); });
        auto second = pool.async([&] { caller(second_task); });
        outside.join();
        first.get();
        second.get();
        server.get();
        EXPECT_EQ(q.read([](int v) { return v; }), 4);
    }
}

TEST_P(served_calls, exceptions_go_to_their_caller) {
    pilfer::pool pool(with_workers());
    struct state {
        unsigned value = 0;
        unsigned run = 0;
    };
    pilfer::monitor<state> q;
    std::vector<pilfer::future<void>> all;
    std::atomic<unsigned> caught{0};
    constexpr unsigned many = 9;
    const auto caller = [&](unsigned i) {
        const auto ready = [i](const state& s) {
            if (s.value == 1 && i % 3 == 0) {
                throw std::out_of_range("condition");
            }
            return s.value == 1;
        };
        const auto f = [i](state& s) {
            ++s.run;
            if (i % 3 == 1) {
                throw std::length_error("call");
            }
            return i;
        };
        try {
            EXPECT_EQ(q.call_when(ready, f), i);
            EXPECT_EQ(i % 3, 2U);
        } catch (const std::out_of_range&) {
            caught += i % 3 == 0 ? 1 : 100;
        } catch (const std::length_error&) {
            caught += i % 3 == 1 ? 1 : 100;
        }
    };
    for (unsigned i = 0; i < many; ++i) {
        all.push_back(pool.async([&caller, i] { caller(i); }));
    }
    until_suspended(pool, many);
    pool.run([&] {
        // The call that makes it possible throws itself, after the change.
        EXPECT_THROW(q.call([](state& s) {
            s.value = 1;
            throw 1;
        }),
                     int);
    });
    for (auto& f : all) {
        f.get();
    }
    EXPECT_EQ(caught, 6U);
    EXPECT_EQ(q.read([](const state& s) { return s.run; }), 6U);
}

// f runs with the exceptions of its own caller. Exceptions that its server handles or unwinds for do not
// concern it. The server finds its own again, on any thread that f has taken it to.
TEST_P(served_calls, a_served_call_sees_the_exceptions_of_its_caller) {
    pilfer::pool pool(with_workers());
    const auto ready = [](int v) { return v == 1; };
    for (const bool server_unwinds : {false, true}) {
        for (const bool caller_handles : {false, true}) {
            pilfer::monitor<int> q(0);
            entered calls;
            const auto f = [&](int& v) {
                const bool handles = std::current_exception() != nullptr;
                EXPECT_EQ(handles, caller_handles);
                EXPECT_EQ(std::uncaught_exceptions(), 0);
                let_others_run();
                if (handles) {
                    EXPECT_THROW(throw, std::length_error);
                } else {
                    pilfer::event go;
                    pilfer::scope s;
                    s.spawn([&] { EXPECT_TRUE(go.wait_for(60s)) << "a plain call"; });
                    go.set();
                    s.sync();
                }
                v = 2;
            };
            auto caller = pool.async([&] {
                if (!caller_handles) {
                    q.call_when(calls(ready), f);
                    return;
                }
                try {
                    throw std::length_error("of the caller");
                } catch (...) {
                    q.call_when(calls(ready), f);
                    EXPECT_THROW(throw, std::length_error);
                }
            });
            calls.until(1);
            pool.run([&] {
                try {
                    if (server_unwinds) {
                        q.call([](int& v) {
                            v = 1;
                            throw std::out_of_range("of the server");
                        });
                    }
                    throw std::out_of_range("of the server");
                } catch (...) {
                    if (!server_unwinds) {
                        q.call([](int& v) { v = 1; });
                    }
                    EXPECT_EQ(std::uncaught_exceptions(), 0);
                    EXPECT_THROW(throw, std::out_of_range);
                }
                EXPECT_EQ(std::current_exception(), nullptr);
            });
            caller.get();
            EXPECT_EQ(q.read([](int v) { return v; }), 2);
        }
    }
}

// The cancelled scope is the caller's. A call that is inside, served or not, ends first. Its caller leaves
// after that, and its server, which unwinds, continues.
TEST_P(served_calls, a_served_call_ends_before_its_caller_is_stopped) {
    pilfer::pool pool(with_workers());
    pilfer::monitor<int> q(0);
    pilfer::event go_on;
    entered calls;
    std::atomic<pilfer::scope*> own{nullptr};
    std::atomic<bool> runs{false};
    std::atomic<bool> returned{false};
    auto caller = pool.async([&] {
        pilfer::scope s;
        own = &s;
        s.fork([&] {
            const int result = q.call_when(calls([](int v) { return v == 1; }), [&](int&) {
                runs = true;
                go_on.wait();
                EXPECT_FALSE(pilfer::cancelled());
                return 3;
            });
            EXPECT_EQ(result, 3);
            EXPECT_TRUE(pilfer::cancelled());
            returned = true;
            pilfer::sleep_for(60s);
            ADD_FAILURE() << "not stopped";
        });
        s.sync();
    });
    calls.until(1);
    auto server = pool.async([&] {
        EXPECT_THROW(q.call([](int& v) {
            v = 1;
            throw std::out_of_range("of the server");
        }),
                     std::out_of_range);
    });
    ASSERT_TRUE(support::eventually([&] { return runs.load(); }));
    own.load()->cancel();
    go_on.set();
    caller.get();
    server.get();
    EXPECT_TRUE(returned);
}

// A destructor calls while its task, which is stopped, unwinds: served or not, f is part of that, and
// `stopped` must not come out of the call.
TEST_P(served_calls, a_destructors_call_is_served_while_its_stopped_caller_unwinds) {
    pilfer::pool pool(with_workers());
    for (std::uint64_t round = 0; round < support::hundredth_of(1'000); ++round) {
        pilfer::monitor<int> q(0);
        entered calls;
        std::atomic<bool> through{false};
        const auto f = [&](int& v) {
            EXPECT_FALSE(pilfer::cancelled()); // inside the lock
            pilfer::sleep_for(std::chrono::microseconds(1));
            pilfer::event once;
            pilfer::scope s;
            s.spawn([] {});
            s.fork([] {});
            s.sync();
            EXPECT_FALSE(once.wait_for(std::chrono::microseconds(1)));
            EXPECT_EQ(pilfer::join([] { return 1; }, [] { return 2; }), std::tuple(1, 2));
            EXPECT_EQ(std::uncaught_exceptions(), 1);
            v = 2;
        };
        struct calls_at_its_end {
            pilfer::monitor<int>& q;
            entered& calls;
            decltype(f)& body;
            std::atomic<bool>& through;
            ~calls_at_its_end() {
                q.call_when(calls([](int v) { return v == 1; }), body);
                through = true;
            }
        };
        auto caller = pool.async([&] {
            pilfer::scope s;
            s.fork([&] {
                const calls_at_its_end guard{q, calls, f, through};
                s.cancel();
                pilfer::sleep_for(60s);
                ADD_FAILURE() << "not stopped";
            });
            s.sync();
        });
        calls.until(1);
        pool.run([&] { q.call([](int& v) { v = 1; }); });
        caller.get();
        EXPECT_TRUE(through);
        EXPECT_EQ(q.read([](int v) { return v; }), 2);
    }
}

/// Its task suspends where the end of a std::stop_callback would block the thread.
struct waits_at_its_end {
    pilfer::event& over;
    ~waits_at_its_end() { EXPECT_TRUE(over.wait_for(60s)); }
};

/// The call that leaves serves another one. After its unlock a callback of a cancelled child runs, and may
/// wait for the call that was served.
TEST_P(served_calls, a_callback_at_the_unlock_may_wait_for_the_call_that_was_served) {
    if (GetParam() == 1) {
        GTEST_SKIP() << "the callback holds the only worker";
    }
    pilfer::pool pool(with_workers());
    pilfer::monitor<int> object(0);
    std::atomic<bool> served{false};
    std::atomic<bool> in_time{false};
    pilfer::event leaves;
    pool.run([&] {
        entered first;
        pilfer::scope all;
        all.fork([&] {
            object.call_when(first([](const int& v) { return v > 0; }), [](int& v) { v = 0; });
            served = true;
        });
        pilfer::scope outer;
        outer.fork([&] {
            while (!first.are(1)) {
                pilfer::yield();
            }
            std::optional<pilfer::scope> s;
            pilfer::event ready;
            pilfer::event over;
            object.call([&](int& v) {
                s.emplace();
                s->fork([&] {
                    const pilfer::stop_on_cancel c;
                    const std::stop_callback told(c.token(), [&] {
                        in_time = support::eventually([&] { return served.load(); });
                        over.set();
                    });
                    const waits_at_its_end first_the_callback{over};
                    ready.set();
                    leaves.wait();
                });
                ready.wait();
                outer.cancel();
                v = 1;
            });
            s->sync();
        });
        outer.sync();
        all.sync();
    });
    EXPECT_TRUE(in_time);
}

} // namespace
