// Many holders of many locks, whose carriers fork, wait and fail: row D10.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <stdexcept>

#include "objects/carriers.hpp"

namespace {

using namespace carriers;

/// Holders and what stands on whose stack.
class stacks_of_holders {
public:
    static constexpr unsigned most = 64;
    /// Nobody who waits under another lock is below.
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

class row_D10_holders : public row_D10 {
protected:
    /// 64 holders of 64 locks of all kinds, whose carriers fork, wait, fork into the scope of their holder,
    /// and take locks of their own, beside other tasks.
    static void run(const pilfer::options& o, bool strict) {
        pilfer::pool pool(o);
        constexpr unsigned holders = stacks_of_holders::most;
        const auto carriers = static_cast<unsigned>(hundredth_of(1'000, 4));
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
            for (unsigned k = 0; k < carriers; ++k) {
                const auto carrier = [&, i, k] {
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
                        // Without stacks another one that wants it may run on top of who has it.
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
                    own.spawn(carrier);
                } else {
                    own.fork(carrier);
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
        for (unsigned k = 0; k < carriers; ++k) {
            further += k % 4 == 1 ? 1 : 0;
        }
        EXPECT_EQ(ran, holders * (carriers + further));
        EXPECT_FALSE(pool.core().for_holders().any());
    }
};
PILFER_OVER(row_D10_holders, 1U, 2U, 3U, 8U, 64U);

TEST_P(row_D10_holders, nothing_else_runs_on_top_of_them) { run(with(workers()), true); }

// Without stacks W4 comes before that: everything ends.
TEST_P(row_D10_holders, end_without_stacks) {
    for (const unsigned stacks : {1U, 2U, 3U, 8U}) {
        pilfer::options o = with(workers());
        o.max_contexts = stacks;
        run(o, false);
    }
}

TEST_P(row_D10_holders, end_by_every_amount_and_resume) {
    for (const auto amount : {pilfer::steal_amount::one(), pilfer::steal_amount::half(),
                              pilfer::steal_amount::all_but_one(), pilfer::steal_amount::adaptive()}) {
        for (const auto resume :
             {pilfer::resume::anywhere, pilfer::resume::own_thread, pilfer::resume::elsewhere}) {
            pilfer::options o = with(workers());
            o.steal = amount;
            o.resume = resume;
            run(o, true);
        }
    }
}

// They throw, are cancelled from inside and from outside: each task runs once or is dropped, and every lock
// is free in the end.
TEST_P(row_D10_holders, end_when_carriers_fail) {
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
                                throw std::out_of_range("a carrier");
                            }
                            if (i % 4 == 2 && k == round % 16) {
                                own.cancel();
                            }
                            if (i % 4 == 3 && k == 0) {
                                s.cancel(); // behind the lock
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
        EXPECT_FALSE(pool.core().for_holders().any());
    }
}

} // namespace
