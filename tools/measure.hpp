// Measurements are made by a program of its own, pilfer-measure, whose library is compiled as users get it.
#pragma once

#include <string>
#include <vector>

namespace tools {

/// Runs pilfer-measure, which lies beside this program, and gives its exit code. `what`: calibrate or
/// validate; an empty `workers`, `costs` or `output` is left to it. Throws std::runtime_error where it cannot
/// be started.
[[nodiscard]] int measure(std::string const& what, std::vector<unsigned> const& workers,
                          std::string const& costs, unsigned rounds, std::string const& output);

} // namespace tools
