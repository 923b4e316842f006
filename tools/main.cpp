// Exit codes: see commands.hpp.
#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "commands.hpp"

namespace {

/// The words after the command's name, the last one first, as CLI11 wants them. The `--` before a program's
/// name is left out: CLI11 would give what follows to `app`.
std::vector<std::string> reversed_words(CLI::App const& app, int count, char** words) {
    std::vector<std::string> all(words + std::min(count, 1), words + count);
    auto const found = app.get_subcommands([&all](CLI::App const* c) {
        return !all.empty() && c->get_name() == all[0] && c->get_prefix_command();
    });
    for (std::size_t i = 1; !found.empty() && i < all.size() && all[i].starts_with('-'); ++i) {
        if (all[i] == "--") {
            all.erase(all.begin() + static_cast<std::ptrdiff_t>(i));
            break;
        }
        CLI::Option const* const option = found[0]->get_option_no_throw(all[i]);
        i += option != nullptr && option->get_items_expected_min() > 0 ? 1 : 0; // the next word is its value
    }
    std::reverse(all.begin(), all.end());
    return all;
}

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
        app.parse(reversed_words(app, count, words));
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
