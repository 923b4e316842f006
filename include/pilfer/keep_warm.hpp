// No sleep between bursts of work.
#pragma once

#include <pilfer/pool.hpp>

namespace pilfer {
inline namespace v0 {

/// While an object of this class lives, the workers of its pool do not sleep, so that new work meets a worker
/// that is awake. Idle workers yield their CPU to other threads at least every 50 us or so; each costs up to
/// a CPU.
///
/// Sleeping workers are woken at once. Stalls are not reported meanwhile. Without effect with
/// backend::one_lock, and while contexts have run out (options.max_contexts). Several may live at once; all
/// end before the pool does. Cost: a wake-up for each worker that sleeps, then one shared count.
class PILFER_API keep_warm {
public:
    /// Keeps the workers of `p` awake while this object lives.
    explicit keep_warm(pool& p) noexcept;
    keep_warm(const keep_warm&) = delete;
    keep_warm& operator=(const keep_warm&) = delete;
    ~keep_warm();

private:
    detail::pool_core* m_pool;
};

} // namespace v0
} // namespace pilfer
