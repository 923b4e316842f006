// The wave of wake-ups is a tree of about log2 N levels: each woken worker wakes at most two others. One test
// drives the library's own text step by step in one thread. Another one reads the wake-ups of real workers
// from a trace.
#include <algorithm>
#include <atomic>
#include <bit>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <pilfer/detail/idle/sleep.hpp>

#include "balance/victim.hpp"
#include "pool/pool_core.hpp"
#include "support/harness.hpp"
#include "support/process.hpp"
#include "trace/document.hpp"

namespace {

using namespace support;
namespace detail = pilfer::detail;
using detail::std_atom;

[[nodiscard]] unsigned log2_up(unsigned n) { return static_cast<unsigned>(std::bit_width(n - 1)); }

/// Records the woken words; no thread really waits.
struct no_park {
    static inline std::vector<std::atomic<std::uint32_t>*> woken;
    static void wait(std::atomic<std::uint32_t>&, std::uint32_t) noexcept {}
    static void wake(std::atomic<std::uint32_t>& word) { woken.push_back(&word); }
};
using sleepers = detail::sleepers<std_atom, no_park>;

/// Sleeping workers and a publisher. They run nothing but the wave.
class wave {
public:
    explicit wave(unsigned n)
        : m_seats(std::make_unique<sleepers::seat[]>(n)),
          m_map(std::make_unique<sleepers::map_word[]>((n + 63) / 64)), m_idle(m_seats.get(), m_map.get(), n),
          m_depth(n, 0) {}

    void lies(unsigned i) {
        m_seats[i].state.store(sleepers::asleep);
        m_map[i / 64].fetch_or(std::uint64_t{1} << (i % 64));
    }
    /// The publisher wakes one worker. In each further round every worker that was woken in the round before
    /// has found work and wakes two, in any order. Returns the number of rounds until no worker sleeps.
    [[nodiscard]] unsigned run(unsigned publisher, pilfer::balance::random& dice) {
        detail::signal_word<std_atom> trip(0);
        unsigned last = sleepers::nobody;
        if (!m_idle.publish(publisher, last, trip)) {
            return 0;
        }
        m_depth[last] = 1;
        std::vector<unsigned> woken = {last};
        unsigned rounds = 1;
        for (; m_idle.anyone_asleep(); ++rounds) {
            std::vector<unsigned> next;
            while (!woken.empty()) {
                const unsigned k = dice.below(static_cast<unsigned>(woken.size()));
                hand_on(woken[k], next);
                woken[k] = woken.back();
                woken.pop_back();
            }
            woken = next;
        }
        return rounds;
    }
    [[nodiscard]] unsigned depth() const { return *std::max_element(m_depth.begin(), m_depth.end()); }
    [[nodiscard]] unsigned depth_of(unsigned i) const { return m_depth[i]; }

private:
    /// As lookout::found_work() does.
    void hand_on(unsigned i, std::vector<unsigned>& next) {
        m_idle.settle_token(i);
        for (int k = 0; k < 2; ++k) {
            const unsigned other = m_idle.wake_one(i, m_idle.hint(i));
            if (other == sleepers::nobody) {
                return;
            }
            EXPECT_EQ(m_depth[other], 0U) << "woken twice";
            m_depth[other] = m_depth[i] + 1;
            next.push_back(other);
        }
    }

