// Conversion of rings to the JSON that chrome://tracing and Perfetto read.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include <pilfer/counters.hpp>

#include "trace/places.hpp"
#include "trace/ring.hpp"

namespace pilfer {
inline namespace v0 {
namespace trace {

/// One reading of both clocks. Two readings give the length of a tick.
struct moment {
    std::uint64_t ticks = 0;
    std::uint64_t ns = 0;
};
[[nodiscard]] moment now() noexcept;

struct document {
    moment begin; ///< time 0: the pool's start
    moment end;   ///< when the rings were read
    std::vector<excerpt> tracks;
    std::vector<std::vector<source_place>> places;      ///< of each track, by number; may have fewer tracks
    std::vector<std::vector<std::string>> object_names; ///< likewise
    pilfer::v0::counters counters;
};

/// Writes the document. On every track each begin has its end and times never decrease, whatever the rings
/// have lost. An end whose begin was overwritten gets a begin at the first event that is left. A slice that
/// is still open ends with the document. Throws what `out` is set to throw.
void write(const document& d, std::ostream& out);

} // namespace trace
} // namespace v0
} // namespace pilfer
