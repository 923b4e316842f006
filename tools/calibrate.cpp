// pilfer calibrate: the costs of the runtime's operations on this machine, for `pilfer study --costs`.
#include "measure.hpp"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <stdexcept>

#include "beside.hpp"
#include "commands.hpp"

namespace tools {
namespace {

struct calibrate_settings {
    std::string output;
    unsigned rounds = 15;
};

} // namespace

int measure(std::string const& what, std::vector<unsigned> const& workers, std::string const& costs,
            unsigned rounds, std::string const& output) {
    std::string const program = beside("pilfer-measure");
    std::vector<std::string> words{program, what, std::to_string(rounds), output.empty() ? "-" : output,
                                   costs.empty() ? "-" : costs};
    for (unsigned const n : workers) {
        words.push_back(std::to_string(n));
    }
    std::vector<char*> arguments;
    for (std::string& w : words) {
        arguments.push_back(w.data());
    }
    arguments.push_back(nullptr);
    std::fflush(nullptr);
    pid_t const child = fork();
    if (child == 0) {
        execv(program.c_str(), arguments.data());
        fmt::print(stderr, "pilfer: {}: {}\n", program, std::strerror(errno));
        std::fflush(nullptr);
        _exit(exit_failed);
    }
    int status = 0;
    pid_t ended = -1;
    while (child > 0 && (ended = waitpid(child, &status, 0)) < 0 && errno == EINTR) {
    }
    if (ended < 0 || !WIFEXITED(status)) {
        throw std::runtime_error(program + " could not be started, or was ended by a signal");
    }
    return WEXITSTATUS(status);
}

void add_calibrate(CLI::App& app, int& code) {
    auto* const c =
        app.add_subcommand("calibrate", "Measures the costs of the runtime's operations here, as JSON");
    auto const s = std::make_shared<calibrate_settings>();
    c->footer("For `pilfer study --costs FILE`. Needs two idle CPUs for some seconds.");
    c->add_option("--output", s->output, "file for the JSON (default: standard output)");
    c->add_option("--rounds", s->rounds, "interleaved rounds; each constant is their median (default 15)")
        ->check(CLI::Range(1, 1'000));
    c->callback([s, &code] { code = measure("calibrate", {}, "", s->rounds, s->output); });
}

} // namespace tools
