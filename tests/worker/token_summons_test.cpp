// A worker that was woken for a submission and then goes off with another task asks the others to see to it.
#include <atomic>
#include <chrono>
#include <thread>

#include "pool/pool_core.hpp"
#include "support/harness.hpp"
#include "support/process.hpp"

namespace {

using namespace support;
using queue = pilfer::detail::submission_queue<pilfer::detail::std_atom>;

// "Another worker is at the queue" has to last as long as the test likes: an explicit instantiation may name
// the private lock.
std::atomic<int>& lock_of(queue& q);

template <std::atomic<int> queue::*Lock>
struct lock_of_queue {
    friend std::atomic<int>& lock_of(queue& q) { return q.*Lock; }
};
template struct lock_of_queue<&queue::m_lock>;

class wake_up_token : public guarded {};

TEST_F(wake_up_token, spent_on_another_task_requests_a_yield_for_the_queued_one) {
    pilfer::pool pool(workers(2));
    std::atomic<bool> ready{false};
    std::atomic<bool> announce{false};
    std::atomic<bool> stolen{false};
    std::atomic<bool> stop{false};
    // One worker announces without end and never returns to its scheduler.
    auto announcer = pool.async([&] {
        for (int i = 0; i < 1000; ++i) { // uses up the summons of its own submission
            (void)pilfer::join([] {}, [] {});
        }
        ready = true;
        while (!announce) {
            std::this_thread::yield();
        }
        (void)pilfer::join(
            [&] {
                while (!stop) {
                    (void)pilfer::join([] {}, [] {});
                }
            },
            [&] { // the oldest: a thief gets it, and stays in it
                stolen = true;
                while (!stop) {
                    std::this_thread::yield();
                }
            });
    });
    // The other one sleeps until it is woken for the submission, which it cannot get at.
    ASSERT_TRUE(eventually([&] { return ready && pool.core().idle().anyone_asleep(); }));
    auto& lock = lock_of(pool.core().submissions.at(pilfer::priority::normal));
    ASSERT_EQ(lock.exchange(1), 0);
    std::atomic<bool> ran{false};
    auto submitted = pool.async([&] { ran = true; });
    ASSERT_TRUE(eventually([&] { return !pool.core().idle().anyone_asleep(); }));
    announce = true;
    const bool away = eventually([&] { return stolen.load(); });
    lock = 0;
    EXPECT_TRUE(away);
    EXPECT_TRUE(eventually([&] { return ran.load(); }, std::chrono::seconds(12)))
        << "it waits beside a worker that announces";
    stop = true;
    announcer.get();
    submitted.get();
}

// Tasks in the deque of a worker that has gone: the leaving worker wakes one sleeper and summons no other.
// The woken worker may go off with another task.
TEST_F(wake_up_token, spent_on_another_task_requests_a_yield_for_leftover_tasks) {
    // Some rounds are no such case. The other worker may see the tasks while it lies down, and then owes no
    // summons. Or it takes the first one before there is a second.
    bool summoned = false;
    for (int round = 0; round < 50 && !summoned; ++round) {
        pilfer::pool pool(workers(2));
        std::atomic<bool> ready{false};
        std::atomic<bool> announce{false};
        std::atomic<bool> stolen{false};
        std::atomic<bool> stop{false};
        auto announcer = pool.async([&] {
            for (int i = 0; i < 1000; ++i) { // uses up the summons of its own submission
                (void)pilfer::join([] {}, [] {});
            }
            ready = true;
            while (!announce) {
                std::this_thread::yield();
            }
            pilfer::scope s;
            for (int i = 0; i < 8; ++i) { // more than the other one takes: it sees further work
                s.fork([&] {
                    stolen = true;
                    while (!stop) {
                        std::this_thread::yield();
                    }
                });
            }
            while (!stop) {
                (void)pilfer::join([] {}, [] {});
            }
            s.sync();
        });
        ASSERT_TRUE(eventually([&] { return ready && pool.core().idle().anyone_asleep(); }));
        pool.core().left_tasks.leave();
        announce = true;
        EXPECT_TRUE(eventually([&] { return stolen.load(); }));
        summoned = eventually([&] { return !pool.core().left_tasks.any(); }, std::chrono::milliseconds(300));
        stop = true;
        announcer.get();
    }
    EXPECT_TRUE(summoned) << "the worker that announces never looks at what was left";
}

} // namespace
