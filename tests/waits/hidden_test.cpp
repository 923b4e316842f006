// The watch for ready tasks beside sleepers: sees one that nobody was told of, and nothing where all is well.
#include "inspect/hidden.hpp"

#include <atomic>
#include <chrono>
#include <thread>

#include "support/harness.hpp"
#include "worker/pool_core.hpp"

namespace {

using namespace support;
using namespace std::chrono_literals;
using pilfer::detail::hidden_watch;

/// A task as join announces it, but with a push that tells nobody, as if the wake-up had been lost.
struct told_nobody : pilfer::detail::spark {
    std::atomic<bool> ran{false};
    told_nobody() {
        run = [](pilfer::detail::spark* self,
                 pilfer::detail::worker*) noexcept -> pilfer::detail::suspension* {
            static_cast<told_nobody*>(self)->ran = true;
            return nullptr;
        };
    }
    void push() {
        (void)pilfer::detail::push_task(
            pilfer::detail::this_worker(),
            reinterpret_cast<pilfer::detail::task_word>(static_cast<pilfer::detail::spark*>(this)) |
                pilfer::detail::kind_spark);
    }
};

class row_B8_watch : public ::testing::TestWithParam<unsigned> {
    watchdog m_watchdog{patience};
};

/// Until everybody but the caller's worker sleeps.
void wait_until_others_sleep(pilfer::detail::pool_core& p) {
    const unsigned me = pilfer::detail::this_worker()->index;
    for (unsigned i = 0; i < p.size();) {
        i += i == me || p.idle().is_left_asleep(i) ? 1 : 0;
        std::this_thread::sleep_for(50us);
    }
}

TEST_P(row_B8_watch, sees_a_task_that_nobody_was_told_of) {
    if (pilfer::detail::checked_build) {
        GTEST_SKIP() << "a push past the announcement is missing in the books that the checked build keeps";
    }
    pilfer::pool pool(workers(GetParam()));
    for (const bool blocked : {false, true}) { // the owner: inside a call of the system, or computing
        hidden_watch watch;
        std::atomic<bool> pushed{false};
        std::atomic<bool> seen{false};
        auto owner = pool.async([&] {
            auto& p = static_cast<pilfer::detail::scheduler*>(pilfer::detail::this_worker())->core();
            wait_until_others_sleep(p);
            told_nobody task;
            task.push();
            pushed = true;
            while (!seen) {
                if (blocked) {
                    std::this_thread::sleep_for(1ms);
                }
            }
            // Told at last: what is announced next wakes the others, who take both.
            pilfer::scope s;
            std::atomic<bool> second{false};
            s.defer([&] { second = true; });
            while (!task.ran || !second) {
                std::this_thread::sleep_for(20us);
            }
        });
        const auto begin = std::chrono::steady_clock::now();
        bool quiet = true;
        while (!seen) {
            if (std::chrono::steady_clock::now() - begin > 12s) {
                quiet = false; // the watch counts no time in which others have the CPUs
                seen = true;
            } else if (const auto hidden = watch.look()) {
                EXPECT_TRUE(pushed);
                EXPECT_GT(hidden->microseconds, 10'000U);
                EXPECT_NE(hidden->owner, hidden->sleeper);
                EXPECT_NE(hidden->text().find("lay there for"), std::string::npos);
                seen = true;
            }
            std::this_thread::sleep_for(1ms);
        }
        owner.get();
        if (!quiet) {
            GTEST_SKIP() << "in 12 s there were no 10 ms in which this machine had nothing else to do";
        }
    }
}

INSTANTIATE_TEST_SUITE_P(workers, row_B8_watch, ::testing::Values(2U, 3U, 8U),
                         ::testing::PrintToStringParamName());

/// Bursts, so that workers lie down and are woken all the time, and long tasks that keep theirs to
/// themselves.
class row_B8_promise : public over_workers {};

TEST_P(row_B8_promise, no_ready_task_is_old_beside_a_sleeper) {
    pilfer::pool pool(with_workers());
    std::atomic<bool> over{false};
    std::optional<pilfer::detail::hidden_task> worst;
    std::atomic<std::uint64_t> looks{0};
    std::thread watcher([&] {
        hidden_watch watch;
        do {
            if (auto hidden = watch.look(); hidden && !worst) {
                worst = hidden;
            }
            looks = watch.looks();
            std::this_thread::sleep_for(1ms);
        } while (!over);
    });
    while (looks == 0) { // on a machine that is busy the work would be over before the first one
        std::this_thread::sleep_for(100us);
    }
    for (unsigned round = 0; round < 30; ++round) {
        pool.run([&] {
            std::atomic<bool> ran{GetParam() == 1};
            pilfer::scope s;
            s.defer([&] {
                (void)fib_spawn(8);
                ran = true;
            });
            while (!ran) { // a long task that looks at nothing
                std::this_thread::sleep_for(20us);
            }
            (void)fib_join(12);
            s.sync();
        });
        std::this_thread::sleep_for(std::chrono::microseconds(round * 40));
    }
    over = true;
    watcher.join();
    EXPECT_FALSE(worst.has_value()) << worst->text();
}

PILFER_OVER_WORKERS(row_B8_promise);

} // namespace
