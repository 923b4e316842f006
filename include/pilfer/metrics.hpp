// Figures of all pools for a monitor.
#pragma once

#include <string>

#include <pilfer/detail/base/platform.hpp>

namespace pilfer {
inline namespace v0 {

/// Returns the counters and states of all pools of the process in Prometheus' text format, version 0.0.4, for
/// the program's own HTTP handler. `pilfer top --prometheus PID` prints the same text. Throws std::bad_alloc.
/// Cost: some microseconds for each worker, and a lock that pools take when they are made and destroyed.
[[nodiscard]] PILFER_API std::string prometheus_text();

} // namespace v0
} // namespace pilfer
