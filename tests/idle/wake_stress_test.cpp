// Deques, signal_words and sleepers together: a ready task never stays beside a sleeper.
//
// Publishers announce and never pop, as if each were in a long task. Every task must therefore be taken by a
// worker that searches or sleeps. A lost wake-up is a hang, and the watchdog makes it a failure.
#include <gtest/gtest.h>

#include <memory>

#include <pilfer/detail/deque/deque.hpp>
#include <pilfer/detail/idle/sleep.hpp>

#include "deque/rings.hpp"
#include "platform/os.hpp"
#include "support/protocol_support.hpp"

namespace {

using namespace pilfer_test;
using detail::std_atom;
using detail::steal_status;
using wire = detail::signal_word<std_atom>;

struct futex_park {
    static void wait(std::atomic<std::uint32_t>& word, std::uint32_t expected) noexcept {
        pilfer::os::futex_wait(word, expected);
    }
    static void wake(std::atomic<std::uint32_t>& word) noexcept { pilfer::os::futex_wake(&word, 1); }
};
using sleepers = detail::sleepers<std_atom, futex_park>;

/// A pool without contexts: its workers announce, search and sleep as the library's do.
class little_pool {
public:
    explicit little_pool(unsigned n)
        : m_seats(std::make_unique<sleepers::seat[]>(n)),
          m_map(std::make_unique<sleepers::map_word[]>((n + 63) / 64)),
          m_idle(m_seats.get(), m_map.get(), n) {
        for (unsigned i = 0; i < n; ++i) {
            m_deques.push_back(std::make_unique<tested_deque<std_atom>>(4));
            m_last_woken.push_back(sleepers::nobody);
        }
    }

    void publish(unsigned i, task_word task) {
        auto& d = *m_deques[i];
        if ((d.push(task) & wire::wanted) != 0) {
            (void)m_idle.publish(i, m_last_woken[i], d.deque.signal());
        }
    }
    /// Runs the tasks that worker i finds until stop().
    template <class Run>
    void serve(unsigned i, Run run) {
        bool token = false;
        while (!m_stop.load()) {
            const task_word task = search(i);
            if (task == 0) {
                const auto how = m_idle.sleep(
                    i, [&] { tell_all(i); }, [&] { return ready(i); });
                token = token || how == sleepers::outcome::woken;
                sleeps.fetch_add(1, std::memory_order_relaxed);
                continue;
            }
            if (token) {
                token = false;
                m_idle.settle_token(i);
                if (ready(i)) {
                    (void)m_idle.wake_one(i, m_idle.hint(i));
                }
            }
            run(task);
        }
    }
    void stop() {
        m_stop.store(true);
        std_atom::fence_sc();
        for (unsigned i = 0; i < m_deques.size(); ++i) {
            (void)m_idle.wake(i, i);
        }
    }
    std::atomic<std::int64_t> sleeps{0};

private:
    task_word search(unsigned i) {
        for (unsigned k = 1; k < m_deques.size(); ++k) {
            auto thief = m_deques[(i + k) % m_deques.size()]->deque.thief();
            auto got = thief.steal(any_task);
            if (got.status == steal_status::empty && thief.has_any() && thief.force_expose(1) > 0) {
                got = thief.steal(any_task);
            }
            if (got.status == steal_status::success) {
                return got.task;
            }
        }
        return 0;
    }
    void tell_all(unsigned i) {
        for (unsigned k = 1; k < m_deques.size(); ++k) {
            auto& trip = m_deques[(i + k) % m_deques.size()]->deque.signal();
            if (!trip.has(wire::wanted)) {
                trip.set(wire::wanted);
            }
        }
    }
    /// No worker takes from its own deque here, so its own tasks do not keep it awake.
    bool ready(unsigned i) {
        if (m_stop.load()) {
            return true;
        }
        for (unsigned k = 1; k < m_deques.size(); ++k) {
            if (m_deques[(i + k) % m_deques.size()]->deque.thief().has_any()) {
                return true;
            }
        }
        return false;
    }

