// The sanitizers must keep seeing errors of tasks. All other tests show that they report no false ones.
// Without a sanitizer, only the correct twin is left to test here.
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <memory>

#include "context/moved.hpp"

namespace {

[[nodiscard]] pilfer::options with_workers(unsigned n) {
    pilfer::options o;
    o.workers = n;
    return o;
}

/// Runs `body` in a pool and ends the process. ThreadSanitizer makes the exit code 66 if it reported.
template <class Body>
[[noreturn]] void alone(unsigned workers, Body body) {
    {
        pilfer::pool pool(with_workers(workers));
        pool.run(body);
    }
    std::exit(0);
}

class sanitizers : public testing::Test {
protected:
    void SetUp() override {
        // Each case is the first in its process, so that no thread exists when it forks.
        GTEST_FLAG_SET(death_test_style, "fast");
    }
};

// Relaxed: one side waits for the other, and yet neither happens before the other. Without it the two
// accesses may be simultaneous, and those ThreadSanitizer can miss: it looks and writes in two steps.
// On a line of its own, because ThreadSanitizer remembers four accesses to eight bytes: those to a flag
// beside the variable would push out the one that it is to report.
struct alignas(64) meeting {
    std::atomic<bool> there{false};
    void arrive() noexcept { there.store(true, std::memory_order_relaxed); }
    void wait() const noexcept {
        while (!there.load(std::memory_order_relaxed)) {
            usleep(100);
        }
    }
};

TEST_F(sanitizers, accept_children_that_are_awaited) {
    EXPECT_EXIT(alone(2,
                      [] {
                          int x = 0;
                          pilfer::scope s;
                          for (int i = 0; i < 100; ++i) {
                              s.spawn([&x] { ++x; });
                              s.sync();
                              ++x;
                              s.fork([&x] { ++x; });
                              s.sync();
                              ++x;
                              pilfer::join([&x] { ++x; }, [] {});
                              ++x;
                          }
                          std::exit(x == 600 ? 0 : 1);
                      }),
                testing::ExitedWithCode(0), "");
}

[[nodiscard]] std::uint64_t leaves(std::uint64_t first, std::uint64_t last) {
    const std::uint64_t n = last - first;
    if (n == 1) {
        return 1;
    }
    const std::uint64_t middle = first + 1 + (first * 31 + last) * 0x9e3779b97f4a7c15U % (n - 1);
    std::uint64_t a = 0;
    pilfer::scope s;
    s.spawn([&a, first, middle] { a = leaves(first, middle); });
    const std::uint64_t b = leaves(middle, last);
    s.sync();
    return a + b;
}

// Hardly any of such large stacks is kept: contexts are discarded all the time. Others are placed with other
// colours, so that their stacks cover the old records. Their last look at those records must not be reported.
TEST_F(sanitizers, accept_contexts_that_are_discarded_and_placed_anew) {
    const auto trees = [] {
        pilfer::options o = with_workers(2);
        o.stack_size = std::size_t{4} << 20;
        o.resume = pilfer::resume::elsewhere; // joins move all the time, and many stacks are in use
        pilfer::pool pool(o);
        bool right = true;
        for (int round = 0; round < 5; ++round) {
            right = pool.run([] { return leaves(0, 4000); }) == 4000 && right;
        }
        pool.shutdown();
        std::exit(right ? 0 : 1);
    };
    EXPECT_EXIT(trees(), testing::ExitedWithCode(0), "");
}

// One task makes the value and returns it; another one of this thread uses it next.
TEST_F(sanitizers, accept_a_worker_local_value_that_another_task_of_the_thread_has_made) {
    EXPECT_EXIT(alone(1,
                      [] {
                          pilfer::worker_local<long> counts;
                          pilfer::event counted;
                          long all = 0;
                          {
                              pilfer::scope s;
                              s.fork([&] {
                                  ++*counts.lease();
                                  counted.set();
                              });
                              counted.wait();
                              ++*counts.lease();
                              s.sync();
                          }
                          counts.for_each([&all](long n) { all += n; });
                          std::exit(all == 2 ? 0 : 1);
                      }),
                testing::ExitedWithCode(0), "");
}

// The condition is asked on the thread's own stack, the tasks that it runs meanwhile have stacks of their
// own.
TEST_F(sanitizers, accept_a_condition_of_run_until_and_tasks_that_submit_on_one_thread) {
    const auto both = [] {
        pilfer::options attachable = with_workers(1);
        attachable.attachable = 1;
        pilfer::options bounded = with_workers(1);
        bounded.queue_capacity = 4;
        bounded.when_full = pilfer::when_full::wait;
        pilfer::pool a(attachable);
        pilfer::pool b(bounded);
        constexpr int tasks = 300;
        std::atomic<int> ended{0};
        std::atomic<bool> go{false};
        a.submit([&go] { // keeps the worker
            while (!go) {
                usleep(100);
            }
        });
        for (int i = 0; i < tasks; ++i) {
            a.submit([&] {
                b.run([] {});
                if (++ended == tasks) {
                    go = true;
                    a.notify();
                }
            });
        }
        a.run_until([&ended] { return ended == tasks; });
        a.shutdown();
        b.shutdown();
        std::exit(0);
    };
    EXPECT_EXIT(both(), testing::ExitedWithCode(0), "");
}

TEST_F(sanitizers, accept_a_pool_and_the_common_pool_that_two_tasks_of_one_thread_make) {
    EXPECT_EXIT(alone(1,
                      [] {
                          pilfer::event made;
                          pilfer::scope s;
                          s.fork([&made] {
                              pilfer::pool::common().run([] {});
                              made.set();
                          });
                          made.wait();
                          { pilfer::pool other(with_workers(1)); }
                          s.sync();
                      }),
                testing::ExitedWithCode(0), "");
}

// A guest's thread blocks no signals: they come on the stacks of its tasks.
TEST_F(sanitizers, accept_a_dump_signal_on_two_stacks_of_one_thread) {
    const auto both = [] {
        std::signal(SIGUSR2, [](int) {}); // is called by the pool's handler
        pilfer::options o = with_workers(1);
        o.attachable = 1;
        o.debug.dump_signal = SIGUSR2;
        pilfer::pool p(o);
        std::atomic<int> ended{0};
        std::atomic<bool> go{false};
        p.submit([&go] { // keeps the worker
            while (!go) {
                usleep(100);
            }
        });
        for (int i = 0; i < 2; ++i) {
            p.submit([&] {
                pilfer::yield();
                (void)std::raise(SIGUSR2);
                pilfer::yield();
                if (++ended == 2) {
                    go = true;
                    p.notify();
                }
            });
        }
        p.run_until([&ended] {
            (void)std::raise(SIGUSR2);
            return ended == 2;
        });
        p.shutdown();
        std::exit(0);
    };
    EXPECT_EXIT(both(), testing::ExitedWithCode(0), "");
}

/// Its result is on the heap, and only the caller's frame has its address.
[[nodiscard]] PILFER_NOINLINE std::unique_ptr<int> on_the_heap(int n) { return std::make_unique<int>(n); }

/// Leaves a task of the common pool that no code waits for. It is asleep when this returns.
void leave_a_task_asleep() {
    static std::atomic<bool> there{false};
    pilfer::pool::common().submit([] {
        const auto kept = on_the_heap(5);
        there = true;
        pilfer::sleep_for(std::chrono::hours(1));
        std::_Exit(*kept);
    });
    while (!there) {
        usleep(100);
    }
    usleep(50'000);
}

TEST_F(sanitizers, accept_memory_of_a_sleeping_task_of_the_common_pool_at_exit) {
    const auto end = [] {
        leave_a_task_asleep();
        std::exit(0);
    };
    EXPECT_EXIT(end(), testing::ExitedWithCode(0), "");
}

// ThreadSanitizer lets no child of fork() that has threads make any, and qemu-user aborts in one that does.
#if !defined(PILFER_TSAN) && !defined(PILFER_TEST_EMULATED)
TEST_F(sanitizers, accept_the_common_pool_of_the_parent_in_a_child_of_fork) {
    const auto end = [] {
        leave_a_task_asleep();
        const pid_t child = fork();
        if (child == 0) {
            pilfer::pool::common().run([] {});
            std::exit(0);
        }
        int status = 0;
        waitpid(child, &status, 0);
        std::_Exit(WIFEXITED(status) ? WEXITSTATUS(status) : 255);
    };
    EXPECT_EXIT(end(), testing::ExitedWithCode(0), "");
}
#endif

#if defined(PILFER_TSAN)

TEST_F(sanitizers, report_a_race_of_child_and_parent_on_one_thread) {
    EXPECT_EXIT(alone(1,
                      [] {
                          volatile int x = 0;
                          pilfer::scope s;
                          s.spawn([&x] { x = 1; });
                          x = 2;
                          s.sync();
                      }),
                testing::ExitedWithCode(66), "data race");
}

TEST_F(sanitizers, report_a_race_of_child_and_stolen_parent) {
    EXPECT_EXIT(alone(2,
                      [] {
                          volatile int x = 0;
                          meeting written;
                          meeting stolen;
                          pilfer::scope s;
                          s.spawn([&] {
                              x = 1;
                              written.arrive();
                              stolen.wait();
                          });
                          written.wait();
                          x = 2;
                          stolen.arrive();
                          s.sync();
                      }),
                testing::ExitedWithCode(66), "data race");
}

TEST_F(sanitizers, report_a_race_of_two_branches) {
    EXPECT_EXIT(alone(2,
                      [] {
                          volatile int x = 0;
                          meeting written;
                          meeting stolen;
                          pilfer::join(
                              [&] {
                                  x = 1;
                                  written.arrive();
                                  stolen.wait();
                              },
                              [&] {
                                  written.wait();
                                  x = 2;
                                  stolen.arrive();
                              });
                      }),
                testing::ExitedWithCode(66), "data race");
}

TEST_F(sanitizers, report_a_race_of_forked_child_and_parent) {
    EXPECT_EXIT(alone(2,
                      [] {
                          volatile int x = 0;
                          meeting m;
                          pilfer::scope s;
                          s.fork([&] {
                              x = 1;
                              m.arrive();
                          });
                          m.wait();
                          x = 2;
                          s.sync();
                      }),
                testing::ExitedWithCode(66), "data race");
}

#endif
#if defined(PILFER_ASAN)

/// Not inlined, so that its array is surrounded by red zones on its caller's stack.
[[nodiscard]] PILFER_NOINLINE int beyond(int n) {
    asm volatile("" : "+r"(n));
    volatile int a[4] = {1, 2, 3, 4};
    return a[n];
}

TEST_F(sanitizers, report_a_child_that_reads_beyond_its_array) {
    EXPECT_DEATH(alone(1,
                       [] {
                           int sum = 0;
                           pilfer::scope s;
                           s.spawn([&sum] { sum = beyond(4); });
                           s.sync();
                           std::exit(sum == 0 ? 0 : 2);
                       }),
                 "stack-buffer-overflow|out of bounds");
}

TEST_F(sanitizers, report_a_task_that_moved_and_reads_beyond_its_array) {
    EXPECT_DEATH(alone(2,
                       [] {
                           moved::flag stolen;
                           pilfer::scope s;
                           s.spawn([&] { stolen.spin(); });
                           const int sum = beyond(4);
                           stolen.raise();
                           s.sync();
                           std::exit(sum == 0 ? 0 : 2);
                       }),
                 "stack-buffer-overflow|out of bounds");
}

// The stack of the task still holds the address, but no task is on it.
TEST_F(sanitizers, report_memory_that_a_task_of_the_common_pool_has_leaked) {
    const auto end = [] {
        leave_a_task_asleep();
        pilfer::pool::common().run([] {
            volatile auto lost = reinterpret_cast<std::uintptr_t>(on_the_heap(7).release());
            (void)lost;
        });
        usleep(200'000); // until its worker is asleep
        std::exit(0);
    };
    EXPECT_DEATH(end(), "LeakSanitizer");
}

#endif

} // namespace
