// A program that uses pilfer and oneTBB: loops of both inside each other, in one pool. tbb_one_pool runs on a
// pool of its own, and with PILFER_WORKERS workers.
#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstdint>
#include <execution>
#include <filesystem>
#include <functional>
#include <mutex>
#include <numeric>
#include <ostream>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/mutex.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/parallel_invoke.h>
#include <oneapi/tbb/partitioner.h>
#include <oneapi/tbb/task.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>

#include <pilfer/pilfer.hpp>
#include <pilfer/trace.hpp>

#include <gtest/gtest.h>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "comes.hpp"
#include "sanitized.hpp"

namespace {

std::size_t threads_of_process() {
    const std::filesystem::directory_iterator all("/proc/self/task");
    return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

int count_of(const std::string& word, const std::string& text) {
    int n = 0;
    for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
        ++n;
    }
    return n;
}

/// Of the pool of this program: as many as PILFER_WORKERS says.
unsigned workers() { return pilfer::pool::common().workers(); }

/// Threads that ran something.
class seen_threads {
public:
    void note() {
        const std::lock_guard held(m_mutex);
        m_ids.insert(std::this_thread::get_id());
    }
    [[nodiscard]] std::size_t size() const { return m_ids.size(); }

private:
    std::mutex m_mutex;
    std::set<std::thread::id> m_ids;
};

/// A loop of oneTBB, with a parallel algorithm of libstdc++ in its body, with waits of pilfer in that one's.
long nested(int outer, int inner, seen_threads& seen) {
    pilfer::mutex lock;
    long sum = 0;
    tbb::parallel_for(0, outer, [&](int) {
        std::vector<int> v(static_cast<std::size_t>(inner), 1);
        std::for_each(std::execution::par, v.begin(), v.end(), [&](int x) {
            seen.note();
            const auto [a, b] = pilfer::join(
                [&] {
                    const std::lock_guard held(lock);
                    pilfer::yield();
                    return ++sum;
                },
                [x] { return x; });
            EXPECT_GE(a, b);
        });
    });
    return sum;
}

TEST(tbb_one_pool, loops_in_each_other_have_the_threads_of_the_pool) {
    seen_threads seen;
    const unsigned n = workers();
    const std::size_t before = threads_of_process();
    const long sum = pilfer::pool::common().run([&] { return nested(20, 50, seen); });
    EXPECT_EQ(sum, 1000);
    EXPECT_EQ(threads_of_process(), before);
    EXPECT_LE(seen.size(), n);
}

TEST(tbb_one_pool, a_loop_of_a_thread_outside_uses_the_pool) {
    seen_threads seen;
    const unsigned n = workers();
    const std::size_t before = threads_of_process();
    EXPECT_EQ(nested(20, 50, seen), 1000);
    EXPECT_EQ(threads_of_process(), before);
    EXPECT_LE(seen.size(), n + 1);
}

/// Thread-locals of oneTBB and of the program keep their values.
TEST(tbb_one_pool, a_body_that_waits_goes_on_on_its_thread) {
    std::atomic<int> moved{0};
    pilfer::mutex lock;
    const auto stays = [&](auto wait) {
        const auto here = std::this_thread::get_id();
        const int slot = tbb::this_task_arena::current_thread_index();
        wait();
        moved += std::this_thread::get_id() != here || tbb::this_task_arena::current_thread_index() != slot;
    };
    pilfer::pool::common().run([&] {
        pilfer::for_each(0, 8, [&](int) {
            tbb::parallel_for(0, 50, [&](int i) {
                stays([&] {
                    const std::lock_guard held(lock);
                    pilfer::yield();
                });
                stays([&] { EXPECT_EQ(pilfer::pool::common().async([i] { return i; }).get(), i); });
                stays([&] {
                    pilfer::scope children;
                    children.spawn([] { pilfer::yield(); }); // an idle worker may take the rest
                    tbb::parallel_for(0, 3, [](int) {});
                    children.sync();
                });
                stays([&] { pilfer::sleep_for(std::chrono::microseconds(1)); });
            });
        });
    });
    EXPECT_EQ(moved, 0);
}

/// The lock is held by a frame that another task of the same worker has to let go on.
TEST(tbb_one_pool, a_mutex_of_tbb_may_be_held_across_a_wait) {
    tbb::mutex lock;
    long sum = 0;
    pilfer::pool::common().run([&] {
        pilfer::for_each(0, 20, [&](int) {
            const tbb::mutex::scoped_lock held(lock);
            pilfer::yield();
            tbb::parallel_for(0, 10, [](int) {});
            ++sum;
        });
    });
    EXPECT_EQ(sum, 20);
}

/// Between run() and wait() the task of pilfer may continue on another thread.
TEST(tbb_one_pool, a_group_is_awaited_wherever_its_task_is) {
    const tbb::global_control one(tbb::global_control::max_allowed_parallelism, 1);
    std::atomic<int> ran{0};
    pilfer::pool::common().run([&] {
        pilfer::for_each(0, 20, [&](int) {
            tbb::task_group group;
            for (int i = 0; i < 10; ++i) {
                group.run([&] { ++ran; });
            }
            pilfer::yield();
            group.wait();
        });
    });
    EXPECT_EQ(ran, 200);
}

TEST(tbb_one_pool, a_suspended_task_of_tbb_holds_no_worker) {
    std::atomic<int> done{0};
    pilfer::pool::common().run([&] {
        tbb::parallel_for(0, 20, [&](int) {
            tbb::task::suspend([&](tbb::task::suspend_point p) {
                pilfer::pool::common().submit([p] { tbb::task::resume(p); });
            });
            ++done;
        });
    });
    EXPECT_EQ(done, 20);
}

TEST(tbb_one_pool, exceptions_pass_through_both) {
    const auto throws = [] {
        tbb::parallel_for(0, 100, [](int i) {
            pilfer::join([] {},
                         [i] {
                             if (i == 50) {
                                 throw std::out_of_range("fifty");
                             }
                         });
        });
    };
    EXPECT_THROW(throws(), std::out_of_range);
    EXPECT_THROW(pilfer::pool::common().run(throws), std::out_of_range);
}

/// A task of pilfer that is cancelled leaves by `stopped`, also out of a loop of oneTBB.
TEST(tbb_one_pool, a_cancelled_task_leaves_a_loop) {
    std::atomic<int> after{0};
    pilfer::pool::common().run([&] {
        pilfer::scope children;
        children.fork([&] {
            tbb::parallel_for(0, 2, [&](int) {
                children.cancel();
                pilfer::yield();
                tbb::parallel_for(0, 10, [](int) {});
            });
            pilfer::sleep_for(std::chrono::hours(1));
            ++after;
        });
        children.sync();
    });
    EXPECT_EQ(after, 0);
}

TEST(tbb_one_pool, a_pool_of_the_program_runs_the_jobs_of_its_tasks) {
    for (int round = 0; round < 5; ++round) {
        pilfer::options o;
        o.workers = 2;
        o.debug.trace_events = 4096;
        pilfer::pool p(o);
        const std::size_t with_pool = threads_of_process();
        seen_threads seen;
        EXPECT_EQ(p.run([&] { return nested(10, 20, seen); }), 200);
        EXPECT_LE(seen.size(), 2U);
        EXPECT_EQ(threads_of_process(), with_pool);
        std::ostringstream trace;
        pilfer::write_trace(p, trace);
        EXPECT_GE(count_of("\"yield\"", trace.str()), 200); // each body is in the trace of the pool
        // No job is left that the end would wait for, whether it has found a task or not.
        p.shutdown(round % 2 == 0 ? pilfer::shutdown_mode::drain : pilfer::shutdown_mode::drop);
    }
    std::atomic<int> ran{0};
    tbb::parallel_for(0, 100, [&](int) { ++ran; });
    EXPECT_EQ(ran, 100);
}

/// A millisecond of CPU time.
void compute() {
    for (const auto end = cpu_time() + std::chrono::milliseconds(1); cpu_time() < end;) {
    }
}

/// A pool that records runs all bodies on its one worker, whatever PILFER_WORKERS says.
TEST(tbb_one_pool, one_profile_and_one_trace_have_the_work_of_both) {
    pilfer::options o;
    o.debug.profile = true;
    o.debug.trace_events = 1U << 14;
    pilfer::pool p(o);
    seen_threads seen;
    constexpr int bodies = 10;
    p.run([&] {
        pilfer::join(
            [&] {
                compute();
                pilfer::yield();
            },
            [&] {
                tbb::parallel_for(0, bodies, [&](int) {
                    seen.note();
                    pilfer::join([] { compute(); }, [] { pilfer::yield(); });
                });
                std::vector<int> v(bodies);
                std::for_each(std::execution::par, v.begin(), v.end(), [&](int) {
                    seen.note();
                    compute();
                    pilfer::yield();
                });
            });
    });
    p.shutdown();
    EXPECT_EQ(seen.size(), 1U);
    const pilfer::work_span w = p.profile();
    EXPECT_TRUE(w.complete);
    EXPECT_GE(w.tasks, 1U + bodies); // what the joins of both forked
    constexpr std::uint64_t computed = (1 + 2 * bodies) * std::uint64_t{1'000'000};
    EXPECT_GE(w.work_ns, computed / 10 * 9);
    EXPECT_LE(w.span_ns, w.work_ns);
    std::ostringstream trace;
    pilfer::write_trace(p, trace);
    EXPECT_GE(count_of("\"yield\"", trace.str()), 1 + 2 * bodies);
}

/// What a recording counts, whatever the time. Only tasks that it knows to be parallel lie on no common
/// chain.
struct counts {
    std::uint64_t strands;
    std::uint64_t span_strands;
    std::uint64_t tasks;
    std::uint64_t span_tasks;

