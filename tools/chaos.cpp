// pilfer soak, pilfer selftest: handed on to pilfer-chaos, which has the disturbances compiled in.
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "beside.hpp"
#include "commands.hpp"

namespace tools {
namespace {

/// This process becomes that program. Throws std::runtime_error if there is none.
[[noreturn]] void become(std::string const& subcommand, std::vector<std::string> const& rest) {
    std::vector<std::string> words{beside("pilfer-chaos"), subcommand};
    words.insert(words.end(), rest.begin(), rest.end());
    std::vector<char*> arguments;
    for (std::string& w : words) {
        arguments.push_back(w.data());
    }
    arguments.push_back(nullptr);
    std::fflush(nullptr);
    execv(words.front().c_str(), arguments.data());
    throw std::runtime_error(words.front() + ": " + std::strerror(errno));
}

void add(CLI::App& app, char const* name, char const* text) {
    CLI::App* const c = app.add_subcommand(name, text);
    c->prefix_command();
    c->set_help_flag(); // its own help is there, too
    c->callback([c, name] { become(name, c->remaining()); });
}

} // namespace

void add_chaos(CLI::App& app, int& /*code*/) {
    add(app, "soak", "Runs a random mix of everything for a chosen time, and checks every result");
    add(app, "selftest", "Runs chaos on this machine for a short time, with a verdict");
}

} // namespace tools
