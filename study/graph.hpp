// Task graphs of real runs, in the format that docs/profiling.md defines.
#pragma once

#include <istream>
#include <memory>
#include <string>

#include "workload.hpp"

namespace study {

/// Reads the file that PILFER_PROFILE_GRAPH or `pilfer profile --graph` has written. Throws
/// std::runtime_error "FILE:LINE: what". A graph that waits for itself is found when it is simulated.
[[nodiscard]] std::unique_ptr<workload> read_graph(const std::string& file);
/// Reads a graph from a stream. Errors name `name` as the file.
[[nodiscard]] std::unique_ptr<workload> read_graph(std::istream& in, const std::string& name);

} // namespace study