    std::unique_ptr<sleepers::seat[]> m_seats;
    std::unique_ptr<sleepers::map_word[]> m_map;
    sleepers m_idle;
    std::vector<unsigned> m_depth;
};

TEST(wave_of_wake_ups, of_all_numbers_of_workers_is_a_tree_of_log2_levels) {
    pilfer::balance::random dice(1);
    for (unsigned n = 2; n <= 4096; n = n < 130 ? n + 1 : n * 3 / 2 + 1) {
        for (const unsigned publisher : {0U, n / 2, n - 1}) {
            wave w(n);
            for (unsigned i = 0; i < n; ++i) {
                if (i != publisher) {
                    w.lies(i);
                }
            }
            ASSERT_LE(w.run(publisher, dice), log2_up(n)) << n;
            ASSERT_LE(w.depth(), log2_up(n)) << n;
            for (unsigned i = 0; i < n; ++i) {
                ASSERT_EQ(w.depth_of(i) == 0, i == publisher) << i << " of " << n;
            }
        }
    }
}

TEST(wave_of_wake_ups, of_4096_workers) {
    pilfer::balance::random dice(2);
    wave w(4096);
    for (unsigned i = 1; i < 4096; ++i) {
        w.lies(i);
    }
    EXPECT_EQ(w.run(0, dice), 12U);
    EXPECT_EQ(w.depth(), 12U);
    EXPECT_EQ(w.depth_of(1), 1U) << "the nearest is the first";
}

TEST(wave_of_wake_ups, around_workers_that_are_awake) {
    pilfer::balance::random dice(3);
    for (int round = 0; round < 300; ++round) {
        const unsigned n = 2 + dice.below(400);
        const unsigned publisher = dice.below(n);
        const unsigned few = 1 + dice.below(8);
        wave w(n);
        unsigned asleep = 0;
        for (unsigned i = 0; i < n; ++i) {
            if (i != publisher && dice.below(8) < few) {
                w.lies(i);
                ++asleep;
            }
        }
        ASSERT_LE(w.run(publisher, dice), log2_up(asleep + 1));
        ASSERT_LE(w.depth(), log2_up(asleep + 1));
    }
}

// ---- real workers -----------------------------------------------------------------------------

/// A barrier: each task waits here until `n` have come, so the tasks need n workers at once.
class gate {
public:
    explicit gate(unsigned n) : m_count(n) {}
    void meet() {
        std::unique_lock hold(m_lock);
        if (++m_here == m_count) {
            m_all_here.notify_all();
        }
        m_all_here.wait(hold, [&] { return m_here >= m_count; });
    }

private:
    std::mutex m_lock;
    std::condition_variable m_all_here;
    unsigned m_count;
    unsigned m_here = 0;
};

[[nodiscard]] unsigned asleep(pilfer::pool& pool) {
    unsigned n = 0;
    for (unsigned i = 0; i < pool.workers(); ++i) {
        n += pool.core().idle().is_asleep(i) ? 1 : 0;
    }
    return n;
}

/// One wave of real workers, read from the trace.
struct tree {
    unsigned widest = 0; ///< The most wake-ups by one woken worker before it ran what it had found.
    std::vector<bool> ran;
};

[[nodiscard]] tree read_tree(const document& d, unsigned publisher) {
    const auto n = static_cast<unsigned>(d.tracks());
    std::vector<unsigned> wakes(n, 0);
    tree t;
    t.ran.resize(n);
    for (unsigned i = 0; i < n; ++i) {
        for (const line& l : d.lines(i)) {
            if (l.text.rfind("wake worker=", 0) == 0) {
                ++wakes[i];
            } else if (l.text.rfind("stolen", 0) == 0 || l.text.rfind("own ", 0) == 0) {
                t.ran[i] = true;
                t.widest = std::max(t.widest, wakes[i]);
            }
        }
    }
    t.ran[publisher] = true;
    return t;
}

/// n tasks that need n workers at once, all announced by one worker. Up to the last task it believes that no
/// worker sleeps: it wakes one, and the wave must wake all others. (A worker that knows of the sleepers at
/// each announcement would wake one more whenever the one before has found something.)
[[nodiscard]] tree wake_by_wave(unsigned n) {
    pilfer::options o = traced(n);
    o.balance.steal =
        pilfer::steal_amount::one(); // the surplus of a larger theft is a publication of its own
    pilfer::pool pool(o);
    EXPECT_TRUE(eventually([&] { return pool.core().idle().everybody_asleep(); }));
    unsigned publisher = 0;
    gate g(n);
    pool.run([&] {
        detail::worker* w = detail::this_worker();
        publisher = w->index;
        EXPECT_TRUE(eventually([&] { return asleep(pool) == n - 1; }));
        using wire = detail::signal_word<std_atom>;
        auto& trip = w->deque.signal();
        trip.clear_wanted();
        (void)trip.take();
        pilfer::scope s;
        for (unsigned i = 1; i < n; ++i) {
            if (i == n - 1) {
                trip.set(wire::wanted);
            }
            s.fork([&] { g.meet(); });
        }
        g.meet();
        s.sync();
    });
    return read_tree(written(pool), publisher);
}

class free_wave : public guarded {};

/// The operating system decides which awake worker gets a CPU first, and so the depth of this tree. The
/// protocol's own depth is in wave_rounds_test.cpp.
TEST_F(free_wave, of_64_workers_wakes_two_for_each_that_found_work) {
    for (int round = 0; round < 3; ++round) {
        const tree t = wake_by_wave(64);
        EXPECT_LE(t.widest, 2U) << "a wave, not a herd";
        EXPECT_EQ(std::count(t.ran.begin(), t.ran.end(), true), 64);
    }
}

/// A pool whose workers follow the test's orders, each by its number: each is inside a task that waits for
/// orders.
class held_pool {
public:
    explicit held_pool(unsigned n) : pool(traced(n)), m_orders(n) {
        for (unsigned i = 0; i < n; ++i) {
            m_servants.push_back(pool.async([this] { serve(); }));
        }
        EXPECT_TRUE(eventually([&] {
            const std::lock_guard hold(m_lock);
            return std::all_of(m_orders.begin(), m_orders.end(), [](const order& o) { return o.there; });
        }));
    }
    ~held_pool() {
        for (unsigned i = 0; i < m_orders.size(); ++i) {
            release(i);
        }
        for (auto& servant : m_servants) {
            servant.get(); // they use objects that are destroyed before the pool
        }
    }
    held_pool(const held_pool&) = delete;
    held_pool& operator=(const held_pool&) = delete;

