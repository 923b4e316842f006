// The steps of sleeping one by one: the sleepers, the order in which they are woken, and their words.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>

#include <pilfer/detail/idle/sleep.hpp>

#include "platform/os.hpp"
#include "support/protocol_support.hpp"

namespace {

using namespace pilfer_test;
namespace os = pilfer::os;
using pilfer::detail::std_atom;

struct futex_park {
    static void wait(std::atomic<std::uint32_t>& word, std::uint32_t expected) noexcept {
        os::futex_wait(word, expected);
    }
    static void wake(std::atomic<std::uint32_t>& word) noexcept { os::futex_wake(&word, 1); }
};

/// The test acts as another worker at a fence of the code under test.
struct fenced_atom : std_atom {
    static inline std::function<void()> at_fence = [] {};
    static void fence_sc() noexcept {
        std_atom::fence_sc();
        at_fence();
    }
};

template <class Atom>
struct bed {
    using sleepers = pilfer::detail::sleepers<Atom, futex_park>;
    using wire = pilfer::detail::signal_word<Atom>;
    unsigned count;
    std::unique_ptr<typename sleepers::seat[]> seats;
    std::unique_ptr<typename sleepers::map_word[]> map;
    sleepers idle;

    explicit bed(unsigned n)
        : count(n), seats(std::make_unique<typename sleepers::seat[]>(n)),
          map(std::make_unique<typename sleepers::map_word[]>((n + 63) / 64)),
          idle(seats.get(), map.get(), n) {}

