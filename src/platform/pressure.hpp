// Shortage of CPUs, as the system reports it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace pilfer {
inline namespace v0 {
namespace os {

/// The time that a thread of this process was ready and had no CPU, in ns since it began. It is the second
/// figure of /proc/self/task/N/schedstat below `root` ("" is the real one; tests give a folder). Empty: the
/// kernel does not provide it.
[[nodiscard]] std::optional<std::uint64_t> waited_ns(const std::string& root, std::uint64_t thread);

/// The time that some thread of the machine has waited for a CPU, in ns: `some` of /proc/pressure/cpu. Empty:
/// the kernel does not provide it.
[[nodiscard]] std::optional<std::uint64_t> stalled_ns(const std::string& root);

/// A whole number from 0 to 4,096 at the beginning of a file; empty: there is none.
[[nodiscard]] std::optional<unsigned> number_in(const std::string& file);

} // namespace os
} // namespace v0
} // namespace pilfer
