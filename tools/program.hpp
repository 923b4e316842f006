// Runs a program of the user for a command.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tools {

struct ending {
    int process;    ///< Its number; 0 if it could not be executed.
    int code;       ///< Its exit code, or 128 and the number of the signal that ended it.
    int signal = 0; ///< That signal; 0: none.

    [[nodiscard]] bool was_executed() const { return process != 0; }
};

/// Runs the program `words` in the command's environment and waits for it. An interrupt from the keyboard is
/// for the program. If the program cannot be executed, an error that begins with the name of the command is
/// printed. The code is then 126 or 127, as that of env, nohup and timeout.
/// Throws std::system_error if its end cannot be seen: main() keeps SIGCHLD from being ignored.
[[nodiscard]] ending run_program(std::string_view command, std::vector<std::string> words);

/// False: the file that execvp() would take is there, and was not linked with pilfer::test. An error that
/// begins with the name of the command is printed then.
[[nodiscard]] bool may_have_test_library(std::string_view command, std::string const& program);

} // namespace tools
