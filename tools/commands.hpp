// The subcommands of `pilfer`. One file each; main.cpp lists them.
#pragma once

#include <CLI/CLI.hpp>

namespace tools {

// Exit codes of every subcommand.
constexpr int exit_good = 0;
constexpr int exit_failed = 1;    // a result was wrong
constexpr int exit_bad_usage = 2; // the arguments are
constexpr int exit_hangs = 3;     // nothing moved until the watchdog lost patience

/// Each adds itself to `app`, and when it was chosen sets `code` to its exit code.
void add_info(CLI::App& app, int& code);
void add_soak(CLI::App& app, int& code);
void add_selftest(CLI::App& app, int& code);
void add_study(CLI::App& app, int& code);
void add_calibrate(CLI::App& app, int& code);
void add_profile(CLI::App& app, int& code);

} // namespace tools
