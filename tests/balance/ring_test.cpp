// One ring through all workers, on which work reaches every other worker.
#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "balance/victim.hpp"
#include "support/harness.hpp"

namespace {

using namespace support;
namespace balance = pilfer::balance;

/// The victims of the rule `ring` form one cycle through all workers.
TEST(steal_ring, is_one_cycle_for_1_to_1024_workers) {
    balance::random dice(1);
    for (unsigned n = 2; n <= 1024; ++n) {
        std::vector<unsigned> victim(n);
        for (unsigned i = 0; i < n; ++i) {
            balance::chooser who(pilfer::victim::ring, i, n);
            victim[i] = who.next(dice, [](unsigned) { return 0; });
            ASSERT_EQ((victim[i] + 1) % n, i) << "a distance of one";
            who.failed(victim[i]);
            ASSERT_EQ(who.next(dice, [](unsigned) { return 0; }), victim[i]) << "always the same";
        }
        unsigned at = 0;
        unsigned length = 0;
        do {
            at = victim[at];
            ++length;
        } while (at != 0 && length <= n);
        ASSERT_EQ(length, n);
    }
}

/// Tasks that wait for each other, so that each needs a worker of its own.
class gate {
public:
    explicit gate(unsigned n) : m_count(n) {}
    void meet() {
        std::unique_lock hold(m_lock);
        m_workers.insert(pilfer::detail::this_worker()->index);
        if (++m_here == m_count) {
            m_all_here.notify_all();
        }
        m_all_here.wait(hold, [&] { return m_here >= m_count; });
    }
    [[nodiscard]] std::size_t workers() const { return m_workers.size(); }

private:
    std::mutex m_lock;
    std::condition_variable m_all_here;
    unsigned m_count;
    unsigned m_here = 0;
    std::set<unsigned> m_workers;
};

struct ring_thefts : over_workers {
    /// All tasks are announced by one worker.
    template <class Announce>
    static void expect_all_run(pilfer::pool& pool, Announce announce) {
        gate g(GetParam());
        pool.run([&] { announce(g); });
        EXPECT_EQ(g.workers(), GetParam()) << "every worker runs something";
    }
};

TEST_P(ring_thefts, give_every_worker_a_task_of_one) {
    for (const auto amount : {pilfer::steal_amount::one(), pilfer::steal_amount::half()}) {
        pilfer::options o = with_workers();
        o.balance.victim = pilfer::victim::ring;
        o.balance.steal = amount;
        pilfer::pool pool(o);
        for (int round = 0; round < 3; ++round) {
            expect_all_run(pool, [](gate& g) {
                pilfer::scope s;
                for (unsigned i = 1; i < GetParam(); ++i) {
                    s.fork([&] { g.meet(); });
                }
                g.meet();
                s.sync();
            });
        }
    }
}

/// Each task announces the next one: the work moves from worker to worker.
TEST_P(ring_thefts, pass_work_from_worker_to_worker) {
    pilfer::options o = with_workers();
    o.balance.victim = pilfer::victim::ring;
    pilfer::pool pool(o);
    struct link {
        gate& g;
        unsigned left;
        void operator()() const {
            pilfer::scope s;
            if (left > 1) {
                s.fork(link{g, left - 1});
            }
            g.meet();
            s.sync();
        }
    };
    expect_all_run(pool, [](gate& g) { link{g, GetParam()}(); });
}

PILFER_OVER_WORKERS(ring_thefts);

} // namespace
