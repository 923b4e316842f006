// The measured side: this same program, started again for one job. A process of its own per job, so that its
// peak memory is that of one runtime, and a crash is a row in the table.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "outcome.hpp"
#include "process.hpp"

namespace showcase {

/// The command that runs `what` in a separate process.
command child_command(job const& what);

/// Entry of such a process: takes the words after `--child`. Prints the outcome as one JSON line and returns
/// the exit code.
int child_main(std::vector<std::string> const& words);

/// The outcome that a child printed; empty if the line is no outcome.
std::optional<outcome> parse_outcome(std::string const& line);

} // namespace showcase