    /// Worker i has nothing to do any more.
    void release(unsigned i) {
        const std::lock_guard hold(m_lock);
        m_orders[i].over = true;
        m_given.notify_all();
    }
    /// Worker i runs `what`; returns after that.
    void tell(unsigned i, std::function<void()> what) {
        std::unique_lock hold(m_lock);
        m_orders[i].what = std::move(what);
        m_given.notify_all();
        m_done.wait(hold, [&] { return m_orders[i].what == nullptr; });
    }
    /// Waits until exactly these workers sleep.
    [[nodiscard]] bool sleep(const std::vector<unsigned>& who) {
        return eventually([&] {
            return asleep(pool) == who.size() && std::all_of(who.begin(), who.end(), [&](unsigned i) {
                       return pool.core().idle().is_asleep(i);
                   });
        });
    }
    pilfer::pool pool;

private:
    struct order {
        std::function<void()> what;
        bool there = false;
        bool over = false;
    };
    void serve() {
        std::unique_lock hold(m_lock);
        order& mine = m_orders[detail::this_worker()->index];
        mine.there = true;
        for (;;) {
            m_given.wait(hold, [&] { return mine.over || mine.what != nullptr; });
            if (mine.over) {
                return;
            }
            hold.unlock();
            mine.what();
            hold.lock();
            mine.what = nullptr;
            m_done.notify_all();
        }
    }

    std::mutex m_lock;
    std::condition_variable m_given;
    std::condition_variable m_done;
    std::vector<order> m_orders;
    std::vector<pilfer::future<void>> m_servants;
};

class choice_of_a_sleeper : public guarded {};

TEST_F(choice_of_a_sleeper, a_publisher_whose_neighbours_are_busy_wakes_the_only_sleeper) {
    bool woken = false;
    for (int round = 0; round < 100 && !woken; ++round) {
        held_pool held(8);
        held.release(3);
        ASSERT_TRUE(held.sleep({3}));
        std::atomic<unsigned> ran_on{8};
        held.tell(0, [&] {
            pilfer::scope s;
            s.fork([&] { ran_on = detail::this_worker()->index; });
            while (ran_on == 8) { // never popped by its owner
                std::this_thread::yield();
            }
            s.sync();
        });
        ASSERT_EQ(ran_on, 3U);
        // It may have been on its way to bed, and have found the task by itself.
        const auto track = written(held.pool).track(0);
        woken = std::find(track.begin(), track.end(), "wake worker=3") != track.end();
    }
    EXPECT_TRUE(woken);
}

TEST_F(choice_of_a_sleeper, a_worker_wakes_the_nearest_after_it) {
    held_pool held(8);
    held.release(2);
    held.release(6);
    constexpr std::uint64_t calls = 40;
    for (const unsigned publisher : {1U, 4U}) {
        for (std::uint64_t i = 0; i < calls; ++i) {
            ASSERT_TRUE(held.sleep({2, 6}));
            held.tell(publisher, [&] { held.pool.core().wakes.notify_any(); });
        }
    }
    ASSERT_TRUE(held.sleep({2, 6}));
    // A sleeper announces itself a moment before it can be woken.
    const auto all = written(held.pool);
    const auto wakes = [&](unsigned by, unsigned whom) {
        const auto track = all.track(by);
        return static_cast<std::uint64_t>(
            std::count(track.begin(), track.end(), "wake worker=" + std::to_string(whom)));
    };
    EXPECT_GE(wakes(1, 2), calls * 3 / 4);
    EXPECT_LE(wakes(1, 6), calls / 4);
    EXPECT_GE(wakes(4, 6), calls * 3 / 4);
    EXPECT_LE(wakes(4, 2), calls / 4);
}

TEST_F(choice_of_a_sleeper, foreign_threads_take_the_workers_in_turn) {
    held_pool held(8);
    held.release(2);
    held.release(6);
    constexpr int calls = 40;
    std::map<unsigned, int> ran;
    for (int i = 0; i < calls; ++i) {
        ASSERT_TRUE(held.sleep({2, 6}));
        ++ran[held.pool.run([] { return detail::this_worker()->index; })];
    }
    EXPECT_EQ(ran[2] + ran[6], calls);
    // One of the two is next for half of the workers, the other one for the other half.
    EXPECT_GE(ran[2], calls / 4);
    EXPECT_GE(ran[6], calls / 4);
}

} // namespace
