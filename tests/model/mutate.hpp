// The ordering-mutation tool: every order and fence that the harnesses execute, weakened by one step, one at
// a time. A mutant that no harness notices is a gap in the harnesses or an order that is not needed; each of
// those is explained in explained.txt.
#pragma once

#include <string>

#include "budget.hpp"

namespace model {

/// Prints a line per mutant and a sum. False: one is neither killed nor explained, or an explanation names a
/// mutant that does not exist or was killed. `only`: parts of the names of sites, empty for all.
[[nodiscard]] bool mutate_all(const budget& b, unsigned processes, const std::string& explanations,
                              const std::string& only, bool believe, bool verbose);

} // namespace model