    friend bool operator==(const counts&, const counts&) = default;
    friend std::ostream& operator<<(std::ostream& out, const counts& c) {
        return out << c.strands << " strands, span " << c.span_strands << "; " << c.tasks << " tasks, span "
                   << c.span_tasks;
    }
};

counts recorded(auto f) {
    pilfer::options o;
    o.debug.profile = true;
    pilfer::pool p(o);
    p.run(f);
    p.shutdown();
    const pilfer::work_span w = p.profile();
    EXPECT_TRUE(w.complete);
    EXPECT_LE(w.span_ns, w.work_ns);
    return {w.strands, w.span_strands, w.tasks, w.span_tasks};
}

unsigned fib(unsigned n) {
    if (n < 2) {
        return n;
    }
    unsigned a = 0;
    tbb::task_group group;
    group.run([&] { a = fib(n - 1); });
    const unsigned b = fib(n - 2);
    group.wait();
    return a + b;
}

TEST(tbb_one_pool, a_profile_has_the_formula_of_fib_by_task_group) {
    for (unsigned n = 1; n <= 14; ++n) {
        const std::uint64_t groups = fib(n + 1) - 1;
        // A fork ends one strand and begins two, a wait joins two.
        EXPECT_EQ(recorded([n] { (void)fib(n); }), (counts{1 + 3 * groups, 2 * n - 1, 1 + groups, n})) << n;
    }
}

/// A range of `n` is halved until each part has one element.
void loop(unsigned n, auto body) {
    tbb::parallel_for(
        tbb::blocked_range<unsigned>(0, n), [&](const auto&) { body(); }, tbb::simple_partitioner());
}

TEST(tbb_one_pool, a_profile_has_work_span_and_tasks_of_a_loop) {
    for (const unsigned n : {2U, 4U, 5U, 16U, 37U}) {
        const auto halvings = static_cast<std::uint64_t>(std::bit_width(n - 1));
        // The calling task does one part itself. Its last strand follows the wait.
        EXPECT_EQ(recorded([n] { loop(n, [] {}); }), (counts{2 * n, halvings + 2, n, halvings + 1})) << n;
    }
    EXPECT_EQ(recorded([] { loop(1, [] {}); }), (counts{1, 1, 1, 1}));
}

TEST(tbb_one_pool, a_profile_has_two_loops_one_after_the_other) {
    // The strand after the first loop is the one before the second.
    EXPECT_EQ(recorded([] {
                  loop(4, [] {});
                  loop(4, [] {});
              }),
              (counts{15, 7, 7, 5}));
    // Each of the four strands that call the body is a loop.
    EXPECT_EQ(recorded([] { loop(4, [] { loop(4, [] {}); }); }), (counts{36, 7, 16, 5}));
}

/// A parallel algorithm makes parts as it likes.
TEST(tbb_one_pool, a_profile_has_algorithms_and_joins_inside_a_loop) {
    const counts c = recorded([] {
        loop(3, [] {
            std::vector<int> v(4);
            std::for_each(std::execution::par, v.begin(), v.end(), [](int) { pilfer::join([] {}, [] {}); });
        });
    });
    EXPECT_GE(c.tasks, 3U + 12);
    EXPECT_LT(c.span_strands, 1U + 2 * 12) << "that many if the joins follow each other";
}

/// Tasks of a group that tasks of the group add, and calls of several functions.
TEST(tbb_one_pool, a_profile_has_groups_that_grow_and_calls_of_several_functions) {
    // The root: fork, wait, and after it. A and B fork, C does not.
    EXPECT_EQ(recorded([] {
                  tbb::task_group group;
                  group.run([&] { group.run([&] { group.run([] {}); }); });
                  group.wait();
              }),
              (counts{8, 5, 4, 4}));
    const auto nothing = [] {};
    EXPECT_EQ(recorded([&] { tbb::parallel_invoke(nothing, nothing); }), (counts{4, 3, 2, 2}));
    const counts five = recorded([&] { tbb::parallel_invoke(nothing, nothing, nothing, nothing, nothing); });
    EXPECT_GE(five.tasks, 5U);
    EXPECT_LE(five.span_tasks, 4U);
}

TEST(tbb_one_pool, a_profile_has_tasks_that_are_suspended) {
    const auto body = [] {
        tbb::task::suspend(
            [](tbb::task::suspend_point p) { pilfer::pool::common().submit([p] { tbb::task::resume(p); }); });
    };
    EXPECT_EQ(recorded([&] { loop(5, body); }), (counts{10, 5, 5, 4})) << "as if none was";
}

/// The group cancels what has not begun, but its tasks end all the same.
TEST(tbb_one_pool, a_profile_has_tasks_that_throw_and_that_are_cancelled) {
    EXPECT_EQ(recorded([] {
                  tbb::task_group group;
                  group.run([] {});
                  group.run([] {});
                  group.run([] { throw std::out_of_range("first"); }); // the last one is the first to run
                  EXPECT_THROW(group.wait(), std::out_of_range);
                  loop(2, [] {});
              }),
              (counts{11, 7, 5, 3}));
}

/// Its jobs are no tasks of the program.
TEST(tbb_one_pool, a_profile_has_tasks_that_nobody_waits_for) {
    EXPECT_EQ(recorded([] {
                  tbb::task_arena arena(2);
                  pilfer::event done;
                  arena.enqueue([&] { done.set(); });
                  done.wait();
              }),
              (counts{3, 2, 2, 2}));
}

/// A loop of oneTBB waits by pilfer, so another task of its worker has an arena of its own, which the thread
/// keeps. The child of fork() has both.
TEST(tbb_one_pool, a_child_process_counts_all_arenas_of_its_thread) {
    if (thread_sanitizer) {
        GTEST_SKIP() << "ThreadSanitizer lets no child of fork() have threads";
    }
    pilfer::options o;
    o.workers = 1;
    pilfer::pool p(o);
    const auto loop = [](auto body) { tbb::parallel_for(0, 1, [&](int) { body(); }); };
    pid_t child = -1;
    p.run([&] {
        pilfer::event used;
        bool has_looped = false; // both tasks run on the one worker
        pilfer::scope both;
        both.fork([&] {
            used.wait();
            loop([] {});
            has_looped = true;
        });
        loop([&] {
            used.set();
            while (!has_looped) {
                pilfer::yield();
            }
            child = fork();
        });
        if (child == 0) {
            sigset_t none; // a worker blocks signals
            (void)sigemptyset(&none);
            (void)pthread_sigmask(SIG_SETMASK, &none, nullptr);
            (void)alarm(30);
            bool ended = true;
            std::thread([&] {
                tbb::task_scheduler_handle handle{tbb::attach{}};
                ended = tbb::finalize(handle, std::nothrow);
            }).join();
            _exit(ended ? 1 : 0); // one arena is left
        }
        both.sync();
    });
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

/// An arena whose jobs were dropped asks for others.
TEST(tbb_one_pool, a_pool_that_drops_its_tasks_loses_none_of_tbb) {
    std::atomic<int> ran{0};
    tbb::task_arena arena(2);
    tbb::task_group group;
    {
        pilfer::options o;
        o.workers = 1;
        pilfer::pool p(o);
        pilfer::event go;
        std::atomic<bool> given{false};
        p.submit([&] {
            arena.execute([&] { group.run([&] { ++ran; }); });
            for (int i = 0; i < 10; ++i) {
                arena.enqueue([&] { ++ran; });
            }
            given = true;
            go.wait();
        });
        EXPECT_TRUE(comes([&] { return given.load(); }));
        std::thread opens([&] { go.set(); });
        p.shutdown(pilfer::shutdown_mode::drop);
        opens.join();
    }
    arena.execute([&] { group.wait(); });
    arena.enqueue([&] { ++ran; });
    EXPECT_TRUE(comes([&] { return ran == 12; })) << ran << " tasks ran";
}

/// One worker has a suspended branch of a `join`, which is no job of an arena, when a job on it waits for the
/// mutex that the parent of the branch holds. In a process of its own: the tasks run in the library's pool.
TEST(tbb_own_pool, a_branch_of_pilfer_goes_on_while_a_job_waits_for_its_parent) {
    const tbb::global_control two_workers(tbb::global_control::max_allowed_parallelism, 3);
    tbb::task_arena first(2);
    tbb::task_arena second(2);
    tbb::mutex of_parent;
    tbb::mutex of_branch;
    std::atomic<int> step{0};
    std::atomic<bool> parent_is_done{false};
    std::atomic<bool> job_is_done{false};
    of_branch.lock();
    first.enqueue([&] {
        {
            const tbb::mutex::scoped_lock held(of_parent);
            pilfer::join(
                [&] {
                    while (step == 0) { // until the other worker has taken the branch
                        pilfer::join([] {}, [] {});
                    }
                    while (step != 2) {
                        std::this_thread::yield();
                    }
                },
                [&] {
                    step = 1;
                    const tbb::mutex::scoped_lock inside(of_branch);
                    step = 2;
                });
        }
        parent_is_done = true;
    });
    while (step != 1) {
        std::this_thread::yield();
    }
    second.enqueue([&] {
        { const tbb::mutex::scoped_lock held(of_parent); }
        job_is_done = true;
    });
    // Time for the job to begin to wait. If it is late, the test shows less.
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    of_branch.unlock();
    EXPECT_TRUE(comes([&] { return parent_is_done && job_is_done; }));
}

/// The rest of a body goes on on another worker after a spawn, and returns for the sync.
TEST(tbb_own_pool, a_body_of_pilfer_returns_while_a_job_waits_for_it) {
    const tbb::global_control two_workers(tbb::global_control::max_allowed_parallelism, 3);
    tbb::task_arena first(2);
    tbb::task_arena second(2);
    tbb::mutex of_body;
    std::atomic<bool> has_moved{false};
    std::atomic<bool> job_begins{false};
    std::atomic<bool> body_is_done{false};
    std::atomic<bool> job_is_done{false};
    first.enqueue([&] {
        {
            const tbb::mutex::scoped_lock held(of_body);
            pilfer::scope children(pilfer::resume::own_thread);
            children.spawn([&] {
                while (!has_moved) { // until the other worker has taken the rest
                    pilfer::join([] {}, [] {});
                }
            });
            has_moved = true;
            while (!job_begins) {
                std::this_thread::yield();
            }
            // Time for the job to begin to wait. If it is late, the test shows less.
            std::this_thread::sleep_for(std::chrono::milliseconds(50));
            children.sync();
        }
        body_is_done = true;
    });
    while (!has_moved) {
        std::this_thread::yield();
    }
    second.enqueue([&] {
        job_begins = true;
        { const tbb::mutex::scoped_lock held(of_body); }
        job_is_done = true;
    });
    EXPECT_TRUE(comes([&] { return body_is_done && job_is_done; }));
}

/// Also run in a process of its own, where the common pool does not exist yet.
TEST(tbb_own_pool, a_pool_of_the_library_ends_when_the_program_uses_the_common_one) {
    const auto loop = [] { tbb::parallel_for(0, 100, [](int) { std::this_thread::yield(); }); };
    loop();
    // This thread, one that waits for the other pool's end, and one of ThreadSanitizer.
    const std::size_t expected = workers() + 2 + (thread_sanitizer ? 1 : 0);
    EXPECT_TRUE(comes([&] {
        loop();
        return threads_of_process() <= expected;
    })) << threads_of_process()
        << " threads";
}

/// In a process of its own: the program has closed the common pool, so no task of that ends the library's.
TEST(tbb_closed_pool, workers_that_queue_tasks_end_no_pool) {
    pilfer::pool::common().shutdown();
    constexpr int chains = 4;
    constexpr int steps = 3000;
    tbb::task_arena arenas[chains + 1]; // a worker asks for another one in the next arena
    std::atomic<int> ended{0};
    const std::function<void(int, int)> go = [&](int chain, int step) {
        if (step == steps) {
            ++ended;
        } else {
            arenas[(chain + step) % (chains + 1)].enqueue([&go, chain, step] { go(chain, step + 1); });
        }
    };
    for (int i = 0; i < chains; ++i) {
        go(i, 0);
    }
    EXPECT_TRUE(comes([&] { return ended == chains; }));
}

} // namespace
