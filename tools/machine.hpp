// The features of the machine that the library uses.
#pragma once

#include <string>

namespace tools {

/// Features that only a trial can find, in words.
struct machine_facts {
    std::string kernel;
    std::string membarrier;
    std::string guards;
    std::string stacks;
};
[[nodiscard]] machine_facts look_at_machine();

/// Lines "name: value": kernel, CPUs, quota, membarrier, guards. Asks once, so call it after everything that
/// takes something away.
[[nodiscard]] std::string machine_report();

/// From now on membarrier fails with EPERM in this process. False: no filters of system calls here.
[[nodiscard]] bool refuse_membarrier() noexcept;

} // namespace tools
