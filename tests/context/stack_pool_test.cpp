// Stacks: limits, reuse, the memory of unused ones, and their guards.
#include <gtest/gtest.h>

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <functional>
#include <map>
#include <set>

#include "context/stack_pool.hpp"
#include "platform/os.hpp"
#include "support/protocol_support.hpp"

namespace {

using namespace pilfer_test;
using pilfer::detail::context;
using pilfer::detail::ranked;
using pilfer::detail::stack_pool;
namespace os = pilfer::os;

constexpr std::size_t kib = 1024;
constexpr std::size_t mib = 1024 * kib;

context* next_of(const context* c) { return ranked<context>::node(c->next.load()); }
void put_before(context* c, context* list) { c->next.store(ranked<context>::of(list, 1)); }

std::vector<context*> members(context* list) {
    std::vector<context*> all;
    for (; list != nullptr; list = next_of(list)) {
        all.push_back(list);
    }
    return all;
}
/// Takes `n` contexts, or as many as there are.
std::vector<context*> take(stack_pool& pool, std::size_t n) {
    std::vector<context*> all;
    while (all.size() < n) {
        const auto some =
            members(pool.take(static_cast<unsigned>(std::min<std::size_t>(n - all.size(), 32))));
        if (some.empty()) {
            break;
        }
        all.insert(all.end(), some.begin(), some.end());
    }
    return all;
}
void give(stack_pool& pool, const std::vector<context*>& all) {
    for (auto* c : all) {
        put_before(c, nullptr);
        pool.give(c);
    }
}
std::size_t usable(const context* c) {
    return static_cast<std::size_t>(reinterpret_cast<const std::byte*>(c) - c->low);
}

/// Bytes of these stacks that the kernel reports as resident.
std::size_t resident_bytes(const std::vector<std::pair<std::byte*, std::size_t>>& stacks) {
    std::size_t bytes = 0;
    for (const auto& [low, size] : stacks) {
        std::vector<unsigned char> pages(size / os::page_size());
        EXPECT_EQ(mincore(low, size, pages.data()), 0);
        for (const unsigned char page : pages) {
            bytes += (page & 1) != 0 ? os::page_size() : 0;
        }
    }
    return bytes;
}

TEST(StackPool, GivesListsWithRanksAndCountsLiveStacks) {
    stack_pool pool(nullptr, 64 * kib, 0, 1);
    EXPECT_EQ(pool.live(), 0U);
    const auto all = members(pool.take(32));
    ASSERT_EQ(all.size(), 32U);
    for (std::size_t i = 0; i < all.size(); ++i) {
        EXPECT_EQ(ranked<context>::node(all[i]->link.load()), all[i]);
        EXPECT_EQ(ranked<context>::rank(all[i]->link.load()), pool.keep() - i) << "half of them is room";
        EXPECT_EQ(all[i]->next.load(), i + 1 < all.size() ? all[i + 1]->link.load() : 0);
        EXPECT_EQ(all[i]->self.ctx, all[i]);
    }
    EXPECT_EQ(pool.live(), 32U);
    EXPECT_EQ(pool.peak(), 32U);
    EXPECT_FALSE(pool.exhausted());
    give(pool, all);
    EXPECT_EQ(pool.live(), 32U) << "32 stay within the reserve";
}

TEST(StackPool, ReturnedStacksAreUsedAgain) {
    stack_pool pool(nullptr, 64 * kib, 0, 1);
    const auto first = take(pool, 10);
    const std::set<context*> known(first.begin(), first.end());
    give(pool, first);
    for (auto* c : take(pool, 10)) {
        EXPECT_EQ(known.count(c), 1U);
    }
    EXPECT_EQ(pool.peak(), 10U);
}

TEST(StackPool, StacksDoNotOverlapAndAreAsLargeAsPromised) {
    for (const std::size_t size : {16 * kib, 20 * kib, 64 * kib, 256 * kib, 1 * mib}) {
        stack_pool pool(nullptr, size, 0, 1);
        EXPECT_GE(pool.stack_size(), size);
        std::map<std::byte*, context*> by_address;
        const auto all = take(pool, 70);
        ASSERT_EQ(all.size(), 70U);
        for (auto* c : all) {
            by_address[c->low] = c;
            // The record and the offset of its top are taken from the stack.
            EXPECT_GE(usable(c) + sizeof(context) + 2 * kib, size);
            c->low[0] = std::byte{1};
            EXPECT_EQ(reinterpret_cast<std::uintptr_t>(c) % alignof(context), 0U);
        }
        const std::byte* end = nullptr;
        for (const auto& [low, c] : by_address) {
            if (end != nullptr) {
                EXPECT_GE(low, end + stack_pool::guard_bytes);
            }
            end = reinterpret_cast<const std::byte*>(c + 1);
        }
    }
}

TEST(StackPool, SixteenTopsThatDoNotShareACacheSet) {
    stack_pool pool(nullptr, 64 * kib, 0, 1);
    std::set<std::uintptr_t> offsets;
    for (auto* c : take(pool, 16)) {
        offsets.insert(reinterpret_cast<std::uintptr_t>(c) % os::page_size());
    }
    ASSERT_EQ(offsets.size(), 16U);
    std::uintptr_t before = 0;
    for (const auto at : offsets) {
        EXPECT_TRUE(before == 0 || at - before == 128) << at;
        before = at;
    }
}

TEST(StackPool, TheLimitHoldsAndReturnedStacksLiftIt) {
    for (const std::size_t most : {std::size_t{1}, std::size_t{2}, std::size_t{10}, std::size_t{100}}) {
        stack_pool pool(nullptr, 64 * kib, most, 2);
        EXPECT_GE(pool.keep(), 1U);
        EXPECT_LE(pool.keep(), std::max<std::size_t>(1, most / 8)) << "workers must not hoard";
        auto all = take(pool, most + 5);
        EXPECT_EQ(all.size(), most);
        EXPECT_EQ(pool.live(), most);
        EXPECT_TRUE(pool.exhausted());
        EXPECT_EQ(pool.take(1), nullptr);
        context* one = all.back();
        one->next.store(0);
        pool.give(one);
        EXPECT_FALSE(pool.exhausted());
        EXPECT_EQ(pool.take(5), one);
        give(pool, all);
    }
}

TEST(StackPool, PagesAboveTheReserveAreReturned) {
    constexpr std::size_t size = 256 * kib;
    constexpr std::size_t n = 300;
    stack_pool pool(nullptr, size, 0, 1);
    constexpr std::size_t reserve = 64 + 32;
    const auto all = take(pool, n);
    ASSERT_EQ(all.size(), n);
    std::vector<std::pair<std::byte*, std::size_t>> stacks;
    for (auto* c : all) {
        stacks.emplace_back(c->low, pool.stack_size());
    }
    EXPECT_LE(resident_bytes(stacks), 2 * n * os::page_size()) << "untouched stacks cost a page or two";
    for (auto* c : all) {
        std::memset(c->low, 1, usable(c));
    }
    EXPECT_EQ(resident_bytes(stacks), n * size);
    give(pool, all);
    EXPECT_EQ(pool.live(), reserve);
    EXPECT_LE(resident_bytes(stacks), reserve * size) << "only the reserve may stay resident";
    // Returned stacks are as good as new.
    const auto again = take(pool, n);
    EXPECT_EQ(again.size(), n);
    unsigned zero = 0;
    for (auto* c : again) {
        zero += c->low[0] == std::byte{0} ? 1 : 0;
        c->low[0] = std::byte{2};
    }
    EXPECT_EQ(zero, n - reserve);
    EXPECT_EQ(pool.peak(), n);
    give(pool, again);
}

TEST(StackPool, LargeStacksAreUsableAndFewAreKept) {
    stack_pool pool(nullptr, 64 * mib, 0, 1);
    EXPECT_EQ(pool.keep(), 2U);
    const auto all = take(pool, 6);
    ASSERT_EQ(all.size(), 6U);
    for (auto* c : all) {
        EXPECT_GE(usable(c), 64 * mib - 4 * kib);
        c->low[0] = std::byte{1};
        c->low[32 * mib] = std::byte{1};
        reinterpret_cast<std::byte*>(c)[-1] = std::byte{1};
    }
    give(pool, all);
    EXPECT_LE(pool.live(), 2U) << "no more than two per worker stay built";
}

TEST(StackPool, EachStackHasAGuardBelowIt) {
    stack_pool pool(nullptr, 64 * kib, 0, 1);
    const auto all = take(pool, 40); // more than one mapping
    for (auto* c : {all.front(), all[1], all[all.size() / 2], all.back()}) {
        volatile std::byte* low = c->low;
        EXPECT_TRUE(child_survives([&] { low[0] = std::byte{1}; }));
        EXPECT_FALSE(child_survives([&] { low[-1] = std::byte{1}; }));
        EXPECT_FALSE(child_survives(
            [&] { low[-static_cast<std::ptrdiff_t>(stack_pool::guard_bytes)] = std::byte{1}; }));
    }
    const bool wide = !os::address_space_is_limited();
    volatile std::byte* first = all.front()->low;
    const auto far =
        static_cast<std::ptrdiff_t>(wide ? stack_pool::wide_guard_bytes : stack_pool::guard_bytes);
    for (auto* c : all) {
        first = std::less<volatile std::byte*>()(c->low, first) ? c->low : first;
    }
    EXPECT_FALSE(child_survives([&] { first[-far] = std::byte{1}; }));
    // After its pages were returned the guard is still there.
    give(pool, take(pool, 200));
    volatile std::byte* low = take(pool, 1).front()->low;
    EXPECT_FALSE(child_survives([&] { low[-1] = std::byte{1}; }));
    give(pool, all);
}

TEST(StackPool, GuardsBeyondTheFirstThousandStacksAreNarrow) {
    if (os::address_space_is_limited()) {
        GTEST_SKIP() << "all guards are narrow";
    }
    stack_pool pool(nullptr, 64 * kib, 0, 1);
    const auto all = take(pool, 2 * stack_pool::with_wide_guard);
    ASSERT_EQ(all.size(), 2 * stack_pool::with_wide_guard);
    std::size_t wide = 0;
    for (auto* c : all) {
        wide += c->home->guard == stack_pool::wide_guard_bytes ? 1 : 0;
    }
    EXPECT_GE(wide, stack_pool::with_wide_guard);
    EXPECT_LT(wide, stack_pool::with_wide_guard + stack_pool::most_in_slab);
    give(pool, all);
}

// Shadow memory does not fit below any limit, and an emulator is limited with the program.
#if !defined(PILFER_SANITIZED) && !defined(PILFER_TEST_EMULATED)
std::size_t address_space_bytes() {
    std::ifstream file("/proc/self/statm");
    std::size_t pages = 0;
    file >> pages;
    return pages * os::page_size();
}

TEST(StackPool, WithoutAddressSpaceThereIsNullAndNoCrash) {
    for (const std::size_t room : {std::size_t{0}, 1 * mib, 8 * mib}) {
        for (const std::size_t size : {64 * kib, 256 * kib, 64 * mib}) {
            SCOPED_TRACE(testing::Message()
                         << room / mib << " MiB of room, stacks of " << size / kib << " KiB");
            EXPECT_TRUE(child_survives([&] {
                stack_pool pool(nullptr, size, 0, 1);
                rlimit limit{};
                limit.rlim_cur = limit.rlim_max = address_space_bytes() + room;
                if (setrlimit(RLIMIT_AS, &limit) != 0) {
                    _exit(2);
                }
                std::size_t got = 0;
                context* all = nullptr;
                while (context* list = pool.take(32)) {
                    while (list != nullptr) {
                        context* next = next_of(list);
                        list->low[0] = std::byte{1};
                        put_before(list, all);
                        all = list;
                        list = next;
                        ++got;
                    }
                }
                const bool some = got > 0;
                if (!pool.exhausted() || some != (room >= size + stack_pool::guard_bytes)) {
                    _exit(3);
                }
                if (some) {
                    pool.give(all);
                    if (pool.exhausted() || pool.take(1) == nullptr) {
                        _exit(4);
                    }
                }
            }));
        }
    }
}
#endif

TEST(StackPoolStress, NoTwoThreadsHoldOneObject) {
    for (const unsigned threads : {1U, 2U, 3U, 8U}) {
        const watchdog dog("the stack pool");
        // Half of the rounds meet the limit.
        for (const std::size_t most : {std::size_t{0}, std::size_t{40}}) {
            stack_pool pool(nullptr, 16 * kib, most, threads);
            std::atomic<int> shared{0};
            const std::int64_t rounds = scaled(8'000) / threads + 1;
            together(threads, [&](unsigned i) {
                dice random(i + 1);
                std::vector<context*> mine;
                for (std::int64_t r = 0; r < rounds; ++r) {
                    if (mine.size() < 64 && random.below(2) == 0) {
                        for (auto* c : members(pool.take(1 + random.below(32)))) {
                            c->job = &mine;
                            c->low[0] = std::byte{1};
                            mine.push_back(c);
                        }
                    } else {
                        context* list = nullptr;
                        for (unsigned n = random.below(40); n > 0 && !mine.empty(); --n) {
                            context* c = mine.back();
                            mine.pop_back();
                            shared.fetch_add(c->job != &mine ? 1 : 0);
                            put_before(c, list);
                            list = c;
                        }
                        pool.give(list);
                    }
                }
                give(pool, mine);
            });
            EXPECT_EQ(shared.load(), 0) << threads << " threads";
            EXPECT_LE(pool.peak(), most == 0 ? pool.peak() : most);
            EXPECT_LE(pool.live(), 64 + std::size_t{32} * threads);
        }
    }
}

} // namespace
