// A join whose other half was stolen suspends, and no foreign task runs on top of it. Also the worker on
// which it resumes.
// Optimised in every build: recursions fill the usual stack with frames of their size.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "support/harness.hpp"
#include "support/process.hpp"

namespace {

using namespace support;
using namespace std::chrono_literals;

class stalled_join : public over_workers {};

TEST_P(stalled_join, joins_suspend_and_none_is_lost) {
    pilfer::pool pool(with_workers());
    // An unbalanced tree: halves wait for each other in every way.
    struct tree {
        static std::uint64_t count(std::uint64_t n) {
            if (n <= 1) {
                return n;
            }
            const std::uint64_t small = 1 + n % 5 % (n - 1);
            auto [a, b] = pilfer::join([=] { return count(n - small); }, [=] { return count(small); });
            return a + b;
        }
    };
    const std::uint64_t leaves = 500;
    for (std::uint64_t done = 0; done < hundredth_of(10'000'000 / 5, leaves); done += leaves) {
        ASSERT_EQ(pool.run([=] { return tree::count(leaves); }), leaves);
    }
}

TEST_P(stalled_join, the_worker_of_a_stalled_join_does_other_work) {
    if (GetParam() == 1) {
        GTEST_SKIP() << "nobody steals from one worker";
    }
    pilfer::options o;
    o.workers = 2;
    pilfer::pool pool(o);
    std::atomic<bool> stolen{false};
    std::atomic<bool> other_ran{false};
    auto stalled = pool.async([&] {
        (void)pilfer::join(
            [&] {
                while (!stolen) {
                    std::this_thread::yield();
                }
            },
            [&] {
                stolen = true;
                while (!other_ran) { // ends only when the worker of the stalled join runs the other task
                    std::this_thread::yield();
                }
            });
    });
    while (!stolen) {
        std::this_thread::yield();
    }
    pool.run([&] { other_ran = true; });
    stalled.get();
    EXPECT_GE(pool.counters().suspends, 1U);
    EXPECT_EQ(pool.counters().suspends, pool.counters().resumes);
}

/// Knows the joins that are under way on each stack. Whatever begins on top of one must descend from it.
class waiting_frames {
public:
    struct frame {
        const frame* parent;
    };

    /// A tree of joins under `parent`; each leaf takes a while now and then.
    void tree(unsigned depth, const frame* parent) {
        const frame mine{parent};
        // A join resumes on its own stack, on any worker.
        const void* const stack = this_stack();
        {
            const std::lock_guard lock(m_mutex);
            auto& below = m_on[stack];
            for (const frame* f : below) {
                m_foreign += descends(mine, f) ? 0 : 1;
            }
            below.push_back(&mine);
        }
        if (depth == 0) {
            if (m_leaves.fetch_add(1) % 16 == 0) {
                std::this_thread::sleep_for(10us);
            }
        } else {
            (void)pilfer::join([&] { tree(depth - 1, &mine); }, [&] { tree(depth - 1, &mine); });
        }
        const std::lock_guard lock(m_mutex);
        m_moved += this_stack() != stack;
        std::erase(m_on[stack], &mine);
    }
    [[nodiscard]] std::uint64_t foreign() const { return m_foreign; }
    [[nodiscard]] std::uint64_t moved() const { return m_moved; }

private:
    [[nodiscard]] static const void* this_stack() {
        return pilfer::detail::this_worker()->current.load(std::memory_order_relaxed)->ctx;
    }
    [[nodiscard]] static bool descends(const frame& of, const frame* from) {
        for (const frame* f = of.parent; f != nullptr; f = f->parent) {
            if (f == from) {
                return true;
            }
        }
        return false;
    }

