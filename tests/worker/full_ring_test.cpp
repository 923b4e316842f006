// Rings without memory for larger ones: the rest of a theft stays in the victim's deque, and weights are
// lost.
#include <atomic>
#include <cstdlib>
#include <new>
#include <thread>
#include <vector>

#include <pilfer/detail/base/platform.hpp>

#include "pool/pool_core.hpp"
#include "support/harness.hpp"

namespace {

// Refuses memory for rings only: these are the library's allocations without exceptions.
constinit std::atomic<bool> refuses{false};
constinit std::atomic<int> refused{0};

} // namespace

// clang's runtime of ThreadSanitizer defines these itself, and not weakly.
#if defined(PILFER_TSAN)
constexpr bool can_refuse = false;
#else
constexpr bool can_refuse = true;
[[gnu::noinline]] void* operator new(std::size_t n, const std::nothrow_t&) noexcept {
    if (refuses) {
        refused.fetch_add(1);
        return nullptr;
    }
    return std::malloc(n != 0 ? n : 1);
}
[[gnu::noinline]] void* operator new(std::size_t n) {
    if (void* p = std::malloc(n != 0 ? n : 1)) {
        return p;
    }
    throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* p) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::size_t) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, const std::nothrow_t&) noexcept { std::free(p); }
#endif

namespace {

using namespace support;

class theft_into_a_full_ring : public guarded {};

TEST_F(theft_into_a_full_ring, ends_when_the_ring_has_no_room_for_the_rest) {
    if (!can_refuse) {
        GTEST_SKIP() << "a sanitizer has the allocator";
    }
    constexpr int tasks = 2000;
    pilfer::options o = workers(2);
    o.balance.steal = pilfer::steal_amount::part(1, 1);
    pilfer::pool pool(o);
    std::vector<std::atomic<int>> ran(tasks);
    std::atomic<int> sum{0};
    std::atomic<bool> current_activity{false};
    std::atomic<bool> go_on{false};
    std::atomic<std::int64_t> left{-1};
    auto thief = pool.async([&] {
        current_activity = true;
        while (!go_on) {
            std::this_thread::yield();
        }
    });
    while (!current_activity) {
        std::this_thread::yield();
    }
    pool.run([&] {
        auto& mine = pilfer::detail::this_worker()->deque;
        pilfer::scope s;
        for (int i = 0; i < tasks; ++i) {
            s.fork([&, i] {
                const auto there = mine.thief().look();
                std::int64_t none = -1;
                left.compare_exchange_strong(none, there.shared + there.own);
                ran[static_cast<std::size_t>(i)].fetch_add(1);
                sum.fetch_add(1);
            });
        }
        refuses = true;
        go_on = true;
        while (sum != tasks) {
            std::this_thread::yield();
        }
        refuses = false;
        s.sync();
    });
    thief.get();
    EXPECT_GE(refused, 1) << "this test refuses nothing";
    // One in hand, and as many as the first ring holds.
    EXPECT_EQ(left, tasks - 1 - 256);
    for (const auto& times : ran) {
        ASSERT_EQ(times, 1);
    }
}

class weights_in_a_full_ring : public guarded {};

TEST_F(weights_in_a_full_ring, without_memory_for_weights_every_task_weighs_1) {
    if (!can_refuse) {
        GTEST_SKIP() << "a sanitizer has the allocator";
    }
    pilfer::pool pool(workers(1));
    int ran = 0;
    const auto task = [&ran] { ++ran; };
    pool.run([&] {
        const auto weighs = [] { return pilfer::detail::this_worker()->deque.thief().scales().weight(); };
        pilfer::scope s;
        s.fork(task);
        const int before = refused;
        refuses = true;
        s.fork({.weight = 60}, task);
        s.spawn({.weight = 60}, [&] { EXPECT_EQ(weighs(), 3U) << "two children and the rest"; });
        refuses = false;
        EXPECT_GT(refused, before) << "this test refuses nothing";
        EXPECT_EQ(weighs(), 2U);
        s.fork({.weight = 60}, task);
        EXPECT_EQ(weighs(), 62U);
        s.sync();
    });
    EXPECT_EQ(ran, 3);
}

TEST_F(weights_in_a_full_ring, a_weighing_ring_that_cannot_grow_makes_plain_calls) {
    if (!can_refuse) {
        GTEST_SKIP() << "a sanitizer has the allocator";
    }
    constexpr int tasks = 600;
    pilfer::pool pool(workers(1));
    int ran = 0;
    pool.run([&] {
        pilfer::scope s;
        s.fork({.weight = 2}, [&ran] { ++ran; });
        refuses = true;
        for (int i = 1; i < tasks; ++i) {
            s.fork({.weight = 2}, [&ran] { ++ran; });
        }
        refuses = false;
        // The last place of the first ring is for the task that is tried and reclaimed.
        EXPECT_EQ(ran, tasks - 255);
        EXPECT_EQ(pilfer::detail::this_worker()->deque.thief().scales().weight(), 510U);
        s.sync();
    });
    EXPECT_EQ(ran, tasks);
}

} // namespace
