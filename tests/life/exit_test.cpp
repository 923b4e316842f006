// The end of the program: static pools, exit() from any place, threads that keep running meanwhile.
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <latch>
#include <memory>
#include <optional>
#include <random>

#include "life/life.hpp"

namespace {

using namespace std::chrono_literals;
using life::fib;
using life::workers;
using support::child_result;
using support::in_child;

class program_exit : public ::testing::Test {
    support::watchdog m_end{240};
};

void say(const char* text) { (void)!write(2, text, std::strlen(text)); }

/// Long enough to be at work when the program ends.
void work_for_ever(pilfer::pool& p) {
    for (int i = 0; i < 8; ++i) {
        p.submit([] {
            for (;;) {
                (void)fib(15);
                pilfer::yield();
            }
        });
    }
}

TEST_F(program_exit, a_static_pool_runs_what_it_has_accepted_and_is_joined) {
    for (const unsigned n : {1U, 3U, 8U}) {
        const auto r = in_child([n] {
            static pilfer::pool p(workers(n));
            for (int i = 0; i < 100; ++i) {
                p.submit([i] {
                    (void)fib(10);
                    if (i == 99) {
                        say("the last one has run\n");
                    }
                });
            }
            std::exit(3);
            return 0;
        });
        EXPECT_TRUE(r.exited_with(3)) << r;
        EXPECT_TRUE(r.said("the last one has run")) << r;
    }
}

/// Made before the pools that it uses, and so destroyed after them.
TEST_F(program_exit, static_pools_that_use_each_other) {
    const auto r = in_child([] {
        static pilfer::pool first(workers(2));
        static pilfer::pool second(workers(2));
        second.submit([] {
            for (int i = 0; i < 20; ++i) {
                (void)first.run([] { return fib(8); });
            }
            say("both\n");
        });
        std::exit(3);
        return 0;
    });
    EXPECT_TRUE(r.exited_with(3)) << r;
    EXPECT_TRUE(r.said("both")) << r;
}

/// It runs on a thread that the destructor of the pool would have to join.
TEST_F(program_exit, called_by_a_task_of_a_static_pool) {
    for (const unsigned n : {1U, 2U, 8U}) {
        const auto r = in_child([n] {
            static pilfer::pool p(workers(n));
            work_for_ever(p);
            p.run([] { std::exit(4); });
            return 0;
        });
        EXPECT_TRUE(r.exited_with(4)) << r;
        EXPECT_EQ(r.output, "");
    }
}

/// A static pool does not wait if the calling task may be the one that it would wait for.
TEST_F(program_exit, called_by_a_task_of_another_pool) {
    auto r = in_child([] {
        static pilfer::pool p(workers(2));
        work_for_ever(p);
        pilfer::pool mine(workers(2));
        mine.run([] { std::exit(5); });
        return 0;
    });
    EXPECT_TRUE(r.exited_with(5)) << r;
    r = in_child([] {
        work_for_ever(pilfer::pool::common());
        pilfer::async([] { std::exit(6); }).wait();
        return 0;
    });
    EXPECT_TRUE(r.exited_with(6)) << r;
}

pilfer::pool& outer() {
    static pilfer::pool p(workers(2));
    return p;
}
pilfer::pool& middle() {
    static pilfer::pool p(workers(1));
    return p;
}
pilfer::pool& inner() {
    static pilfer::pool p(workers(2));
    return p;
}

pilfer::task<> exits_as_coroutine() {
    co_await pilfer::resume_after(1ms);
    std::exit(4);
}

/// Frames of the outer pools wait for the task that ends the program.
TEST_F(program_exit, called_by_a_task_that_static_pools_wait_for) {
    using way = void (*)();
    const way ways[] = {
        [] { outer().run([] { inner().run([] { std::exit(4); }); }); },
        [] { outer().run([] { middle().run([] { inner().run([] { std::exit(4); }); }); }); },
        [] { outer().run([] { inner().async([] { std::exit(4); }).get(); }); },
        [] { outer().run([] { inner().run(exits_as_coroutine()); }); },
        [] { outer().run([] { pilfer::pool::common().run([] { std::exit(4); }); }); },
        [] { pilfer::pool::common().run([] { outer().run([] { std::exit(4); }); }); },
        [] { outer().run([] { pilfer::blocking([] { std::exit(4); }); }); },
        [] { outer().run([] { inner().run([] { pilfer::blocking([] { std::exit(4); }); }); }); },
        [] {
            outer().run([] {
                inner().run([] {
                    pilfer::scope s;
                    s.fork([] { pilfer::sleep_for(100s); });
                    std::exit(4);
                });
            });
        },
    };
    for (std::size_t i = 0; i < std::size(ways); ++i) {
        const auto r = in_child(
            [f = ways[i]] {
                f();
                return 0;
            },
            60);
        EXPECT_TRUE(r.exited_with(4)) << i << ": " << r;
    }
}

TEST_F(program_exit, called_by_a_condition_of_run_until) {
    const auto r = in_child(
        [] {
            pilfer::options o = workers(2);
            o.attachable = 1;
            static pilfer::pool p(o);
            p.submit([] { pilfer::sleep_for(100s); });
            p.run_until([]() -> bool { std::exit(4); });
            return 0;
        },
        60);
    EXPECT_TRUE(r.exited_with(4)) << r;
}

/// That is no end of the program: the pool is drained as usual.
TEST_F(program_exit, a_task_of_another_pool_may_end_a_static_pool_before) {
    const auto r = in_child([] {
        static std::optional<pilfer::pool> p;
        p.emplace(workers(2));
        p->submit([] {
            pilfer::sleep_for(20ms);
            say("drained\n");
        });
        pilfer::pool mine(workers(2));
        mine.run([] { p.reset(); });
        say("over\n");
        std::_Exit(4);
        return 0;
    });
    EXPECT_TRUE(r.exited_with(4)) << r;
    EXPECT_EQ(r.output, "drained\nover\n");
}

TEST_F(program_exit, while_unended_pools_work) {
    const auto r = in_child([] {
        for (int i = 0; i < 3; ++i) {
            auto* p = new pilfer::pool(workers(2)); // never deleted
            work_for_ever(*p);
        }
        work_for_ever(pilfer::pool::common());
        std::exit(7);
        return 0;
    });
    EXPECT_TRUE(r.exited_with(7)) << r;
}

TEST_F(program_exit, quick_exit_and_Exit_do_not_wait) {
    for (const bool by_task : {false, true}) {
        for (void (*const leave)(int) : {+[](int n) { std::quick_exit(n); }, +[](int n) { std::_Exit(n); }}) {
            const auto r = in_child([=] {
                static pilfer::pool p(workers(2));
                work_for_ever(p);
                if (by_task) {
                    p.run([leave] { leave(8); });
                }
                leave(8);
                return 0;
            });
            EXPECT_TRUE(r.exited_with(8)) << r;
        }
    }
}

TEST_F(program_exit, a_pool_made_by_a_static_destructor) {
    const auto r = in_child([] {
        struct late {
            ~late() {
                pilfer::pool p(workers(2));
                if (p.run([] { return fib(10); }) == 55 && fib(10) == 55) {
                    say("even then\n");
                }
            }
        };
        static late object;
        (void)object;
        std::exit(9);
        return 0;
    });
    EXPECT_TRUE(r.exited_with(9) && r.said("even then")) << r;
}

/// Still an error: the program has not ended, and the thread cannot join itself.
TEST_F(program_exit, a_pool_of_the_heap_that_its_task_destroys_is_an_error) {
    const auto r = in_child([] {
        auto* p = new pilfer::pool(workers(2));
        p->run([p] { delete p; });
        return 0;
    });
    EXPECT_TRUE(r.killed_by(SIGABRT) && r.said("destroyed by one of its own tasks")) << r;
}

/// Threads outside all pools that use the library beside the end of the program.
TEST_F(program_exit, at_random_moments_under_load) {
    if (!life::children_may_have_threads) {
        GTEST_SKIP() << "for ThreadSanitizer a thread that has ended and is not joined yet is a leak";
    }
    std::minstd_rand random(7);
    for (std::uint64_t i = 0; i < support::hundredth_of(10'000, 20); ++i) {
        const auto after = std::chrono::microseconds(random() % 4000);
        const unsigned how = random() % 4;
        const child_result r = in_child(
            [after, how] {
                static pilfer::pool p(workers(3));
                for (int k = 0; k < 50; ++k) {
                    p.submit([] { (void)fib(8); });
                }
                auto* const load = new life::busy(2); // never joined
                (void)load;
                std::this_thread::sleep_for(after);
                if (how == 1) {
                    p.run([] { std::exit(3); });
                } else if (how == 2) {
                    std::quick_exit(3);
                } else if (how == 3) {
                    pilfer::async([] { std::exit(3); }).wait();
                }
                std::exit(3);
                return 0;
            },
            60);
        ASSERT_TRUE(r.exited_with(3)) << i << ", " << how << " behind " << after.count() << " us: " << r;
    }
}

} // namespace
