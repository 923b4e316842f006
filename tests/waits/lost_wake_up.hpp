// The error that a watch must find: a ready task whose wake-up was lost, beside sleeping workers.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>

#include "pool/pool_core.hpp"
#include "support/harness.hpp"

namespace support {

/// A task that is announced as by join, but without a wake-up, as if the wake-up had been lost.
struct lost_wake_up : pilfer::detail::spark {
    std::atomic<bool> ran{false};
    lost_wake_up() : spark(&lost_wake_up::run_it, nullptr) {}
    static pilfer::detail::suspension* run_it(pilfer::detail::spark* self, pilfer::detail::worker*) noexcept {
        static_cast<lost_wake_up*>(self)->ran = true;
        return nullptr;
    }
    void push() {
        auto* const w = static_cast<pilfer::detail::scheduler*>(pilfer::detail::this_worker());
        if (pilfer::detail::checked_build) {
            w->count.announced.add(); // it is counted outside push_task()
        }
        (void)pilfer::detail::push_task(
            w, reinterpret_cast<pilfer::detail::task_word>(static_cast<pilfer::detail::spark*>(this)) |
                   pilfer::detail::kind_spark);
    }
};

/// Waits until all workers but the caller's sleep. A worker that has only entered itself among the sleepers
/// still scans, and would find a task that is pushed now: it must be seen blocked in between.
inline void wait_until_others_sleep() {
    auto* const w = static_cast<pilfer::detail::scheduler*>(pilfer::detail::this_worker());
    pilfer::detail::pool_core& p = w->core();
    for (unsigned i = 0; i < p.size();) {
        const auto sleeps = [&] { return p.at(i).count.sleeps.get(); };
        const std::uint64_t before = sleeps();
        const bool lies =
            i == w->index || (p.idle().is_left_asleep(i) &&
                              pilfer::os::is_blocked(p.at(i).thread_id.load(std::memory_order_relaxed)) &&
                              p.idle().is_left_asleep(i) && sleeps() == before);
        i += lies ? 1 : 0;
        std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
}

} // namespace support
