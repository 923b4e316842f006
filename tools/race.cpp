// pilfer race: runs a program that is linked with pilfer::race, and says what was found and what was
// promised.
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include "commands.hpp"

extern char** environ;

namespace tools {
namespace {

constexpr int exit_cannot_execute = 126;
constexpr int exit_not_found = 127;
constexpr int exit_by_signal = 128;

struct race_settings {
    std::string report;
    std::vector<std::string> program;
};

/// The exit status of the program. For a program that cannot be executed: prints an error, 126 or 127.
[[nodiscard]] int run_program(std::vector<std::string> words) {
    std::vector<char*> arguments;
    for (auto& w : words) {
        arguments.push_back(w.data());
    }
    arguments.push_back(nullptr);
    pid_t child = 0;
    int const error = ::posix_spawnp(&child, arguments[0], nullptr, nullptr, arguments.data(), environ);
    if (error != 0) {
        fmt::print(stderr, "pilfer: race: cannot execute '{}': {}\n", words[0], std::strerror(error));
        return error == ENOENT ? exit_not_found : exit_cannot_execute;
    }
    // An interrupt from the keyboard is for the program.
    (void)std::signal(SIGINT, SIG_IGN);
    (void)std::signal(SIGQUIT, SIG_IGN);
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : exit_by_signal + WTERMSIG(status);
}

[[nodiscard]] int race(race_settings const& s) {
    std::string path = (std::filesystem::temp_directory_path() / "pilfer-race-XXXXXX").string();
    int const file = ::mkstemp(path.data());
    if (file < 0) {
        throw std::system_error(errno, std::generic_category(), path);
    }
    (void)::close(file);
    ::setenv("PILFER_RACE_REPORT", path.c_str(), 1);
    (void)std::fflush(nullptr);
    int const code = run_program(s.program);
    std::ifstream in(path);
    std::string const text{std::istreambuf_iterator<char>(in), {}};
    std::error_code ignored;
    std::filesystem::remove(path, ignored);
    if (code == exit_not_found || code == exit_cannot_execute) {
        return code;
    }
    if (text.empty()) {
        fmt::print(
            stderr,
            "pilfer: race: there is no report. Either the program is not compiled with -fsanitize=thread "
            "and linked with pilfer::race (docs/guides/races.md), or it did not return from main().\n");
        return code != 0 ? code : exit_failed;
    }
    if (s.report.empty()) {
        fmt::print(stderr, "{}", text);
    } else {
        std::ofstream out(s.report, std::ios::binary);
        out << text;
        out.close();
        if (!out) {
            throw std::runtime_error(s.report + ": cannot be written");
        }
    }
    return code;
}

} // namespace

void add_race(CLI::App& app, int& code) {
    auto const s = std::make_shared<race_settings>();
    CLI::App* const command = app.add_subcommand(
        "race",
        "Runs PROGRAM, which is linked with pilfer::race, and prints races that other schedules may show");
    command->add_option("-o,--output", s->report, "file for the report (default: standard error)");
    command->footer(
        "The exit code is PROGRAM's, or 66 if there is a race; 126 and 127: it could not be executed; "
        "1: it left no report.");
    command->prefix_command(); // whatever follows the program is its own
    command->callback([command, s, &code] {
        s->program = command->remaining();
        if (s->program.empty()) {
            throw CLI::RequiredError("PROGRAM");
        }
        if (s->program[0].starts_with('-')) {
            throw CLI::ExtrasError({s->program[0]});
        }
        code = race(*s);
    });
}

} // namespace tools
