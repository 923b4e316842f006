// The number of workers that the machine grants this process.
#pragma once

#include <optional>
#include <string>

#include <pilfer/detail/base/platform.hpp>

namespace pilfer {
inline namespace v0 {
namespace os {

/// CPUs granted by the cgroup quotas along the whole path of this process, rounded up; empty: no limit.
/// All files are read below `root` ("" is the real one; tests give a folder). Versions 1 and 2.
[[nodiscard]] std::optional<unsigned> cgroup_cpus(const std::string& root);

/// PILFER_WORKERS if `environment` is not null: a number from 1 to 4,096, else throws
/// std::invalid_argument that names the variable and the range.
[[nodiscard]] std::optional<unsigned> workers_from(const char* environment);

/// The smaller of affinity mask and quota at present, at least 1.
[[nodiscard]] PILFER_API unsigned granted_cpus();
/// The automatic worker count: PILFER_WORKERS, else granted_cpus().
[[nodiscard]] PILFER_API unsigned automatic_workers();

} // namespace os
} // namespace v0
} // namespace pilfer
