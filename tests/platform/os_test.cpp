// The seam to the operating system: reserved addresses, guards, futexes, threads.
#include <gtest/gtest.h>

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>

#include <cstring>
#include <string>

#include <pilfer/detail/base/atom.hpp>

#include "platform/os.hpp"
#include "support/protocol_support.hpp"

namespace {

namespace os = pilfer::os;
using namespace pilfer_test;

TEST(Memory, ReservedIsZeroAndDiscardedIsZeroAgain) {
    const std::size_t page = os::page_size();
    auto* at = static_cast<char*>(os::reserve(4 * page));
    ASSERT_NE(at, nullptr);
    EXPECT_EQ(at[0], 0);
    std::memset(at, 7, 4 * page);
    os::discard(at + page, 2 * page);
    EXPECT_EQ(at[page - 1], 7);
    EXPECT_EQ(at[page], 0);
    EXPECT_EQ(at[3 * page - 1], 0);
    EXPECT_EQ(at[3 * page], 7);
    os::unreserve(at, 4 * page);
}

TEST(Memory, PopulatedPagesAreThereAndKeepTheirContents) {
    const std::size_t page = os::page_size();
    auto* at = static_cast<char*>(os::reserve(4 * page));
    ASSERT_NE(at, nullptr);
    at[page] = 7;
    constexpr int populate_write = 23; // MADV_POPULATE_WRITE, which older headers lack
    (void)madvise(at + 2 * page, page, populate_write);
    unsigned char there[4] = {};
    ASSERT_EQ(mincore(at, 4 * page, there), 0);
    if ((there[2] & 1) == 0) {
        GTEST_SKIP() << "the kernel is older than Linux 5.14, or an emulator ignores the call";
    }
    os::populate(at, 2 * page);
    ASSERT_EQ(mincore(at, 4 * page, there), 0);
    EXPECT_EQ(there[0] & 1, 1);
    EXPECT_EQ(there[1] & 1, 1);
    EXPECT_EQ(there[3] & 1, 0);
    EXPECT_EQ(at[0], 0);
    EXPECT_EQ(at[page], 7);
    os::unreserve(at, 4 * page);
}

TEST(Memory, TooLargeAReservationGivesNull) { EXPECT_EQ(os::reserve(std::size_t{1} << 60), nullptr); }

TEST(Memory, AGuardKillsAndItsNeighboursDoNot) {
    const std::size_t page = os::page_size();
    auto* at = static_cast<volatile char*>(os::reserve(3 * page));
    ASSERT_NE(at, nullptr);
    ASSERT_NE(os::guard(const_cast<char*>(at) + page, page), os::guard_kind::none);
    EXPECT_TRUE(child_survives([&] {
        at[page - 1] = 1;
        at[2 * page] = 1;
    }));
    EXPECT_FALSE(child_survives([&] { at[page] = 1; }));
    EXPECT_FALSE(child_survives([&] { at[2 * page - 1] = 1; }));
    os::unreserve(const_cast<char*>(at), 3 * page);
}

TEST(Futex, ReturnsAtOnceForAnotherValueAndAfterTheTimeForThisOne) {
    std::atomic<std::uint32_t> word{1};
    os::futex_wait(word, 0);
    const auto before = os::now_ns();
    while (os::now_ns() - before < 5'000'000) {
        os::futex_wait_for(word, 1, 5'000'000);
    }
    EXPECT_GE(os::now_ns() - before, 5'000'000U);
}

TEST(Futex, WakesAWaitingThread) {
    const watchdog dog("a futex");
    std::atomic<std::uint32_t> word{0};
    std::atomic<unsigned> left{0};
    together(4, [&](unsigned i) {
        if (i == 0) {
            word.store(1);
            os::futex_wake(&word, UINT32_MAX);
            return;
        }
        while (word.load() == 0) {
            os::futex_wait(word, 0);
        }
        ++left;
    });
    EXPECT_EQ(left, 3U); // without the wake-up the watchdog ends it
}

TEST(Threads, RunWithANameWithoutSignalsAndEnd) {
    struct seen {
        bool ran = false;
        std::string name;
        bool term_blocked = false;
        bool fault_blocked = true;
    } result;
    std::uintptr_t id = 0;
    const auto entry = [](void* p) -> void* {
        auto& r = *static_cast<seen*>(p);
        os::thread_name("pilfer/4095");
        char name[16] = {};
        pthread_getname_np(pthread_self(), name, sizeof name);
        r.name = name;
        sigset_t mask;
        pthread_sigmask(SIG_SETMASK, nullptr, &mask);
        r.term_blocked = sigismember(&mask, SIGTERM) == 1;
        r.fault_blocked = sigismember(&mask, SIGSEGV) == 1;
        r.ran = true;
        return nullptr;
    };
    ASSERT_EQ(os::thread_start(id, entry, &result), 0);
    os::thread_join(id);
    EXPECT_TRUE(result.ran);
    EXPECT_EQ(result.name, "pilfer/4095");
    EXPECT_TRUE(result.term_blocked);
    EXPECT_FALSE(result.fault_blocked);
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, nullptr, &mask);
    EXPECT_EQ(sigismember(&mask, SIGTERM), 0) << "the starting thread keeps its own mask";
}

