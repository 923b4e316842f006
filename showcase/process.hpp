// Starts programs and measures them. The calling process must have no other thread, because run_process()
// forks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace showcase {

struct command {
    std::vector<std::string> arguments; // The first is the program; PATH is searched if it has no slash.
    std::vector<std::pair<std::string, std::string>> environment; // Added to the caller's.
    std::size_t stack_size = 0; // Bytes for the main thread's stack; 0 leaves it as it is.
    int output = -1;            // Descriptor for its standard output; -1: see finished::output.
};

struct finished {
    double seconds = 0;           // From the fork to the end.
    std::uint64_t peak_bytes = 0; // Largest resident set (rusage, wait4).
    std::string output;
    std::string failure; // Empty after status 0; else the reason and the end of standard error.
};

/// Runs one program to its end; `tick` is called ten times a second meanwhile. Throws std::system_error.
finished run_process(command const& what, std::function<void()> const& tick);

} // namespace showcase