    /// As if worker i had announced its sleep and slept on its futex.
    void lay_down(unsigned i) {
        seats[i].state.store(sleepers::asleep);
        map[i / 64].fetch_or(std::uint64_t{1} << (i % 64));
    }
    [[nodiscard]] bool in_map(unsigned i) const { return (map[i / 64].load() >> (i % 64) & 1) != 0; }
};
using plain_bed = bed<std_atom>;
constexpr unsigned nobody = plain_bed::sleepers::nobody;

class Sleepers : public testing::TestWithParam<unsigned> {};
INSTANTIATE_TEST_SUITE_P(Workers, Sleepers, testing::Values(1U, 2U, 3U, 8U, 63U, 64U, 65U, 128U, 130U));

TEST_P(Sleepers, NoWorkerSleepsAtFirst) {
    plain_bed b(GetParam());
    EXPECT_FALSE(b.idle.anyone_asleep());
    for (unsigned i = 0; i < b.count; ++i) {
        EXPECT_EQ(b.idle.wake_one(i, 0), nobody);
        EXPECT_FALSE(b.idle.wake(i, 0));
        EXPECT_FALSE(b.idle.is_searching(i));
    }
}

TEST_P(Sleepers, AnyoneAsleepSeesEachSingleSleeper) {
    for (unsigned i = 0; i < GetParam(); ++i) {
        plain_bed b(GetParam());
        b.lay_down(i);
        ASSERT_TRUE(b.idle.anyone_asleep());
        ASSERT_EQ(b.idle.wake_one(GetParam() / 2, 0), i);
        ASSERT_FALSE(b.idle.anyone_asleep());
    }
}

TEST_P(Sleepers, WakesInRingOrderFromTheNextWorker) {
    for (const unsigned from : {0U, GetParam() / 2, GetParam() - 1}) {
        plain_bed b(GetParam());
        for (unsigned i = 0; i < b.count; ++i) {
            b.lay_down(i);
        }
        for (unsigned k = 1; k <= b.count; ++k) {
            ASSERT_EQ(b.idle.wake_one(from, 0), (from + k) % b.count);
        }
        ASSERT_EQ(b.idle.wake_one(from, 0), nobody);
    }
}

TEST_P(Sleepers, AWakeUpIsATokenWithAHint) {
    plain_bed b(GetParam());
    const unsigned last = b.count - 1;
    b.lay_down(last);
    EXPECT_FALSE(b.idle.is_searching(last)) << "asleep is not searching";
    EXPECT_TRUE(b.idle.wake(last, 5));
    EXPECT_FALSE(b.in_map(last));
    EXPECT_TRUE(b.idle.is_searching(last));
    EXPECT_EQ(b.idle.hint(last), 5U);
    EXPECT_FALSE(b.idle.wake(last, 6)) << "nobody is woken twice";
    EXPECT_EQ(b.idle.hint(last), 5U);
    b.idle.settle_token(last);
    EXPECT_FALSE(b.idle.is_searching(last));
}

TEST_P(Sleepers, ASearchingWorkerIsAlertUntilItFindsWork) {
    plain_bed b(GetParam());
    const unsigned n = b.count;
    EXPECT_EQ(b.idle.anyone_alert(0, n), nobody);
    for (unsigned i = 0; i < n; ++i) {
        b.idle.be_alert(i);
        EXPECT_TRUE(b.idle.is_alert(i));
        EXPECT_FALSE(b.idle.is_searching(i)) << "only who was woken holds a token";
        EXPECT_FALSE(b.idle.is_asleep(i));
        EXPECT_FALSE(b.idle.is_running(i));
        EXPECT_EQ(b.idle.anyone_alert(i, 1), i) << "the first one asked";
        EXPECT_EQ(b.idle.anyone_alert((i + 1) % n, n), i) << "the last one asked";
        EXPECT_EQ(b.idle.anyone_alert((i + 1) % n, n + 5), i) << "no more than there are";
        EXPECT_EQ(b.idle.anyone_alert(n + 7, n), i) << "no such worker to begin with";
        EXPECT_EQ(b.idle.anyone_alert((i + 1) % n, n - 1), nobody) << "not asked";
        EXPECT_EQ(b.idle.anyone_alert(i, 0), nobody);
        b.idle.settle_alert(i);
        EXPECT_TRUE(b.idle.is_running(i));
        EXPECT_EQ(b.idle.anyone_alert(0, n), nobody);
    }
}

TEST(SleepersAlert, NeitherASleeperNorAWokenWorkerIsAlert) {
    plain_bed b(3);
    b.lay_down(1);
    EXPECT_EQ(b.idle.anyone_alert(0, 3), nobody);
    EXPECT_TRUE(b.idle.wake(1, 1));
    EXPECT_EQ(b.idle.anyone_alert(0, 3), nobody) << "it may not have a CPU yet";
    b.idle.settle_token(1);
    EXPECT_EQ(b.idle.anyone_alert(0, 3), nobody);
}

TEST(SleepersSteps, AWorkerThatFindsWorkAtTheSecondLookWithdraws) {
    plain_bed b(3);
    bool told = false;
    const auto how = b.idle.sleep(
        1,
        [&] {
            told = true;
            EXPECT_TRUE(b.in_map(1)) << "announced before the others are told";
        },
        [&] {
            EXPECT_TRUE(told) << "told before the second look";
            return true;
        });
    EXPECT_EQ(how, plain_bed::sleepers::outcome::found);
    EXPECT_FALSE(b.in_map(1));
    EXPECT_FALSE(b.idle.is_searching(1));
}

TEST(SleepersSteps, AWorkerThatIsChosenWhileItWithdrawsKeepsTheToken) {
    plain_bed b(3);
    const auto how = b.idle.sleep(
        1, [] {}, [&] { return b.idle.wake_one(0, 2) == 1; });
    EXPECT_EQ(how, plain_bed::sleepers::outcome::woken);
    EXPECT_TRUE(b.idle.is_searching(1));
    EXPECT_EQ(b.idle.hint(1), 2U);
}

TEST(SleepersSteps, AWorkerThatIsChosenBeforeItSleepsDoesNotSleep) {
    const watchdog dog("a sleeper that was woken before it slept");
    plain_bed b(3);
    const auto how = b.idle.sleep(
        1, [&] { EXPECT_TRUE(b.idle.wake(1, 0)); }, [] { return false; });
    EXPECT_EQ(how, plain_bed::sleepers::outcome::woken);
}

TEST(SleepersPublish, WakesOneAndLeavesTheLevelSet) {
    plain_bed b(4);
    plain_bed::wire trip(100);
    b.lay_down(1);
    b.lay_down(3);
    trip.set(plain_bed::wire::wanted);
    unsigned last = nobody;
    EXPECT_TRUE(b.idle.publish(0, last, trip));
    EXPECT_EQ(last, 1U);
    EXPECT_TRUE(trip.has(plain_bed::wire::wanted));
    EXPECT_EQ(b.idle.hint(1), 0U) << "it is told to look at the publisher first";
    EXPECT_TRUE(b.in_map(3));
}

TEST(SleepersPublish, WakesNoOtherWhileTheLastOneSearches) {
    plain_bed b(4);
    plain_bed::wire trip(100);
    b.lay_down(1);
    b.lay_down(2);
    trip.set(plain_bed::wire::wanted);
    unsigned last = nobody;
    ASSERT_TRUE(b.idle.publish(0, last, trip));
    ASSERT_EQ(last, 1U);
    EXPECT_FALSE(b.idle.publish(0, last, trip));
    EXPECT_EQ(last, 1U);
    EXPECT_TRUE(b.in_map(2));
    b.idle.settle_token(1);
    EXPECT_TRUE(b.idle.publish(0, last, trip)) << "it has found something: the next one";
    EXPECT_EQ(last, 2U);
}

TEST(SleepersPublish, ClearsTheLevelWhenNoWorkerSleeps) {
    plain_bed b(4);
    plain_bed::wire trip(100);
    trip.set(plain_bed::wire::wanted);
    unsigned last = nobody;
    EXPECT_FALSE(b.idle.publish(0, last, trip));
    EXPECT_EQ(last, nobody);
    EXPECT_FALSE(trip.has(plain_bed::wire::wanted));
    EXPECT_EQ(trip.take(), 0);
    EXPECT_FALSE(trip.pending(99));
}

/// A worker lies down between the look at the map and the clearing, and still sees the level set.
TEST(SleepersPublish, LooksAgainAfterClearing) {
    bed<fenced_atom> b(4);
    bed<fenced_atom>::wire trip(100);
    trip.set(bed<fenced_atom>::wire::wanted);
    int fences = 0;
    fenced_atom::at_fence = [&] {
        if (++fences == 2) {
            b.lay_down(2);
        }
    };
    unsigned last = nobody;
    EXPECT_TRUE(b.idle.publish(0, last, trip));
    EXPECT_EQ(last, 2U);
    EXPECT_TRUE(trip.has(bed<fenced_atom>::wire::wanted)) << "set again for those who still sleep";
    EXPECT_TRUE(trip.pending(0));
    fenced_atom::at_fence = [] {};
}

TEST(SleepersThreads, EachOfManyIsWokenByNameAndThenInRingOrder) {
    for (const unsigned n : {1U, 2U, 3U, 8U, 64U, 65U, 130U}) {
        const watchdog dog("many sleepers");
        plain_bed b(n);
        std::atomic<unsigned> last{nobody};
        std::atomic<unsigned> woken{0};
        together(n + 1, [&](unsigned i) {
            if (i < n) {
                for (int round = 0; round < 2; ++round) {
                    EXPECT_EQ(b.idle.sleep(
                                  i, [] {}, [] { return false; }),
                              plain_bed::sleepers::outcome::woken);
                    b.idle.settle_token(i);
                    last.store(i);
                    woken.fetch_add(1);
                    // Each worker wakes once by name before one of them sleeps again.
                    wait_until([&] { return woken.load() >= n; });
                }
                return;
            }
            const auto all_lie = [&] {
                for (unsigned k = 0; k < n; ++k) {
                    if (!b.in_map(k)) {
                        return false;
                    }
                }
                return true;
            };
            wait_until(all_lie);
            for (unsigned k = n; k-- > 0;) { // against the ring
                EXPECT_TRUE(b.idle.wake(k, 0));
                wait_until([&] { return woken.load() == n - k; });
                EXPECT_EQ(last.load(), k) << "somebody else got up";
            }
            wait_until(all_lie);
            for (unsigned k = 0; k < n; ++k) {
                EXPECT_EQ(b.idle.wake_one(n - 1, 0), k);
            }
            EXPECT_FALSE(b.idle.anyone_asleep());
        });
    }
}

} // namespace
