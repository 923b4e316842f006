// Loops and algorithms.
#include "user.hpp"

namespace {

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

/// A thread that has used half of its stack takes no tasks of others any more, but its own.
TEST(tbb_loops, own_parts_run_deep_in_the_stack) {
    const tbb::global_control one(tbb::global_control::max_allowed_parallelism, 1);
    tbb::task_arena arena(4);
    long calls = 0;
    std::thread([&] {
        pthread_attr_t attributes;
        void* low = nullptr;
        std::size_t bytes = 0;
        ASSERT_EQ(pthread_getattr_np(pthread_self(), &attributes), 0);
        ASSERT_EQ(pthread_attr_getstack(&attributes, &low, &bytes), 0);
        pthread_attr_destroy(&attributes);
        const char* const deep = static_cast<const char*>(low) + bytes / 16 * 7;
        const std::function<void()> deeper = [&] {
            if (static_cast<const char*>(__builtin_frame_address(0)) > deep) {
                tbb::parallel_for(
                    0, 4,
                    [&](int part) {
                        ++calls;
                        if (part == 0) {
                            deeper();
                        }
                    },
                    tbb::static_partitioner());
            }
        };
        arena.execute(deeper);
    }).join();
    EXPECT_GT(calls, 4);
    EXPECT_EQ(calls % 4, 0);
}

/// A task that the test keeps.
class called_task : public tbb::detail::d1::task {
public:
    called_task(std::function<void()> f, tbb::detail::d1::wait_context& all)
        : m_call(std::move(f)), m_all(&all) {}
    task* execute(tbb::detail::d1::execution_data&) override {
        m_call();
        m_all->release();
        return nullptr;
    }
    task* cancel(tbb::detail::d1::execution_data& ed) override { return execute(ed); }

private:
    std::function<void()> m_call;
    tbb::detail::d1::wait_context* m_all;
};

/// The slots of tasks that name `slots`, the next one spawned when one has begun.
std::vector<int> slots_of_tasks(tbb::task_arena& arena, const std::vector<int>& slots) {
    std::vector<int> result(slots.size());
    arena.execute([&] {
        std::atomic<std::size_t> begun{0};
        tbb::detail::d1::wait_context all(static_cast<std::uint32_t>(slots.size()));
        tbb::task_group_context context;
        std::deque<called_task> tasks;
        for (std::size_t i = 0; i < slots.size(); ++i) {
            tasks.emplace_back(
                [&, i] {
                    result[i] = tbb::this_task_arena::current_thread_index();
                    ++begun;
                },
                all);
            tbb::detail::d1::spawn(tasks[i], context, static_cast<tbb::detail::d1::slot_id>(slots[i]));
            EXPECT_TRUE(comes([&] { return begun > i; }));
        }
        tbb::detail::d1::wait(all, context);
    });
    return result;
}

/// The one worker goes to the slot that a task names.
TEST(tbb_affinity, a_task_runs_in_its_slot_if_that_is_free) {
    const tbb::global_control one_worker(tbb::global_control::max_allowed_parallelism, 2);
    tbb::task_arena arena(4);
    const std::vector<int> slots{2, 1, 3, 3, 1};
    for (int round = 0; round < 20; ++round) {
        ASSERT_EQ(slots_of_tasks(arena, slots), slots);
    }
}

/// Holds the thread that comes to one slot of an arena, before it has looked for tasks.
class gate : public tbb::task_scheduler_observer {
public:
    gate(tbb::task_arena& a, int slot) : tbb::task_scheduler_observer(a), m_slot(slot) { observe(true); }
    gate(const gate&) = delete;
    gate& operator=(const gate&) = delete;
    ~gate() override {
        m_is_open = true;
        m_is_open.notify_all();
        observe(false);
    }
    void on_scheduler_entry(bool) override {
        if (tbb::this_task_arena::current_thread_index() == m_slot) {
            m_holds = true;
            m_is_open.wait(false);
        }
    }
    [[nodiscard]] bool holds() const { return m_holds; }

private:
    const int m_slot;
    std::atomic<bool> m_holds{false};
    std::atomic<bool> m_is_open{false};
};

/// A worker that comes to a slot counts as one that looks for tasks. The thief takes a newer task first.
TEST(tbb_affinity, a_task_is_left_to_a_slot_whose_thread_looks_for_tasks) {
    const tbb::global_control two_workers(tbb::global_control::max_allowed_parallelism, 3);
    tbb::task_arena arena(3);
    const gate other(arena, 2);
    std::vector<int> order;
    arena.execute([&] {
        std::atomic<bool> thief_is_there{false};
        std::atomic<bool> begin{false};
        std::atomic<int> runs{0};
        tbb::detail::d1::wait_context all(3);
        tbb::task_group_context context;
        called_task first(
            [&] {
                thief_is_there = true;
                EXPECT_TRUE(comes([&] { return begin.load(); }));
            },
            all);
        const auto note = [&](int slot) {
            order.push_back(slot);
            ++runs;
        };
        called_task left([&] { note(2); }, all);
        called_task taken([&] { note(0); }, all);
        tbb::detail::d1::spawn(first, context);
        EXPECT_TRUE(comes([&] { return thief_is_there.load(); }));
        tbb::detail::d1::spawn(left, context, 2);
        EXPECT_TRUE(comes([&] { return other.holds(); }));
        tbb::detail::d1::spawn(taken, context, 0); // the thread of this slot runs the test
        begin = true;
        EXPECT_TRUE(
            comes([&] { return runs == 2; })); // both by the thief: it takes any task before it leaves
        tbb::detail::d1::wait(all, context);
    });
    EXPECT_EQ(order, (std::vector{0, 2}));
}

struct waited_for {
    tbb::detail::d1::wait_context end{1};
};

/// A thread outside of the pool that waits in an arena.
class waiting_thread {
public:
    /// Waits for one end after the other, and calls `then` after each.
    template <class Then>
    waiting_thread(tbb::task_arena& arena, std::deque<waited_for>& waits, Then then)
        : m_thread([&, then] {
              arena.execute([&] {
                  tbb::task_group_context context;
                  m_slot = tbb::this_task_arena::current_thread_index();
                  m_id = gettid();
                  for (waited_for& w : waits) {
                      tbb::detail::d1::wait(w.end, context);
                      then();
                  }
              });
          }) {
        EXPECT_TRUE(comes([&] { return m_id != 0; }));
    }
    void join() { m_thread.join(); }
    [[nodiscard]] bool sleeps() const { return sleeps_in_the_kernel(m_id); }
    [[nodiscard]] int slot() const { return m_slot; }

private:
    std::atomic<int> m_slot{-1};
    std::atomic<pid_t> m_id{0};
    std::thread m_thread;
};

/// A thread that is woken for a task may leave it to another slot, and then its wait ends. So it wakes
/// others.
TEST(tbb_affinity, a_thread_that_has_left_a_task_wakes_another_one) {
    constexpr int rounds = 8;
    const tbb::global_control workers(tbb::global_control::max_allowed_parallelism, 4);
    tbb::task_arena arena(4);
    const gate held(arena, 3);
    arena.execute([&] {
        std::atomic<int> runs{0};
        std::atomic<int> may_sleep{0};
        std::deque<waited_for> ends(rounds);
        std::deque<waited_for> end(1);
        int ended = 0; // of its waits
        waiting_thread leaves(arena, ends, [&] {
            runs.wait(ended);
            ++ended;
        });
        waiting_thread stays(arena, end, [] {});
        tbb::detail::d1::wait_context all(rounds + 1);
        tbb::task_group_context context;
        called_task bring([] {}, all);
        tbb::detail::d1::spawn(bring, context, 3);
        EXPECT_TRUE(comes([&] { return held.holds(); }));
        std::deque<called_task> tasks;
        for (int i = 0; i < rounds; ++i) {
            EXPECT_TRUE(comes([&] { return leaves.sleeps(); }));
            may_sleep = i; // later than the other thread, which is then woken first
            may_sleep.notify_all();
            EXPECT_TRUE(comes([&] { return stays.sleeps(); }));
            tasks.emplace_back(
                [&, i] {
                    ++runs;
                    runs.notify_all();
                    if (tbb::this_task_arena::current_thread_index() == stays.slot() && i + 1 < rounds) {
                        may_sleep.wait(i);
                    }
                },
                all);
            tbb::detail::d1::spawn(tasks.back(), context, 3);
            const auto until = std::chrono::steady_clock::now() + std::chrono::microseconds(10 * i);
            while (std::chrono::steady_clock::now() < until) {
            }
            ends[static_cast<std::size_t>(i)].end.release();
            ASSERT_TRUE(comes([&] { return runs > i; }));
        }
        end[0].end.release();
        leaves.join();
        stays.join();
        tbb::detail::d1::wait(all, context);
    });
}

/// A number that is no slot is no hint, and neither is the slot of the spawner, which is busy.
TEST(tbb_affinity, a_task_runs_whatever_slot_it_names) {
    const tbb::global_control one_worker(tbb::global_control::max_allowed_parallelism, 2);
    tbb::task_arena arena(4);
    for (int round = 0; round < 20; ++round) {
        const std::vector<int> slots = slots_of_tasks(arena, {0, 4, 5, 65'000, 65'534, 65'535});
        EXPECT_TRUE(std::all_of(slots.begin(), slots.end(), [](int slot) { return slot > 0; }));
    }
}

/// A tree of tasks that name slots in any order. Its parents end before their children.
class hinted_task : public tbb::detail::d1::task {
public:
    hinted_task(int depth, unsigned seed, std::atomic<int>& runs, tbb::detail::d1::wait_context& all)
        : m_depth(depth), m_seed(seed), m_runs(&runs), m_all(&all) {}
    task* execute(tbb::detail::d1::execution_data& ed) override {
        for (unsigned child = 1; m_depth > 0 && child <= 3; ++child) {
            const unsigned seed = m_seed * 1664525U + child * 1013904223U;
            m_all->reserve();
            tbb::detail::d1::spawn(*new hinted_task(m_depth - 1, seed, *m_runs, *m_all), *ed.context,
                                   static_cast<tbb::detail::d1::slot_id>(seed >> 29)); // some are no slots
        }
        ++*m_runs;
        m_all->release();
        delete this;
        return nullptr;
    }
    task* cancel(tbb::detail::d1::execution_data& ed) override { return execute(ed); }

private:
    int m_depth;
    unsigned m_seed;
    std::atomic<int>* m_runs;
    tbb::detail::d1::wait_context* m_all;
};

TEST(tbb_affinity, each_task_runs_once) {
    const tbb::global_control workers(tbb::global_control::max_allowed_parallelism, 4);
    tbb::task_arena arena(5);
    for (unsigned round = 0; round < 100; ++round) {
        std::atomic<int> runs{0};
        arena.execute([&] {
            tbb::detail::d1::wait_context all(1);
            tbb::task_group_context context;
            tbb::detail::d1::spawn(*new hinted_task(6, round, runs, all), context, 3);
            tbb::detail::d1::wait(all, context);
        });
        EXPECT_EQ(runs, (3 * 3 * 3 * 3 * 3 * 3 * 3 - 1) / 2); // 1 + 3 + ... + 3^6
    }
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

} // namespace
