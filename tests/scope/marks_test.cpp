// A scope is plain memory of its worker until one of its tasks is exposed. Then it and all enclosing scopes
// are marked, for good.
#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "support/harness.hpp"

namespace {

using namespace support;

class shared_scopes_over_workers : public over_workers {};
class shared_scopes : public guarded {};
class order_of_scopes : public guarded {};

/// Waits for another worker without announcing, so that only a reach makes private tasks stealable.
void wait_for(const std::atomic<bool>& flag) {
    while (!flag) {
        std::this_thread::yield();
    }
}

struct depth {
    pilfer::scope& scope;
    const depth* above;
};

[[nodiscard]] bool all_shared(const depth* d) {
    for (; d != nullptr; d = d->above) {
        if (!d->scope.shared()) {
            return false;
        }
    }
    return true;
}

/// `left` scopes deep, each in a child of the one above, which runs on the caller's worker; then bottom().
template <class Bottom>
void descend(unsigned left, const depth* above, const Bottom& bottom) {
    pilfer::scope s;
    const depth here{s, above};
    if (left == 0) {
        bottom(here);
        return;
    }
    s.spawn([&] { descend(left - 1, &here, bottom); });
    s.sync();
}

TEST_P(shared_scopes_over_workers, a_stolen_child_finds_every_enclosing_scope_shared) {
    pilfer::pool pool(with_workers());
    pool.run([&] {
        std::atomic<bool> ran{false};
        descend(20, nullptr, [&](const depth& d) {
            d.scope.fork([&] {
                EXPECT_EQ(all_shared(&d), GetParam() > 1);
                ran = true;
            });
            if (GetParam() > 1) {
                wait_for(ran); // so it ran elsewhere
                EXPECT_TRUE(all_shared(&d));
            }
            d.scope.sync();
        });
    });
    if (GetParam() == 1) {
        EXPECT_EQ(pool.counters().scopes_shared, 0U);
    } else {
        EXPECT_GE(pool.counters().scopes_shared, 21U);
    }
}

TEST_P(shared_scopes_over_workers, a_stolen_parent_shares_its_scopes) {
    if (GetParam() == 1) {
        return;
    }
    pilfer::pool pool(with_workers());
    pool.run([] {
        pilfer::scope outer;
        pilfer::scope inner;
        std::atomic<bool> gone_on{false};
        inner.spawn([&] { wait_for(gone_on); });
        EXPECT_TRUE(inner.shared());
        EXPECT_TRUE(outer.shared());
        gone_on = true;
        inner.sync();
        EXPECT_TRUE(inner.shared()) << "for good";
    });
    EXPECT_GE(pool.counters().scopes_shared, 2U);
}

TEST_P(shared_scopes_over_workers, a_stolen_branch_is_inside_the_scopes_of_its_frame) {
    if (GetParam() == 1) {
        return;
    }
    pilfer::pool pool(with_workers());
    pool.run([] {
        pilfer::scope outer;
        pilfer::scope inner;
        std::atomic<bool> done{false};
        (void)pilfer::join([&] { wait_for(done); },
                           [&] {
                               EXPECT_TRUE(inner.shared());
                               EXPECT_TRUE(outer.shared());
                               pilfer::scope own; // and scopes that begin here are inside them, too
                               pilfer::scope other;
                               std::atomic<bool> second{GetParam() == 2}; // the third would have to take it
                               (void)pilfer::join([&] { wait_for(second); },
                                                  [&] {
                                                      EXPECT_TRUE(GetParam() == 2 || own.shared());
                                                      EXPECT_TRUE(GetParam() == 2 || other.shared());
                                                      second = true;
                                                  });
                               done = true;
                           });
    });
    EXPECT_GE(pool.counters().scopes_shared, GetParam() > 2 ? 4U : 2U);
}

TEST_P(shared_scopes_over_workers, scopes_inside_a_task_that_is_not_stolen_stay_unshared) {
    if (GetParam() == 1) {
        return;
    }
    pilfer::pool pool(with_workers());
    pool.run([] {
        pilfer::scope outer;
        std::atomic<bool> ran{false};
        outer.fork([&] { ran = true; });
        {
            pilfer::scope inner; // began later, and contains no task
            wait_for(ran);
            EXPECT_TRUE(outer.shared());
            EXPECT_FALSE(inner.shared());
        }
        outer.sync();
    });
}

TEST_P(shared_scopes_over_workers, a_waiting_frame_may_resume_elsewhere) {
    if (GetParam() == 1) {
        return;
    }
    pilfer::pool pool(with_workers());
    pool.run([] {
        pilfer::scope outer;
        std::atomic<bool> started{false};
        std::atomic<bool> go{false};
        auto other = pilfer::async([&] {
            started = true;
            wait_for(go);
        });
        wait_for(started); // elsewhere
        EXPECT_FALSE(outer.shared()) << "an async is below of no scope";
        pilfer::scope inner;
        inner.spawn([&] { other.get(); }); // suspends, since it runs
        // Another worker has taken this, or this one when the child had left.
        EXPECT_TRUE(inner.shared());
        EXPECT_TRUE(outer.shared());
        go = true;
        inner.sync();
    });
}

TEST_P(shared_scopes_over_workers, a_task_on_another_stack_that_forks_shares_the_scope) {
    pilfer::pool pool(with_workers());
    const bool several = GetParam() > 1;
    pool.run([several] {
        pilfer::scope outer;
        pilfer::scope inner;
        std::atomic<int> ran{0};
        inner.spawn([&] {
            pilfer::scope own;
            inner.fork([&] { ++ran; });
            EXPECT_EQ(inner.shared() && outer.shared(), several);
            EXPECT_FALSE(own.shared() && !several);
        });
        inner.sync();
        EXPECT_EQ(ran, 1);
    });
    if (!several) {
        EXPECT_EQ(pool.counters().scopes_shared, 0U);
    }
}

TEST_P(shared_scopes_over_workers, an_async_is_inside_no_scope_and_may_fork_into_one) {
    pilfer::pool pool(with_workers());
    for (int round = 0; round < 20; ++round) {
        pool.run([&] {
            pilfer::scope outer;
            pilfer::scope inner;
            std::atomic<int> ran{0};
            std::atomic<bool> started{false};
            const std::thread::id here = std::this_thread::get_id();
            auto other = pilfer::async([&] {
                started = true;
                for (int i = 0; i < 10; ++i) {
                    inner.fork([&] {
                        const bool elsewhere = std::this_thread::get_id() != here;
                        EXPECT_TRUE(!elsewhere || (inner.shared() && outer.shared()));
                        ++ran;
                    });
                }
            });
            if (GetParam() > 1 && round % 2 == 0) {
                wait_for(started); // elsewhere
            }
            other.get();
            inner.sync();
            EXPECT_EQ(ran, 10);
        });
    }
}

TEST_P(shared_scopes_over_workers, marks_and_ends_race) {
    pilfer::pool pool(with_workers());
    EXPECT_EQ(pool.run([] { return fib_spawn(16); }), fib(16));
    EXPECT_EQ(pool.run([] { return fib_fork(16); }), fib(16));
    if (GetParam() == 1) {
        EXPECT_EQ(pool.counters().scopes_shared, 0U);
    }
}

TEST_P(shared_scopes_over_workers, a_foreign_thread_shares_the_scope_of_its_submission) {
    {
        pilfer::scope outer;
        pilfer::scope inner;
        EXPECT_FALSE(outer.shared());
        std::atomic<bool> seen{false};
        inner.spawn([&] { seen = inner.shared() && outer.shared(); });
        inner.sync();
        EXPECT_TRUE(seen);
    }
    pilfer::pool pool(with_workers());
    pilfer::scope s;
    EXPECT_TRUE(pool.run([&] { return s.shared(); }));
    EXPECT_EQ(pool.counters().scopes_shared, 1U);
}

TEST_P(shared_scopes_over_workers, a_task_of_another_pool_shares_the_scope_of_its_submission) {
    pilfer::pool pool(with_workers());
    pilfer::pool other(workers(1));
    pool.run([&] {
        pilfer::scope s;
        other.run([&] {
            EXPECT_TRUE(s.shared());
            pilfer::scope own;
            EXPECT_FALSE(own.shared());
        });
    });
    EXPECT_EQ(other.counters().scopes_shared, 0U);
    EXPECT_EQ(pool.counters().scopes_shared, 1U);
}
PILFER_OVER_WORKERS(shared_scopes_over_workers);

TEST_F(shared_scopes, one_worker_shares_nothing_whatever_its_policy_exposes) {
    for (const auto how : {pilfer::exposure::on_demand, pilfer::exposure::always_public}) {
        pilfer::options o = workers(1);
        o.balance.exposure = how;
        pilfer::pool pool(o);
        EXPECT_EQ(pool.run([] { return fib_spawn(12) + fib_fork(12) + fib_join(12); }), 3 * fib(12));
        EXPECT_EQ(pool.counters().scopes_shared, 0U);
    }
}

/// The chain of enclosing scopes is right whatever order they end in: a wrong one would be walked by the
/// thief.
void end_in_any_order(unsigned first, bool stolen) {
    std::vector<std::unique_ptr<pilfer::scope>> scopes;
    for (int i = 0; i < 3; ++i) {
        scopes.push_back(std::make_unique<pilfer::scope>());
    }
    scopes[first].reset();
    std::atomic<bool> ran{false};
    (void)pilfer::join(
        [&] {
            if (stolen) {
                wait_for(ran);
            }
        },
        [&] {
            for (const auto& s : scopes) {
                EXPECT_TRUE(s == nullptr || s->shared() == stolen);
            }
            ran = true;
        });
    for (unsigned i = 0; i < 3; ++i) {
        scopes[(first + i) % 3].reset();
    }
    const pilfer::scope after;
    EXPECT_FALSE(after.shared());
}

TEST_F(order_of_scopes, scopes_may_end_in_any_order) {
    for (const unsigned n : {1U, 2U}) {
        pilfer::pool pool(workers(n));
        pool.run([n] {
            for (unsigned first = 0; first < 3; ++first) {
                end_in_any_order(first, n > 1);
            }
        });
    }
    // of a foreign thread, for which a join would be a submission
    for (unsigned first = 0; first < 3; ++first) {
        std::vector<std::unique_ptr<pilfer::scope>> scopes;
        for (int i = 0; i < 3; ++i) {
            scopes.push_back(std::make_unique<pilfer::scope>());
        }
        for (unsigned i = 0; i < 3; ++i) {
            scopes[(first + i) % 3].reset();
        }
        const pilfer::scope after;
        pilfer::pool pool(workers(1));
        EXPECT_TRUE(pool.run([&] { return after.shared(); }));
        EXPECT_EQ(pool.counters().scopes_shared, 1U) << "what is gone is not walked";
    }
}

TEST_F(order_of_scopes, a_task_spawns_into_an_outer_scope_while_an_inner_one_is_open) {
    pilfer::pool pool(workers(2));
    pool.run([] {
        pilfer::scope outer;
        std::atomic<bool> done{false};
        std::atomic<bool> gone_on{false};
        {
            pilfer::scope inner;
            outer.spawn([&] {
                pilfer::scope own;
                wait_for(gone_on);
                done = true;
            });
            EXPECT_TRUE(outer.shared());
            EXPECT_FALSE(inner.shared()) << "it does not enclose the child";
            gone_on = true;
        }
        outer.sync();
        EXPECT_TRUE(done);
    });
}

} // namespace
