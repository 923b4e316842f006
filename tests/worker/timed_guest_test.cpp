// Attached threads that wait with a time limit.
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <vector>

#include "support/harness.hpp"

namespace {

using namespace support;
using namespace std::chrono_literals;

class attached_thread_with_a_time_limit : public guarded {};

/// The time may be over just when another thread has taken the wait out of the list and is about to release
/// it. Then the wait ends after that release, and begins no task that may take long.
TEST_F(attached_thread_with_a_time_limit, a_timed_wait_runs_nothing_at_its_end) {
    pilfer::options o = workers(1);
    o.attachable = 1;
    pilfer::pool pool(o);
    std::atomic<bool> busy{false};
    std::atomic<bool> over{false};
    std::atomic<unsigned> ran{0};
    pool.submit([&] {
        busy = true;
        while (!over) {
            std::this_thread::yield();
        }
    });
    while (!busy) {
        std::this_thread::yield();
    }
    for (int i = 0; i < 10; ++i) {
        pool.submit([&] { ran.fetch_add(1); }); // for a free thread: the attached one alone
    }
    {
        const pilfer::attachment here = pool.attach();
        for (std::uint64_t round = 0; round < hundredth_of(50'000, 100); ++round) {
            pilfer::event e;
            std::vector<std::thread> others;
            for (int i = 0; i < 6; ++i) {
                others.emplace_back([&] { e.wait(); }); // released one after the other, this thread last
            }
            others.emplace_back([&, round] {
                std::this_thread::sleep_for(std::chrono::microseconds(100 + round % 64)); // now they wait
                e.set();
            });
            while (!e.wait_for(1us)) {
            }
            for (auto& t : others) {
                t.join();
            }
        }
        EXPECT_EQ(ran, 0U);
        // Without a limit it does begin them.
        std::thread last([&] {
            while (ran == 0) {
                std::this_thread::yield();
            }
            over = true;
        });
        pool.run([] {});
        last.join();
    }
    pool.shutdown();
    EXPECT_EQ(ran, 10U);
}

} // namespace
