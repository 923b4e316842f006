// tbb::task::suspend() and resume().
#include "user.hpp"

#include <condition_variable>
#include <deque>
#include <fstream>

namespace {

using tbb::task::suspend_point;

/// A thread that resumes what it gets.
class resumer {
public:
    resumer() : m_thread([this] { work(); }) {}
    ~resumer() {
        put(nullptr);
        m_thread.join();
    }
    void put(suspend_point p) {
        const std::lock_guard held(m_mutex);
        m_points.push_back(p);
        m_changed.notify_one();
    }

private:
    void work() {
        for (;;) {
            suspend_point p = nullptr;
            {
                std::unique_lock lock(m_mutex);
                m_changed.wait(lock, [&] { return !m_points.empty(); });
                p = m_points.front();
                m_points.pop_front();
            }
            if (p == nullptr) {
                return;
            }
            tbb::task::resume(p);
        }
    }
    std::mutex m_mutex;
    std::condition_variable m_changed;
    std::deque<suspend_point> m_points;
    std::thread m_thread;
};

int threads_of_process() {
    int n = 0;
    std::ifstream status("/proc/self/status");
    for (std::string word; status >> word;) {
        if (word == "Threads:") {
            status >> n;
        }
    }
    return n;
}

TEST(tbb_suspend, another_thread_resumes) {
    resumer other;
    std::atomic<int> after{0};
    tbb::task_group g;
    for (int i = 0; i < 200; ++i) {
        g.run([&] {
            const auto thread = std::this_thread::get_id();
            tbb::task::suspend([&](suspend_point p) {
                EXPECT_EQ(std::this_thread::get_id(), thread);
                other.put(p);
            });
            ++after;
        });
    }
    g.wait();
    EXPECT_EQ(after, 200);
}

TEST(tbb_suspend, the_callback_may_resume) {
    int after = 0;
    tbb::task_group g;
    g.run_and_wait([&] {
        for (int i = 0; i < 100; ++i) {
            tbb::task::suspend([](suspend_point p) { tbb::task::resume(p); });
            ++after;
        }
    });
    EXPECT_EQ(after, 100);
}

TEST(tbb_suspend, a_thread_outside_of_all_tasks_suspends) {
    resumer other;
    for (int i = 0; i < 20; ++i) {
        bool called = false;
        tbb::task::suspend([&](suspend_point p) {
            called = true;
            other.put(p);
        });
        EXPECT_TRUE(called);
    }
    EXPECT_EQ(fib(12), 144);
}

TEST(tbb_suspend, suspended_tasks_hold_no_thread) {
    // The last of them resumes all, so no thread may be held by one.
    constexpr std::size_t n = 300;
    std::mutex mutex;
    std::vector<suspend_point> points;
    std::atomic<std::size_t> after{0};
    tbb::task_group g;
    (void)fib(15);
    for (std::size_t i = 0; i < n; ++i) {
        g.run([&] {
            tbb::task::suspend([&](suspend_point p) {
                std::vector<suspend_point> all;
                {
                    const std::lock_guard held(mutex);
                    points.push_back(p);
                    if (points.size() == n) {
                        all.swap(points);
                    }
                }
                std::for_each(all.rbegin(), all.rend(), [](suspend_point q) { tbb::task::resume(q); });
            });
            ++after;
        });
    }
    g.wait();
    EXPECT_EQ(after, n);
}

TEST(tbb_suspend, a_task_resumes_one_that_waits_below_it) {
    // If one thread runs both, the second task cannot run on top of the first one's stack.
    for (int round = 0; round < 50; ++round) {
        std::atomic<suspend_point> first{nullptr};
        std::atomic<int> steps{0};
        tbb::task_group g;
        g.run([&] {
            tbb::task::suspend([&](suspend_point p) { first = p; });
            ++steps;
        });
        g.run([&] {
            tbb::task_group inner;
            inner.run([&] {
                tbb::task::suspend([&](suspend_point p) {
                    // Resumed as soon as the other task is suspended, whichever is first.
                    std::thread([&first, p] {
                        EXPECT_TRUE(comes([&] { return first != nullptr; }));
                        tbb::task::resume(first.load());
                        tbb::task::resume(p);
                    }).detach();
                });
                ++steps;
            });
            inner.wait();
            ++steps;
        });
        g.wait();
        EXPECT_EQ(steps, 3);
    }
}

TEST(tbb_suspend, loops_in_suspended_loops) {
    resumer other;
    std::atomic<int> inner{0};
    tbb::parallel_for(0, 20, [&](int) {
        for (int i = 0; i < 5; ++i) {
            tbb::task::suspend([&](suspend_point p) { other.put(p); });
            tbb::parallel_for(0, 20, [&](int) {
                tbb::task::suspend([&](suspend_point p) { other.put(p); });
                ++inner;
            });
        }
    });
    EXPECT_EQ(inner, 20 * 5 * 20);
}

TEST(tbb_suspend, a_thread_outside_of_the_pool_gets_its_slot_back) {
    // A thread in a slot for workers would keep workers away, also from what is enqueued.
    resumer other;
    (void)fib(10);
    const int slot = tbb::this_task_arena::current_thread_index();
    // Each of the 30 suspensions of a round waits for CPUs several times, which takes long beside other load.
    const auto enough = std::chrono::steady_clock::now() + 5s;
    for (int round = 0; round < 50 && (round == 0 || std::chrono::steady_clock::now() < enough); ++round) {
        tbb::parallel_for(0, 5, [&](int) {
            tbb::task::suspend([&](suspend_point p) { other.put(p); });
            tbb::parallel_for(0, 5, [&](int) { tbb::task::suspend([&](suspend_point p) { other.put(p); }); });
        });
        EXPECT_EQ(tbb::this_task_arena::current_thread_index(), slot);
    }
    std::atomic<bool> ran{false};
    tbb::this_task_arena::enqueue([&] { ran = true; });
    EXPECT_TRUE(comes([&] { return ran.load(); }));
}

TEST(tbb_suspend, a_worker_that_always_finds_a_task_gives_the_slot_back) {
    resumer other;
    tbb::task_arena arena(1, 1); // so a worker takes the slot of the suspended thread
    const auto limit = std::chrono::steady_clock::now() + 60s;
    std::atomic<int> steps{0};
    std::atomic<bool> is_back{false};
    bool in_time = true;
    tbb::task_group g;
    std::function<void()> step = [&] {
        ++steps;
        in_time = in_time && std::chrono::steady_clock::now() < limit;
        if (!is_back && in_time) {
            g.run([&] { step(); });
        }
    };
    std::thread thread;
    arena.execute([&] {
        tbb::task::suspend([&](suspend_point p) {
            g.run([&] { step(); });
            thread = std::thread([&, p] {
                EXPECT_TRUE(comes([&] { return steps > 0; }));
                other.put(p);
            });
        });
        is_back = true;
        g.wait();
    });
    thread.join();
    EXPECT_TRUE(in_time);
}

TEST(tbb_suspend, a_waiting_thread_runs_other_tasks_meanwhile) {
    std::atomic<suspend_point> point{nullptr};
    std::atomic<int> others{0};
    bool after = false;
    tbb::task_group g;
    g.run([&] {
        tbb::task::suspend([&](suspend_point p) { point = p; });
        after = true;
    });
    for (int i = 0; i < 50; ++i) {
        g.run([&] {
            if (++others == 50) {
                std::thread([&] {
                    EXPECT_TRUE(comes([&] { return point != nullptr; }));
                    tbb::task::resume(point);
                }).detach();
            }
        });
    }
    g.wait();
    EXPECT_TRUE(after);
    EXPECT_EQ(others, 50);
}

TEST(tbb_suspend, values_of_a_suspended_stack_are_its_own) {
    resumer other;
    tbb::enumerable_thread_specific<int, tbb::cache_aligned_allocator<int>, tbb::ets_suspend_aware> value;
    std::atomic<int> wrong{0};
    tbb::parallel_for(0, 100, [&](int i) {
        value.local() = i;
        tbb::task::suspend([&](suspend_point p) { other.put(p); });
        wrong += value.local() != i;
    });
    EXPECT_EQ(wrong, 0);
}

TEST(tbb_suspend, a_call_into_another_arena_returns_on_its_thread) {
    resumer other;
    tbb::task_arena outer(4);
    tbb::task_arena inner(2);
    std::atomic<int> wrong{0};
    outer.execute([&] {
        tbb::parallel_for(0, 50, [&](int) {
            const auto thread = std::this_thread::get_id();
            inner.execute([&] {
                tbb::parallel_for(0, 5,
                                  [&](int) { tbb::task::suspend([&](suspend_point p) { other.put(p); }); });
            });
            wrong += std::this_thread::get_id() != thread;
        });
    });
    EXPECT_EQ(wrong, 0);
}

TEST(tbb_suspend, a_thread_that_waits_goes_on_with_its_other_stacks) {
    // With one worker all three tasks are stacks of one thread. The second one waits while the first one is
    // suspended, the third one when no task is suspended any more, and only the second one ends that wait.
    tbb::task_arena arena(2);
    tbb::task_group second;
    tbb::task_group third;
    tbb::task_handle until_second = second.defer([] {});
    tbb::task_handle until_third = third.defer([] {});
    suspend_point of_first = nullptr;
    suspend_point of_third = nullptr;
    std::atomic<int> ended{0};
    const auto run_third = [&] {
        tbb::task::suspend([&](suspend_point p) {
            of_third = p;
            tbb::task::resume(of_first);
        });
        until_second = {};
        third.wait();
        ++ended;
    };
    const auto run_second = [&] {
        arena.enqueue(run_third);
        second.wait();
        until_third = {};
        ++ended;
    };
    arena.enqueue([&] {
        tbb::task::suspend([&](suspend_point p) {
            of_first = p;
            arena.enqueue(run_second);
        });
        tbb::task::resume(of_third);
        ++ended;
    });
    EXPECT_TRUE(comes([&] { return ended == 3; }));
}

TEST(tbb_suspend, an_exception_after_it_arrives) {
    resumer other;
    tbb::task_group g;
    g.run([&] {
        tbb::task::suspend([&](suspend_point p) { other.put(p); });
        throw std::runtime_error("late");
    });
    EXPECT_THROW(g.wait(), std::runtime_error);
}

TEST(tbb_suspend, a_caught_exception_stays_that_of_its_stack) {
    resumer other;
    std::atomic<int> wrong{0};
    tbb::parallel_for(0, 100, [&](int i) {
        try {
            throw i;
        } catch (int) {
            tbb::task::suspend([&](suspend_point p) { other.put(p); });
            try {
                throw;
            } catch (int found) {
                wrong += found != i;
            }
        }
    });
    EXPECT_EQ(wrong, 0);
}

TEST(tbb_suspend, a_cancelled_task_goes_on_when_it_is_resumed) {
    std::atomic<suspend_point> point{nullptr};
    bool after = false;
    tbb::task_group g;
    g.run([&] {
        tbb::task::suspend([&](suspend_point p) { point = p; });
        after = tbb::is_current_task_group_canceling();
    });
    std::thread other([&] {
        EXPECT_TRUE(comes([&] { return point != nullptr; }));
        g.cancel();
        tbb::task::resume(point);
    });
    EXPECT_EQ(g.wait(), tbb::canceled);
    other.join();
    EXPECT_TRUE(after);
}

TEST(tbb_suspend, enqueued_tasks_suspend) {
    resumer other;
    std::atomic<int> after{0};
    tbb::task_arena arena(2);
    for (int i = 0; i < 100; ++i) {
        arena.enqueue([&] {
            tbb::task::suspend([&](suspend_point p) { other.put(p); });
            ++after;
        });
    }
    EXPECT_TRUE(comes([&] { return after == 100; }));
}

TEST(tbb_suspend, several_threads_in_one_small_arena) {
    resumer other;
    tbb::task_arena arena(2);
    std::atomic<int> after{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 6; ++t) {
        threads.emplace_back([&] {
            for (int i = 0; i < 20; ++i) {
                arena.execute([&] {
                    tbb::task_group g;
                    for (int k = 0; k < 5; ++k) {
                        g.run([&] {
                            tbb::task::suspend([&](suspend_point p) { other.put(p); });
                            ++after;
                        });
                    }
                    g.wait();
                });
            }
        });
    }
    for (auto& t : threads) {
        t.join();
    }
    EXPECT_EQ(after, 6 * 20 * 5);
}

TEST(tbb_suspend, a_task_continues_on_its_thread) {
    resumer other;
    std::atomic<int> wrong{0};
    tbb::parallel_for(0, 200, [&](int) {
        const auto thread = std::this_thread::get_id();
        tbb::task::suspend([&](suspend_point p) { other.put(p); });
        wrong += std::this_thread::get_id() != thread;
    });
    EXPECT_EQ(wrong, 0);
}

TEST(tbb_suspend, no_thread_is_made_for_suspended_tasks) {
    (void)fib(18);
    const int before = threads_of_process();
    std::mutex mutex;
    std::vector<suspend_point> points;
    tbb::task_group g;
    for (int i = 0; i < 100; ++i) {
        g.run([&] {
            tbb::task::suspend([&](suspend_point p) {
                const std::lock_guard held(mutex);
                points.push_back(p);
                if (points.size() == 100) {
                    EXPECT_LE(threads_of_process(), before + 1); // the worker of a process that had none
                    for (suspend_point q : points) {
                        tbb::task::resume(q);
                    }
                }
            });
        });
    }
    g.wait();
}

/// A pipeline whose input suspends before each of `n` items and before their end. Returns how many have come.
int items_of_a_suspended_input(int n, std::atomic<suspend_point>& point) {
    int made = 0;
    int came = 0;
    const auto input = [&](tbb::flow_control& control) {
        tbb::task::suspend([&](suspend_point p) { point = p; });
        if (made == n) {
            control.stop();
            return 0;
        }
        return ++made;
    };
    const auto serial = tbb::filter_mode::serial_in_order;
    tbb::parallel_pipeline(1, tbb::make_filter<void, int>(serial, input) &
                                  tbb::make_filter<int, void>(serial, [&](int) { ++came; }));
    return came;
}

TEST(tbb_suspend, an_input_stops_its_own_pipeline) {
    // Both suspend on the one worker. Then the first one goes on and stops.
    const tbb::global_control one_worker(tbb::global_control::max_allowed_parallelism, 2);
    std::array<tbb::task_arena, 2> arenas{tbb::task_arena(2, 0), tbb::task_arena(2, 0)};
    std::array<std::atomic<suspend_point>, 2> points{};
    const std::array<int, 2> given{0, 3};
    std::array<std::atomic<int>, 2> came{-1, -1};
    const auto suspends_or_ends = [&](std::size_t i) {
        return comes([&] { return points[i] != nullptr || came[i] >= 0; });
    };
    for (std::size_t i = 0; i < 2; ++i) {
        arenas[i].enqueue([&, i] { came[i] = items_of_a_suspended_input(given[i], points[i]); });
        ASSERT_TRUE(suspends_or_ends(i));
    }
    for (std::size_t i = 0; i < 2; ++i) {
        while (came[i] < 0) {
            if (suspend_point p = points[i].exchange(nullptr)) {
                tbb::task::resume(p);
            }
            ASSERT_TRUE(suspends_or_ends(i));
        }
        EXPECT_EQ(came[i], given[i]);
    }
}

TEST(tbb_suspend, resuming_what_is_not_suspended_ends_the_program) {
    EXPECT_DEATH(tbb::task::resume(nullptr), "of a task that is not suspended");
    EXPECT_DEATH(tbb::task::suspend([](suspend_point p) {
                     tbb::task::resume(p);
                     tbb::task::resume(p);
                 }),
                 "of a task that is not suspended");
}

TEST(tbb_suspend, a_callback_that_throws_ends_the_program) {
    EXPECT_DEATH(tbb::task::suspend([](suspend_point) { throw 1; }), "");
}

} // namespace
