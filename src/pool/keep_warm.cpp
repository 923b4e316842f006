// keep_warm: idle workers keep searching instead of sleeping.
#include <pilfer/keep_warm.hpp>

#include "pool/pool_core.hpp"

namespace pilfer {
inline namespace v0 {

keep_warm::keep_warm(pool& p) noexcept : m_pool(&p.core()) { m_pool->begin_warm(); }

keep_warm::~keep_warm() { (void)m_pool->end_warm(); }

} // namespace v0
} // namespace pilfer
