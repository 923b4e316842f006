// The order in which a worker looks for work, read from a written trace. Each script fills all sources of
// work while the workers are held. Then it lets them go, and names the slices that the track must show, in
// order.
#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "pool/pool_core.hpp"
#include "support/harness.hpp"
#include "support/process.hpp"
#include "trace/document.hpp"

namespace {

using namespace support;
using lines = std::vector<std::string>;
namespace detail = pilfer::detail;

void wait_until(const std::atomic<bool>& flag) {
    while (!flag) {
        std::this_thread::yield();
    }
}

/// A frame that waits until the test itself puts it into one of the sources of work.
struct parked : detail::suspension {
    std::atomic<bool> away{false};

    /// In a task. Returns when another task resumes it.
    void park() {
        publish = [](detail::suspension& self) noexcept {
            static_cast<parked&>(self).away = true;
            return true;
        };
        detail::suspend(detail::this_worker(), *this);
    }
};

/// `n` times the same slice from begin to end.
void repeat(lines& to, unsigned n, const std::string& begin, const std::string& end) {
    for (unsigned i = 0; i < n; ++i) {
        to.push_back(begin);
        to.push_back(end);
    }
}

[[nodiscard]] lines operator+(lines a, const lines& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
}

/// The track of `worker` from the first slice on that begins with `start`. Before that slice, chance decides
/// how often the worker lies down.
[[nodiscard]] lines from_first(const document& d, unsigned worker, const std::string& start) {
    const lines all = d.track(worker, false);
    std::size_t at = 0;
    while (at < all.size() && all[at].rfind(start, 0) != 0) {
        ++at;
    }
    return {all.begin() + static_cast<std::ptrdiff_t>(at), all.end()};
}

/// The trace once every worker sleeps, for good: nothing is left to do. (A shutdown would be faster than the
/// last sleep now and then.)
[[nodiscard]] document at_rest(const pilfer::pool& pool) {
    document d = written(pool);
    const auto asleep = [&d](std::size_t worker) {
        const lines track = d.track(worker, false);
        return track.size() >= 2 && track[track.size() - 2] == "sleep" && track.back() == "cut";
    };
    EXPECT_TRUE(eventually([&] {
        d = written(pool);
        return asleep(0) && (d.tracks() == 1 || asleep(1));
    }));
    return d;
}

class search_order : public guarded {};

TEST_F(search_order, contexts_then_own_deque_then_submissions_then_sleep) {
    pilfer::pool pool(traced(1));
    parked here[2];
    parked anywhere[2];
    std::vector<pilfer::future<void>> all;
    for (parked* p : {&here[0], &here[1], &anywhere[0], &anywhere[1]}) {
        all.push_back(pool.async([p] { p->park(); }));
        wait_until(p->away);
    }
    std::atomic<bool> held{false};
    std::atomic<bool> go_on{false};
    auto holder = pool.async([&] {
        for (int i = 0; i < 2; ++i) {
            (void)pilfer::async([] {});
        }
        held = true;
        wait_until(go_on);
    });
    wait_until(held);
    // Filled in the reverse of the order in which they are looked at.
    for (int i = 0; i < 2; ++i) {
        all.push_back(pool.async([] {}));
    }
    for (parked& p : anywhere) {
        pool.core().runnable.push(&p);
    }
    for (parked& p : here) {
        pool.core().at(0).inbox().push(&p);
    }
    go_on = true;
    holder.get();
    for (auto& f : all) {
        f.get();
    }
    const lines got = at_rest(pool).track(0, false);
    // The four that parked, the holder, and then the stations one after the other.
    const lines expected = {"submitted submission",
                            "ended",
                            "resumed here",
                            "ended",
                            "resumed here",
                            "ended",
                            "resumed anywhere",
                            "ended",
                            "resumed anywhere",
                            "ended",
                            "own spark",
                            "ended",
                            "own spark",
                            "ended",
                            "submitted submission",
                            "ended",
                            "submitted submission",
                            "ended",
                            "sleep",
                            "cut"};
    ASSERT_GE(got.size(), expected.size());
    EXPECT_EQ(lines(got.end() - static_cast<std::ptrdiff_t>(expected.size()), got.end()), expected);
}

TEST_F(search_order, submissions_then_theft_then_sleep) {
    for (const auto policy : {pilfer::exposure::always_public, pilfer::exposure::on_demand}) {
        pilfer::options o = traced(2);
        o.balance.steal = pilfer::steal_amount::one();
        o.balance.exposure = policy;
        pilfer::pool pool(o);
        std::atomic<bool> held{false};
        std::atomic<bool> go_on{false};
        std::atomic<bool> rich{false};
        std::atomic<bool> announced{false};
        std::atomic<int> ran{0};
        auto holder = pool.async([&] {
            held = true;
            wait_until(rich);
            (void)pilfer::async([] {}); // own work, while no idle worker can steal it
            announced = true;
            wait_until(go_on);
            return detail::this_worker()->index;
        });
        wait_until(held);
        // Announces, then is silent until a thief has run everything.
        auto victim = pool.async([&] {
            (void)fib_join(5); // answers the requests of the idle workers
            pilfer::scope s;
            for (int i = 0; i < 2; ++i) {
                s.fork([&] { ran.fetch_add(1); });
            }
            rich = true;
            while (ran != 2) {
                std::this_thread::yield();
            }
            s.sync();
            return detail::this_worker()->index;
        });
        wait_until(announced);
        (void)pool.async([] {});
        (void)pool.async([] {});
        go_on = true;
        const unsigned thief = holder.get();
        const unsigned robbed = victim.get();
        ASSERT_NE(thief, robbed);
        const std::string from = " victim=" + std::to_string(robbed);
        const std::string theft = "stolen forked tasks=1" + from;
        const document d = at_rest(pool);
        const lines expected = {"own spark",
                                "ended",
                                "submitted submission",
                                "ended",
                                "submitted submission",
                                "ended",
                                theft,
                                "ended",
                                theft,
                                "ended",
                                "sleep"};
        const lines got = from_first(d, thief, "own spark");
        ASSERT_GE(got.size(), expected.size());
        EXPECT_EQ(lines(got.begin(), got.begin() + static_cast<std::ptrdiff_t>(expected.size())), expected);
        // A victim that does not answer is reached for, once for each task; public tasks need no reach.
        lines reaches;
        for (const std::string& l : d.track(thief)) {
            if (l.rfind("force expose", 0) == 0 || l.rfind("stolen", 0) == 0) {
                reaches.push_back(l);
            }
        }
        if (policy == pilfer::exposure::on_demand) {
            EXPECT_EQ(reaches, (lines{"force expose" + from, theft, "force expose" + from, theft}));
        } else {
            EXPECT_EQ(reaches, (lines{theft, theft}));
        }
    }
}

/// One worker, looks counted from 0. The holder is the first, so the next one is look number 1.
constexpr unsigned looks_before_own = 30;        // 1 to 30: at the 31st the own deque comes first
constexpr unsigned looks_before_submission = 62; // 1 to 62: at the 63rd the submissions do

TEST_F(search_order, endless_local_tasks_do_not_starve_a_submission) {
    pilfer::pool pool(traced(1));
    std::atomic<bool> held{false};
    std::atomic<bool> go_on{false};
    std::atomic<bool> stop{false};
    struct again {
        std::atomic<bool>& stop;
        void operator()() const {
            if (!stop) {
                (void)pilfer::async(again{stop}); // never makes way: it always has more work
            }
        }
    };
    (void)pool.async([&] {
        held = true;
        wait_until(go_on);
        again{stop}();
    });
    wait_until(held);
    (void)pool.async([&] { stop = true; });
    go_on = true;
    const document d = at_rest(pool);
    lines expected = {"submitted submission", "ended"};
    repeat(expected, looks_before_submission, "own spark", "ended");
    expected = expected + lines{"submitted submission", "ended", "own spark", "ended", "sleep", "cut"};
    EXPECT_EQ(from_first(d, 0, "submitted"), expected);
}

class search_order_with_resumptions : public ::testing::TestWithParam<bool> {
    watchdog m_watchdog{patience};
};

TEST_P(search_order_with_resumptions, endless_contexts_starve_neither_the_own_deque_nor_a_submission) {
    const bool inbox = GetParam();
    pilfer::pool pool(traced(1));
    std::atomic<bool> held{false};
    std::atomic<bool> go_on{false};
    std::atomic<bool> stop{false};
    struct round_trip : detail::suspension {
        bool inbox;
    };
    (void)pool.async([&] {
        (void)pilfer::async([] {});
        held = true;
        wait_until(go_on);
        while (!stop) {
            // Runnable again as soon as it waits.
            round_trip s;
            s.inbox = inbox;
            s.publish = [](detail::suspension& self) noexcept {
                auto& core = *self.home->pool;
                (static_cast<round_trip&>(self).inbox ? core.at(0).inbox() : core.runnable).push(&self);
                return true;
            };
            detail::suspend(detail::this_worker(), s);
        }
    });
    wait_until(held);
    (void)pool.async([&] { stop = true; });
    go_on = true;
    const document d = at_rest(pool);
    const std::string resumed = inbox ? "resumed here" : "resumed anywhere";
    lines expected = {"submitted submission", "suspended"};
    repeat(expected, looks_before_own, resumed, "suspended");
    expected = expected + lines{"own spark", "ended"};
    repeat(expected, looks_before_submission - looks_before_own - 1, resumed, "suspended");
    expected = expected + lines{"submitted submission", "ended", resumed, "ended", "sleep", "cut"};
    EXPECT_EQ(from_first(d, 0, "submitted"), expected);
}
INSTANTIATE_TEST_SUITE_P(from, search_order_with_resumptions, ::testing::Bool(),
                         [](const auto& which) { return which.param ? "inbox" : "runnable"; });

TEST_F(search_order, an_endless_context_yields_after_64_announcements) {
    pilfer::pool pool(traced(1));
    std::atomic<bool> held{false};
    std::atomic<bool> go_on{false};
    std::atomic<bool> stop{false};
    std::atomic<unsigned> joins{0};
    std::atomic<unsigned> seen{0};
    (void)pool.async([&] {
        held = true;
        wait_until(go_on);
        while (!stop) {
            (void)pilfer::join([] {}, [] {});
            joins.fetch_add(1);
        }
    });
    wait_until(held);
    (void)pool.async([&] {
        seen = joins.load();
        stop = true;
    });
    go_on = true;
    const document d = at_rest(pool);
    EXPECT_EQ(seen, 63U) << "in the announcement of the 64th";
    EXPECT_EQ(from_first(d, 0, "submitted"),
              (lines{"submitted submission", "suspended", "submitted submission", "ended", "resumed anywhere",
                     "ended", "sleep", "cut"}));
    EXPECT_EQ(d.count("yield"), 1U);
}

TEST_F(search_order, the_last_child_resumes_its_parent_before_anything_else) {
    pilfer::pool pool(traced(2));
    std::atomic<bool> stolen{false};
    std::atomic<bool> go_on{false};
    unsigned parent = 0;
    pool.run([&] {
        parent = detail::this_worker()->index;
        pilfer::scope s;
        s.fork([&] {
            stolen = true;
            wait_until(go_on);
        });
        wait_until(stolen); // by a reach of the other worker
        // the task that the parent's worker finds once the parent waits
        (void)pilfer::async([&] { go_on = true; });
        s.sync();
    });
    const std::string from = " victim=" + std::to_string(parent);
    const document d = at_rest(pool);
    const lines thief = from_first(d, 1 - parent, "stolen");
    ASSERT_GE(thief.size(), 4U);
    EXPECT_EQ(lines(thief.begin(), thief.begin() + 4),
              (lines{"stolen forked tasks=1" + from, "ended", "resumed next", "ended"}));
    const lines own = from_first(d, parent, "submitted");
    ASSERT_GE(own.size(), 4U);
    EXPECT_EQ(lines(own.begin(), own.begin() + 4),
              (lines{"submitted submission", "suspended", "own spark", "ended"}));
}

/// One run of the program of the next test. False: the other worker was not asleep when the task was
/// announced.
[[nodiscard]] bool wake_up_is_in_the_track_of_its_maker() {
    pilfer::pool pool(traced(2));
    (void)at_rest(pool); // both sleep: the submission wakes one of them
    std::atomic<bool> ran{false};
    unsigned publisher = 0;
    pool.run([&] {
        publisher = detail::this_worker()->index;
        // The other worker sleeps. The signal word makes this announcement expose the task and wake it.
        pilfer::scope s;
        while (!ran) {
            s.fork([&] { ran = true; });
            for (int spin = 0; spin < 1000 && !ran; ++spin) {
                std::this_thread::yield();
            }
        }
        s.sync();
    });
    const document d = at_rest(pool);
    const lines track = d.track(publisher);
    const std::string wake = "wake worker=" + std::to_string(1 - publisher);
    if (std::find(track.begin(), track.end(), wake) == track.end()) {
        return false;
    }
    EXPECT_GE(d.count("expose"), 1U);
    const lines other = from_first(d, 1 - publisher, "stolen");
    EXPECT_GE(other.size(), 2U);
    // How many it finds depends on how long it takes to get there.
    EXPECT_THAT(other.empty() ? "" : other[0],
                ::testing::MatchesRegex("stolen forked tasks=[0-9]+ victim=" + std::to_string(publisher)));
    return true;
}

TEST_F(search_order, a_wake_up_is_in_the_track_of_its_waker) {
    // On a busy machine the other worker may still be on its way to bed, and find the task by itself.
    bool seen = false;
    for (int round = 0; round < 100 && !seen; ++round) {
        seen = wake_up_is_in_the_track_of_its_maker();
    }
    EXPECT_TRUE(seen);
}

} // namespace
