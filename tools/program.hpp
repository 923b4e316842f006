// Runs a program of the user for a command.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tools {

struct ending {
    int process; ///< Its number; 0 if it could not be executed.
    int code;    ///< Its exit code, or 128 and the number of the signal that ended it.

    [[nodiscard]] bool was_executed() const { return process != 0; }
};

/// Runs the program `words` in the command's environment and waits for it. An interrupt from the keyboard is
/// for the program. For a program that cannot be executed it prints an error that begins with the name of the
/// command, and the code is 126 or 127, as env, nohup and timeout have it.
[[nodiscard]] ending run_program(std::string_view command, std::vector<std::string> words);

} // namespace tools
