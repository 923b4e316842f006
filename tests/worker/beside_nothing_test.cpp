// awaited::beside_nothing: a wait that keeps its worker from new tasks.
#include <atomic>
#include <chrono>
#include <thread>

#include <gtest/gtest.h>

#include <pilfer/detail/wait/wait.hpp>
#include <pilfer/pilfer.hpp>

#include "pool/pool_core.hpp"
#include "support/harness.hpp"
#include "support/process.hpp"

namespace {

using namespace support;
using namespace std::chrono_literals;
using pilfer::detail::awaited;
using pilfer::detail::waiters;

/// One wait beside nothing.
class lonely_wait {
public:
    void wait() {
        constexpr static pilfer::detail::wait_kind kind{
            "a test", [](const pilfer::detail::suspension&, pilfer::detail::wait_facts&) noexcept {}};
        waiters none;
        pilfer::detail::wait_in(none, m_entry, pilfer::detail::never, kind, this, awaited::beside_nothing);
    }
    void end() { pilfer::detail::go_on(m_entry); }

private:
    waiters::entry m_entry;
};

[[nodiscard]] bool sleeps(pilfer::pool& pool, unsigned worker) {
    return eventually([&] { return pool.core().idle().is_left_asleep(worker); });
}

[[nodiscard]] pilfer::options on_own_threads(unsigned workers) {
    pilfer::options o;
    o.workers = workers;
    o.resume = pilfer::resume::own_thread;
    return o;
}

/// More rounds than there are orders in which a worker looks for work.
TEST(beside_nothing, no_task_begins_before_the_end_of_the_wait) {
    const watchdog dog(60);
    pilfer::pool pool(on_own_threads(1));
    constexpr int rounds = 130;
    lonely_wait waits[rounds];
    std::atomic<int> begun{0};
    std::atomic<int> round{-1};
    std::atomic<int> wrong{0};
    auto all = pool.async([&] {
        for (int i = 0; i < rounds; ++i) {
            pilfer::yield(); // what was submitted begins here
            const int before = begun;
            round = i;
            waits[i].wait();
            wrong += begun != before;
        }
    });
    for (int i = 0; i < rounds; ++i) {
        ASSERT_TRUE(eventually([&] { return round == i; }));
        ASSERT_TRUE(sleeps(pool, 0));
        pool.submit([&] { ++begun; });
        waits[i].end();
    }
    all.get();
    EXPECT_EQ(wrong, 0);
    pool.shutdown();
    EXPECT_EQ(begun, rounds);
}

TEST(beside_nothing, a_suspended_frame_goes_on_meanwhile) {
    const watchdog dog(60);
    pilfer::pool pool(on_own_threads(1));
    pilfer::event go;
    lonely_wait wait;
    std::atomic<bool> suspends{false};
    auto other = pool.async([&] {
        suspends = true;
        go.wait();
        wait.end();
    });
    ASSERT_TRUE(eventually([&] { return suspends.load(); }));
    auto waiting = pool.async([&] { wait.wait(); });
    ASSERT_TRUE(sleeps(pool, 0));
    go.set();
    other.get();
    waiting.get();
}

/// It does not look now and then, as the number of its sleeps shows. resize() calls it for nothing.
TEST(beside_nothing, the_worker_sleeps_on) {
    const watchdog dog(60);
    pilfer::pool pool(on_own_threads(2));
    lonely_wait waits[2];
    std::atomic<bool> begins{false};
    auto first = pool.async([&] { waits[0].wait(); });
    auto second = pool.async([&] { waits[1].wait(); });
    ASSERT_TRUE(sleeps(pool, 0) && sleeps(pool, 1));
    ASSERT_TRUE(eventually([&] { return pool.counters().suspends == 2; }));
    pool.submit([&] { begins = true; });
    EXPECT_EQ(pool.resize(1), 1U);
    const auto before = pool.counters(1).sleeps;
    EXPECT_EQ(pool.resize(2), 2U);
    ASSERT_TRUE(eventually([&] { return pool.counters(1).sleeps == before + 1; }));
    ASSERT_TRUE(sleeps(pool, 0) && sleeps(pool, 1));
    std::this_thread::sleep_for(100ms);
    EXPECT_EQ(pool.counters(1).sleeps, before + 1);
    EXPECT_FALSE(begins);
    waits[0].end();
    waits[1].end();
    first.get();
    second.get();
    pool.shutdown();
    EXPECT_TRUE(begins);
}

} // namespace
