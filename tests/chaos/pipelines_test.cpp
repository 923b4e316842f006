// Which tasks carry the items of a pipeline, by a clock that is stopped or leaps, so that no machine's speed
// matters.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <thread>

#include "platform/clock.hpp"
#include "support/harness.hpp"

namespace {

using namespace support;
namespace os = pilfer::os;

std::uint64_t stopped() noexcept { return 12'345; }
/// A second further at every reading.
std::uint64_t leaping() noexcept {
    static std::atomic<std::uint64_t> readings{0};
    return 1'000'000'000 * readings.fetch_add(1);
}

class chaos_pipelines : public guarded {
protected:
    static constexpr int blocked = 1'000; // long after the first sample of items
    static constexpr int items = 2'000;

    /// Runs a pipeline on two workers. Item `blocked` keeps its worker until a later item begins, or until
    /// `patience` has passed in real time. Returns whether a later item began meanwhile.
    static bool later_item_begins(std::uint64_t (*ticks)() noexcept, std::chrono::milliseconds patience) {
        (void)pilfer::detail::piece_ticks(); // measured once, by the real clock
        pilfer::pool pool(workers(2));
        static os::time_source source;
        // The scout's millisecond must not pass: the blocked item may look at nothing meanwhile.
        source = {&stopped, nullptr, ticks};
        os::set_time_source(&source);
        std::atomic<int> latest{-1};
        bool began = false;
        pilfer::pipeline(pool, 8, pilfer::serial_in_order([given = 0]() mutable -> std::optional<int> {
                             return given == items ? std::nullopt : std::optional<int>(given++);
                         }),
                         pilfer::parallel_stage([&](int i) {
                             latest = i;
                             if (i == blocked) {
                                 const auto end = std::chrono::steady_clock::now() + patience;
                                 while (latest == blocked && std::chrono::steady_clock::now() < end) {
                                     std::this_thread::yield();
                                 }
                                 began = latest != blocked;
                             }
                             return i;
                         }),
                         pilfer::serial_in_order([](int) {}));
        os::set_time_source(nullptr);
        return began;
    }
};

TEST_F(chaos_pipelines, short_items_are_carried_by_one_task) {
    using namespace std::chrono_literals;
    EXPECT_FALSE(later_item_begins(&stopped, 100ms)) << "another worker carried a short item";
}

TEST_F(chaos_pipelines, long_items_are_carried_by_every_worker) {
    using namespace std::chrono_literals;
    EXPECT_TRUE(later_item_begins(&leaping, 60s));
}

} // namespace
