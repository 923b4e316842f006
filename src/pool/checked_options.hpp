// The options of a pool: checked, and completed from the environment.
#pragma once

#include <pilfer/options.hpp>

#include "pool/pool_core.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {

/// The files that the environment names, as long as the program has no added rights. `only_workers`: see
/// options.only_workers.
[[nodiscard]] pool_core::paths written_files(bool only_workers) noexcept;
/// True if one of `files` needs a recording.
[[nodiscard]] bool profiled(const pool_core::paths& files) noexcept;
/// Returns `asked` without automatic values. Throws std::invalid_argument that names the option.
[[nodiscard]] options checked_options(const options& asked, const pool_core::paths& files);

} // namespace detail
} // namespace v0
} // namespace pilfer