    std::mutex m_mutex;
    std::map<const void*, std::vector<const frame*>> m_on;
    std::uint64_t m_foreign = 0;
    std::uint64_t m_moved = 0;
    std::atomic<unsigned> m_leaves{0};
};

TEST_P(stalled_join, no_foreign_task_on_top_of_a_waiting_frame) {
    pilfer::pool pool(with_workers());
    waiting_frames frames;
    const unsigned depth = sanitized ? 6 : 9;
    const auto stalls = [&] {
        if (GetParam() == 1) {
            frames.tree(depth, nullptr);
            return;
        }
        // Two halves wait for each other: one is stolen, and the other stalls.
        std::atomic<bool> stolen{false};
        const auto suspended = pool.counters().suspends;
        (void)pilfer::join(
            [&] {
                while (!stolen) {
                    std::this_thread::yield();
                }
                frames.tree(depth, nullptr);
            },
            [&] {
                stolen = true;
                frames.tree(depth, nullptr);
                while (pool.counters().suspends == suspended) {
                    std::this_thread::yield();
                }
            });
    };
    for (int i = 0; i < 5; ++i) {
        // a task that a stalled worker may find
        auto other = pool.async([&] { frames.tree(depth, nullptr); });
        pool.run(stalls);
        other.get();
    }
    EXPECT_EQ(frames.foreign(), 0U);
    EXPECT_EQ(frames.moved(), 0U);
}

PILFER_OVER_WORKERS(stalled_join);

class resume_option : public over_workers {};

TEST_P(resume_option, own_thread_keeps_the_thread_across_joins) {
    pilfer::options o = with_workers();
    o.resume = pilfer::resume::own_thread;
    pilfer::pool pool(o);
    std::atomic<int> moved{0};
    struct tree {
        static void grow(unsigned depth, std::atomic<int>& moved) {
            if (depth == 0) {
                return;
            }
            const long before = thread_id();
            (void)pilfer::join([&] { grow(depth - 1, moved); }, [&] { grow(depth - 1, moved); });
            moved += thread_id() != before;
        }
    };
    for (int i = 0; i < 20; ++i) {
        pool.run([&] { tree::grow(9, moved); });
    }
    EXPECT_EQ(moved, 0);
}

TEST_P(resume_option, own_thread_keeps_the_thread_across_sync_and_get) {
    pilfer::options o = with_workers();
    o.resume = pilfer::resume::own_thread;
    pilfer::pool pool(o);
    std::atomic<int> moved{0};
    struct tree {
        static void grow(unsigned depth, std::atomic<int>& moved) {
            if (depth == 0) {
                return;
            }
            pilfer::scope s;
            // No spawn: its rest may be stolen, with every frame below it. This also holds if a sync or get
            // runs the spawning task on top of itself.
            s.fork([&, depth] { grow(depth - 1, moved); });
            s.fork([&, depth] { grow(depth - 1, moved); });
            auto f = pilfer::async([&, depth] { grow(depth - 1, moved); });
            long before = thread_id();
            s.sync();
            moved += thread_id() != before;
            before = thread_id();
            f.get();
            moved += thread_id() != before;
        }
    };
    for (int i = 0; i < 10; ++i) {
        pool.run([&] { tree::grow(5, moved); });
    }
    EXPECT_EQ(moved, 0);
}

TEST_P(resume_option, own_thread_keeps_the_thread_if_the_other_half_ends_late) {
    if (GetParam() == 1) {
        GTEST_SKIP() << "nobody steals from one worker";
    }
    pilfer::options o = with_workers();
    o.resume = pilfer::resume::own_thread;
    pilfer::pool pool(o);
    std::atomic<bool> stolen{false};
    pool.run([&] {
        const long before = thread_id();
        (void)pilfer::join(
            [&] {
                while (!stolen) {
                    std::this_thread::yield();
                }
            },
            [&] {
                stolen = true;
                while (pool.counters().suspends == 0) { // however late its worker gets a CPU
                    std::this_thread::yield();
                }
            });
        EXPECT_EQ(before, thread_id());
    });
    EXPECT_GE(pool.counters().suspends, 1U);
}

TEST_P(resume_option, elsewhere_moves_every_join) {
    pilfer::options o = with_workers();
    o.resume = pilfer::resume::elsewhere;
    pilfer::pool pool(o);
    int stayed = 0;
    constexpr int rounds = 300;
    pool.run([&] {
        for (int i = 0; i < rounds; ++i) {
            long before = 0;
            (void)pilfer::join([&] { before = thread_id(); }, [] {});
            stayed += thread_id() == before;
        }
    });
    if (GetParam() == 1) {
        EXPECT_EQ(stayed, rounds);
    } else {
        // A join whose other half was stolen and has ended already has nothing to wait for.
        EXPECT_LE(static_cast<std::uint64_t>(stayed), pool.counters().run_stolen);
        EXPECT_LT(stayed, rounds);
    }
    EXPECT_EQ(pool.run([] { return fib_join(14); }), fib(14));
    EXPECT_EQ(pool.run([] { return fib_spawn(12); }), fib(12));
    EXPECT_EQ(pool.run([] { return fib_fork(12); }), fib(12));
}

/// A scope in a pool whose frames resume anywhere, or elsewhere each time. Children run on top of the waiting
/// frame, and their joins move it to other workers.
TEST_P(resume_option, a_scope_option_resumes_on_the_origin_under_every_pool_option) {
    for (const auto rule : {pilfer::resume::anywhere, pilfer::resume::elsewhere}) {
        pilfer::options o = with_workers();
        o.resume = rule;
        pilfer::pool pool(o);
        std::atomic<int> moved{0};
        struct tree {
            static void grow(unsigned depth, std::atomic<int>& moved) {
                if (depth == 0) {
                    return;
                }
                (void)pilfer::join([] {}, [] {}); // moves the frame in the one pool, may in the other
                long before = thread_id();
                {
                    pilfer::scope s(pilfer::resume::own_thread);
                    s.fork([&, depth] { grow(depth - 1, moved); });
                    s.fork([&, depth] { grow(depth - 1, moved); });
                    s.sync();
                    moved += thread_id() != before;
                    s.spawn([&, depth] { grow(depth - 1, moved); });
                    s.fork([&, depth] { grow(depth - 1, moved); });
                    before = thread_id();
                } // the destructor waits, too
                moved += thread_id() != before;
            }
        };
        for (int i = 0; i < 5; ++i) {
            pool.run([&] { tree::grow(4, moved); });
        }
        EXPECT_EQ(moved, 0);
    }
}

TEST_P(resume_option, a_scope_option_resumes_on_the_origin_before_it_throws) {
    pilfer::options o = with_workers();
    o.resume = pilfer::resume::elsewhere;
    pilfer::pool pool(o);
    pool.run([] {
        for (int i = 0; i < 20; ++i) {
            pilfer::scope s(pilfer::resume::own_thread);
            for (int k = 0; k < 3; ++k) {
                s.fork([] {
                    (void)pilfer::join([] {}, [] {});
                    throw std::runtime_error("a child");
                });
            }
            const long before = thread_id();
            EXPECT_THROW(s.sync(), std::runtime_error);
            EXPECT_EQ(thread_id(), before);
            EXPECT_LE(s.suppressed(), 2U);
        }
    });
}

PILFER_OVER_WORKERS(resume_option);

} // namespace
