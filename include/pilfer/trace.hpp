// Traces of the workers' events: Chrome trace JSON, for ui.perfetto.dev and chrome://tracing.
#pragma once

#include <iosfwd>
#include <string>

#include <pilfer/detail/base/platform.hpp>

namespace pilfer {
inline namespace v0 {

class pool;

/// Writes the events that the rings of `p` hold: one track per worker, a slice for everything the scheduler
/// entered and for every sleep, instants for what it did to others, the counters and the number of events
/// that were overwritten in `otherData`. Without options.debug.trace_events (or PILFER_TRACE) the tracks are
/// empty.
///
/// May be called at any time, from any thread. While the workers run, the trace shows a moment of each
/// worker, one after the other. At rest the trace is exact. If the rings hold everything, its thefts,
/// suspensions, sleeps and wakes are those of pool.counters(). Throws std::bad_alloc and what `out` is set to
/// throw. Cost: a copy of each ring, about 100 bytes of text per event; the workers notice nothing.
PILFER_API void write_trace(const pool& p, std::ostream& out);
/// Writes the events of `p` to the file `path`, which is replaced. Throws std::system_error that names the
/// file if it cannot be written.
PILFER_API void write_trace(const pool& p, const std::string& path);

} // namespace v0
} // namespace pilfer
