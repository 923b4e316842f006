// keep_warm: idle workers keep searching instead of sleeping.
#include <pilfer/keep_warm.hpp>

#include "pool/pool_core.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {

void pool_core::begin_warm() noexcept {
    m_warm.fetch_add(1, rlx);
    std_atom::fence_sc(); // idle.S2: a worker that is about to sleep sees the count, or is in the map
    for (unsigned i = 0; i < size(); ++i) {
        idle().wake(i, i);
    }
}

/// No worker is notified: each one sees the count after its next search.
bool pool_core::end_warm() noexcept {
    unsigned n = m_warm.load(rlx);
    while (n != 0) {
        if (m_warm.compare_exchange_weak(n, n - 1, rlx, rlx)) {
            return true;
        }
    }
    return false;
}

} // namespace detail

keep_warm::keep_warm(pool& p) noexcept : m_pool(&p.core()) { m_pool->begin_warm(); }

keep_warm::~keep_warm() { (void)m_pool->end_warm(); }

} // namespace v0
} // namespace pilfer
