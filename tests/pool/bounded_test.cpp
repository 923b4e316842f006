// Bounded queues of submissions, and names of tasks.
#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "sync/support.hpp"
#include "waits/waits.hpp"

namespace {

using namespace std::chrono_literals;
using namespace support;
using sync_tests::until_suspended;
using testing::HasSubstr;
using testing::Not;

/// All workers of a pool are inside tasks until it is opened.
class closed_gate {
public:
    explicit closed_gate(pilfer::pool& pool) {
        for (unsigned i = 0; i < pool.workers(); ++i) {
            pool.submit([this] {
                m_inside.fetch_add(1);
                while (!m_open) {
                    std::this_thread::yield();
                }
                m_inside.fetch_sub(1);
            });
        }
        EXPECT_TRUE(eventually([&] { return m_inside == pool.workers(); }));
    }
    ~closed_gate() {
        open();
        EXPECT_TRUE(eventually([&] { return m_inside == 0; }));
    }
    void open() { m_open = true; }

private:
    std::atomic<unsigned> m_inside{0};
    std::atomic<bool> m_open{false};
};

class bounded_queue : public over_workers {
protected:
    [[nodiscard]] static pilfer::options bounded(pilfer::when_full what, std::size_t capacity) {
        pilfer::options o = with_workers();
        o.when_full = what;
        o.queue_capacity = capacity;
        return o;
    }
};

TEST_P(bounded_queue, a_submission_to_a_full_queue_waits_for_room) {
    pilfer::pool pool(bounded(pilfer::when_full::wait, 2));
    pilfer::pool other(workers(1));
    std::atomic<unsigned> ran{0};
    std::atomic<unsigned> through{0};
    const auto task = [&] { ran.fetch_add(1); };
    const auto submit = [&] {
        pool.submit(task);
        through.fetch_add(1);
    };
    closed_gate gate(pool);
    pool.submit(task);
    pool.submit(task);
    std::ostringstream dump;
    pool.dump(dump);
    EXPECT_THAT(dump.str(), HasSubstr("submissions: 2 of at most 2"));
    // A task of another pool suspends, and its worker is free.
    const auto suspended = other.async(submit);
    until_suspended(other, 1);
    EXPECT_EQ(other.run([] { return 7; }), 7);
    dump.str("");
    other.dump(dump);
    EXPECT_THAT(dump.str(), HasSubstr("waits for room in a pool's queue"));
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; ++i) {
        threads.emplace_back(submit);
    }
    EXPECT_EQ(through, 0U) << "somebody came in though the queue is full";
    gate.open();
    suspended.get();
    for (auto& t : threads) {
        t.join();
    }
    EXPECT_EQ(through, 4U);
    pool.shutdown();
    EXPECT_EQ(ran, 6U);
}

TEST_P(bounded_queue, a_submission_to_a_full_queue_fails) {
    std::atomic<unsigned> inside{0};
    std::atomic<bool> open{false};
    std::atomic<unsigned> ran{0};
    const auto held = std::make_shared<int>(1);
    const auto task = [&ran, held] { ran.fetch_add(1); };
    const auto coroutine = [](std::atomic<unsigned>& r) -> pilfer::task<void> {
        r.fetch_add(1);
        co_return;
    };
    pilfer::pool pool(bounded(pilfer::when_full::fail, 2));
    const auto comes_in = [&](auto f) {
        try {
            pool.submit(f);
            return true;
        } catch (const pilfer::queue_full&) {
            return false;
        }
    };
    while (inside < pool.workers()) { // from then on no worker takes a task
        (void)comes_in([&] {
            inside.fetch_add(1);
            while (!open) {
                std::this_thread::yield();
            }
        });
    }
    unsigned accepted = 0;
    while (comes_in(task)) {
        ++accepted;
    }
    const auto holders = held.use_count();
    EXPECT_THROW(pool.submit(task), pilfer::queue_full);
    EXPECT_THROW((void)pool.async(task), pilfer::queue_full);
    EXPECT_THROW(pool.run(task), pilfer::queue_full);
    EXPECT_THROW(pool.submit(coroutine(ran)), pilfer::queue_full);
    EXPECT_THROW((void)pool.async(coroutine(ran)), pilfer::queue_full);
    EXPECT_THROW(pool.run(coroutine(ran)), pilfer::queue_full);
    EXPECT_EQ(held.use_count(), holders) << "a task that was refused was kept";
    // Tasks that continue work are admitted: an alarm, and a continuation.
    {
        const auto alarm = pilfer::after(pool, 1us, task);
        pilfer::promise<void> promise;
        const auto behind = promise.get_future().then(pool, task);
        promise.set_value();
        open = true;
        behind.get();
        EXPECT_TRUE(eventually([&] { return alarm.over(); }));
    }
    EXPECT_TRUE(eventually([&] { return comes_in(task); }));
    pool.shutdown();
    EXPECT_THROW(pool.submit(task), pilfer::pool_closed);
    EXPECT_EQ(ran, accepted + 3);
    EXPECT_EQ(held.use_count(), 2) << "a task was kept"; // held's own and task's
}

