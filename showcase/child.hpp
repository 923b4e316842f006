// The measured side: this same program, started again for one job. A process of its own per job, so that its
// peak memory is that of one runtime, and a crash is a row in the table.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "outcome.hpp"
#include "process.hpp"

namespace showcase {

/// The command that runs `what` in a process of its own.
command child_command(job const& what);

/// Entry of such a process: the words behind `--child`. Prints the outcome as one JSON line; returns the exit
/// code.
int child_main(std::vector<std::string> const& words);

/// What a child printed, or nothing if that is no outcome.
std::optional<outcome> parse_outcome(std::string const& line);

} // namespace showcase