    std::unique_ptr<sleepers::seat[]> m_seats;
    std::unique_ptr<sleepers::map_word[]> m_map;
    sleepers m_idle;
    std::vector<std::unique_ptr<tested_deque<std_atom>>> m_deques;
    std::vector<unsigned> m_last_woken;
    std::atomic<bool> m_stop{false};
};

class WakeStress : public testing::TestWithParam<unsigned> {};
INSTANTIATE_TEST_SUITE_P(Sleepers, WakeStress, testing::Values(1U, 2U, 3U, 8U));

TEST_P(WakeStress, NoWakeUpIsLost) {
    const watchdog dog("a task beside a sleeper");
    const std::int64_t rounds = scaled(25'000); // four counts of sleepers: 100,000
    little_pool pool(GetParam() + 1);
    std::atomic<std::int64_t> done{0};
    dice random(GetParam());
    together(GetParam() + 1, [&](unsigned i) {
        if (i != 0) {
            pool.serve(i, [&](task_word) { done.fetch_add(1); });
            return;
        }
        for (std::int64_t r = 1; r <= rounds; ++r) {
            // The push falls into every part of going to sleep.
            for (unsigned k = random.below(200); k > 0; --k) {
                detail::cpu_relax();
            }
            pool.publish(0, task_word{4});
            wait_until([&] { return done.load() == r; });
        }
        pool.stop();
    });
    EXPECT_EQ(done.load(), rounds);
    EXPECT_GT(pool.sleeps.load(), 0);
}

/// Tasks that wait for each other: as many workers must be awake at once as there are tasks. A woken worker
/// must therefore make up for a wake-up that was throttled or spent on an older task.
TEST_P(WakeStress, AsManyWakeUpAsThereAreTasks) {
    const watchdog dog("a task that waits for one beside a sleeper");
    const unsigned servers = GetParam();
    for (const unsigned publishers : {1U, 2U, 3U}) {
        const std::int64_t rounds = scaled(12'000) / (servers * publishers);
        little_pool pool(publishers + servers);
        std::atomic<std::int64_t> started{0};
        std::atomic<std::int64_t> ended{0};
        std::atomic<unsigned> left{publishers};
        together(publishers + servers, [&](unsigned i) {
            if (i >= publishers) {
                pool.serve(i, [&](task_word task) {
                    const auto all = static_cast<std::int64_t>(task >> 2);
                    started.fetch_add(1);
                    wait_until([&] { return started.load() >= all; });
                    ended.fetch_add(1);
                });
                return;
            }
            dice random(i + 1);
            for (std::int64_t r = 1; r <= rounds; ++r) {
                const std::int64_t all = r * servers;
                for (unsigned k = random.below(100); k > 0; --k) {
                    detail::cpu_relax();
                }
                for (unsigned k = i; k < servers; k += publishers) {
                    pool.publish(i, static_cast<task_word>(all) << 2);
                }
                wait_until([&] { return ended.load() >= all; });
            }
            if (left.fetch_sub(1) == 1) {
                pool.stop();
            }
        });
        EXPECT_EQ(ended.load(), rounds * servers);
    }
}

/// Each task announces the next one: most of the time nearly all workers are about to sleep or to wake.
TEST_P(WakeStress, ChainsFromWorkerToWorkerEnd) {
    const watchdog dog("a chain that broke");
    const unsigned n = GetParam() + 1;
    const std::int64_t links = scaled(5'000);
    little_pool pool(n);
    std::atomic<std::int64_t> ended{0};
    together(n, [&](unsigned i) {
        const auto link = [&](task_word task) {
            const auto left = static_cast<std::int64_t>(task >> 2) - 1;
            if (left > 0) {
                pool.publish(i, static_cast<task_word>(left) << 2);
                // Another worker takes it before this one searches again: an owner never looks at its own
                // deque.
                return;
            }
            if (ended.fetch_add(1) + 1 == 2) {
                pool.stop();
            }
        };
        if (i < 2) {
            pool.publish(i, static_cast<task_word>(links) << 2);
        }
        pool.serve(i, link);
    });
    EXPECT_EQ(ended.load(), 2);
}

} // namespace
