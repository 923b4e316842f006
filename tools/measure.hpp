// Measurements are made by a separate program, pilfer-measure. Its library is compiled as users get it.
#pragma once

#include <string>
#include <vector>

namespace tools {

/// Runs pilfer-measure, which is installed beside this program, and returns its exit code. `what`: calibrate
/// or validate. pilfer-measure chooses an empty `workers`, `costs` or `output` itself. Throws
/// std::runtime_error if it cannot be started.
[[nodiscard]] int measure(std::string const& what, std::vector<unsigned> const& workers,
                          std::string const& costs, unsigned rounds, std::string const& output);

} // namespace tools
