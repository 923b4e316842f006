// How much a pool has ever needed at once. It keeps all of it, so in steady state nothing is allocated.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

#include "pool/pool_core.hpp"
#include "support/allocations.hpp"

namespace support {

/// The three things of a pool that grow: stacks, records of forked children, rings of deques. Which task a
/// thief takes, and when, decides how many of them a run needs at once, so that a later run may need more
/// than all before it.
struct peaks {
    std::uint64_t stacks = 0;
    std::uint64_t records = 0;
    std::uint64_t ring_places = 0;

    [[nodiscard]] static peaks of(pilfer::pool& pool) {
        auto& core = pool.core();
        peaks p;
        p.stacks = pool.counters().contexts_peak;
        p.records = core.records.made(0) + core.records.made(1);
        for (unsigned i = 0; i < pool.workers(); ++i) {
            p.ring_places += static_cast<std::uint64_t>(core.at(i).deque.owner().capacity());
        }
        return p;
    }
    friend bool operator==(const peaks&, const peaks&) = default;
};

/// The calls of malloc and mmap of one run of `work` in a warm pool. Each call must be explained by a new
/// peak:
/// * Stacks come by the batch. A slab of stacks takes its record and may lengthen two vectors.
/// * Records come by the batch. A chunk of records takes itself and a longer vector.
/// * A ring is one block, at least 256 places larger than the one before.
///
/// Without a new peak there is no call at all.
template <class Work>
void expect_steady(pilfer::pool& pool, const Work& work) {
    const auto peaks_before = peaks::of(pool);
    const auto calls_before = allocations();
    const auto maps_before = mappings();
    work();
    const auto calls = allocations() - calls_before;
    const auto maps = mappings() - maps_before;
    const auto now = peaks::of(pool);
    constexpr std::uint64_t stacks_at_once = 32;
    const auto rounded_up = [](std::uint64_t n, std::uint64_t by) { return (n + by - 1) / by; };
    const auto slabs = rounded_up(now.stacks - peaks_before.stacks, stacks_at_once);
    const auto batches =
        rounded_up(now.records - peaks_before.records, pilfer::detail::record_pool::batch_size);
    const auto rings = rounded_up(now.ring_places - peaks_before.ring_places, 256);
    EXPECT_LE(calls, 3 * slabs + 2 * batches + rings) << pool.workers() << " workers";
    EXPECT_LE(maps, 3 * slabs) << pool.workers() << " workers";
}

/// Brings every worker to its first task, so that no thread is still starting.
inline void meet_all(pilfer::pool& pool) {
    std::atomic<unsigned> there{0};
    const unsigned n = pool.workers();
    pool.run([&] {
        const auto meet = [&] {
            there.fetch_add(1);
            while (there.load() < n) {
                std::this_thread::yield();
            }
        };
        pilfer::scope s;
        for (unsigned i = 1; i < n; ++i) {
            s.fork(meet);
        }
        meet();
        s.sync();
    });
}

} // namespace support
