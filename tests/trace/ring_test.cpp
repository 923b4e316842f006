// The ring of events: order, overwriting, and no mixture of two events.
#include <atomic>
#include <cstdint>
#include <set>
#include <thread>
#include <vector>

#include "support/harness.hpp"
#include "trace/ring.hpp"

namespace {

using namespace support;
using pilfer::trace::excerpt;
using pilfer::trace::ring;
using pilfer::trace::task;
using pilfer::trace::what;

class trace_ring : public guarded {};

TEST_F(trace_ring, an_event_is_read_back) {
    ring r(64);
    r.add(what::run_stolen, task::forked, 4095, 7);
    r.add(what::yield, task::submission, ring::most, ring::most);
    r.add(what::missed, task::spark, UINT32_MAX, ring::most + 1); // cut, not wrapped
    const excerpt e = r.read();
    ASSERT_EQ(e.events.size(), 3U);
    EXPECT_EQ(e.overwritten, 0U);
    EXPECT_EQ(e.events[0].what, what::run_stolen);
    EXPECT_EQ(e.events[0].task, task::forked);
    EXPECT_EQ(e.events[0].who, 4095U);
    EXPECT_EQ(e.events[0].n, 7U);
    EXPECT_EQ(e.events[1].what, what::yield);
    EXPECT_EQ(e.events[1].task, task::submission);
    for (const auto& large : {e.events[1], e.events[2]}) {
        EXPECT_EQ(large.who, ring::most);
        EXPECT_EQ(large.n, ring::most);
    }
    EXPECT_LE(e.events[0].ticks, e.events[2].ticks);
}

TEST_F(trace_ring, a_reason_has_one_number_and_keeps_its_text) {
    static const char one[] = "one reason";
    static const char other[] = "another reason";
    const unsigned first = pilfer::trace::number_of_reason(one);
    EXPECT_NE(first, 0U);
    EXPECT_EQ(pilfer::trace::number_of_reason(one), first);
    EXPECT_NE(pilfer::trace::number_of_reason(other), first);
    EXPECT_STREQ(pilfer::trace::reason(first), one);
    EXPECT_EQ(pilfer::trace::number_of_reason(nullptr), 0U);
    EXPECT_EQ(pilfer::trace::reason(0), nullptr);
    EXPECT_EQ(pilfer::trace::reason(pilfer::trace::most_reasons + 1), nullptr);
}

TEST_F(trace_ring, an_identity_fits_into_an_event_and_differs_for_neighbours) {
    EXPECT_EQ(pilfer::trace::identity(nullptr), 0U);
    std::set<std::uint32_t> seen;
    const std::vector<char> bytes(4'096);
    for (std::size_t i = 0; i < bytes.size(); i += 8) {
        const std::uint32_t n = pilfer::trace::identity(&bytes[i]);
        EXPECT_GE(n, 1U);
        EXPECT_LE(n, ring::most);
        seen.insert(n);
    }
    EXPECT_EQ(seen.size(), bytes.size() / 8);
}

TEST_F(trace_ring, keeps_the_newest_and_counts_the_others) {
    ring r(64);
    EXPECT_TRUE(r.read().events.empty());
    for (std::uint32_t i = 0; i < 1000; ++i) {
        r.add(what::wake, {}, i, 0);
        const excerpt e = r.read();
        // The place after the newest may be half written at any time: a full ring gives one event less.
        const std::uint32_t kept = i + 1 < 64 ? i + 1 : 63;
        ASSERT_EQ(e.events.size(), kept);
        ASSERT_EQ(e.overwritten, i + 1 - kept);
        ASSERT_EQ(e.events.back().who, i);
        ASSERT_EQ(e.events.front().who, i + 1 - kept);
    }
}

TEST_F(trace_ring, no_event_mixes_two_others) {
    ring r(64);
    std::atomic<bool> stop{false};
    std::thread writer([&] {
        for (std::uint32_t i = 0; !stop.load(std::memory_order_relaxed); ++i) {
            r.add(what::wake, {}, i & ring::most, i & ring::most);
        }
    });
    std::uint64_t before = 0;
    std::uint64_t met = 0; // reads between which something was written; on a busy machine few
    for (std::uint64_t reads = 0; reads < hundredth_of(2'000'000) || met < 10; ++reads) {
        const excerpt e = r.read();
        for (std::size_t k = 0; k < e.events.size(); ++k) {
            const auto& each = e.events[k];
            // The k-th event that is left is number overwritten + k, whatever was written meanwhile.
            ASSERT_EQ(each.who, (e.overwritten + k) & ring::most);
            ASSERT_EQ(each.n, each.who);
        }
        EXPECT_GE(e.overwritten, before);
        met += e.overwritten > before;
        before = e.overwritten;
    }
    stop = true;
    writer.join();
}

} // namespace
