// The texts for people: dump() and the stall report.
#pragma once

#include <string>

namespace pilfer {
inline namespace v0 {
namespace detail {

class pool_core;

/// Every worker, queue and waiter of `p`. Throws std::bad_alloc.
[[nodiscard]] std::string dump_text(pool_core& p);

} // namespace detail
} // namespace v0
} // namespace pilfer
