// What the machine offers the library.
#pragma once

#include <string>

namespace tools {

/// Lines "name: value": kernel, CPUs, quota, membarrier, guards. Asks once, so call it after everything that
/// takes something away.
[[nodiscard]] std::string machine_report();

/// From now on membarrier fails with EPERM in this process. False: no filters of system calls here.
[[nodiscard]] bool refuse_membarrier() noexcept;

} // namespace tools
