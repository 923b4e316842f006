// Contexts of other workers reuse stacks whose pages were returned. ThreadSanitizer once saw a false race
// there: a task's last look at its own record, against the record that was made at that address.
#include <cstdint>

#include "support/harness.hpp"

namespace {

using namespace support;

/// One stack per level.
std::uint64_t nest(std::uint64_t depth) {
    if (depth == 0) {
        return 1;
    }
    std::uint64_t below = 0;
    pilfer::scope s;
    s.spawn([&below, depth] { below = nest(depth - 1); });
    s.sync();
    return below + 1;
}

class discarded_contexts : public over_workers {};

TEST_P(discarded_contexts, are_made_anew) {
    pilfer::pool pool(with_workers());
    // More than workers and pool keep to themselves: 64 each and a reserve of 64 + 32 per worker.
    const std::uint64_t depth = 64 + 96 * std::uint64_t{GetParam()} + 200;
    if (depth > 3000) {
        GTEST_SKIP() << "enough is seen with fewer workers";
    }
    std::size_t discarded = 0;
    for (int round = 0; round < 10; ++round) {
        EXPECT_EQ(pool.run([&] { return nest(depth); }), depth + 1);
        const auto c = pool.counters();
        discarded += c.contexts_peak > c.contexts_live;
    }
    EXPECT_GT(discarded, 0U) << "no pages were given back";
}

PILFER_OVER_WORKERS(discarded_contexts);

} // namespace
