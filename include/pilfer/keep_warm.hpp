// No sleep between bursts of work.
#pragma once

#include <pilfer/pool.hpp>

namespace pilfer {
inline namespace v0 {

/// While one of these lives, the workers of its pool do not sleep: those that find no work look again, and
/// yield their CPU to other threads at least every 50 us or so. What comes then meets a worker that is awake.
/// For bursts whose end is near: it costs up to a CPU for each worker. Those asleep are woken at once.
/// Alarms, descriptors and a shutdown are seen to as ever. Without effect with backend::one_lock, and while
/// contexts have run out (options.max_contexts); stalls are not reported meanwhile. Several may live at once.
/// Not behind the end of the pool. Cost: a wake-up for each worker that sleeps, then one shared count.
class PILFER_API keep_warm {
public:
    explicit keep_warm(pool& p) noexcept;
    keep_warm(const keep_warm&) = delete;
    keep_warm& operator=(const keep_warm&) = delete;
    ~keep_warm();

private:
    detail::pool_core* m_pool;
};

} // namespace v0
} // namespace pilfer
