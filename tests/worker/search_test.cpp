// Searches: their early end, their first victim, and the requests that a worker answers.
#include <array>
#include <atomic>
#include <cstdint>
#include <utility>

#include "platform/os.hpp"
#include "support/harness.hpp"
#include "support/process.hpp"
#include "worker/stand_still.hpp"

namespace {

using namespace support;
namespace detail = pilfer::detail;

class search : public guarded {};

/// A search that nothing ends has a fixed number of attempts. One that takes up a submission on its way has
/// fewer, so that not all that was tried is whole searches.
TEST_F(search, ends_when_a_submission_is_queued) {
    constexpr unsigned n = 2;
    const std::uint64_t attempts = (n > pilfer::os::affinity_cpus() ? 4 : 200) + n - 1;
    pilfer::pool pool(workers(n));
    const pilfer::keep_warm warm(pool); // the one that is free does nothing but search
    std::atomic<bool> here{false};
    std::atomic<bool> over{false};
    auto held = pool.async([&] {
        open(here);
        wait(over);
    });
    wait(here);
    const auto tried = [&pool] { return pool.counters(detail::this_worker()->index).steals_tried; };
    std::uint64_t before = pool.run(tried);
    // On a busy machine the searching thread often has no CPU when a submission comes.
    const bool ended_early = eventually([&] {
        const std::uint64_t now = pool.run(tried);
        const std::uint64_t since = std::exchange(before, now);
        return (now - since) % attempts != 0;
    });
    open(over);
    held.get();
    EXPECT_TRUE(ended_early);
}

[[nodiscard]] bool all_others_sleep(pilfer::pool& pool, unsigned but) {
    for (unsigned i = 0; i < pool.workers(); ++i) {
        if (i != but && !pool.core().idle().is_left_asleep(i)) {
            return false;
        }
    }
    return true;
}

/// Among 64 workers a victim chosen at random is the right one once in 63 times.
TEST_F(search, of_a_woken_worker_begins_at_its_waker) {
    constexpr unsigned n = 64;
    constexpr int rounds = 40;
    int at_once = 0;
    // A sleeper may be in its last look and find the task by itself: on a busy machine many rounds are like
    // that.
    for (int more = 0; more < 10 && at_once < rounds / 2; ++more) {
        pilfer::pool pool(workers(n));
        at_once = 0;
        for (int k = 0; k < rounds; ++k) {
            pool.run([&] {
                const unsigned me = detail::this_worker()->index;
                ASSERT_TRUE(eventually([&] { return all_others_sleep(pool, me); }));
                std::array<std::uint64_t, n> before{};
                for (unsigned i = 0; i < n; ++i) {
                    before[i] = pool.counters(i).steals_tried;
                }
                std::atomic<std::uint64_t> tried{0};
                pilfer::scope s;
                s.fork([&] {
                    const unsigned i = detail::this_worker()->index;
                    tried = pool.counters(i).steals_tried - before[i];
                    tried.notify_all();
                });
                tried.wait(0); // not popped by its owner
                at_once += tried == 1 ? 1 : 0;
                s.sync();
            });
        }
    }
    RecordProperty("at_once", at_once);
    EXPECT_GE(at_once, rounds / 2);
}

/// One worker has announced tasks that no other can take, and gets a request as from a thief.
class asked_owner : public guarded {
protected:
    static constexpr unsigned tasks = 8;
    /// The tasks that the others can take while the k-th of its tasks runs.
    struct shares {
        std::array<std::int64_t, tasks> seen{};
        unsigned ran = 0;
        /// By that task: it is the only one that runs.
        void look() {
            auto& deque = detail::this_worker()->deque;
            seen[ran++] = deque.thief().look().shared;
        }
    };
    /// Earlier requests of others are answered, and forgotten.
    static void answer() {
        for (int i = 0; i < 3; ++i) {
            (void)pilfer::join([] {}, [] {});
        }
    }
    static void ask() {
        detail::this_worker()->deque.signal().set(detail::signal_word<detail::std_atom>::expose);
    }
    /// Runs `f` on one worker while the other one is inside a task.
    template <class F>
    static void run(F f) {
        pilfer::pool pool(workers(2));
        std::atomic<bool> here{false};
        std::atomic<bool> over{false};
        auto held = pool.async([&] {
            open(here);
            wait(over);
        });
        wait(here);
        f(pool);
        open(over);
        held.get();
    }
};

TEST_F(asked_owner, shares_between_two_of_its_own_tasks) {
    shares s;
    run([&](pilfer::pool& pool) {
        std::atomic<unsigned> ended{0};
        pool.run([&] {
            answer();
            for (unsigned i = 0; i < tasks; ++i) {
                (void)pilfer::async([&] {
                    s.look();
                    count(ended);
                });
            }
            EXPECT_EQ(detail::this_worker()->deque.thief().look().shared, 0);
            ask();
        });
        wait(ended, tasks);
    });
    EXPECT_GT(s.seen[0], 0);
}

TEST_F(asked_owner, shares_between_two_children_under_a_lock) {
    shares s;
    run([&](pilfer::pool& pool) {
        pool.run([&] {
            answer();
            pilfer::mutex m;
            m.lock();
            {
                pilfer::scope children;
                for (unsigned i = 0; i < tasks; ++i) {
                    children.fork([&] { s.look(); });
                }
                EXPECT_EQ(detail::this_worker()->deque.thief().look().shared, 0);
                ask();
                children.sync();
            }
            m.unlock();
        });
    });
    EXPECT_EQ(s.seen[0], 0) << "it ran before anybody was answered";
    EXPECT_GT(s.seen[1], 0);
}

} // namespace
