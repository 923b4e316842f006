// Pools that record or have one lock have no seats for threads outside: attach() and run_until() block.
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "support/child.hpp"
#include "support/harness.hpp"

namespace {

using namespace support;

/// A setting that leaves a pool without seats: a variable of the environment, or an option.
struct reason {
    const char* name;
    const char* variable;
    const char* value;
    void (*choose)(pilfer::options&);
};
std::ostream& operator<<(std::ostream& out, const reason& r) { return out << r.name; }

class pool_without_slots : public testing::TestWithParam<reason> {
protected:
    /// In a child: `body` counts the errors, and prints each.
    template <class Body>
    static void in_such_a_process(Body body) {
        const auto result = in_child([&] {
            setenv(GetParam().variable, GetParam().value, 1);
            body();
            return testing::Test::HasFailure() ? 1 : 0;
        });
        EXPECT_TRUE(result.exited_with(0)) << result;
    }
    [[nodiscard]] static pilfer::options seats(unsigned n) {
        pilfer::options o;
        o.workers = 1;
        o.attachable = n;
        GetParam().choose(o);
        return o;
    }

private:
    watchdog m_watchdog{patience};
};
constexpr auto by_environment = [](pilfer::options&) {};
INSTANTIATE_TEST_SUITE_P(
    reasons, pool_without_slots,
    testing::Values(reason{"variable_profile", "PILFER_PROFILE", "/dev/null", by_environment},
                    reason{"variable_graph", "PILFER_PROFILE_GRAPH", "/dev/null", by_environment},
                    reason{"variable_backend", "PILFER_BACKEND", "one_lock", by_environment},
                    reason{"option_profile", "PILFER_BACKEND", "work_stealing",
                           [](pilfer::options& o) { o.debug.profile = true; }},
                    reason{"option_backend", "PILFER_BACKEND", "work_stealing",
                           [](pilfer::options& o) { o.backend = pilfer::backend::one_lock; }}),
    [](const auto& one) { return std::string(one.param.name); });

[[nodiscard]] long thread_now() { return syscall(SYS_gettid); }

TEST_P(pool_without_slots, an_attached_thread_blocks) {
    in_such_a_process([] {
        pilfer::pool pool(seats(1));
        const long me = thread_now();
        const pilfer::attachment here = pool.attach();
        EXPECT_THROW((void)pool.attach(), pilfer::usage_error);
        EXPECT_NE(pool.run(thread_now), me);
        EXPECT_NE(pool.async(thread_now).get(), me);
        EXPECT_EQ(pool.run([] { return fib_join(10) + fib_spawn(8); }), fib(10) + fib(8));
        pool.run([&] {
            EXPECT_THROW((void)pool.attach(), pilfer::usage_error);
            EXPECT_THROW(pool.run_until([] { return true; }), pilfer::usage_error);
            pool.notify();
        });
    });
}

TEST_P(pool_without_slots, other_wrong_options_are_errors_still) {
    in_such_a_process([] {
        EXPECT_THROW(pilfer::pool(seats(65)), std::invalid_argument);
        pilfer::pool none(seats(0));
        EXPECT_THROW((void)none.attach(), pilfer::usage_error);
        EXPECT_THROW(none.run_until([] { return true; }), pilfer::usage_error);
    });
}

/// The back-end that a pool names is not asked for in the environment: the attached thread works.
TEST(pool_with_slots, an_explicit_back_end_keeps_the_slots) {
    const auto result = in_child([] {
        setenv("PILFER_BACKEND", "one_lock", 1);
        pilfer::options o;
        o.workers = 1;
        o.attachable = 1;
        o.backend = pilfer::backend::work_stealing;
        std::atomic<bool> busy{false};
        std::atomic<bool> over{false};
        pilfer::pool pool(o);
        pool.submit([&] {
            busy = true;
            while (!over) {
                std::this_thread::yield();
            }
        });
        while (!busy) {
            std::this_thread::yield();
        }
        const pilfer::attachment here = pool.attach();
        const bool works = pool.run(thread_now) == thread_now();
        over = true;
        return works ? 0 : 1;
    });
    EXPECT_TRUE(result.exited_with(0)) << result;
}

TEST_P(pool_without_slots, run_until_is_woken_by_notify) {
    in_such_a_process([] {
        pilfer::pool pool(seats(1));
        for (std::uint64_t round = 0; round < hundredth_of(50'000, 50); ++round) {
            std::atomic<int> ran{0};
            std::atomic<bool> asked{false};
            // After the first question: at any moment before the sleep or in it.
            std::thread other([&] {
                while (!asked) {
                    std::this_thread::yield();
                }
                for (int i = 0; i < 3; ++i) {
                    pool.submit([&] {
                        ran.fetch_add(1);
                        pool.notify();
                    });
                }
            });
            pool.run_until([&] {
                asked = true;
                return ran == 3;
            });
            EXPECT_EQ(ran, 3); // a notification that is lost leaves it asleep for ever
            other.join();
        }
    });
}

/// Otherwise it would spin: each question after the first follows a notice, or a wake-up without a reason.
TEST_P(pool_without_slots, run_until_sleeps_between_calls_of_its_condition) {
    in_such_a_process([] {
        pilfer::pool pool(seats(1));
        std::atomic<std::uint64_t> asked{0};
        std::atomic<bool> over{false};
        std::thread main_loop([&] {
            pool.run_until([&] {
                asked.fetch_add(1);
                return over.load();
            });
        });
        while (asked == 0) {
            std::this_thread::yield();
        }
        for (int i = 0; i < 200; ++i) {
            pool.run([] {});
            std::this_thread::yield();
        }
        over = true;
        const std::uint64_t before = asked;
        EXPECT_LE(before, 10U);
        pool.notify();
        main_loop.join();
        EXPECT_LE(asked - before, 10U);
    });
}

TEST_P(pool_without_slots, the_condition_is_called_as_on_a_foreign_thread) {
    in_such_a_process([] {
        pilfer::pool pool(seats(1));
        struct spoiled {};
        const long me = thread_now();
        const pilfer::attachment here = pool.attach();
        int asked = 0;
        bool refused = false;
        pool.run_until([&] {
            EXPECT_EQ(thread_now(), me);
            EXPECT_EQ(pool.run([] { return 3; }), 3);
            EXPECT_THROW((void)pool.attach(), pilfer::usage_error);
            EXPECT_THROW(pool.run_until([] { return true; }), pilfer::usage_error) << "as with seats";
            try {
                pool.shutdown();
            } catch (const pilfer::usage_error&) {
                refused = true;
            }
            return ++asked > 0;
        });
        EXPECT_EQ(asked, 1) << "once is enough";
        EXPECT_TRUE(refused);
        EXPECT_THROW(pool.run_until([]() -> bool { throw spoiled(); }), spoiled);
        EXPECT_EQ(pool.run([] { return 5; }), 5);
    });
}

TEST_P(pool_without_slots, a_condition_may_fork) {
    in_such_a_process([] {
        pilfer::pool pool(seats(1));
        const auto child = in_child([&] {
            // The pool is its parent's.
            EXPECT_THROW((void)pool.attach(), pilfer::pool_forked);
            EXPECT_THROW(pool.run_until([] { return true; }), pilfer::pool_forked);
            return testing::Test::HasFailure() ? 1 : 0;
        });
        EXPECT_TRUE(child.exited_with(0)) << child;
        pid_t own = -1;
        bool thrown = false;
        try {
            pool.run_until([&own] {
                if (own == -1) {
                    own = fork();
                }
                return own != 0; // the condition is asked again in the child
            });
        } catch (const pilfer::pool_forked&) {
            thrown = true;
        }
        if (own == 0) {
            _exit(thrown ? 0 : 1);
        }
        EXPECT_FALSE(thrown);
        int status = -1;
        EXPECT_EQ(waitpid(own, &status, 0), own);
        EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
        EXPECT_EQ(pool.run([] { return fib(10); }), 55U);
    });
}

TEST_P(pool_without_slots, a_shutdown_ends_run_until) {
    in_such_a_process([] {
        for (const auto mode : {pilfer::shutdown_mode::drain, pilfer::shutdown_mode::drop}) {
            for (std::uint64_t round = 0; round < hundredth_of(5000, 10); ++round) {
                auto pool = std::make_unique<pilfer::pool>(seats(2));
                std::atomic<int> inside{0};
                const auto visit = [&] {
                    bool first = true;
                    pool->run_until([&] {
                        inside.fetch_add(std::exchange(first, false) ? 1 : 0);
                        return false;
                    });
                };
                std::thread a(visit);
                std::thread b(visit);
                while (inside != 2) {
                    std::this_thread::yield();
                }
                pool->shutdown(mode);
                a.join();
                b.join();
                EXPECT_NO_THROW(pool->run_until([] { return false; })) << "ends at once";
                const pilfer::attachment here = pool->attach();
                EXPECT_THROW(pool->run([] {}), pilfer::pool_closed);
            }
        }
    });
}

} // namespace
