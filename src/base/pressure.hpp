// What the system says of CPUs that are short.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace pilfer {
inline namespace v0 {
namespace os {

/// For how long a thread of this process could have run and had no CPU, in ns since it began: the second
/// figure of /proc/self/task/N/schedstat below `root` ("" is the real one; tests give a folder). Empty: the
/// kernel does not say.
[[nodiscard]] std::optional<std::uint64_t> waited_ns(const std::string& root, std::uint64_t thread);

/// For how long some thread of the machine has waited for a CPU, in ns: `some` of /proc/pressure/cpu. Empty:
/// the kernel does not say.
[[nodiscard]] std::optional<std::uint64_t> stalled_ns(const std::string& root);

/// A whole number from 0 to 4,096 at the beginning of a file; empty: there is none.
[[nodiscard]] std::optional<unsigned> number_in(const std::string& file);

} // namespace os
} // namespace v0
} // namespace pilfer
