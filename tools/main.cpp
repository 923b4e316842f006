// Exit codes: see commands.hpp.
#include <fmt/format.h>

#include <csignal>
#include <cstdio>
#include <exception>

#include "commands.hpp"

namespace {

int run(int count, char** words) {
    int code = tools::exit_good;
    CLI::App app{"Tools around the work-stealing runtime pilfer.", "pilfer"};
    app.set_version_flag("--version", "pilfer " PILFER_TOOL_VERSION);
    app.require_subcommand(0, 1);
    try {
        tools::add_info(app, code);
        tools::add_chaos(app, code);
        tools::add_study(app, code);
        tools::add_calibrate(app, code);
        tools::add_profile(app, code);
        tools::add_race(app, code);
        tools::add_check(app, code);
        tools::add_record(app, code);
        tools::add_view(app, code);
        tools::add_whatif(app, code);
        tools::add_top(app, code);
        app.parse(count, words);
        if (app.get_subcommands().empty()) {
            // CLI11's own check comes first, and would not name a subcommand that does not exist.
            throw CLI::RequiredError("A subcommand");
        }
    } catch (CLI::ParseError const& error) {
        return app.exit(error) == 0 ? tools::exit_good : tools::exit_bad_usage;
    } catch (std::exception const& error) {
        fmt::print(stderr, "pilfer: {}\n", error.what());
        return tools::exit_failed;
    }
    return code;
}

} // namespace

int main(int count, char** words) {
    (void)std::signal(SIGCHLD, SIG_DFL); // if it is inherited as ignored, exit codes of children are lost
    return tools::flushed(run(count, words));
}
