// Mutexes, observers, global_control, threads, processes and errors.
#include "user.hpp"

namespace {

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

TEST(tbb_observers, an_exception_of_an_observer_ends_the_program) {
    struct throwing final : tbb::task_scheduler_observer {
        explicit throwing(tbb::task_arena& a) : tbb::task_scheduler_observer(a) { observe(true); }
        ~throwing() override { observe(false); }
        void on_scheduler_entry(bool) override { throw 1; }
    };
    EXPECT_DEATH(
        {
            tbb::task_arena arena(2);
            const throwing observer(arena);
            try {
                arena.execute([] {});
            } catch (int) {
            }
        },
        "");
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

TEST(tbb_control, finalize_before_any_use_and_beside_a_thread_that_has_used_it) {
    const auto another = [] {
        bool is_ended = true;
        std::thread([&] {
            tbb::task_scheduler_handle handle{tbb::attach{}};
            EXPECT_EQ(fib(10), 55);
            is_ended = tbb::finalize(handle, std::nothrow);
        }).join();
        return is_ended;
    };
    EXPECT_EQ(fib(10), 55);
    EXPECT_FALSE(another()); // this thread has used it, and has no handle
    tbb::task_scheduler_handle used{tbb::attach{}};
    EXPECT_TRUE(tbb::finalize(used, std::nothrow));
    // Two handles and no use: nothing is left to end.
    tbb::task_scheduler_handle first{tbb::attach{}};
    tbb::task_scheduler_handle second{tbb::attach{}};
    EXPECT_TRUE(tbb::finalize(first, std::nothrow));
    EXPECT_EQ(fib(10), 55);
    tbb::task_scheduler_handle third{tbb::attach{}};
    EXPECT_FALSE(tbb::finalize(third, std::nothrow)); // `second`
    EXPECT_TRUE(tbb::finalize(second, std::nothrow));
    EXPECT_TRUE(another());
}

/// finalize() of a handle of its own.
bool finalizes() {
    tbb::task_scheduler_handle handle{tbb::attach{}};
    return tbb::finalize(handle, std::nothrow);
}

std::atomic<int> workers_ended{0}; // of those that use_a_worker() has used

/// A queued task gets a worker, however few threads are allowed.
void use_a_worker() {
    struct end_of_thread {
        ~end_of_thread() { ++workers_ended; }
    };
    std::atomic<bool> ran{false};
    tbb::this_task_arena::enqueue([&] {
        static thread_local const end_of_thread counted;
        (void)&counted; // makes it
        ran = true;
    });
    EXPECT_TRUE(comes([&] { return ran.load(); }));
}

TEST(tbb_control, a_thread_whose_finalize_fails_keeps_its_arena) {
    std::thread([] {
        EXPECT_EQ(fib(10), 55);
        counting_observer observer;
        observer.observe(true);
        EXPECT_EQ(fib(10), 55);
        const auto keeps_it = [&] {
            return tbb::this_task_arena::current_thread_index() == 0 && observer.exits == observer.workers;
        };
        EXPECT_TRUE(comes(keeps_it));
        {
            const tbb::task_scheduler_handle another{tbb::attach{}};
            EXPECT_FALSE(finalizes());
            EXPECT_TRUE(comes(keeps_it));
        }
        {
            tbb::task_arena arena(2);
            arena.initialize();
            EXPECT_FALSE(finalizes());
            EXPECT_TRUE(comes(keeps_it));
        }
        tbb::this_task_arena::isolate([&] {
            EXPECT_FALSE(finalizes());
            EXPECT_TRUE(comes(keeps_it));
        });
        std::atomic<bool> used{false};
        std::atomic<bool> ends{false};
        std::thread another([&] {
            EXPECT_EQ(fib(10), 55);
            used = true;
            EXPECT_TRUE(comes([&] { return ends.load(); }));
        });
        EXPECT_TRUE(comes([&] { return used.load(); }));
        EXPECT_FALSE(finalizes());
        EXPECT_TRUE(comes(keeps_it));
        ends = true;
        another.join();
    }).join();
}

TEST(tbb_control, the_last_of_several_threads_finalizes) {
    std::atomic<int> step{0};
    const auto reaches = [&](int n) { return comes([&] { return step >= n; }); };
    EXPECT_EQ(fib(10), 55);
    std::thread first([&] {
        EXPECT_EQ(fib(10), 55);
        EXPECT_FALSE(finalizes());
        step = 1;
        EXPECT_TRUE(reaches(2));
        use_a_worker();
        step = 3;
        EXPECT_TRUE(reaches(4));
    });
    EXPECT_TRUE(reaches(1));
    EXPECT_TRUE(finalizes()); // the other thread has not used it since
    EXPECT_EQ(fib(10), 55);
    step = 2;
    EXPECT_TRUE(reaches(3));
    EXPECT_FALSE(finalizes());
    step = 4;
    first.join();
    EXPECT_TRUE(finalizes());
}

TEST(tbb_control, the_last_of_several_handles_finalizes) {
    std::atomic<int> step{0};
    const auto reaches = [&](int n) { return comes([&] { return step >= n; }); };
    std::thread first([&] {
        tbb::task_scheduler_handle handle{tbb::attach{}};
        EXPECT_EQ(fib(10), 55);
        step = 1;
        EXPECT_TRUE(reaches(2));
        EXPECT_FALSE(tbb::finalize(handle, std::nothrow)); // the handle and the use of the other thread
        step = 3;
        EXPECT_TRUE(reaches(4));
    });
    EXPECT_TRUE(reaches(1));
    tbb::task_scheduler_handle handle{tbb::attach{}};
    EXPECT_EQ(fib(10), 55);
    step = 2;
    EXPECT_TRUE(reaches(3));
    EXPECT_TRUE(tbb::finalize(handle, std::nothrow)); // the other thread lives, and has not used it since
    step = 4;
    first.join();
}

TEST(tbb_control, a_queued_task_for_a_worker_that_is_there_is_a_use) {
    const tbb::global_control no_second_worker(tbb::global_control::max_allowed_parallelism, 1);
    std::atomic<int> step{0};
    const auto reaches = [&](int n) { return comes([&] { return step >= n; }); };
    std::atomic<bool> may_end{false};
    std::atomic<bool> ran{false};
    use_a_worker();
    std::thread first([&] {
        tbb::this_task_arena::enqueue([&] {
            step = 1;
            EXPECT_TRUE(comes([&] { return may_end.load(); }));
        });
        EXPECT_TRUE(reaches(1));
        EXPECT_FALSE(finalizes()); // the main thread has used it
        tbb::this_task_arena::enqueue([&] { ran = true; });
        step = 2;
        EXPECT_TRUE(reaches(3));
    });
    EXPECT_TRUE(reaches(2));
    EXPECT_FALSE(finalizes());
    may_end = true;
    EXPECT_TRUE(comes([&] { return ran.load(); }));
    step = 3;
    first.join();
    EXPECT_TRUE(finalizes());
}

TEST(tbb_control, each_of_two_threads_that_finalize_waits_for_the_workers) {
    EXPECT_TRUE(finalizes()); // this thread uses no worker from here on
    std::atomic<int> finalizing{0};
    std::atomic<bool> runs{false};
    std::atomic<bool> may_end{false};
    std::atomic<bool> has_ended{false};
    std::thread first([&] {
        tbb::this_task_arena::enqueue([&] {
            runs = true;
            EXPECT_TRUE(comes([&] { return may_end.load(); }));
            has_ended = true;
        });
        EXPECT_TRUE(comes([&] { return runs.load(); }));
        ++finalizing;
        EXPECT_TRUE(comes([&] { return finalizes(); }));
        EXPECT_TRUE(has_ended);
    });
    EXPECT_TRUE(comes([&] { return runs.load(); }));
    std::thread second([&] {
        ++finalizing;
        EXPECT_TRUE(comes([&] { return finalizes(); }));
        EXPECT_TRUE(has_ended);
    });
    EXPECT_TRUE(comes([&] { return finalizing == 2; }));
    std::this_thread::sleep_for(100ms); // without the wait the second thread returns meanwhile
    may_end = true;
    first.join();
    second.join();
}

/// A thread that has a worker run a task, and then waits for the end of the pool.
class ending_thread {
public:
    ending_thread() : m_thread([this] { run(); }) {
        EXPECT_TRUE(comes([&] { return m_runs.load(); }));
    }
    ~ending_thread() {
        let_end();
        m_thread.join();
    }
    /// Its finalize() begins, and waits.
    void begin() {
        m_begins = true;
        EXPECT_TRUE(comes([&] { return sleeps_in_the_kernel(m_begun_on); }));
    }
    void let_end() { m_may_end = true; }
    [[nodiscard]] bool has_ended() const { return m_has_ended; }

private:
    void run() {
        tbb::this_task_arena::enqueue([&] {
            m_runs = true;
            EXPECT_TRUE(comes([&] { return m_may_end.load(); }));
        });
        EXPECT_TRUE(comes([&] { return m_begins.load(); }));
        m_begun_on = ::gettid();
        EXPECT_TRUE(comes([&] { return finalizes(); }));
        m_has_ended = true;
    }

    std::atomic<bool> m_runs{false};
    std::atomic<bool> m_begins{false};
    std::atomic<pid_t> m_begun_on{0};
    std::atomic<bool> m_may_end{false};
    std::atomic<bool> m_has_ended{false};
    std::thread m_thread;
};

TEST(tbb_control, finalize_waits_for_no_end_that_begins_later) {
    EXPECT_TRUE(finalizes()); // this thread uses no worker from here on
    ending_thread first;
    first.begin();
    std::atomic<bool> is_over{false};
    std::atomic<pid_t> waiting{0};
    std::thread waits([&] {
        waiting = ::gettid();
        EXPECT_TRUE(comes([] { return finalizes(); }));
        is_over = true;
    });
    EXPECT_TRUE(comes([&] { return sleeps_in_the_kernel(waiting); })); // for the first end
    ending_thread second;
    second.begin();
    EXPECT_FALSE(is_over);
    first.let_end();
    EXPECT_TRUE(comes([&] { return is_over && first.has_ended(); }));
    EXPECT_FALSE(second.has_ended());
    second.let_end();
    waits.join();
}

// --- threads, processes and errors -------------------------------------------------------------------------

TEST(tbb_threads, finalize_beside_other_threads) {
    std::atomic<int> rounds{0};
    std::atomic<bool> stop{false};
    std::thread other([&] {
        for (; !stop; ++rounds) {
            use_a_worker();
            tbb::parallel_for(0, 100, [](int) {});
        }
    });
    EXPECT_TRUE(comes([&] { return rounds > 0; }));
    for (int i = 0; i < 50; ++i) {
        EXPECT_FALSE(finalizes()); // the other thread uses the workers
    }
    stop = true;
    other.join();
    EXPECT_TRUE(finalizes());
}

TEST(tbb_threads, workers_that_end_leave_no_task_of_a_thread_that_comes) {
    EXPECT_TRUE(finalizes()); // this thread uses no worker from here on
    const int ended_before = workers_ended;
    std::atomic<bool> stop{false};
    std::thread ends([&] {
        while (!stop) {
            (void)finalizes();
        }
    });
    int rounds = 0;
    EXPECT_TRUE(comes([&] {
        std::thread(use_a_worker).join();
        return ++rounds >= 50 && workers_ended > ended_before;
    }));
    stop = true;
    ends.join();
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
    if (thread_sanitizer) {
        GTEST_SKIP() << "ThreadSanitizer lets no child of fork() have threads";
    }
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

/// The task of the worker goes on in the child, and waits there.
TEST(tbb_threads, a_child_process_of_a_worker_waits_for_a_mutex) {
    if (thread_sanitizer) {
        GTEST_SKIP() << "ThreadSanitizer lets no child of fork() have threads";
    }
    std::atomic<pid_t> child{-1};
    tbb::task_arena arena(2);
    arena.enqueue([&] {
        const pid_t forked = fork();
        if (forked == 0) {
            sigset_t none; // a worker blocks signals
            (void)sigemptyset(&none);
            (void)pthread_sigmask(SIG_SETMASK, &none, nullptr);
            (void)alarm(120);
            tbb::mutex mutex;
            mutex.lock();
            const pid_t waits = ::gettid();
            std::thread holds([&] {
                const bool has_waited = bool(comes([&] { return sleeps_in_the_kernel(waits); }));
                mutex.unlock();
                EXPECT_TRUE(has_waited);
            });
            mutex.lock();
            holds.join();
            _exit(testing::Test::HasFailure() ? 1 : 0);
        }
        child = forked;
    });
    ASSERT_TRUE(comes([&] { return child > 0; }));
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

TEST(tbb_errors, memory_that_does_not_exist) {
    if (thread_sanitizer || address_sanitizer) {
        GTEST_SKIP() << "a sanitizer's malloc ends the program";
    }
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

TEST(tbb_errors, an_error_of_the_library_ends_the_program_if_that_is_asked_for) {
    EXPECT_DEATH(
        {
            const tbb::global_control ends(tbb::global_control::terminate_on_exception, 1);
            tbb::parallel_for(0, 10, 0, [](int) {});
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