TEST(Threads, BoundsContainALocal) {
    const void* low = nullptr;
    std::size_t size = 0;
    os::thread_bounds(low, size);
    const char* here = static_cast<const char*>(__builtin_frame_address(0));
    EXPECT_GE(here, static_cast<const char*>(low));
    EXPECT_LT(here, static_cast<const char*>(low) + size);
}

TEST(Cpus, TheAffinityMaskIsCounted) {
    cpu_set_t all;
    ASSERT_EQ(sched_getaffinity(0, sizeof all, &all), 0);
    EXPECT_EQ(os::affinity_cpus(), static_cast<unsigned>(CPU_COUNT(&all)));
    std::thread([&] {
        cpu_set_t one;
        CPU_ZERO(&one);
        for (int i = 0; i < CPU_SETSIZE; ++i) {
            if (CPU_ISSET(i, &all)) {
                CPU_SET(i, &one);
                break;
            }
        }
        ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
        EXPECT_EQ(os::affinity_cpus(), 1U);
    }).join();
}

/// The store-buffer test: two threads each store one word and read the other's. One fence is heavy, the
/// other one only keeps the compiler in order; both reading the old values must not happen.
TEST(HeavyFence, ReplacesTheFenceOfTheOtherThread) {
    if (!pilfer::detail::heavy_fence_reaches_all()) {
        GTEST_SKIP() << "no membarrier here";
    }
    const watchdog dog("the store-buffer test");
    const std::int64_t rounds = scaled(10'000);
    alignas(128) std::atomic<std::int64_t> x{0};
    alignas(128) std::atomic<std::int64_t> y{0};
    std::vector<std::int64_t> saw[2];
    saw[0].resize(static_cast<std::size_t>(rounds) + 1);
    saw[1].resize(static_cast<std::size_t>(rounds) + 1);
    std::atomic<std::int64_t> at[2] = {0, 0};
    together(2, [&](unsigned i) {
        for (std::int64_t r = 1; r <= rounds; ++r) {
            at[i].store(r);
            // Both must run for the race, so spin. If only one gets a CPU, a round would take a time slice.
            for (unsigned spins = 0; at[1 - i].load() < r && spins < 1000; ++spins) {
                pilfer::detail::cpu_relax();
            }
            wait_until([&] { return at[1 - i].load() >= r; });
            if (i == 0) {
                x.store(r, std::memory_order_relaxed);
                pilfer::detail::std_atom::light_fence();
                saw[0][static_cast<std::size_t>(r)] = y.load(std::memory_order_relaxed);
            } else {
                y.store(r, std::memory_order_relaxed);
                pilfer::detail::std_atom::heavy_fence();
                saw[1][static_cast<std::size_t>(r)] = x.load(std::memory_order_relaxed);
            }
        }
    });
    std::int64_t both_old = 0;
    for (std::int64_t r = 1; r <= rounds; ++r) {
        const auto k = static_cast<std::size_t>(r);
        both_old += saw[0][k] < r && saw[1][k] < r ? 1 : 0;
    }
    EXPECT_EQ(both_old, 0);
}

} // namespace