TEST_P(bounded_queue, a_pool_never_waits_for_its_own_queue) {
    for (const auto full : {pilfer::when_full::wait, pilfer::when_full::fail}) {
        pilfer::options o = bounded(full, 1);
        o.max_contexts = GetParam() + 1; // its blocking() leaves one stack
        pilfer::pool pool(o);
        std::atomic<unsigned> ran{0};
        pool.run([&] {
            for (int i = 0; i < 50; ++i) {
                pool.submit([&] { ran.fetch_add(1); });
                (void)pool.async([&] { ran.fetch_add(1); });
            }
            // On a thread that is none of its workers, and which one of its tasks waits for.
            pilfer::blocking([&] {
                for (int i = 0; i < 50; ++i) {
                    pool.submit([&] { ran.fetch_add(1); });
                    pool.run([&] { ran.fetch_add(1); });
                }
            });
        });
        pool.shutdown();
        EXPECT_EQ(ran, 200U);
    }
}

TEST_P(bounded_queue, two_pools_that_fill_each_other_make_progress) {
    pilfer::options o = bounded(pilfer::when_full::wait, 1);
    pilfer::pool a(o);
    pilfer::pool b(o);
    std::atomic<unsigned> ran{0};
    const auto fill = [&ran](pilfer::pool& there) {
        for (int i = 0; i < 20; ++i) {
            there.submit([&ran] { ran.fetch_add(1); });
        }
    };
    for (int i = 0; i < 5; ++i) {
        a.submit([&] { fill(b); });
        b.submit([&] { fill(a); });
    }
    EXPECT_TRUE(eventually([&] { return ran == 200; }));
}

TEST_P(bounded_queue, a_shutdown_ends_waits_for_room) {
    for (const auto mode : {pilfer::shutdown_mode::drain, pilfer::shutdown_mode::drop}) {
        pilfer::pool pool(bounded(pilfer::when_full::wait, 1));
        pilfer::pool other(workers(1));
        std::atomic<unsigned> ran{0};
        std::atomic<unsigned> refused{0};
        const auto task = [&] { ran.fetch_add(1); };
        const auto submit = [&] {
            try {
                pool.submit(task);
            } catch (const pilfer::pool_closed&) {
                refused.fetch_add(1);
            }
        };
        closed_gate gate(pool);
        pool.submit(task);
        std::vector<std::thread> threads;
        for (int i = 0; i < 3; ++i) {
            threads.emplace_back(submit);
        }
        const auto suspended = other.async(submit);
        until_suspended(other, 1);
        std::thread closer([&] { pool.shutdown(mode); });
        for (auto& t : threads) {
            t.join(); // before anything of the queue has begun
        }
        suspended.get();
        EXPECT_EQ(refused, 4U);
        gate.open();
        closer.join();
        EXPECT_EQ(ran, mode == pilfer::shutdown_mode::drain ? 1U : 0U);
    }
}

