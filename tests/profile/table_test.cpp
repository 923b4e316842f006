// The recorder's hash table, against a map.
#include <cstdint>
#include <map>
#include <memory>
#include <random>

#include "profile/table.hpp"
#include "support/harness.hpp"

namespace {

using namespace support;
using pilfer::profile::table;

class table_of_tasks : public guarded {};

TEST_F(table_of_tasks, takes_what_was_put_in_and_nothing_else) {
    table<std::unique_ptr<int>> t;
    EXPECT_EQ(t.find(8), nullptr);
    EXPECT_EQ(t.take(8), nullptr);
    t[8] = std::make_unique<int>(5);
    t[16] = std::make_unique<int>(6);
    ASSERT_NE(t.find(8), nullptr);
    EXPECT_EQ(**t.find(8), 5);
    EXPECT_EQ(*t.take(8), 5);
    EXPECT_EQ(t.find(8), nullptr);
    EXPECT_EQ(*t.take(16), 6);
    t[8] = std::make_unique<int>(7);
    t.clear();
    EXPECT_EQ(t.find(8), nullptr);
}

TEST_F(table_of_tasks, no_value_has_the_key_0) {
    table<std::unique_ptr<int>> t;
    for (std::uintptr_t key = 8; key <= 160; key += 8) {
        t[key] = std::make_unique<int>(1);
    }
    EXPECT_EQ(t.find(0), nullptr);
    EXPECT_EQ(t.take(0), nullptr);
    if constexpr (pilfer::detail::checked_build) {
        EXPECT_DEATH((void)t[0], "check failed: a recorded task has no address");
    }
}

TEST_F(table_of_tasks, random_programs_agree_with_a_map) {
    std::minstd_rand random(20261127);
    for (unsigned keys : {5U, 60U, 3000U}) { // addresses that collide, and a table that grows
        table<std::unique_ptr<unsigned>> t;
        std::map<std::uintptr_t, unsigned> expected;
        for (unsigned i = 0; i < 20'000; ++i) {
            const std::uintptr_t key = 64 * (1 + random() % keys);
            if (random() % 2 == 0) {
                t[key] = std::make_unique<unsigned>(i);
                expected[key] = i;
            } else {
                const auto at = expected.find(key);
                const auto taken = t.take(key);
                ASSERT_EQ(taken != nullptr, at != expected.end());
                if (taken != nullptr) {
                    ASSERT_EQ(*taken, at->second);
                    expected.erase(at);
                }
            }
        }
        for (unsigned k = 1; k <= keys; ++k) {
            const auto at = expected.find(64 * k);
            const auto* const v = t.find(64 * k);
            ASSERT_EQ(v != nullptr, at != expected.end());
            ASSERT_TRUE(v == nullptr || **v == at->second);
        }
    }
}

} // namespace
