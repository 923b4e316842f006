// The records of `fork`: batches of 32, two sizes, recycled, never handed out twice.
#include <gtest/gtest.h>

#include <cstring>
#include <set>

#include "memory/record_pool.hpp"
#include "support/protocol_support.hpp"

namespace {

using namespace pilfer_test;
using pilfer::detail::free_record;
using pilfer::detail::record_bytes;
using pilfer::detail::record_pool;

std::vector<free_record*> members(free_record* batch) {
    std::vector<free_record*> all;
    for (; batch != nullptr; batch = batch->next.load()) {
        all.push_back(batch);
    }
    return all;
}

/// A word of the payload that the pool does not use.
std::uint64_t& owner_mark(free_record* r) {
    return *reinterpret_cast<std::uint64_t*>(reinterpret_cast<std::byte*>(r) + 32);
}

class RecordPool : public testing::TestWithParam<unsigned> {};
INSTANTIATE_TEST_SUITE_P(Class, RecordPool, testing::Values(0U, 1U));

TEST_P(RecordPool, BatchesOf32AlignedDistinctAndRanked) {
    record_pool pool;
    const std::size_t bytes = record_bytes[GetParam()];
    std::set<std::uintptr_t> starts;
    // Enough for several chunks of 64 KiB.
    for (int b = 0; b < 100; ++b) {
        const auto all = members(pool.take(GetParam()));
        ASSERT_EQ(all.size(), record_pool::batch_size);
        for (std::size_t i = 0; i < all.size(); ++i) {
            const auto at = reinterpret_cast<std::uintptr_t>(all[i]);
            ASSERT_EQ(at % 16, 0U) << "records hold callables aligned to 16";
            ASSERT_EQ(all[i]->rank.load(), all.size() - i) << "the length of the list from here";
            ASSERT_TRUE(starts.insert(at).second);
        }
    }
    std::uintptr_t before = 0;
    for (const auto at : starts) {
        ASSERT_TRUE(before == 0 || at - before >= bytes) << "records overlap";
        before = at;
    }
    // All of it may be written.
    for (const auto at : starts) {
        std::memset(reinterpret_cast<void*>(at), 0xee, bytes);
    }
}

TEST_P(RecordPool, ReturnedRecordsAreReusedFirst) {
    record_pool pool;
    free_record* a = pool.take(GetParam());
    free_record* b = pool.take(GetParam());
    const auto in_a = members(a);
    const auto in_b = members(b);
    pool.give(GetParam(), a);
    pool.give(GetParam(), b);
    EXPECT_EQ(members(pool.take(GetParam())), in_b);
    EXPECT_EQ(members(pool.take(GetParam())), in_a);
    const auto fresh = members(pool.take(GetParam()));
    EXPECT_NE(fresh, in_a);
    EXPECT_NE(fresh, in_b);
}

TEST_P(RecordPool, RecordsOfALongListAreRankedAnew) {
    record_pool pool;
    free_record* batch = pool.take(GetParam());
    for (auto* one : members(batch)) {
        one->rank.store(one->rank.load() + 900); // as in the middle of a list of 932
    }
    pool.give(GetParam(), batch);
    const auto again = members(pool.take(GetParam()));
    ASSERT_EQ(again.front(), batch);
    ASSERT_EQ(again.size(), record_pool::batch_size);
    for (std::size_t i = 0; i < again.size(); ++i) {
        EXPECT_EQ(again[i]->rank.load(), again.size() - i);
    }
}

TEST(RecordPoolClasses, DoNotMix) {
    record_pool pool;
    free_record* small = pool.take(0);
    pool.give(0, small);
    EXPECT_NE(pool.take(1), small);
    EXPECT_EQ(pool.take(0), small);
}

TEST(RecordPoolStress, NoTwoThreadsHoldOneObject) {
    for (const unsigned threads : {1U, 2U, 3U, 8U}) {
        const watchdog dog("the record pool");
        record_pool pool;
        std::atomic<int> shared{0};
        const std::int64_t rounds = scaled(20'000) / threads + 1;
        together(threads, [&](unsigned i) {
            dice random(i + 1);
            std::vector<free_record*> held[2];
            for (std::int64_t r = 0; r < rounds; ++r) {
                const unsigned size_class = random.below(2);
                auto& mine = held[size_class];
                if (mine.size() < 4 && random.below(2) == 0) {
                    mine.push_back(pool.take(size_class));
                    for (auto* one : members(mine.back())) {
                        owner_mark(one) = i + 1;
                    }
                } else if (!mine.empty()) {
                    for (auto* one : members(mine.back())) {
                        shared.fetch_add(owner_mark(one) != i + 1 ? 1 : 0);
                    }
                    pool.give(size_class, mine.back());
                    mine.pop_back();
                }
            }
        });
        EXPECT_EQ(shared.load(), 0) << threads << " threads";
    }
}

} // namespace
