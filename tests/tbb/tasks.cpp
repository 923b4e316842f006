// Programs in the style of users of oneTBB, on libpilfer-tbb. The test tbb.debian runs the same program on
// Debian's libtbb, so what it asks for is what oneTBB does, but for the cases that CMakeLists.txt names.
#include <algorithm>
#include <array>
#include <atomic>
#include <cfenv>
#include <chrono>
#include <cmath>
#include <functional>
#include <mutex>
#include <numeric>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#define TBB_PREVIEW_GLOBAL_CONTROL 1
#define TBB_PREVIEW_ISOLATED_TASK_GROUP 1
#define TBB_PREVIEW_TASK_GROUP_EXTENSIONS 1
#define TBB_PREVIEW_FLOW_GRAPH_FEATURES 1
#define TBB_PREVIEW_MUTEXES 1
#include <oneapi/tbb/mutex.h>
#include <oneapi/tbb/rw_mutex.h>
#include <tbb/tbb.h>

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

namespace {

using namespace std::chrono_literals;

/// False after 20 seconds without `done`.
template <class Done>
bool comes(Done done) {
    const auto end = std::chrono::steady_clock::now() + 20s;
    while (!done()) {
        if (std::chrono::steady_clock::now() > end) {
            return false;
        }
        std::this_thread::yield();
    }
    return true;
}

long fib(int n) {
    if (n < 2) {
        return n;
    }
    long a = 0;
    long b = 0;
    tbb::task_group children;
    children.run([&] { a = fib(n - 1); });
    children.run([&] { b = fib(n - 2); });
    children.wait();
    return a + b;
}

// --- loops -------------------------------------------------------------------------------------------------

TEST(tbb_loops, parallel_for_calls_each_index_once) {
    std::vector<std::atomic<int>> calls(100'000);
    tbb::parallel_for(std::size_t{0}, calls.size(), [&](std::size_t i) { ++calls[i]; });
    EXPECT_TRUE(std::all_of(calls.begin(), calls.end(), [](const auto& n) { return n == 1; }));
}

TEST(tbb_loops, each_partitioner_covers_the_range) {
    std::vector<std::atomic<int>> calls(10'000);
    const auto body = [&](const tbb::blocked_range<std::size_t>& r) {
        for (std::size_t i = r.begin(); i != r.end(); ++i) {
            ++calls[i];
        }
    };
    const tbb::blocked_range<std::size_t> all(0, calls.size());
    tbb::affinity_partitioner kept;
    for (int round = 0; round < 20; ++round) {
        tbb::parallel_for(all, body, tbb::simple_partitioner());
        tbb::parallel_for(all, body, tbb::auto_partitioner());
        tbb::parallel_for(all, body, tbb::static_partitioner());
        tbb::parallel_for(all, body, kept);
    }
    EXPECT_TRUE(std::all_of(calls.begin(), calls.end(), [](const auto& n) { return n == 80; }));
}

TEST(tbb_loops, a_step_that_is_not_positive_throws) {
    EXPECT_THROW(tbb::parallel_for(0, 10, 0, [](int) {}), std::invalid_argument);
}

TEST(tbb_loops, parallel_reduce_and_its_deterministic_form) {
    std::vector<double> values(100'000);
    std::iota(values.begin(), values.end(), 1.0);
    const auto sum = [&](const tbb::blocked_range<std::size_t>& r, double s) {
        return std::accumulate(values.begin() + static_cast<std::ptrdiff_t>(r.begin()),
                               values.begin() + static_cast<std::ptrdiff_t>(r.end()), s);
    };
    const tbb::blocked_range<std::size_t> all(0, values.size(), 100);
    EXPECT_EQ(tbb::parallel_reduce(all, 0.0, sum, std::plus<>()), 5'000'050'000.0);
    const double first = tbb::parallel_deterministic_reduce(all, 0.0, sum, std::plus<>());
    for (int i = 0; i < 20; ++i) {
        EXPECT_EQ(tbb::parallel_deterministic_reduce(all, 0.0, sum, std::plus<>()), first);
    }
}

TEST(tbb_loops, parallel_scan_equals_the_serial_one) {
    std::vector<int> in(50'000);
    std::iota(in.begin(), in.end(), 0);
    std::vector<long> out(in.size());
    const long total = tbb::parallel_scan(
        tbb::blocked_range<std::size_t>(0, in.size()), 0L,
        [&](const tbb::blocked_range<std::size_t>& r, long s, bool is_final) {
            for (std::size_t i = r.begin(); i != r.end(); ++i) {
                s += in[i];
                if (is_final) {
                    out[i] = s;
                }
            }
            return s;
        },
        std::plus<>());
    std::vector<long> expected(in.size());
    std::inclusive_scan(in.begin(), in.end(), expected.begin(), std::plus<>(), 0L);
    EXPECT_EQ(out, expected);
    EXPECT_EQ(total, expected.back());
}

TEST(tbb_loops, parallel_sort_sorts) {
    std::vector<int> values(200'000);
    unsigned x = 1;
    for (int& v : values) {
        v = static_cast<int>((x = x * 1664525U + 1013904223U) >> 8);
    }
    std::vector<int> expected = values;
    std::sort(expected.begin(), expected.end());
    tbb::parallel_sort(values);
    EXPECT_EQ(values, expected);
    tbb::parallel_sort(values, std::greater<>());
    EXPECT_TRUE(std::is_sorted(values.rbegin(), values.rend()));
}

TEST(tbb_loops, parallel_for_each_takes_items_that_are_added) {
    std::atomic<int> sum{0};
    const std::vector<int> first{5, 6, 7};
    tbb::parallel_for_each(first, [&](int n, tbb::feeder<int>& more) {
        sum += 1;
        if (n > 0) {
            more.add(n - 1);
        }
    });
    EXPECT_EQ(sum, 6 + 7 + 8);
}

TEST(tbb_loops, parallel_invoke_calls_all) {
    std::atomic<int> calls{0};
    const auto f = [&] { ++calls; };
    tbb::parallel_invoke(f, f, f, f, f, f, f, f, f, f, f);
    EXPECT_EQ(calls, 11);
}

TEST(tbb_loops, loops_in_loops_in_loops) {
    std::atomic<int> calls{0};
    tbb::parallel_for(0, 20, [&](int) {
        tbb::parallel_for(0, 20, [&](int) { tbb::parallel_for(0, 20, [&](int) { ++calls; }); });
    });
    EXPECT_EQ(calls, 8'000);
}

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

TEST(tbb_groups, missing_wait_is_reported) {
    const auto forget = [] {
        tbb::task_group g;
        std::atomic<bool> runs{false};
        g.run([&] { runs = true; });
        while (!runs) {
            if (tbb::this_task_arena::max_concurrency() == 1) {
                break;
            }
            std::this_thread::yield();
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

// --- pipelines ---------------------------------------------------------------------------------------------

TEST(tbb_pipelines, order_and_the_bound_of_tokens) {
    for (const auto input : {tbb::filter_mode::serial_in_order, tbb::filter_mode::serial_out_of_order}) {
        constexpr int n = 2000;
        std::atomic<int> live{0};
        std::atomic<int> most{0};
        std::atomic<int> serial{0};
        std::atomic<int> overlaps{0};
        std::vector<int> out;
        int next = 0;
        tbb::parallel_pipeline(
            4, tbb::make_filter<void, int>(input,
                                           [&](tbb::flow_control& control) {
                                               if (next == n) {
                                                   control.stop();
                                                   return 0;
                                               }
                                               most = std::max(most.load(), ++live);
                                               return next++;
                                           }) &
                   tbb::make_filter<int, std::string>(tbb::filter_mode::parallel,
                                                      [](int i) { return std::to_string(i); }) &
                   tbb::make_filter<std::string, std::string>(tbb::filter_mode::serial_out_of_order,
                                                              [&](std::string s) {
                                                                  overlaps += serial++ != 0;
                                                                  --serial;
                                                                  return s;
                                                              }) &
                   tbb::make_filter<std::string, void>(tbb::filter_mode::serial_in_order,
                                                       [&](const std::string& s) {
                                                           out.push_back(std::stoi(s));
                                                           --live;
                                                       }));
        EXPECT_LE(most, 4);
        EXPECT_EQ(overlaps, 0);
        ASSERT_EQ(out.size(), std::size_t{n});
        if (input == tbb::filter_mode::serial_in_order) {
            EXPECT_TRUE(std::is_sorted(out.begin(), out.end()));
        }
        std::sort(out.begin(), out.end());
        for (int i = 0; i < n; ++i) {
            ASSERT_EQ(out[static_cast<std::size_t>(i)], i);
        }
    }
}

TEST(tbb_pipelines, a_parallel_input) {
    std::atomic<int> next{0};
    std::atomic<long> sum{0};
    tbb::parallel_pipeline(
        8, tbb::make_filter<void, int>(tbb::filter_mode::parallel, [&](tbb::flow_control& control) {
               const int i = next++;
               if (i >= 1000) {
                   control.stop();
               }
               return i;
           }) & tbb::make_filter<int, void>(tbb::filter_mode::serial_in_order, [&](int i) { sum += i; }));
    EXPECT_EQ(sum, 999 * 1000 / 2);
}

TEST(tbb_pipelines, one_stage_and_one_token) {
    int calls = 0;
    tbb::parallel_pipeline(
        1, tbb::make_filter<void, void>(tbb::filter_mode::serial_in_order, [&](tbb::flow_control& control) {
            if (++calls == 100) {
                control.stop();
            }
        }));
    EXPECT_EQ(calls, 100);
}

TEST(tbb_pipelines, an_exception_drops_the_items_in_flight) {
    struct counted {
        explicit counted(std::atomic<int>& n) : live(&n) { ++*live; }
        counted(const counted& other) : live(other.live) { ++*live; }
        counted& operator=(const counted&) = default;
        ~counted() { --*live; }
        std::atomic<int>* live;
    };
    std::atomic<int> live{0};
    for (int round = 0; round < 20; ++round) {
        std::atomic<int> n{0};
        EXPECT_THROW(tbb::parallel_pipeline(
                         8, tbb::make_filter<void, counted>(tbb::filter_mode::serial_in_order,
                                                            [&](tbb::flow_control& control) {
                                                                if (++n == 500) {
                                                                    control.stop();
                                                                }
                                                                return counted(live);
                                                            }) &
                                tbb::make_filter<counted, counted>(tbb::filter_mode::parallel,
                                                                   [](const counted& c) { return c; }) &
                                tbb::make_filter<counted, void>(tbb::filter_mode::serial_in_order,
                                                                [&](const counted&) {
                                                                    if (n > 100) {
                                                                        throw std::length_error("stage");
                                                                    }
                                                                })),
                     std::length_error);
        EXPECT_EQ(live, 0);
    }
}

TEST(tbb_pipelines, pipelines_in_stages) {
    std::atomic<int> items{0};
    int outer = 0;
    tbb::parallel_pipeline(
        4, tbb::make_filter<void, int>(tbb::filter_mode::serial_in_order, [&](tbb::flow_control& control) {
               if (outer == 20) {
                   control.stop();
               }
               int inner = 0;
               tbb::parallel_pipeline(
                   2,
                   tbb::make_filter<void, int>(tbb::filter_mode::serial_in_order, [&](tbb::flow_control& c) {
                       if (inner == 10) {
                           c.stop();
                       }
                       return inner++;
                   }) & tbb::make_filter<int, void>(tbb::filter_mode::parallel, [](int) {}));
               return outer++;
           }) & tbb::make_filter<int, void>(tbb::filter_mode::parallel, [&](int) { ++items; }));
    EXPECT_EQ(items, 20);
}

// --- flow graphs -------------------------------------------------------------------------------------------

TEST(tbb_graphs, functions_joins_and_limits) {
    namespace flow = tbb::flow;
    flow::graph g;
    std::atomic<int> inside{0};
    std::atomic<int> most{0};
    std::vector<int> out;
    flow::function_node<int, int> squares(g, flow::unlimited, [](int i) { return i * i; });
    flow::function_node<int, int> limited(g, 1, [&](int i) {
        most = std::max(most.load(), ++inside);
        --inside;
        return i;
    });
    flow::join_node<std::tuple<int, int>, flow::queueing> pairs(g);
    flow::function_node<std::tuple<int, int>> sink(g, flow::serial, [&](const std::tuple<int, int>& t) {
        out.push_back(std::get<0>(t) + std::get<1>(t));
    });
    flow::make_edge(squares, flow::input_port<0>(pairs));
    flow::make_edge(limited, flow::input_port<1>(pairs));
    flow::make_edge(pairs, sink);
    for (int i = 0; i < 500; ++i) {
        squares.try_put(i);
        limited.try_put(i);
    }
    g.wait_for_all();
    EXPECT_EQ(out.size(), 500U);
    EXPECT_EQ(most, 1);
    EXPECT_EQ(std::accumulate(out.begin(), out.end(), 0L), 499L * 500 / 2 + 499L * 500 * 999 / 6);
}

TEST(tbb_graphs, priorities_and_an_input_node) {
    namespace flow = tbb::flow;
    flow::graph g;
    int next = 0;
    flow::input_node<int> input(g, [&](tbb::flow_control& control) {
        if (next == 300) {
            control.stop();
        }
        return next++;
    });
    std::atomic<int> sum{0};
    flow::function_node<int, int> high(
        g, flow::unlimited, [&](int i) { return sum += i, i; }, flow::node_priority_t(10));
    flow::function_node<int, int> low(
        g, flow::unlimited, [&](int i) { return sum += i, i; }, flow::node_priority_t(1));
    flow::make_edge(input, high);
    flow::make_edge(high, low);
    input.activate();
    g.wait_for_all();
    EXPECT_EQ(sum, 2 * 299 * 300 / 2);
}

TEST(tbb_graphs, a_graph_in_an_isolated_region) {
    namespace flow = tbb::flow;
    std::atomic<int> sum{0};
    tbb::parallel_for(0, 8, [&](int) {
        tbb::this_task_arena::isolate([&] {
            flow::graph g;
            flow::function_node<int, int> first(
                g, flow::unlimited, [&](int i) { return sum += i, i; }, flow::node_priority_t(2));
            flow::function_node<int, int> second(g, flow::serial, [&](int i) { return sum += i, i; });
            flow::make_edge(first, second);
            for (int i = 0; i < 100; ++i) {
                first.try_put(i);
            }
            g.wait_for_all();
        });
    });
    EXPECT_EQ(sum, 8 * 2 * 99 * 100 / 2);
}

TEST(tbb_graphs, an_exception_ends_the_wait) {
    namespace flow = tbb::flow;
    flow::graph g;
    flow::function_node<int> node(g, flow::unlimited, [](int i) {
        if (i == 50) {
            throw std::runtime_error("node");
        }
    });
    for (int i = 0; i < 100; ++i) {
        node.try_put(i);
    }
    EXPECT_THROW(g.wait_for_all(), std::runtime_error);
    EXPECT_TRUE(g.exception_thrown());
}

// --- containers that wait ----------------------------------------------------------------------------------

TEST(tbb_containers, a_bounded_queue_blocks_both_ends) {
    tbb::concurrent_bounded_queue<int> queue;
    queue.set_capacity(4);
    constexpr int n = 20'000;
    std::atomic<long> sum{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 2; ++t) {
        threads.emplace_back([&, t] {
            for (int i = t; i < n; i += 2) {
                queue.push(i);
            }
        });
        threads.emplace_back([&] {
            for (int i = 0; i < n / 2; ++i) {
                int x = 0;
                queue.pop(x);
                sum += x;
            }
        });
    }
    for (auto& t : threads) {
        t.join();
    }
    EXPECT_EQ(sum, long{n} * (n - 1) / 2);
    EXPECT_TRUE(queue.empty());
}

TEST(tbb_containers, abort_ends_all_waits) {
    for (int round = 0; round < 20; ++round) {
        tbb::concurrent_bounded_queue<int> empty;
        tbb::concurrent_bounded_queue<int> full;
        full.set_capacity(1);
        full.push(0);
        std::atomic<int> aborted{0};
        std::atomic<int> begun{0};
        std::vector<std::thread> threads;
        for (int t = 0; t < 2; ++t) {
            threads.emplace_back([&] {
                int x = 0;
                ++begun;
                try {
                    empty.pop(x);
                } catch (const tbb::user_abort&) {
                    ++aborted;
                }
            });
            threads.emplace_back([&] {
                ++begun;
                try {
                    full.push(1);
                } catch (const tbb::user_abort&) {
                    ++aborted;
                }
            });
        }
        ASSERT_TRUE(comes([&] { return begun == 4; }));
        // A wait that begins after abort() is not ended by it.
        EXPECT_TRUE(comes([&] {
            empty.abort();
            full.abort();
            return aborted == 4;
        }));
        for (auto& t : threads) {
            t.join();
        }
    }
}

TEST(tbb_containers, thread_specific_values_are_of_one_thread) {
    tbb::enumerable_thread_specific<int> counts(0);
    tbb::combinable<long> sums([] { return 0L; });
    std::atomic<int> wrong{0};
    tbb::parallel_for(0, 10'000, [&](int i) {
        int& mine = counts.local();
        const int before = mine++;
        tbb::this_task_arena::isolate([] { tbb::parallel_for(0, 3, [](int) {}); });
        wrong += &mine != &counts.local() || mine != before + 1;
        sums.local() += i;
    });
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(std::accumulate(counts.begin(), counts.end(), 0), 10'000);
    EXPECT_EQ(sums.combine(std::plus<>()), 9'999L * 10'000 / 2);
    EXPECT_LE(counts.size(), static_cast<std::size_t>(tbb::this_task_arena::max_concurrency()));
}

TEST(tbb_containers, hash_maps_vectors_and_queues) {
    tbb::concurrent_hash_map<int, int> map;
    tbb::concurrent_vector<int> vector;
    tbb::concurrent_unordered_map<int, int> unordered;
    tbb::concurrent_priority_queue<int> priorities;
    tbb::parallel_for(0, 5'000, [&](int i) {
        tbb::concurrent_hash_map<int, int>::accessor a;
        map.insert(a, i % 100);
        a->second += 1;
        vector.push_back(i);
        unordered.insert({i, i});
        priorities.push(i);
    });
    EXPECT_EQ(map.size(), 100U);
    EXPECT_EQ(vector.size(), 5'000U);
    EXPECT_EQ(unordered.size(), 5'000U);
    int top = 0;
    EXPECT_TRUE(priorities.try_pop(top));
    EXPECT_EQ(top, 4'999);
    EXPECT_THROW((void)vector.at(10'000), std::out_of_range);
}

// --- mutexes -----------------------------------------------------------------------------------------------

template <class Mutex>
class tbb_mutexes : public testing::Test {};
using mutexes =
    testing::Types<tbb::mutex, tbb::spin_mutex, tbb::queuing_mutex, tbb::speculative_spin_mutex,
                   tbb::rw_mutex, tbb::spin_rw_mutex, tbb::queuing_rw_mutex, tbb::speculative_spin_rw_mutex>;
TYPED_TEST_SUITE(tbb_mutexes, mutexes);

TYPED_TEST(tbb_mutexes, excludes) {
    TypeParam mutex;
    long count = 0;
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
        threads.emplace_back([&] {
            for (int i = 0; i < 5'000; ++i) {
                if (i % 7 == 0) {
                    typename TypeParam::scoped_lock lock;
                    while (!lock.try_acquire(mutex)) {
                        std::this_thread::yield();
                    }
                    ++count;
                } else {
                    const typename TypeParam::scoped_lock lock(mutex);
                    ++count;
                }
            }
        });
    }
    for (auto& t : threads) {
        t.join();
    }
    EXPECT_EQ(count, 20'000);
}

template <class Mutex>
class tbb_rw_mutexes : public testing::Test {};
using rw_mutexes =
    testing::Types<tbb::rw_mutex, tbb::spin_rw_mutex, tbb::queuing_rw_mutex, tbb::speculative_spin_rw_mutex>;
TYPED_TEST_SUITE(tbb_rw_mutexes, rw_mutexes);

TYPED_TEST(tbb_rw_mutexes, readers_share_and_writers_exclude) {
    TypeParam mutex;
    std::atomic<int> readers{0};
    std::atomic<int> writers{0};
    std::atomic<int> wrong{0};
    std::atomic<bool> shared{false};
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
        threads.emplace_back([&, t] {
            for (int i = 0; i < 3'000; ++i) {
                typename TypeParam::scoped_lock lock(mutex, (i + t) % 5 == 0);
                if ((i + t) % 5 == 0) {
                    wrong += ++writers != 1 || readers != 0;
                    --writers;
                    if (i % 3 == 0) {
                        lock.downgrade_to_reader();
                        ++readers;
                        wrong += writers != 0;
                        --readers;
                    }
                } else {
                    const int before = readers++;
                    shared = shared || before > 0;
                    wrong += writers != 0;
                    --readers;
                    if (i % 3 == 0) {
                        lock.upgrade_to_writer();
                        wrong += ++writers != 1 || readers != 0;
                        --writers;
                    }
                }
            }
        });
    }
    for (auto& t : threads) {
        t.join();
    }
    EXPECT_EQ(wrong, 0);
}

TYPED_TEST(tbb_rw_mutexes, two_readers_hold_it_at_once) {
    TypeParam mutex;
    typename TypeParam::scoped_lock first(mutex, false);
    std::thread([&] { const typename TypeParam::scoped_lock second(mutex, false); }).join();
}

TYPED_TEST(tbb_rw_mutexes, a_lone_reader_becomes_the_writer_without_letting_go) {
    TypeParam mutex;
    typename TypeParam::scoped_lock lock(mutex, false);
    EXPECT_TRUE(lock.upgrade_to_writer());
    std::thread([&] {
        typename TypeParam::scoped_lock other;
        EXPECT_FALSE(other.try_acquire(mutex, true));
    }).join();
    EXPECT_TRUE(lock.downgrade_to_reader());
}

// --- observers ---------------------------------------------------------------------------------------------

class counting_observer : public tbb::task_scheduler_observer {
public:
    counting_observer() = default;
    explicit counting_observer(tbb::task_arena& a) : tbb::task_scheduler_observer(a) {}
    ~counting_observer() override { observe(false); }
    void on_scheduler_entry(bool is_worker) override {
        ++entries;
        workers += is_worker;
        wrong += s_inside;
        s_inside = true;
    }
    void on_scheduler_exit(bool) override {
        ++exits;
        wrong += !s_inside;
        s_inside = false;
    }
    static bool here() { return s_inside; }
    std::atomic<int> entries{0};
    std::atomic<int> exits{0};
    std::atomic<int> workers{0};
    std::atomic<int> wrong{0};

private:
    static thread_local bool s_inside;
};
thread_local bool counting_observer::s_inside = false;

TEST(tbb_observers, each_thread_of_an_arena_is_announced) {
    tbb::task_arena arena(4);
    counting_observer observer(arena);
    observer.observe(true);
    std::atomic<int> unseen{0};
    for (int round = 0; round < 50; ++round) {
        arena.execute([&] { tbb::parallel_for(0, 100, [&](int) { unseen += !counting_observer::here(); }); });
    }
    EXPECT_EQ(unseen, 0);
    EXPECT_GE(observer.entries, 50);
    EXPECT_TRUE(comes([&] { return observer.entries == observer.exits; }));
    EXPECT_EQ(observer.wrong, 0);
    const int before = observer.entries;
    observer.observe(false);
    arena.execute([] {});
    EXPECT_EQ(observer.entries, before);
}

TEST(tbb_observers, a_queued_task_finds_its_thread_announced) {
    static thread_local bool announced = false;
    struct marking final : tbb::task_scheduler_observer {
        explicit marking(tbb::task_arena& a) : tbb::task_scheduler_observer(a) {}
        ~marking() override { observe(false); }
        void on_scheduler_entry(bool) override { announced = true; }
        void on_scheduler_exit(bool) override { announced = false; }
    };
    tbb::task_arena arena(1);
    marking observer(arena);
    std::atomic<bool> inside{false};
    std::atomic<bool> leave{false};
    std::atomic<int> seen{-1};
    arena.enqueue([&] {
        inside = true;
        EXPECT_TRUE(comes([&] { return leave.load(); }));
    });
    EXPECT_TRUE(comes([&] { return inside.load(); }));
    observer.observe(true);
    arena.enqueue([&] { seen = announced; });
    leave = true;
    EXPECT_TRUE(comes([&] { return seen != -1; }));
    EXPECT_EQ(seen, 1);
}

// --- global_control ----------------------------------------------------------------------------------------

TEST(tbb_control, one_thread_runs_all_that_is_spawned) {
    const tbb::global_control one(tbb::global_control::max_allowed_parallelism, 1);
    EXPECT_EQ(tbb::global_control::active_value(tbb::global_control::max_allowed_parallelism), 1U);
    const auto id = std::this_thread::get_id();
    std::this_thread::sleep_for(20ms); // workers that were in the arena have left it
    std::atomic<int> elsewhere{0};
    tbb::parallel_for(0, 1000, [&](int) { elsewhere += std::this_thread::get_id() != id; });
    EXPECT_EQ(elsewhere, 0);
    EXPECT_EQ(fib(15), 610);
    // What is enqueued gets a worker all the same.
    std::atomic<bool> ran{false};
    tbb::this_task_arena::enqueue([&] { ran = true; });
    EXPECT_TRUE(comes([&] { return ran.load(); }));
}

TEST(tbb_control, the_smallest_of_several_holds) {
    using control = tbb::global_control;
    const auto usual = control::active_value(control::max_allowed_parallelism);
    {
        const control eight(control::max_allowed_parallelism, 8);
        EXPECT_EQ(control::active_value(control::max_allowed_parallelism), 8U);
        {
            const control three(control::max_allowed_parallelism, 3);
            EXPECT_EQ(control::active_value(control::max_allowed_parallelism), 3U);
        }
        EXPECT_EQ(control::active_value(control::max_allowed_parallelism), 8U);
        // Eight threads meet, so as many run at once.
        tbb::task_arena arena(8);
        std::atomic<int> arrived{0};
        std::atomic<bool> all{true};
        arena.execute([&] {
            tbb::parallel_for(
                0, 8,
                [&](int) {
                    ++arrived;
                    if (!comes([&] { return arrived == 8; })) {
                        all = false;
                    }
                },
                tbb::simple_partitioner());
        });
        EXPECT_TRUE(all);
    }
    EXPECT_EQ(control::active_value(control::max_allowed_parallelism), usual);
    {
        const control stack(control::thread_stack_size, 16U << 20);
        EXPECT_EQ(control::active_value(control::thread_stack_size), 16U << 20);
    }
}

TEST(tbb_control, threads_of_a_loop_are_at_most_the_concurrency) {
    std::mutex mutex;
    std::set<std::thread::id> threads;
    for (int round = 0; round < 20; ++round) {
        tbb::parallel_for(0, 1000, [&](int) {
            const std::lock_guard held(mutex);
            threads.insert(std::this_thread::get_id());
        });
    }
    EXPECT_LE(threads.size(), static_cast<std::size_t>(tbb::this_task_arena::max_concurrency()));
}

TEST(tbb_control, finalize_ends_the_workers_and_new_ones_come) {
    tbb::task_scheduler_handle handle{tbb::attach{}};
    EXPECT_TRUE(handle);
    EXPECT_EQ(fib(15), 610);
    {
        tbb::task_arena arena(2);
        arena.initialize();
        tbb::task_scheduler_handle other{tbb::attach{}};
        EXPECT_FALSE(tbb::finalize(other, std::nothrow)); // the arena and the first handle
    }
    EXPECT_TRUE(tbb::finalize(handle, std::nothrow));
    EXPECT_FALSE(handle);
    EXPECT_EQ(fib(15), 610);
    tbb::task_scheduler_handle inside{tbb::attach{}};
    tbb::task_group g;
    g.run_and_wait([&] { EXPECT_THROW(tbb::finalize(inside), tbb::unsafe_wait); });
}

// --- threads, processes and errors -------------------------------------------------------------------------

TEST(tbb_threads, finalize_beside_other_threads) {
    std::atomic<int> calls{0};
    std::atomic<bool> stop{false};
    std::thread other([&] {
        while (!stop) {
            const int before = calls;
            tbb::this_task_arena::enqueue([&] { ++calls; });
            EXPECT_TRUE(comes([&] { return calls > before; }));
            tbb::parallel_for(0, 100, [](int) {});
        }
    });
    for (int i = 0; i < 50; ++i) {
        tbb::task_scheduler_handle handle{tbb::attach{}};
        (void)tbb::finalize(handle, std::nothrow);
    }
    stop = true;
    other.join();
}

TEST(tbb_threads, many_threads_with_loops_of_their_own) {
    std::atomic<long> calls{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 32; ++t) {
        threads.emplace_back([&] {
            for (int i = 0; i < 20; ++i) {
                tbb::parallel_for(0, 100, [&](int) { ++calls; });
            }
        });
    }
    for (auto& t : threads) {
        t.join();
    }
    EXPECT_EQ(calls, 32 * 20 * 100);
}

TEST(tbb_threads, a_spawned_task_runs_while_its_thread_only_looks) {
    // A fire-and-forget task: no thread waits in the scheduler until it has run.
    if (tbb::this_task_arena::max_concurrency() == 1) {
        GTEST_SKIP() << "one thread";
    }
    for (int i = 0; i < 200; ++i) {
        std::atomic<bool> ran{false};
        tbb::task_group g;
        g.run([&] { ran = true; });
        EXPECT_TRUE(comes([&] { return ran.load(); }));
        g.wait();
        if (i % 50 == 0) {
            std::this_thread::sleep_for(5ms); // all workers sleep
        }
    }
}

TEST(tbb_threads, a_child_process_has_workers_of_its_own) {
    EXPECT_EQ(fib(15), 610);
    const pid_t child = fork();
    if (child == 0) {
        alarm(30);
        std::atomic<int> calls{0};
        tbb::parallel_for(0, 1000, [&](int) { ++calls; });
        std::atomic<bool> ran{false};
        tbb::this_task_arena::enqueue([&] { ran = true; });
        _exit(calls == 1000 && comes([&] { return ran.load(); }) ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

TEST(tbb_errors, memory_that_does_not_exist) {
    EXPECT_THROW((void)tbb::tbb_allocator<char>().allocate(~std::size_t{0} / 2), std::bad_alloc);
    EXPECT_THROW((void)tbb::cache_aligned_allocator<char>().allocate(~std::size_t{0} / 2), std::bad_alloc);
    int* p = tbb::cache_aligned_allocator<int>().allocate(3);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(p) % 128, 0U);
    tbb::cache_aligned_allocator<int>().deallocate(p, 3);
}

TEST(tbb_errors, an_exception_ends_the_program_if_that_is_asked_for) {
    EXPECT_DEATH(
        {
            const tbb::global_control ends(tbb::global_control::terminate_on_exception, 1);
            tbb::parallel_for(0, 10, [](int) { throw 1; });
        },
        "");
}

TEST(tbb_errors, an_exception_of_an_enqueued_task_ends_the_program) {
    EXPECT_DEATH(
        {
            tbb::task_arena arena(1);
            arena.enqueue([] { throw 1; });
            std::this_thread::sleep_for(10s);
        },
        "");
}

TEST(tbb_errors, versions) {
    EXPECT_EQ(TBB_runtime_interface_version(), TBB_INTERFACE_VERSION);
    EXPECT_STREQ(TBB_runtime_version(), TBB_VERSION_STRING);
}

} // namespace
