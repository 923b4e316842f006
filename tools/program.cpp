#include "program.hpp"

#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <system_error>

namespace tools {
namespace {

constexpr int exit_cannot_execute = 126;
constexpr int exit_not_found = 127;
constexpr int exit_by_signal = 128;

} // namespace

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
    return {child, WIFEXITED(status) ? WEXITSTATUS(status) : exit_by_signal + WTERMSIG(status)};
}

} // namespace tools
