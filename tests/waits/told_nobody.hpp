// What must not be: a ready task of which nobody was told, beside workers that sleep.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>

#include "support/harness.hpp"
#include "worker/pool_core.hpp"

namespace support {

/// A task as join announces it, but with a push that tells nobody, as if the wake-up had been lost.
struct told_nobody : pilfer::detail::spark {
    std::atomic<bool> ran{false};
    told_nobody() : spark(&told_nobody::run_it, nullptr) {}
    static pilfer::detail::suspension* run_it(pilfer::detail::spark* self, pilfer::detail::worker*) noexcept {
        static_cast<told_nobody*>(self)->ran = true;
        return nullptr;
    }
    void push() {
        auto* const w = static_cast<pilfer::detail::scheduler*>(pilfer::detail::this_worker());
        if (pilfer::detail::checked_build) {
            w->count.announced.add(); // the books are kept behind the push
        }
        (void)pilfer::detail::push_task(
            w, reinterpret_cast<pilfer::detail::task_word>(static_cast<pilfer::detail::spark*>(this)) |
                   pilfer::detail::kind_spark);
    }
};

/// Until everybody but the caller's worker sleeps. A worker that has only entered itself among the sleepers
/// still scans, and would find what is pushed now: it must be seen blocked in between.
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
