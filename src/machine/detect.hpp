// Reading of the topology, by hwloc if the library was built with it.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "machine/topology.hpp"

namespace pilfer {
inline namespace v0 {
namespace machine {

/// "hwloc 2.9.0", or "without hwloc".
[[nodiscard]] std::string reader();

/// This machine, all of it, as far as hwloc knows it. Empty: hwloc cannot read it, or there is no hwloc.
/// Takes some milliseconds: nothing is kept between two calls.
[[nodiscard]] std::optional<topology> read_machine();

/// Other machines, for tests and for `pilfer info`: hwloc's synthetic strings ("package:2 core:4 pu:2") and
/// the files that `lstopo --of xml` writes. Empty: hwloc does not understand it, or there is none.
[[nodiscard]] std::optional<topology> read_synthetic(const std::string& description);
[[nodiscard]] std::optional<topology> read_file(const std::string& path);

/// The CPUs of `mask` with their positions on this machine; flat() if nothing is known.
[[nodiscard]] topology this_machine(std::span<const unsigned> mask);

} // namespace machine
} // namespace v0
} // namespace pilfer
