// scope::sync and the destructor: the awaited children, the tasks that run meanwhile, the permitted callers.
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "support/harness.hpp"
#include "support/process.hpp"

namespace {

using namespace support;
using namespace std::chrono_literals;

class scope_sync : public over_workers {};

TEST_P(scope_sync, a_slow_stolen_child_is_awaited) {
    if (GetParam() == 1) {
        GTEST_SKIP() << "nobody steals from one worker";
    }
    pilfer::pool pool(with_workers());
    for (const bool by_destructor : {false, true}) {
        std::atomic<bool> started{false};
        std::atomic<bool> ended{false};
        pool.run([&] {
            {
                pilfer::scope s;
                s.fork([&] {
                    started = true;
                    std::this_thread::sleep_for(50ms);
                    ended = true;
                });
                while (!started) {
                    std::this_thread::yield();
                }
                if (!by_destructor) {
                    s.sync();
                    EXPECT_TRUE(ended);
                }
            }
            EXPECT_TRUE(ended);
        });
    }
}

TEST_P(scope_sync, a_slow_child_is_awaited_by_a_moved_parent) {
    if (GetParam() == 1) {
        GTEST_SKIP() << "nobody steals from one worker";
    }
    pilfer::pool pool(with_workers());
    std::atomic<bool> moved{false};
    std::atomic<bool> ended{false};
    pool.run([&] {
        pilfer::scope s;
        s.spawn([&] {
            while (!moved) {
                std::this_thread::yield();
            }
            std::this_thread::sleep_for(50ms);
            ended = true;
        });
        moved = true;
        s.sync();
        EXPECT_TRUE(ended);
    });
}

TEST_P(scope_sync, children_forked_by_stolen_join_branches_are_awaited) {
    pilfer::pool pool(with_workers());
    for (int round = 0; round < 50; ++round) {
        std::atomic<int> ran{0};
        pool.run([&] {
            {
                pilfer::scope s;
                (void)pilfer::join([] { std::this_thread::sleep_for(100us); },
                                   [&] {
                                       s.fork([&] {
                                           std::this_thread::sleep_for(200us);
                                           ran.fetch_add(1);
                                       });
                                   });
                if (round % 2 == 0) {
                    s.sync();
                    EXPECT_EQ(ran, 1) << "sync returned before a child from below had run";
                }
            }
            EXPECT_EQ(ran, 1) << "the scope ended before a child from below had run";
        });
    }
}

TEST_P(scope_sync, children_forked_by_loop_bodies_are_awaited) {
    pilfer::pool pool(with_workers());
    for (int round = 0; round < 20; ++round) {
        std::atomic<int> ran{0};
        pool.run([&] {
            pilfer::scope s;
            pilfer::for_each(0, 200, [&](int) { s.fork([&] { ran.fetch_add(1); }); });
            s.sync();
            EXPECT_EQ(ran, 200);
        });
    }
}

TEST_P(scope_sync, children_forked_by_tasks_of_inner_scopes_are_awaited) {
    pilfer::pool pool(with_workers());
    for (int round = 0; round < 50; ++round) {
        std::atomic<int> ran{0};
        std::atomic<int> thrown{0};
        pool.run([&] {
            pilfer::scope outer;
            {
                pilfer::scope inner;
                for (int i = 0; i < 4; ++i) {
                    inner.spawn([&] {
                        outer.fork([&] {
                            std::this_thread::sleep_for(100us);
                            ran.fetch_add(1);
                        });
                    });
                    inner.fork([&] { outer.fork([&] { ran.fetch_add(1); }); });
                }
                inner.sync();
            }
            outer.sync();
            EXPECT_EQ(ran, 8);
            // And their exceptions arrive.
            {
                pilfer::scope inner;
                inner.spawn([&] { outer.fork([] { throw 5; }); });
                inner.sync();
            }
            try {
                outer.sync();
            } catch (int) {
                thrown.fetch_add(1);
            }
        });
        EXPECT_EQ(thrown, 1);
    }
}

TEST_P(scope_sync, children_forked_by_descendants_are_awaited) {
    pilfer::pool pool(with_workers());
    struct tree {
        static void grow(pilfer::scope& s, int depth, std::atomic<int>& ran) {
            ran.fetch_add(1);
            if (depth > 0) {
                s.fork([&s, depth, &ran] { grow(s, depth - 1, ran); });
                s.fork([&s, depth, &ran] { grow(s, depth - 1, ran); });
            }
        }
    };
    for (int round = 0; round < 5; ++round) {
        std::atomic<int> ran{0};
        pool.run([&] {
            pilfer::scope s;
            s.spawn([&] { tree::grow(s, 8, ran); });
            s.fork([&] { tree::grow(s, 8, ran); });
            s.sync();
            EXPECT_EQ(ran, 2 * 511);
        });
    }
}

// ---- with a time limit --------------------------------------------------------------------------

class timed_sync : public over_workers {};

TEST_P(timed_sync, times_out_and_can_be_tried_again) {
    pilfer::pool pool(with_workers());
    pool.run([] {
        pilfer::event go_on;
        std::atomic<int> ran{0};
        const auto child = [&] {
            go_on.wait();
            ran.fetch_add(1);
        };
        pilfer::scope s;
        EXPECT_TRUE(s.sync_for(0s)) << "there is nobody to wait for";
        s.fork(child);
        EXPECT_FALSE(s.sync_for(-1h));
        EXPECT_FALSE(s.sync_for(1ms));
        s.spawn(child);
        EXPECT_FALSE(s.sync_for(1ms));
        (void)pilfer::join([&] { s.fork(child); }, [&] { s.fork(child); });
        EXPECT_FALSE(s.sync_until(std::chrono::steady_clock::now() + 1ms));
        EXPECT_EQ(ran, 0);
        go_on.set();
        EXPECT_TRUE(s.sync_for(std::chrono::hours::max()));
        EXPECT_EQ(ran, 4);
        s.fork(child);
        s.sync();
        EXPECT_EQ(ran, 5);
        go_on.reset();
        s.fork(child);
        EXPECT_FALSE(s.sync_for(1us));
        go_on.set();
        s.sync();
        EXPECT_EQ(ran, 6);
        EXPECT_TRUE(s.sync_for(0s));
    });
}

TEST_P(timed_sync, a_scope_is_awaited_at_its_end_after_a_timeout) {
    pilfer::pool pool(with_workers());
    pool.run([] {
        std::atomic<int> ran{0};
        for (int i = 0; i < 20; ++i) {
            pilfer::event go_on;
            pilfer::scope s;
            for (int k = 0; k < 3; ++k) {
                s.fork([&] {
                    go_on.wait();
                    ran.fetch_add(1);
                });
            }
            EXPECT_FALSE(s.sync_for(10us));
            go_on.set();
        }
        EXPECT_EQ(ran, 60);
    });
}

TEST_P(timed_sync, exceptions_arrive_when_all_have_ended) {
    pilfer::pool pool(with_workers());
    pool.run([] {
        pilfer::event begun;
        pilfer::event thrown;
        pilfer::event go_on;
        pilfer::scope s;
        s.spawn([&] {
            begun.set();
            while (!go_on.is_set()) { // the other one's exception would end a wait
                pilfer::yield();
            }
            throw 8;
        });
        begun.wait(); // after the other one's exception it would never begin
        s.spawn([&] {
            thrown.set();
            throw 7;
        });
        thrown.wait();
        while (!s.cancelled()) { // that one is the first
            pilfer::yield();
        }
        EXPECT_FALSE(s.sync_for(1ms)) << "one has not ended";
        go_on.set();
        try {
            (void)s.sync_for(1h);
            ADD_FAILURE() << "nothing was thrown";
        } catch (int what) {
            EXPECT_EQ(what, 7);
        }
        EXPECT_EQ(s.suppressed(), 1U);
        EXPECT_TRUE(s.sync_for(1h)) << "the scope may be used again";
    });
}

TEST_P(timed_sync, the_time_and_the_last_child_may_come_at_once) {
    pilfer::pool pool(with_workers());
    pool.run([] {
        std::uint64_t late = 0;
        std::uint64_t count = 0;
        std::atomic<std::uint64_t> ran{0};
        for (std::uint64_t i = 0; i < hundredth_of(20'000); ++i) {
            pilfer::scope s;
            for (int k = 0; k < 2; ++k) {
                s.fork([&] {
                    pilfer::sleep_for(20us);
                    s.fork([&] { ran.fetch_add(1); });
                });
                count += 1;
            }
            while (!s.sync_for(std::chrono::microseconds(i % 64 + 1))) {
                ++late;
            }
            ASSERT_EQ(ran, count) << late;
        }
    });
}

TEST_P(timed_sync, on_other_threads_and_without_stacks) {
    (void)pilfer::pool::common();
    {
        pilfer::event go_on;
        std::atomic<int> ran{0};
        pilfer::scope s;
        s.fork([&] {
            go_on.wait();
            ran.fetch_add(1);
        });
        EXPECT_FALSE(s.sync_for(1ms));
        std::thread([&] { EXPECT_THROW((void)s.sync_for(1ms), pilfer::usage_error); }).join();
        go_on.set();
        EXPECT_TRUE(s.sync_for(1h));
        EXPECT_EQ(ran, 1);
    }
    pilfer::options o = with_workers();
    o.max_contexts = 1;
    pilfer::pool pool(o);
    pool.run([] {
        std::atomic<int> ran{0};
        pilfer::scope s;
        for (int i = 0; i < 10; ++i) {
            s.fork([&] {
                s.fork([&] { ran.fetch_add(1); });
                ran.fetch_add(1);
            });
        }
        EXPECT_TRUE(s.sync_for(1h)) << "its children run on top of it";
        EXPECT_EQ(ran, 20);
    });
}

TEST_P(timed_sync, returns_to_its_origin_and_belongs_to_its_owner) {
    pilfer::pool pool(with_workers());
    pool.run([] {
        const long mine = thread_id();
        pilfer::event go_on;
        pilfer::scope s(pilfer::resume::own_thread);
        s.fork([&] {
            EXPECT_THROW((void)s.sync_for(1ms), pilfer::usage_error);
            go_on.wait();
        });
        EXPECT_FALSE(s.sync_for(100us));
        EXPECT_EQ(thread_id(), mine);
        pilfer::scope other;
        other.fork([&] { go_on.set(); });
        EXPECT_TRUE(s.sync_for(1h));
        EXPECT_EQ(thread_id(), mine);
    });
}

PILFER_OVER_WORKERS(timed_sync);
PILFER_OVER_WORKERS(scope_sync);

class inner_sync : public guarded {};

TEST_F(inner_sync, an_outer_task_does_not_run_in_the_inner_sync) {
    pilfer::pool pool(workers(1));
    std::vector<int> trace;
    pool.run([&] {
        pilfer::scope outer;
        outer.fork([&] { trace.push_back(1); });
        {
            pilfer::scope inner;
            inner.fork([&] { trace.push_back(2); });
            inner.sync();
            trace.push_back(3);
        }
        trace.push_back(4);
        outer.sync();
    });
    EXPECT_EQ(trace, (std::vector<int>{2, 3, 4, 1}));
}

TEST_F(inner_sync, a_waiting_inner_sync_runs_the_outer_task_on_another_stack) {
    pilfer::pool pool(workers(2));
    std::atomic<bool> outer_ran{false};
    std::atomic<bool> stolen{false};
    pool.run([&] {
        char here;
        const auto frame = reinterpret_cast<std::uintptr_t>(&here);
        std::uintptr_t outer_frame = 0;
        pilfer::scope outer;
        pilfer::scope inner;
        inner.fork([&] {
            stolen = true;
            while (!outer_ran) {
                std::this_thread::yield();
            }
        });
        while (!stolen) {
            std::this_thread::yield();
        }
        outer.fork([&] {
            char there;
            outer_frame = reinterpret_cast<std::uintptr_t>(&there);
            outer_ran = true;
        });
        inner.sync();
        outer.sync();
        const auto distance = outer_frame > frame ? outer_frame - frame : frame - outer_frame;
        EXPECT_GT(distance, 100'000U) << "it ran on the stack of the waiting frame";
    });
}

class scope_misuse : public over_workers {};

TEST_P(scope_misuse, only_the_owner_may_spawn_and_sync) {
    pilfer::pool pool(with_workers());
    std::atomic<int> refused{0};
    std::atomic<int> ran{0};
    pool.run([&] {
        pilfer::scope s;
        const auto intrude = [&] {
            try {
                s.spawn([&] { ran.fetch_add(100); });
            } catch (const pilfer::usage_error&) {
                refused.fetch_add(1);
            }
            try {
                s.sync();
            } catch (const pilfer::usage_error&) {
                refused.fetch_add(1);
            }
            s.fork([&] { ran.fetch_add(1); }); // this is allowed
        };
        s.spawn(intrude);
        s.fork(intrude);
        pilfer::async(intrude).get();
        s.sync();
    });
    EXPECT_EQ(refused, 6);
    EXPECT_EQ(ran, 3);
}

TEST_P(scope_misuse, a_foreign_thread_may_not_touch_a_scope) {
    pilfer::pool pool(with_workers());
    int refused = 0;
    pool.run([&] {
        pilfer::scope s;
        std::thread stranger([&] {
            const auto refuses = [&](auto call) {
                try {
                    call();
                } catch (const pilfer::usage_error& e) {
                    refused += std::string(e.what()).find("scope") != std::string::npos;
                }
            };
            refuses([&] { s.spawn([] {}); });
            refuses([&] { s.fork([] {}); });
            refuses([&] { s.sync(); });
        });
        stranger.join();
        s.sync();
    });
    EXPECT_EQ(refused, 3);
}

PILFER_OVER_WORKERS(scope_misuse);

class submissions_between_children : public guarded {};

TEST_F(submissions_between_children, a_submission_gets_its_turn_in_sync_and_in_the_destructor) {
    for (const bool syncs : {true, false}) {
        pilfer::pool pool(workers(1));
        constexpr int children = 500;
        std::atomic<bool> begun{false};
        std::atomic<bool> submitted{false};
        std::atomic<bool> ran{false};
        std::atomic<int> before_it{0};
        auto root = pool.async([&] {
            pilfer::scope s;
            for (int i = 0; i < children; ++i) {
                s.fork([&] {
                    begun = true;
                    while (!submitted) {
                        std::this_thread::yield();
                    }
                    before_it += ran ? 0 : 1;
                });
            }
            if (syncs) {
                s.sync();
            }
        });
        while (!begun) {
            std::this_thread::yield();
        }
        auto submission = pool.async([&] { ran = true; });
        submitted = true;
        submission.get();
        root.get();
        EXPECT_LT(before_it, children) << (syncs ? "sync" : "the destructor");
    }
}

} // namespace
