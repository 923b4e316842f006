// Tasks that wait while they hold a lock. Only unstarted children of the awaited scope run on the waiting
// stack, newest first. Then the context suspends with its lock, and the worker is free.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "pool/pool_core.hpp"
#include "support/harness.hpp"

namespace {

using namespace std::chrono_literals;
using pilfer::detail::context;
using support::hundredth_of;

[[nodiscard]] const context* this_stack() { return pilfer::detail::running_task()->ctx; }
[[nodiscard]] unsigned this_index() { return pilfer::detail::this_worker()->index; }

/// Keeps its worker: announces nothing and does not yield.
template <class F>
void stand_until(F holds) {
    while (!holds()) {
        std::this_thread::sleep_for(20us);
    }
}

// One worker: own children newest first, without a suspension. Children of an older scope are below them in
// the deque, and wait until the holder has ended.
TEST(waiting_holder, runs_children_of_the_awaited_scope_newest_first) {
    const support::watchdog limit(support::patience);
    pilfer::pool pool(support::workers(1));
    const auto others = hundredth_of(100'000);
    bool over = false;
    std::uint64_t ran = 0;
    std::vector<int> order;
    pool.run([&] {
        pilfer::scope s;
        for (std::uint64_t i = 0; i < others; ++i) {
            s.fork([&] {
                EXPECT_TRUE(over);
                ++ran;
            });
        }
        pilfer::synchronized<int> object(0);
        object.call([&](int&) {
            const context* const mine = this_stack();
            const auto suspends = pool.counters().suspends;
            pilfer::scope own;
            for (int i = 0; i < 1000; ++i) {
                own.fork([&, i] {
                    EXPECT_EQ(this_stack(), mine);
                    EXPECT_EQ(ran, 0U);
                    order.push_back(i);
                    pilfer::scope further;
                    further.fork([&] { EXPECT_EQ(ran, 0U); });
                });
            }
            own.sync();
            EXPECT_EQ(pool.counters().suspends, suspends);
            over = true;
        });
        s.sync();
    });
    EXPECT_EQ(ran, others);
    ASSERT_EQ(order.size(), 1000U);
    EXPECT_TRUE(std::is_sorted(order.rbegin(), order.rend()));
}

// The only child was stolen, and ends when another task has run on the worker of the holder. That task finds
// the lock held.
TEST(waiting_holder, suspends_with_its_lock_and_frees_its_worker) {
    const support::watchdog limit(support::patience);
    for (const bool joins : {false, true}) {
        pilfer::pool pool(support::workers(2));
        pilfer::mutex m;
        std::atomic<unsigned> worker{UINT32_MAX};
        std::atomic<bool> stolen{false};
        std::atomic<bool> freed{false};
        auto holder = pool.async([&] {
            const std::lock_guard guard(m);
            worker = this_index();
            const auto child = [&] {
                stolen = true;
                stand_until([&] { return freed.load(); });
            };
            if (joins) {
                (void)pilfer::join([&] { stand_until([&] { return stolen.load(); }); }, child);
            } else {
                pilfer::scope own;
                own.fork(child);
                stand_until([&] { return stolen.load(); });
                own.sync();
            }
        });
        stand_until([&] { return stolen.load(); });
        pool.async([&] {
                EXPECT_EQ(this_index(), worker);
                EXPECT_FALSE(m.try_lock()) << "the lock is free while its holder waits";
                freed = true;
            })
            .get();
        holder.get();
        EXPECT_TRUE(m.try_lock());
        m.unlock();
    }
}

/// The holders, and the tasks on each stack.
class stacks_of_holders {
public:
    static constexpr unsigned most = 64;
    /// Below the caller there is no task that waits under another lock.
    void check(unsigned lock) const {
        const context* const mine = this_stack();
        for (unsigned i = 0; i < most; ++i) {
            EXPECT_TRUE(i == lock || m_stack[i] != mine) << "on top of the holder of " << i;
        }
    }
    void waits(unsigned lock) { m_stack[lock] = this_stack(); }
    void goes_on(unsigned lock) { m_stack[lock] = nullptr; }

private:
    std::array<std::atomic<const context*>, most> m_stack{};
};

using parameters = std::tuple<unsigned, pilfer::exposure>;

class waiting_holders : public testing::TestWithParam<parameters> {
protected:
    [[nodiscard]] static unsigned workers() { return std::get<0>(GetParam()); }
    [[nodiscard]] static pilfer::options with(unsigned workers) {
        pilfer::options o;
        o.workers = workers;
        o.balance.exposure = std::get<1>(GetParam());
        return o;
    }
    /// 64 holders of 64 locks of all kinds, beside other tasks. Their children fork, wait, fork into the
    /// scope of their holder, and take locks of their own.
    static void run(const pilfer::options& o, bool strict) {
        pilfer::pool pool(o);
        constexpr unsigned holders = stacks_of_holders::most;
        const auto children = static_cast<unsigned>(hundredth_of(1'000, 4));
        stacks_of_holders stacks;
        struct lock {
            pilfer::mutex plain;
            pilfer::shared_mutex shared;
            pilfer::synchronized<int> locked{0};
            pilfer::monitor<int> queued{0};
            pilfer::mutex inner;
        };
        const auto locks = std::make_unique<std::array<lock, holders>>();
        std::atomic<unsigned> ran{0};
        std::atomic<unsigned> others{0};
        const auto check = [&](unsigned i) {
            if (strict) {
                stacks.check(i);
            }
        };
        const auto inside = [&](unsigned i) {
            check(i);
            pilfer::scope own;
            for (unsigned k = 0; k < children; ++k) {
                const auto child = [&, i, k] {
                    check(i);
                    ++ran;
                    switch (k % 4) {
                    case 0:
                        (void)pilfer::join([&] { check(i); }, [&] { check(i); });
                        break;
                    case 1:
                        own.fork([&, i] {
                            check(i);
                            ++ran;
                        });
                        break;
                    case 2: {
                        // Without stacks, another task that wants this lock may run on top of its holder.
                        std::unique_lock guard((*locks)[i].inner, std::defer_lock);
                        if (strict) {
                            guard.lock();
                        }
                        pilfer::scope further;
                        further.fork([&, i] { check(i); });
                        further.spawn([&, i] { check(i); });
                        further.sync();
                        break;
                    }
                    default:
                        pilfer::yield();
                    }
                };
                if (k % 5 == 4) {
                    own.spawn(child);
                } else {
                    own.fork(child);
                }
            }
            stacks.waits(i);
            own.sync();
            stacks.goes_on(i);
        };
        pool.run([&] {
            pilfer::scope s;
            for (unsigned i = 0; i < holders; ++i) {
                s.fork([&, i] {
                    check(stacks_of_holders::most);
                    lock& l = (*locks)[i];
                    switch (i % 5) {
                    case 0: {
                        const std::lock_guard guard(l.plain);
                        return inside(i);
                    }
                    case 1: {
                        const std::lock_guard guard(l.shared);
                        return inside(i);
                    }
                    case 2: {
                        const std::shared_lock guard(l.shared);
                        return inside(i);
                    }
                    case 3:
                        return l.locked.call([&](int&) { inside(i); });
                    default:
                        return l.queued.call_when([](int) { return true; }, [&](int&) { inside(i); });
                    }
                });
                s.fork([&] {
                    check(stacks_of_holders::most);
                    ++others;
                });
            }
        });
        EXPECT_EQ(others, holders);
        unsigned further = 0;
        for (unsigned k = 0; k < children; ++k) {
            further += k % 4 == 1 ? 1 : 0;
        }
        EXPECT_EQ(ran, holders * (children + further));
    }

private:
    support::watchdog m_limit{support::patience};
};
[[nodiscard]] std::string name_of(const testing::TestParamInfo<parameters>& p) {
    return std::to_string(std::get<0>(p.param)) +
           (std::get<1>(p.param) == pilfer::exposure::on_demand ? "" : "_public");
}
INSTANTIATE_TEST_SUITE_P(workers, waiting_holders,
                         testing::Combine(testing::Values(1U, 2U, 3U, 8U, 64U),
                                          testing::Values(pilfer::exposure::on_demand,
                                                          pilfer::exposure::always_public)),
                         &name_of);

TEST_P(waiting_holders, have_only_awaited_children_on_top_of_them) { run(with(workers()), true); }

// Without stacks other tasks run on top, too (rule W4 in src/worker/README.md): everything ends.
TEST_P(waiting_holders, end_without_stacks) {
    for (const unsigned stacks : {1U, 2U, 3U, 8U}) {
        pilfer::options o = with(workers());
        o.max_contexts = stacks;
        run(o, false);
    }
}

TEST_P(waiting_holders, end_under_every_steal_amount_and_resume_option) {
    for (const auto amount : {pilfer::steal_amount::one(), pilfer::steal_amount::half(),
                              pilfer::steal_amount::all_but_one(), pilfer::steal_amount::adaptive()}) {
        for (const auto resume :
             {pilfer::resume::anywhere, pilfer::resume::own_thread, pilfer::resume::elsewhere}) {
            pilfer::options o = with(workers());
            o.balance.steal = amount;
            o.resume = resume;
            run(o, true);
        }
    }
}

// They throw, are cancelled from inside and from outside: each task runs once or is dropped, and every lock
// is free in the end.
TEST_P(waiting_holders, end_when_children_fail) {
    pilfer::pool pool(with(workers()));
    for (std::uint64_t round = 0; round < hundredth_of(2'000); ++round) {
        constexpr unsigned holders = 8;
        std::array<pilfer::mutex, holders> locks;
        std::atomic<unsigned> free{0};
        std::atomic<unsigned> finished{0};
        pool.run([&] {
            pilfer::scope s;
            for (unsigned i = 0; i < holders; ++i) {
                s.fork([&, i] {
                    const std::lock_guard guard(locks[i]);
                    pilfer::scope own;
                    for (unsigned k = 0; k < 16; ++k) {
                        own.fork([&, i, k] {
                            if (i % 4 == 1 && k == round % 16) {
                                throw std::out_of_range("a child");
                            }
                            if (i % 4 == 2 && k == round % 16) {
                                own.cancel();
                            }
                            if (i % 4 == 3 && k == 0) {
                                s.cancel(); // after the unlock
                            }
                            pilfer::yield();
                            own.fork([] { pilfer::yield(); });
                        });
                    }
                    if (i % 4 == 1) {
                        EXPECT_THROW(own.sync(), std::out_of_range);
                    } else {
                        own.sync();
                    }
                    EXPECT_FALSE(pilfer::cancelled());
                    ++finished;
                });
            }
            s.sync();
        });
        EXPECT_GE(finished, 1U);
        for (auto& m : locks) {
            free += m.try_lock() ? 1 : 0;
            m.unlock();
        }
        EXPECT_EQ(free, holders);
    }
}

} // namespace
