// Groups of tasks, and their contexts.
#include "user.hpp"

namespace {

// --- groups of tasks ---------------------------------------------------------------------------------------

TEST(tbb_groups, a_recursion_of_groups) { EXPECT_EQ(fib(20), 6765); }

TEST(tbb_groups, handles_run_once_and_may_be_dropped) {
    std::atomic<int> calls{0};
    tbb::task_group g;
    tbb::task_handle first = g.defer([&] { ++calls; });
    EXPECT_TRUE(first);
    g.run(std::move(first));
    EXPECT_FALSE(first);
    {
        const tbb::task_handle dropped = g.defer([&] { calls += 100; });
    }
    EXPECT_EQ(g.run_and_wait(g.defer([&] { ++calls; })), tbb::complete);
    EXPECT_EQ(calls, 2);
}

TEST(tbb_groups, an_exception_cancels_and_is_thrown_at_the_wait) {
    for (int round = 0; round < 50; ++round) {
        tbb::task_group g;
        for (int i = 0; i < 100; ++i) {
            g.run([i] {
                if (i % 10 == 3) {
                    throw std::runtime_error("task " + std::to_string(i));
                }
            });
        }
        try {
            g.wait();
            FAIL() << "nothing was thrown";
        } catch (const std::runtime_error& e) {
            EXPECT_EQ(std::string(e.what()).substr(0, 5), "task ");
        }
        // The group is as new.
        std::atomic<int> calls{0};
        g.run([&] { ++calls; });
        EXPECT_EQ(g.wait(), tbb::complete);
        EXPECT_EQ(calls, 1);
    }
}

TEST(tbb_groups, an_exception_after_a_cancellation_is_lost) {
    tbb::task_group g;
    EXPECT_EQ(g.run_and_wait([&] {
        g.cancel();
        throw 1;
    }),
              tbb::canceled);
}

TEST(tbb_groups, cancellation_drops_tasks_that_have_not_begun) {
    tbb::task_group g;
    std::atomic<int> calls{0};
    g.cancel();
    g.run([&] { ++calls; });
    EXPECT_EQ(g.wait(), tbb::canceled);
    EXPECT_EQ(calls, 0);
    g.run([&] { ++calls; });
    EXPECT_EQ(g.wait(), tbb::complete);
    EXPECT_EQ(calls, 1);
}

/// A worker takes the slot in which another thread has left them. Each waits, which takes the next one.
TEST(tbb_groups, tasks_left_in_a_slot_do_not_overflow_the_stack_of_a_worker) {
    tbb::task_arena arena(2, 2);
    tbb::task_group first;
    tbb::task_group second;
    std::atomic<int> ran{0};
    constexpr int tasks = 8'000;
    first.run_and_wait([&] {
        arena.execute([&] {
            for (int i = 0; i < tasks; ++i) {
                second.run([&] {
                    std::array<volatile char, 1000> on_the_stack{};
                    ++ran;
                    first.wait();
                    on_the_stack[0] = 1;
                });
            }
        });
        int before = 0;
        EXPECT_TRUE(comes([&] {
            before = ran;
            std::this_thread::sleep_for(20ms); // it has settled if nothing ran meanwhile
            return before > 10 && before == ran;
        }));
        EXPECT_LT(before, tasks);
    });
    arena.execute([&] { second.wait(); });
    EXPECT_EQ(ran, tasks);
}

TEST(tbb_groups, missing_wait_is_reported) {
    const auto forget = [] {
        tbb::task_group g;
        std::atomic<bool> runs{false};
        g.run([&] { runs = true; });
        if (tbb::this_task_arena::max_concurrency() != 1) {
            EXPECT_TRUE(comes([&] { return runs.load(); }));
        }
        g.run([] {});
    };
    // The last task may have ended before the destructor looks.
    bool reported = false;
    for (int i = 0; i < 1000 && !reported; ++i) {
        try {
            forget();
        } catch (const tbb::missing_wait&) {
            reported = true;
        }
    }
    EXPECT_TRUE(reported);
}

TEST(tbb_groups, many_threads_wait_for_one_group) {
    for (int round = 0; round < 20; ++round) {
        tbb::task_group g;
        std::atomic<int> calls{0};
        for (int i = 0; i < 200; ++i) {
            g.run([&] { ++calls; });
        }
        std::vector<std::thread> threads;
        for (int i = 0; i < 4; ++i) {
            threads.emplace_back([&] {
                g.wait();
                EXPECT_EQ(calls, 200);
            });
        }
        g.wait(); // with one CPU no worker takes what this thread has spawned
        for (auto& t : threads) {
            t.join();
        }
    }
}

TEST(tbb_groups, a_group_may_be_destroyed_as_soon_as_its_wait_returns) {
    for (int i = 0; i < 20'000; ++i) {
        auto g = std::make_unique<tbb::task_group>();
        g->run([] {});
        g->wait();
        g.reset();
    }
}

TEST(tbb_groups, an_isolated_group_runs) {
    tbb::isolated_task_group g;
    std::atomic<int> calls{0};
    for (int i = 0; i < 100; ++i) {
        g.run([&] { ++calls; });
    }
    EXPECT_EQ(g.wait(), tbb::complete);
    EXPECT_EQ(calls, 100);
}

// --- contexts ----------------------------------------------------------------------------------------------

TEST(tbb_contexts, cancellation_reaches_nested_loops) {
    tbb::task_group_context outer;
    std::atomic<int> begun{0};
    std::atomic<bool> inner_cancelled{false};
    tbb::parallel_for(
        0, 4,
        [&](int) {
            tbb::task_group_context inner;
            tbb::parallel_for(
                0, 1000,
                [&](int) {
                    if (++begun == 10) {
                        outer.cancel_group_execution();
                    }
                    if (outer.is_group_execution_cancelled() && inner.is_group_execution_cancelled()) {
                        inner_cancelled = true;
                    }
                },
                inner);
        },
        outer);
    EXPECT_TRUE(inner_cancelled);
    EXPECT_LT(begun, 4000);
    EXPECT_TRUE(outer.is_group_execution_cancelled());
    outer.reset();
    EXPECT_FALSE(outer.is_group_execution_cancelled());
}

TEST(tbb_contexts, an_isolated_context_is_not_reached) {
    tbb::task_group_context outer;
    int calls = 0;
    tbb::parallel_for(
        0, 1,
        [&](int) {
            tbb::task_group_context inner(tbb::task_group_context::isolated);
            outer.cancel_group_execution();
            tbb::parallel_for(
                0, 10, [&](int) { ++calls; }, tbb::static_partitioner(), inner);
        },
        outer);
    EXPECT_GT(calls, 0);
}

TEST(tbb_contexts, only_one_cancellation_returns_true) {
    for (int round = 0; round < 100; ++round) {
        tbb::task_group_context c;
        std::atomic<int> winners{0};
        std::vector<std::thread> threads;
        for (int i = 0; i < 4; ++i) {
            threads.emplace_back([&] { winners += c.cancel_group_execution(); });
        }
        for (auto& t : threads) {
            t.join();
        }
        EXPECT_EQ(winners, 1);
    }
}

TEST(tbb_contexts, a_child_may_outlive_its_parent) {
    // The group is bound to the context of the loop that uses it first, which is gone at the second use.
    auto late = std::make_unique<tbb::task_group>();
    tbb::parallel_for(0, 1, [&](int) {
        late->run([] {});
        late->wait();
    });
    for (int i = 0; i < 10; ++i) {
        tbb::task_group_context other;
        tbb::parallel_for(
            0, 4,
            [&](int) {
                tbb::parallel_for(0, 4, [](int) {});
                other.cancel_group_execution();
            },
            other);
    }
    int calls = 0;
    late->run([&] { ++calls; });
    EXPECT_EQ(late->wait(), tbb::complete);
    EXPECT_EQ(calls, 1);
}

TEST(tbb_contexts, cancellation_races_with_new_children) {
    for (int round = 0; round < 300; ++round) {
        tbb::task_group_context outer;
        std::atomic<bool> cancelled{false};
        std::atomic<int> late{0};
        tbb::parallel_for(
            0, 8,
            [&](int i) {
                if (i == 5) {
                    outer.cancel_group_execution();
                    cancelled = true;
                }
                const bool was_cancelled = cancelled;
                tbb::task_group inner;
                inner.run([&] { late += was_cancelled; });
                inner.wait();
            },
            tbb::simple_partitioner(), outer);
        // A context that is bound after the cancellation is cancelled, so its task is dropped.
        EXPECT_EQ(late, 0);
    }
}

TEST(tbb_contexts, current_context_is_that_of_the_running_task) {
    EXPECT_EQ(tbb::task::current_context(), nullptr);
    tbb::task_group_context c;
    tbb::parallel_for(
        0, 100, [&](int) { EXPECT_EQ(tbb::task::current_context(), &c); }, c);
    EXPECT_EQ(tbb::task::current_context(), nullptr);
    EXPECT_FALSE(tbb::is_inside_task());
}

TEST(tbb_contexts, tasks_get_the_captured_rounding) {
    std::fesetround(FE_UPWARD);
    tbb::task_group_context upward(tbb::task_group_context::bound, tbb::task_group_context::fp_settings);
    std::fesetround(FE_TONEAREST);
    std::atomic<int> wrong{0};
    tbb::parallel_for(
        0, 1000, [&](int) { wrong += std::fegetround() != FE_UPWARD; }, upward);
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(std::fegetround(), FE_TONEAREST);
    tbb::parallel_for(0, 1000, [&](int) { wrong += std::fegetround() != FE_TONEAREST; });
    EXPECT_EQ(wrong, 0);
}

TEST(tbb_contexts, exceptions_cross_nested_loops) {
    for (int round = 0; round < 50; ++round) {
        EXPECT_THROW(tbb::parallel_for(0, 10,
                                       [&](int i) {
                                           tbb::parallel_for(0, 100, [&](int j) {
                                               if (i == 5 && j == 50) {
                                                   throw std::out_of_range("inner");
                                               }
                                           });
                                       }),
                     std::out_of_range);
    }
}

} // namespace