TEST_P(bounded_queue, nothing_is_lost_under_concurrent_use) {
    pilfer::pool pool(bounded(pilfer::when_full::wait, 3));
    pilfer::pool other(workers(2));
    const auto count = static_cast<unsigned>(hundredth_of(20'000));
    std::atomic<unsigned> ran{0};
    sync_tests::all_at_once(other, 4, 4, [&](unsigned who) {
        for (unsigned i = 0; i < count; ++i) {
            if ((i + who) % 8 == 0) {
                ran += pool.run([] { return 1U; });
            } else {
                pool.submit([&] { ran.fetch_add(1); });
            }
        }
    });
    pool.shutdown();
    EXPECT_EQ(ran, 8 * count);
}

PILFER_OVER_WORKERS(bounded_queue);

// ---- names ------------------------------------------------------------------------------------

class task_names : public over_workers {};

TEST_P(task_names, a_task_knows_its_name_on_every_worker) {
    std::atomic<unsigned> told{0};
    pilfer::options o = with_workers();
    o.on_error = [&](const std::exception_ptr&) {
        const char* const name = pilfer::current_task_name();
        told += name != nullptr && std::string(name) == "falls" ? 1 : 0;
    };
    const auto mine = [] {
        return std::string(pilfer::current_task_name() != nullptr ? pilfer::current_task_name() : "nobody");
    };
    {
        pilfer::pool pool(o);
        EXPECT_EQ(mine(), "nobody");
        EXPECT_EQ(pilfer::named("outside", mine)(), "nobody");
        EXPECT_EQ(pool.run(mine), "nobody");
        EXPECT_EQ(pool.run(pilfer::named("a run", mine)), "a run");
        EXPECT_EQ(pool.async(pilfer::named(std::string(255, 'x'), mine)).get(), std::string(255, 'x'));
        const auto first = pool.async(pilfer::named("first", [] { return 1; }));
        EXPECT_EQ(first.then(pilfer::named("then", [&](int) { return mine(); })).get(), "then");
        EXPECT_EQ(pool.async({.weight = 3}, pilfer::named("heavy", mine)).get(), "heavy");
        pool.run(pilfer::named("outer", [&] {
            EXPECT_EQ(mine(), "outer");
            std::string child;
            std::string plain;
            pilfer::scope s;
            s.spawn(pilfer::named("child", [&] {
                pilfer::sleep_for(1us);
                child = mine();
            }));
            s.fork([&] { plain = mine(); });
            s.sync();
            EXPECT_EQ(child, "child");
            EXPECT_TRUE(plain == "nobody" || plain == "outer") << plain; // on a stack of its own, or on top
            EXPECT_EQ(mine(), "outer");
            try {
                pilfer::named("throws", [] { throw std::runtime_error("x"); })();
            } catch (const std::runtime_error&) {
                EXPECT_EQ(mine(), "outer");
            }
        }));
        const auto falls = pilfer::named("falls", [] { throw std::runtime_error("x"); });
        pool.submit(falls);
        pool.run([&] { pool.submit(falls); });
        (void)pilfer::after(pool, 1us, falls);
        std::atomic<int> rounds{0};
        const auto every = pilfer::every(pool, 1us, pilfer::named("falls", [&]() -> bool {
                                             if (++rounds == 1) {
                                                 throw std::runtime_error("x");
                                             }
                                             return rounds < 3;
                                         }));
        EXPECT_TRUE(eventually([&] { return every.over(); }));
        EXPECT_EQ(rounds, 3);
    }
    EXPECT_EQ(told, 4U);
}

TEST_P(task_names, a_dump_names_the_task_of_a_waiting_stack) {
    pilfer::pool pool(with_workers());
    pilfer::event go_on;
    const auto waits = [&] { go_on.wait(); };
    const auto plain = pool.async(waits);
    const auto inner = pool.async(pilfer::named("outer", [&] { pilfer::named("inner", waits)(); }));
    const auto behind = pool.async(pilfer::named("behind", [&] {
        pilfer::named("is over", [] {})();
        go_on.wait();
    }));
    until_suspended(pool, 3);
    std::ostringstream dump;
    pool.dump(dump);
    go_on.set();
    EXPECT_THAT(dump.str(), HasSubstr(" \"inner\", suspended on worker "));
    EXPECT_THAT(dump.str(), HasSubstr(" \"behind\", suspended on worker "));
    EXPECT_THAT(dump.str(), Not(HasSubstr("\"outer\"")));
    EXPECT_THAT(dump.str(), Not(HasSubstr("\"is over\"")));
    plain.get();
    inner.get();
    behind.get();
}

PILFER_OVER_WORKERS(task_names);

class names_in_messages : public guarded {};

TEST_F(names_in_messages, at_the_end_of_a_program) {
    const auto says = in_child([] {
        pilfer::pool pool(workers(2));
        pool.submit(pilfer::named("cheese", [] { throw std::runtime_error("out of it"); }));
        pool.shutdown();
        return 0;
    });
    EXPECT_TRUE(says.killed_by(SIGABRT)) << says;
    EXPECT_TRUE(says.said("a task that nobody waits for, \"cheese\", has thrown")) << says;
    EXPECT_TRUE(says.said("out of it")) << says;
}

TEST_F(names_in_messages, in_the_report_of_a_stall) {
    const auto says = in_child([] {
        waits::own_stderr err;
        pilfer::pool& pool = waits::lasting(waits::reporting_after(100, 2));
        static pilfer::promise<int> never;
        pool.submit(pilfer::named("the one that waits", [] { (void)never.get_future().get(); }));
        err.await("pilfer: stall: nothing has run in pool");
        err.await(" \"the one that waits\", suspended on worker ");
        err.give_back();
        return 0;
    });
    EXPECT_TRUE(says.exited_with(0)) << says;
}

} // namespace
