// All tasks are within reach: another worker takes up tasks that the owner of a long task has announced and
// that no other worker knows of.
#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "support/harness.hpp"

namespace {

using namespace support;
using namespace std::chrono_literals;

template <class Condition>
void wait_until(Condition condition) {
    while (!condition()) {
        std::this_thread::sleep_for(20us); // leaves the CPU to the thread that makes it true
    }
}

/// All other workers of a pool, inside tasks until let_go().
class held_workers {
public:
    explicit held_workers(pilfer::pool& pool) {
        for (unsigned i = 1; i < pool.workers(); ++i) {
            m_tasks.push_back(pool.async([this] {
                m_inside.fetch_add(1);
                wait_until([this] { return m_go.load(); });
            }));
        }
        wait_until([this] { return m_inside == m_tasks.size(); });
    }
    held_workers(const held_workers&) = delete;
    held_workers& operator=(const held_workers&) = delete;
    ~held_workers() {
        for (auto& t : m_tasks) {
            t.get();
        }
    }
    void let_go() { m_go = true; }

private:
    std::atomic<std::size_t> m_inside{0};
    std::atomic<bool> m_go{false};
    std::vector<pilfer::future<void>> m_tasks;
};

/// The one task that ends the wait of its own announcer.
class only_task {
public:
    only_task(pilfer::pool& pool, held_workers& others) : m_pool(pool), m_others(others) {
        // Sleepers and searchers of earlier times may have left their wishes: they are answered here.
        for (int i = 0; i < 3; ++i) {
            (void)pilfer::join([] {}, [] {});
        }
        m_exposures = pool.counters().exposures;
    }
    /// The announcer waits without announcing or looking at anything until the task has run.
    void wait() {
        EXPECT_EQ(m_pool.counters().exposures, m_exposures) << "it should be private: nobody was idle";
        m_others.let_go();
        wait_until([this] { return m_ran.load(); });
    }
    void run() { m_ran = true; }

private:
    pilfer::pool& m_pool;
    held_workers& m_others;
    std::uint64_t m_exposures = 0;
    std::atomic<bool> m_ran{false};
};

void by_join(only_task& t) {
    (void)pilfer::join([&] { t.wait(); }, [&] { t.run(); });
}
void by_spawn(only_task& t) {
    pilfer::scope s;
    s.spawn([&] { t.wait(); });
    t.run();
    s.sync();
}
void by_fork(only_task& t) {
    pilfer::scope s;
    s.fork([&] { t.run(); });
    t.wait();
    s.sync();
}
void by_async(only_task& t) {
    auto done = pilfer::async([&] { t.run(); });
    t.wait();
    done.get();
}
void by_for_each(only_task& t) {
    pilfer::for_each(0, 2, [&](int i) { i == 0 ? t.wait() : t.run(); });
}
void by_reduce(only_task& t) {
    const int sum = pilfer::reduce(
        0, 3, 0,
        [&](int i) {
            if (i == 0) {
                t.wait();
            } else if (i == 2) {
                t.run();
            }
            return i;
        },
        std::plus<>());
    EXPECT_EQ(sum, 3);
}

struct verb {
    const char* name;
    void (*announce_and_wait)(only_task&);
};

class private_task : public ::testing::TestWithParam<std::tuple<verb, unsigned>> {
    watchdog m_watchdog{patience};
};

TEST_P(private_task, of_a_long_task_is_stolen) {
    const auto [verb, n] = GetParam();
    pilfer::options o = workers(n);
    o.balance.exposure = pilfer::exposure::on_demand;
    pilfer::pool pool(o);
    {
        held_workers others(pool);
        pool.run([&] {
            only_task t(pool, others);
            verb.announce_and_wait(t);
        });
    }
    EXPECT_GE(pool.counters().reaches, 1U);
}

INSTANTIATE_TEST_SUITE_P(verbs, private_task,
                         ::testing::Combine(::testing::Values(verb{"join", by_join}, verb{"spawn", by_spawn},
                                                              verb{"fork", by_fork}, verb{"async", by_async},
                                                              verb{"for_each", by_for_each},
                                                              verb{"reduce", by_reduce}),
                                            ::testing::Values(2U, 3U, 8U, 64U)),
                         [](const auto& at) {
                             return std::string(std::get<0>(at.param).name) + "_" +
                                    std::to_string(std::get<1>(at.param));
                         });

/// Each of many workers in turn hides a task, while all others wait in this way: one reach less than there
/// are workers.
class private_tasks_of_all : public over_workers {};

TEST_P(private_tasks_of_all, are_all_stolen_by_one_worker) {
    if (GetParam() == 1) {
        GTEST_SKIP() << "there is nobody to reach";
    }
    pilfer::pool pool(with_workers());
    std::atomic<unsigned> hidden{0};
    std::atomic<unsigned> ran{0};
    std::vector<pilfer::future<void>> owners;
    for (unsigned i = 1; i < GetParam(); ++i) {
        owners.push_back(pool.async([&] {
            pilfer::scope s;
            s.fork([&] { ran.fetch_add(1); });
            hidden.fetch_add(1);
            // Until the tasks of all have run: only the last worker is free to run one.
            wait_until([&] { return ran == GetParam() - 1; });
            s.sync();
        }));
    }
    for (auto& f : owners) {
        f.get();
    }
    EXPECT_EQ(hidden, GetParam() - 1);
}

PILFER_OVER_WORKERS(private_tasks_of_all);

} // namespace
