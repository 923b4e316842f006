// Arenas and isolation.
#include "user.hpp"

namespace {

// --- arenas ------------------------------------------------------------------------------------------------

TEST(tbb_arenas, slot_numbers_are_below_the_concurrency_and_unique) {
    tbb::task_arena arena(4);
    std::vector<std::atomic<int>> inside(4);
    std::atomic<int> wrong{0};
    arena.execute([&] {
        tbb::parallel_for(
            0, 2000,
            [&](int) {
                const int i = tbb::this_task_arena::current_thread_index();
                if (i < 0 || i >= 4) {
                    ++wrong;
                    return;
                }
                wrong += inside[static_cast<std::size_t>(i)]++ != 0;
                inside[static_cast<std::size_t>(i)]--;
            },
            tbb::simple_partitioner());
    });
    EXPECT_EQ(wrong, 0);
}

TEST(tbb_arenas, an_arena_for_more_threads_than_slot_numbers) {
    tbb::task_arena arena(70'000);
    std::atomic<int> calls{0};
    std::atomic<int> wrong{0};
    arena.execute([&] {
        tbb::parallel_for(0, 1000, [&](int) {
            const int slot = tbb::this_task_arena::current_thread_index();
            wrong += slot < 0 || slot >= tbb::this_task_arena::max_concurrency();
            ++calls;
        });
    });
    EXPECT_EQ(calls, 1000);
    EXPECT_EQ(wrong, 0);
}

TEST(tbb_arenas, calls_that_wait_in_calls_that_threads_of_the_arena_run) {
    // More threads than slots. Each call waits for a later one, which a waiting thread of the arena must run.
    tbb::task_arena arena(1);
    constexpr int n = 6;
    std::array<std::atomic<bool>, n + 1> done{};
    std::array<tbb::task_group, n + 1> groups;
    std::vector<tbb::task_handle> handles;
    for (int i = 0; i <= n; ++i) {
        handles.push_back(groups[static_cast<std::size_t>(i)].defer(
            [&done, i] { done[static_cast<std::size_t>(i)] = true; }));
    }
    std::vector<std::thread> threads;
    for (int i = 0; i < n; ++i) {
        threads.emplace_back([&, i] {
            arena.execute([&, i] {
                groups[static_cast<std::size_t>(i)].run(std::move(handles[static_cast<std::size_t>(i)]));
                groups[static_cast<std::size_t>(i + 1)].wait();
            });
        });
    }
    groups[n].run(std::move(handles[n]));
    groups[n].wait();
    for (auto& t : threads) {
        t.join();
    }
    groups[0].wait(); // which no call waits for
    EXPECT_TRUE(std::all_of(done.begin(), done.end(), [](const auto& d) { return d.load(); }));
}

TEST(tbb_arenas, calls_have_the_floating_point_settings_of_the_arena) {
    const int before = std::fegetround();
    tbb::task_arena arena(2);
    arena.initialize();
    std::fesetround(FE_UPWARD);
    int inside = -1;
    int nested = -1;
    arena.execute([&] {
        inside = std::fegetround();
        std::fesetround(FE_DOWNWARD);
        arena.execute([&] { nested = std::fegetround(); });
        std::fesetround(FE_DOWNWARD);
    });
    EXPECT_EQ(inside, before);
    EXPECT_EQ(nested, before);
    EXPECT_EQ(std::fegetround(), FE_UPWARD);
    std::fesetround(before);
}

TEST(tbb_arenas, execute_returns_results_and_passes_exceptions) {
    tbb::task_arena arena(2);
    EXPECT_EQ(arena.execute([] { return std::string("result"); }), "result");
    EXPECT_THROW(arena.execute([] { throw std::domain_error("arena"); }), std::domain_error);
    EXPECT_EQ(arena.execute([] { return tbb::this_task_arena::max_concurrency(); }), 2);
}

TEST(tbb_arenas, two_threads_call_into_each_others_arena_of_one) {
    tbb::task_arena first(1);
    tbb::task_arena second(1);
    std::atomic<int> inside{0};
    std::atomic<int> calls{0};
    const auto meet = [&](tbb::task_arena& own, tbb::task_arena& other) {
        own.execute([&] {
            ++inside;
            EXPECT_TRUE(comes([&] { return inside == 2; }));
            other.execute([&] { ++calls; });
        });
    };
    std::thread thread([&] { meet(second, first); });
    meet(first, second);
    thread.join();
    EXPECT_EQ(calls, 2);
}

TEST(tbb_arenas, a_queued_task_may_wait_for_a_call_into_its_arena_of_one) {
    tbb::task_arena arena(1);
    std::atomic<bool> runs{false};
    std::atomic<bool> called{false};
    std::atomic<bool> ended{false};
    arena.enqueue([&] {
        runs = true;
        EXPECT_TRUE(comes([&] { return called.load(); }));
        ended = true;
    });
    EXPECT_TRUE(comes([&] { return runs.load(); }));
    arena.execute([&] {
        EXPECT_EQ(tbb::task::current_context(), nullptr);
        arena.execute([] { EXPECT_EQ(tbb::task::current_context(), nullptr); });
        called = true;
    });
    EXPECT_TRUE(comes([&] { return ended.load(); }));
}

TEST(tbb_arenas, more_threads_than_slots) {
    tbb::task_arena arena(2);
    std::atomic<int> calls{0};
    std::atomic<int> thrown{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 8; ++t) {
        threads.emplace_back([&] {
            for (int i = 0; i < 100; ++i) {
                try {
                    arena.execute([&] {
                        ++calls;
                        tbb::parallel_for(0, 10, [](int) {});
                        if (i % 10 == 9) {
                            throw i;
                        }
                    });
                } catch (int) {
                    ++thrown;
                }
            }
        });
    }
    for (auto& t : threads) {
        t.join();
    }
    EXPECT_EQ(calls, 800);
    EXPECT_EQ(thrown, 80);
}

TEST(tbb_arenas, enqueued_tasks_run_without_a_waiter) {
    for (const int concurrency : {1, 2, 4}) {
        tbb::task_arena arena(concurrency);
        std::atomic<int> calls{0};
        for (int i = 0; i < 100; ++i) {
            arena.enqueue([&] { ++calls; });
        }
        EXPECT_TRUE(comes([&] { return calls == 100; })) << concurrency;
    }
}

TEST(tbb_arenas, enqueue_in_the_current_arena) {
    std::atomic<int> calls{0};
    tbb::task_arena arena(2);
    arena.execute([&] { tbb::this_task_arena::enqueue([&] { ++calls; }); });
    tbb::this_task_arena::enqueue([&] { ++calls; });
    EXPECT_TRUE(comes([&] { return calls == 2; }));
}

TEST(tbb_arenas, an_enqueued_handle_counts_for_its_group) {
    tbb::task_arena arena(2);
    tbb::task_group g;
    std::atomic<int> calls{0};
    for (int i = 0; i < 100; ++i) {
        arena.enqueue(g.defer([&] { ++calls; }));
    }
    arena.execute([&] { g.wait(); });
    EXPECT_EQ(calls, 100);
}

TEST(tbb_arenas, a_group_runs_in_one_arena_and_is_awaited_outside) {
    tbb::task_arena arena(2);
    tbb::task_group g;
    std::atomic<int> calls{0};
    for (int i = 0; i < 200; ++i) {
        arena.execute([&] { g.run([&] { ++calls; }); });
        arena.execute([&] { g.wait(); });
    }
    EXPECT_EQ(calls, 200);
}

TEST(tbb_arenas, arenas_in_arenas) {
    tbb::task_arena a(2);
    tbb::task_arena b(2);
    std::atomic<int> calls{0};
    a.execute([&] {
        tbb::parallel_for(0, 50, [&](int) {
            b.execute([&] { tbb::parallel_for(0, 10, [&](int) { a.execute([&] { ++calls; }); }); });
        });
    });
    EXPECT_EQ(calls, 500);
}

TEST(tbb_arenas, attach_is_the_arena_of_the_thread) {
    tbb::task_arena outer(3);
    outer.execute([&] {
        tbb::task_arena same{tbb::task_arena::attach{}};
        EXPECT_TRUE(same.is_active());
        EXPECT_EQ(same.max_concurrency(), 3);
        const int index = tbb::this_task_arena::current_thread_index();
        same.execute([&] { EXPECT_EQ(tbb::this_task_arena::current_thread_index(), index); });
    });
    tbb::task_arena again;
    again.initialize();
    EXPECT_TRUE(again.is_active());
    again.terminate();
    EXPECT_FALSE(again.is_active());
}

TEST(tbb_arenas, priorities_run_all) {
    tbb::task_arena low(2, 1, tbb::task_arena::priority::low);
    tbb::task_arena high(2, 1, tbb::task_arena::priority::high);
    std::atomic<int> calls{0};
    for (int i = 0; i < 100; ++i) {
        low.enqueue([&] { ++calls; });
        high.enqueue([&] { ++calls; });
    }
    EXPECT_TRUE(comes([&] { return calls == 200; }));
}

TEST(tbb_arenas, a_task_may_be_queued_several_times) {
    namespace d1 = tbb::detail::d1;
    struct counting final : d1::task {
        explicit counting(d1::wait_context& w) : left(&w) {}
        d1::task* execute(d1::execution_data&) override {
            ++ran;
            left->release();
            return nullptr;
        }
        d1::task* cancel(d1::execution_data&) override { return nullptr; }
        d1::wait_context* left;
        std::atomic<int> ran{0};
    };
    constexpr unsigned times = 1000;
    d1::wait_context left(times);
    tbb::task_group_context context;
    tbb::task_arena arena(2);
    arena.initialize();
    counting one(left);
    counting other(left);
    for (unsigned i = 0; i < times; ++i) {
        submit(i % 2 == 0 ? one : other, arena, context, true);
    }
    arena.execute([&] { d1::wait(left, context); });
    EXPECT_EQ(one.ran + other.ran, static_cast<int>(times));
}

TEST(tbb_arenas, one_arena_does_not_keep_the_workers_of_another) {
    tbb::task_arena busy(2);
    tbb::task_arena other(2);
    std::atomic<bool> stop{false};
    std::atomic<int> rounds{0};
    // Each task enqueues the next one, so the arena never runs dry.
    std::function<void()> again = [&] {
        ++rounds;
        if (!stop) {
            busy.enqueue([&] { again(); });
        } else {
            rounds = -1;
        }
    };
    busy.enqueue([&] { again(); });
    ASSERT_TRUE(comes([&] { return rounds > 10; }));
    std::atomic<int> calls{0};
    for (int i = 0; i < 10; ++i) {
        other.enqueue([&] { ++calls; });
    }
    EXPECT_TRUE(comes([&] { return calls == 10; }));
    stop = true;
    EXPECT_TRUE(comes([&] { return rounds == -1; }));
}

TEST(tbb_arenas, an_arena_goes_while_its_tasks_are_queued) {
    std::atomic<int> calls{0};
    for (int i = 0; i < 200; ++i) {
        tbb::task_arena arena(2);
        arena.enqueue([&] { ++calls; });
    }
    EXPECT_TRUE(comes([&] { return calls == 200; }));
}

TEST(tbb_arenas, a_queued_task_outlives_calls_that_fill_its_arena) {
    const tbb::global_control four(tbb::global_control::max_allowed_parallelism, 4);
    tbb::task_arena outer(3);
    tbb::task_arena full(2);
    std::atomic<int> inside{0};
    std::atomic<bool> leave{false};
    std::atomic<bool> ran{false};
    // Two workers of `outer` take both places of `full`.
    for (int i = 0; i < 2; ++i) {
        outer.enqueue([&] {
            full.execute([&] {
                ++inside;
                EXPECT_TRUE(comes([&] { return leave.load(); }));
            });
            --inside;
        });
    }
    EXPECT_TRUE(comes([&] { return inside == 2; }));
    full.enqueue([&] { ran = true; });
    std::this_thread::sleep_for(50ms); // a worker has found no place
    leave = true;
    EXPECT_TRUE(comes([&] { return inside == 0; }));
    EXPECT_TRUE(comes([&] { return ran.load(); }));
}

TEST(tbb_arenas, a_spawned_task_outlives_the_call_that_spawned_it) {
    const tbb::global_control four(tbb::global_control::max_allowed_parallelism, 4);
    tbb::task_arena arena(2);
    tbb::task_group g;
    std::atomic<int> inside{0};
    std::atomic<bool> leave{false};
    std::atomic<bool> ran{false};
    std::thread other;
    arena.execute([&] {
        other = std::thread([&] {
            arena.execute([&] {
                ++inside;
                EXPECT_TRUE(comes([&] { return leave.load(); }));
            });
        });
        EXPECT_TRUE(comes([&] { return inside == 1; }));
        g.run([&] { ran = true; });
        std::this_thread::sleep_for(20ms); // a worker has found no place
    });
    std::this_thread::sleep_for(50ms); // nor after this call
    leave = true;
    other.join();
    EXPECT_TRUE(comes([&] { return ran.load(); }));
    arena.execute([&] { g.wait(); });
}

TEST(tbb_arenas, a_thread_whose_wait_is_over_passes_its_wake_up_on) {
    tbb::task_arena arena(3, 3);
    std::array<tbb::task_group, 2> awaited;
    std::array<tbb::task_handle, 2> held;
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < 2; ++i) {
        held[i] = awaited[i].defer([] {});
        threads.emplace_back([&, i] { arena.execute([&, i] { awaited[i].wait(); }); });
        std::this_thread::sleep_for(30ms); // it sleeps, and is woken in this order
    }
    arena.execute([&] {
        std::atomic<bool> ran{false};
        tbb::task_group g;
        g.run([&] { ran = true; });   // wakes the first thread,
        held[0] = tbb::task_handle(); // whose wait is over before it looks
        EXPECT_TRUE(comes([&] { return ran.load(); }));
        g.wait();
    });
    held[1] = tbb::task_handle();
    for (auto& t : threads) {
        t.join();
    }
}

/// Waits until `thread` sleeps in the kernel, and has slept there a little later, too.
testing::AssertionResult falls_asleep(const std::atomic<pid_t>& thread) {
    return comes([&] {
        const auto sleeps = [&] { return thread != 0 && sleeps_in_the_kernel(thread); };
        if (!sleeps()) {
            return false;
        }
        std::this_thread::sleep_for(20ms);
        return sleeps();
    });
}

/// A worker sleeps in a wait inside a task, and after it a thread in one outside of all tasks. Only the
/// latter takes what `give` then brings into the arena.
template <class Give>
void give_to_the_second_of_two_sleepers(Give give) {
    const tbb::global_control two(tbb::global_control::max_allowed_parallelism, 2);
    tbb::task_arena arena(2, 1);
    tbb::task_group waits;
    tbb::task_group inner;
    tbb::task_group outer;
    std::atomic<pid_t> worker{0};
    std::atomic<pid_t> waiter{0};
    std::atomic<bool> ran{false};
    tbb::task_handle of_inner = inner.defer([] {});
    tbb::task_handle of_outer = outer.defer([] {});
    std::thread other([&] {
        EXPECT_TRUE(falls_asleep(worker));
        EXPECT_TRUE(falls_asleep(waiter));
        const auto task = [&] { ran = true; };
        std::thread caller([&] { give(arena, task); }); // a call waits for its end
        EXPECT_TRUE(comes([&] { return ran.load(); }));
        of_outer = tbb::task_handle();
        caller.join();
    });
    arena.execute([&] {
        waits.run([&] {
            worker = gettid();
            inner.wait();
        });
        EXPECT_TRUE(falls_asleep(worker));
        waiter = gettid();
        outer.wait();
        of_inner = tbb::task_handle();
        waits.wait();
    });
    other.join();
}

TEST(tbb_arenas, a_queued_task_wakes_the_thread_that_may_take_it) {
    give_to_the_second_of_two_sleepers([](tbb::task_arena& a, const auto& task) { a.enqueue(task); });
}

TEST(tbb_arenas, a_call_wakes_the_thread_that_may_take_it) {
    give_to_the_second_of_two_sleepers([](tbb::task_arena& a, const auto& task) { a.execute(task); });
}

TEST(tbb_arenas, a_thread_that_has_used_no_arena_has_no_index) {
    std::thread([] {
        EXPECT_EQ(tbb::this_task_arena::current_thread_index(), int{tbb::task_arena::not_initialized});
        EXPECT_EQ(tbb::task::current_context(), nullptr);
        tbb::parallel_for(0, 10, [](int) {});
        EXPECT_EQ(tbb::this_task_arena::current_thread_index(), 0);
    }).join();
}

// --- isolation ---------------------------------------------------------------------------------------------

TEST(tbb_isolation, a_wait_runs_no_task_from_outside) {
    std::atomic<int> wrong{0};
    static thread_local bool inside = false;
    tbb::parallel_for(
        0, 200,
        [&](int) {
            wrong += inside;
            inside = true;
            tbb::this_task_arena::isolate([&] { tbb::parallel_for(0, 50, [](int) {}); });
            inside = false;
        },
        tbb::simple_partitioner());
    EXPECT_EQ(wrong, 0);
}

/// With one worker, whose waits are watched: a thread-local that another task would change.
class tbb_waits : public testing::Test {
protected:
    /// A queued task sets `here` and calls `wait`. Returns after it has had time to sleep there.
    template <class Wait>
    void begin(Wait wait) {
        m_first.enqueue([this, wait] {
            here = 1;
            m_begins = true;
            wait();
            m_seen = here;
        });
        EXPECT_TRUE(comes([&] { return m_begins.load(); }));
        std::this_thread::sleep_for(50ms);
    }
    /// Another arena has a task for the worker, which has time to run it.
    void disturb() {
        m_other.enqueue([this] {
            here = 2;
            m_is_disturbed = true;
        });
        std::this_thread::sleep_for(50ms);
    }
    void expect_no_change() {
        EXPECT_TRUE(comes([&] { return m_seen != 0 && m_is_disturbed; }));
        EXPECT_EQ(m_seen, 1);
    }

