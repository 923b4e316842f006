// The subcommands of `pilfer`. One file each; main.cpp lists them.
#pragma once

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace tools {

// Exit codes of every subcommand.
constexpr int exit_good = 0;
constexpr int exit_failed = 1;    // a result was wrong
constexpr int exit_bad_usage = 2; // the arguments are
constexpr int exit_hangs = 3;     // nothing moved until the watchdog lost patience

/// Writes what standard output still has to write. Returns `code`; exit_failed after a message if it was
/// exit_good and output is lost, as on a full disk.
[[nodiscard]] inline int flushed(int code) {
    if (code != exit_good || (std::fflush(stdout) == 0 && std::ferror(stdout) == 0)) {
        return code;
    }
    (void)std::fprintf(stderr, "pilfer: standard output cannot be written: %s\n", std::strerror(errno));
    return exit_failed;
}

/// A number from `least` to `most`. CLI::Range lets "nan" pass.
[[nodiscard]] inline CLI::Validator real_range(double least, double most) {
    CLI::Range const range(least, most);
    auto const check = [range](std::string& text) {
        return std::isnan(std::strtod(text.c_str(), nullptr)) ? text + " is no number" : range(text);
    };
    return {check, range.get_description()};
}

/// The words after the options are a program and its arguments, whose usage line names them.
inline void takes_program(CLI::App& command) {
    class usage : public CLI::Formatter {
        [[nodiscard]] std::string make_usage(CLI::App const* app, std::string name) const override {
            std::string text = CLI::Formatter::make_usage(app, std::move(name));
            text.insert(text.find_last_not_of('\n') + 1, " [--] PROGRAM [ARGUMENTS...]");
            return text;
        }
    };
    command.formatter(std::make_shared<usage>());
    command.prefix_command(); // whatever follows the program is its own
}
[[nodiscard]] inline std::vector<std::string> program_of(CLI::App const& command) {
    std::vector<std::string> words = command.remaining();
    if (words.empty()) {
        throw CLI::RequiredError("PROGRAM");
    }
    if (words[0].starts_with('-')) {
        throw CLI::ExtrasError({words[0]});
    }
    return words;
}

/// Each adds itself to `app`, and when it was chosen sets `code` to its exit code.
void add_info(CLI::App& app, int& code);
void add_chaos(CLI::App& app, int& code); // soak and selftest, which are a program beside this one
void add_study(CLI::App& app, int& code);
void add_calibrate(CLI::App& app, int& code);
void add_profile(CLI::App& app, int& code);
void add_race(CLI::App& app, int& code);
void add_check(CLI::App& app, int& code);
void add_record(CLI::App& app, int& code);
void add_view(CLI::App& app, int& code);
void add_whatif(CLI::App& app, int& code);
void add_top(CLI::App& app, int& code);

// Those of pilfer-chaos: chaos/main.cpp lists them.
void add_soak(CLI::App& app, int& code);
void add_selftest(CLI::App& app, int& code);

} // namespace tools
