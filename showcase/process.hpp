// Starts programs and measures them. The caller must have no threads besides its own: it forks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace showcase {

struct command {
    std::vector<std::string>
        arguments; // the first one is the program, looked for in PATH when it has no slash
    std::vector<std::pair<std::string, std::string>> environment; // added to the caller's
    std::size_t stack_size = 0; // bytes for the main thread's stack; 0 leaves it as it is
    int output = -1;            // where its standard output goes; -1 hands it back in finished::output
};

struct finished {
    double seconds = 0;           // from the fork to the end
    std::uint64_t peak_bytes = 0; // largest resident set (rusage, wait4)
    std::string output;
    std::string
        failure; // empty when it ended with status 0; else why not, with the last words of its standard error
};

/// Runs one program to its end; `tick` is called ten times a second meanwhile. Throws std::system_error.
finished run_process(command const& what, std::function<void()> const& tick);

} // namespace showcase