    static inline thread_local int here = 0;
    const tbb::global_control m_two{tbb::global_control::max_allowed_parallelism, 2};
    tbb::task_arena m_first{2};
    tbb::task_arena m_other{2};
    std::atomic<bool> m_begins{false};
    std::atomic<bool> m_is_disturbed{false};
    std::atomic<int> m_seen{0};
};

TEST_F(tbb_waits, for_tasks_of_another_arena_run_nothing_else) {
    tbb::task_arena inner(2);
    tbb::task_group g;
    std::atomic<bool> is_stolen{false};
    std::atomic<bool> may_end{false};
    std::thread thief;
    begin([&] {
        inner.execute([&] {
            g.run([&] {
                is_stolen = true;
                EXPECT_TRUE(comes([&] { return may_end.load(); }));
            });
            thief = std::thread([&] { inner.execute([&] { g.wait(); }); });
            EXPECT_TRUE(comes([&] { return is_stolen.load(); }));
            g.wait();
        });
    });
    EXPECT_TRUE(comes([&] { return is_stolen.load(); }));
    std::this_thread::sleep_for(50ms); // until the worker sleeps, too
    disturb();
    may_end = true;
    expect_no_change();
    thief.join();
}

TEST_F(tbb_waits, for_a_mutex_run_nothing_else) {
    tbb::mutex mutex;
    {
        const tbb::mutex::scoped_lock held(mutex);
        begin([&] { const tbb::mutex::scoped_lock lock(mutex); });
        disturb();
    }
    expect_no_change();
}

/// It does not look now and then, as the number of its sleeps shows.
TEST_F(tbb_waits, for_a_mutex_sleep_on) {
    tbb::mutex mutex;
    std::atomic<pid_t> worker{0};
    {
        const tbb::mutex::scoped_lock held(mutex);
        begin([&] {
            worker = ::gettid();
            const tbb::mutex::scoped_lock lock(mutex);
        });
        EXPECT_TRUE(comes([&] { return sleeps_in_the_kernel(worker); }));
        const auto sleeps = [&] { return std::stol(fact_of(worker, "status", "voluntary_ctxt_switches:")); };
        long before = -1; // until it has come to rest
        EXPECT_TRUE(comes([&] {
            std::this_thread::sleep_for(20ms);
            const long earlier = std::exchange(before, sleeps());
            return earlier == before;
        }));
        std::this_thread::sleep_for(300ms);
        EXPECT_LE(sleeps(), before + 2);
    }
    EXPECT_TRUE(comes([&] { return m_seen != 0; }));
}

TEST_F(tbb_waits, for_a_suspended_holder_let_a_task_run_that_resumes_it) {
    tbb::mutex mutex;
    tbb::task_group g;
    g.run_and_wait([&] {
        const tbb::mutex::scoped_lock held(mutex);
        begin([&] { const tbb::mutex::scoped_lock lock(mutex); });
        tbb::task::suspend([&](tbb::task::suspend_point p) { g.run([p] { tbb::task::resume(p); }); });
    });
    EXPECT_TRUE(comes([&] { return m_seen != 0; }));
}

TEST(tbb_isolation, a_task_with_priority_wakes_a_thread_of_its_region) {
    const tbb::global_control two(tbb::global_control::max_allowed_parallelism, 2);
    tbb::task_arena arena(2, 1);
    arena.execute([&] {
        std::atomic<bool> ran{false};
        tbb::flow::graph graph;
        tbb::flow::function_node<int> node(
            graph, tbb::flow::unlimited, [&](int) { ran = true; }, tbb::flow::node_priority_t(1));
        tbb::this_task_arena::isolate([&] {
            const std::atomic<pid_t> waiter{gettid()};
            std::atomic<bool> begun{false};
            tbb::task_group g;
            g.run([&] {
                begun = true;
                EXPECT_TRUE(falls_asleep(waiter));
                (void)node.try_put(1);
                EXPECT_TRUE(comes([&] { return ran.load(); }));
            });
            EXPECT_TRUE(comes([&] { return begun.load(); }));
            g.wait();
        });
        graph.wait_for_all();
    });
}

TEST(tbb_isolation, results_and_exceptions_pass) {
    EXPECT_EQ(tbb::this_task_arena::isolate([] { return 42; }), 42);
    EXPECT_THROW(tbb::this_task_arena::isolate([] { throw 1; }), int);
    // The region has ended by the exception.
    std::atomic<int> calls{0};
    tbb::parallel_for(0, 100, [&](int) { ++calls; });
    EXPECT_EQ(calls, 100);
}

TEST(tbb_isolation, nested_regions) {
    std::atomic<int> calls{0};
    tbb::parallel_for(0, 20, [&](int) {
        tbb::this_task_arena::isolate([&] {
            tbb::parallel_for(0, 20, [&](int) {
                tbb::this_task_arena::isolate([&] { tbb::parallel_for(0, 20, [&](int) { ++calls; }); });
            });
        });
    });
    EXPECT_EQ(calls, 8000);
}

TEST(tbb_isolation, collaborative_call_once_calls_once) {
    tbb::collaborative_once_flag once;
    std::atomic<int> calls{0};
    tbb::parallel_for(0, 1000, [&](int) {
        tbb::collaborative_call_once(once, [&] {
            ++calls;
            tbb::parallel_for(0, 100, [](int) {});
        });
    });
    EXPECT_EQ(calls, 1);
}

TEST(tbb_arenas, an_arena_of_one_counts_the_worker_of_a_queued_task) {
    tbb::task_arena arena(1);
    arena.initialize();
    std::atomic<int> inside{0};
    arena.enqueue([&] { inside = tbb::this_task_arena::max_concurrency(); });
    EXPECT_TRUE(comes([&] { return inside != 0; }));
    EXPECT_EQ(inside, 2);
    EXPECT_TRUE(comes([&] { return arena.max_concurrency() == 1; })); // the worker has left
}

} // namespace
