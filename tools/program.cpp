#include "program.hpp"

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
#include <sstream>
#include <system_error>

namespace tools {
namespace {

constexpr int exit_cannot_execute = 126;
constexpr int exit_not_found = 127;
constexpr int exit_by_signal = 128;
/// The library has this text if it explores and records main(): src/check/whole_main.cpp.
constexpr char const* mark_of_library = "pilfer::test explores the main() of this program";

/// The file that execvp() would take; empty: there is none.
[[nodiscard]] std::string file_of(std::string const& program) {
    if (program.find('/') != std::string::npos) {
        return ::access(program.c_str(), X_OK) == 0 ? program : "";
    }
    char const* const path = std::getenv("PATH");
    std::istringstream folders(path != nullptr ? path : "/bin:/usr/bin");
    for (std::string folder; std::getline(folders, folder, ':');) {
        std::string file = (folder.empty() ? "." : folder) + "/" + program;
        if (::access(file.c_str(), X_OK) == 0 && !std::filesystem::is_directory(file)) {
            return file;
        }
    }
    return "";
}

[[nodiscard]] bool has_library(std::string const& file) {
    std::ifstream in(file, std::ios::binary);
    std::string const all{std::istreambuf_iterator<char>(in), {}};
    return all.find(mark_of_library) != std::string::npos;
}

} // namespace

bool may_have_test_library(std::string_view command, std::string const& program) {
    std::string const file = file_of(program);
    if (file.empty() || has_library(file)) {
        return true;
    }
    fmt::print(stderr,
               "pilfer: {}: '{}' is not linked with pilfer::test, so it was not run. Link that target "
               "instead of pilfer::pilfer, into the program itself (docs/guides/testing.md).\n",
               command, file);
    return false;
}

ending run_program(std::string_view command, std::vector<std::string> words) {
    std::vector<char*> arguments;
    for (auto& w : words) {
        arguments.push_back(w.data());
    }
    arguments.push_back(nullptr);
    (void)std::fflush(nullptr);
    pid_t child = 0;
    int const error = ::posix_spawnp(&child, arguments[0], nullptr, nullptr, arguments.data(), environ);
    if (error != 0) {
        fmt::print(stderr, "pilfer: {}: cannot execute '{}': {}\n", command, words[0], std::strerror(error));
        return {0, error == ENOENT ? exit_not_found : exit_cannot_execute};
    }
    (void)std::signal(SIGINT, SIG_IGN);
    (void)std::signal(SIGQUIT, SIG_IGN);
    int status = 0;
    while (::waitpid(child, &status, 0) < 0) {
        if (errno != EINTR) {
            throw std::system_error(errno, std::generic_category(),
                                    fmt::format("the exit code of {}", words[0]));
        }
    }
    return WIFEXITED(status) ? ending{child, WEXITSTATUS(status)}
                             : ending{child, exit_by_signal + WTERMSIG(status), WTERMSIG(status)};
}

} // namespace tools
