// Durations on the command line: 90s, 10m, 1h, 500ms; a bare number is seconds.
#pragma once

#include <CLI/CLI.hpp>
#include <chrono>
#include <string>

namespace tools {

/// Throws CLI::ValidationError that names the option.
[[nodiscard]] std::chrono::milliseconds read_duration(std::string const& option, std::string const& text);
/// Decimal, or hexadecimal after 0x.
[[nodiscard]] std::uint64_t read_seed(std::string const& text);
/// Differs from run to run; not secret.
[[nodiscard]] std::uint64_t fresh_seed();

} // namespace tools
