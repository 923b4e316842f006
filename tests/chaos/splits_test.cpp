// The moments at which a range is split, by clocks that are stopped or leap, so that no machine's speed
// matters.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>

#include <pilfer/detail/scope/range.hpp>

#include "platform/clock.hpp"
#include "support/harness.hpp"

namespace {

using namespace support;
namespace os = pilfer::os;
namespace detail = pilfer::detail;

std::uint64_t standing() noexcept { return 12'345; }
/// A second further at every reading.
std::uint64_t leaping() noexcept {
    static std::atomic<std::uint64_t> readings{0};
    return 1'000'000'000 * readings.fetch_add(1);
}

std::atomic<std::uint64_t> readings_until_the_leap{0};
/// Stands still but for one leap.
std::uint64_t leaping_once() noexcept {
    const std::uint64_t left = readings_until_the_leap.load();
    if (left == 0) {
        return 1'000'000'000;
    }
    readings_until_the_leap = left - 1;
    return 0;
}

class chaos_splits : public guarded {
protected:
    /// How many parts of ranges one worker announces, and how many it shares, while `loop` runs by that
    /// clock.
    struct seen {
        std::uint64_t announced;
        std::uint64_t exposed;
    };
    template <class Loop>
    static seen while_running(std::uint64_t (*clock)() noexcept, Loop loop) {
        (void)detail::piece_ticks(); // measured once, by the real clock
        static os::time_source source;
        source = {nullptr, nullptr, clock};
        pilfer::options o = workers(1);
        o.debug.count_all = true;
        pilfer::pool pool(o);
        os::set_time_source(&source);
        const seen result = pool.run([&] {
            const auto before = pool.counters();
            loop();
            const auto after = pool.counters();
            return seen{after.announced - before.announced, after.exposed_tasks - before.exposed_tasks};
        });
        os::set_time_source(nullptr);
        return result;
    }
    /// As a worker without work does.
    static void ask() {
        detail::this_worker()->deque.signal().set(detail::signal_word<detail::std_atom>::expose);
    }
};

TEST_F(chaos_splits, a_range_is_split_once_without_a_request) {
    std::uint64_t sum = 0;
    const seen s = while_running(&standing, [&] {
        pilfer::for_each(0, 100'000, [&](int i) { sum += static_cast<std::uint64_t>(i); });
    });
    EXPECT_EQ(sum, std::uint64_t{99'999} * 50'000);
    EXPECT_EQ(s.announced, 1U) << "one half is within reach before the first iteration";
    EXPECT_EQ(s.exposed, 0U);
    EXPECT_EQ(while_running(&standing, [] { pilfer::for_each(0, 1, [](int) {}); }).announced, 0U);
}

TEST_F(chaos_splits, a_request_gets_announced_parts_before_a_range_is_split_again) {
    const seen s = while_running(&standing, [] {
        pilfer::for_each(0, 100'000, [](int i) {
            if (i == 0) {
                ask();
            }
        });
    });
    EXPECT_EQ(s.announced, 1U);
    EXPECT_EQ(s.exposed, 1U);
}

TEST_F(chaos_splits, a_request_without_announced_parts_gets_a_half) {
    const seen s = while_running(&standing, [&] {
        pilfer::for_each(0, 100'000, [](int i) {
            if (i == 50'000) { // the upper half, popped: nothing else is left
                ask();
            }
        });
    });
    EXPECT_EQ(s.announced, 2U);
    EXPECT_EQ(s.exposed, 1U);
}

TEST_F(chaos_splits, a_request_inside_a_reduction_keeps_the_order_of_its_elements) {
    std::string order;
    const seen s = while_running(&standing, [&] {
        order = pilfer::reduce(
            0, 12, std::string("start"),
            [](int i) {
                if (i == 7) {
                    ask();
                }
                return ',' + std::to_string(i);
            },
            std::plus<>());
    });
    EXPECT_GE(s.announced, 1U);
    EXPECT_EQ(order, "start,0,1,2,3,4,5,6,7,8,9,10,11");
}

TEST_F(chaos_splits, a_range_is_always_split_if_one_iteration_is_longer_than_a_piece) {
    std::uint64_t sum = 0;
    const seen s = while_running(
        &leaping, [&] { pilfer::for_each(0, 64, [&](int i) { sum += static_cast<std::uint64_t>(i); }); });
    EXPECT_EQ(sum, 63U * 32);
    // Every part of the lower half from its second iteration on; the upper half begins as one that is not
    // known.
    EXPECT_GT(s.announced, 32U);
    EXPECT_LT(s.announced, 64U);
    EXPECT_EQ(s.exposed, 0U);
}

/// A worker that loses its CPU within an iteration cannot distinguish that from a long one.
TEST_F(chaos_splits, a_range_is_split_log_n_times_for_one_interruption) {
    for (std::uint64_t at = 1; at < 8; ++at) {
        const seen s = while_running(&leaping_once, [at] {
            readings_until_the_leap = at;
            pilfer::for_each(0, 100'000, [](int) {});
        });
        EXPECT_GE(s.announced, 1U) << at;
        EXPECT_LE(s.announced, 20U) << at;
    }
}

// Half, and the larger one.
static_assert(detail::given_away(2) == 1);
static_assert(detail::given_away(3) == 2);
static_assert(detail::given_away(UINT64_MAX) == UINT64_MAX / 2 + 1);

} // namespace
