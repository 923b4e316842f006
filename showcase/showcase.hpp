// The job: plan, run, compare.
#pragma once

#include "report.hpp"
#include "settings.hpp"

namespace showcase {

/// Runs the chosen programs. Throws std::system_error if the folder cannot be read, the output folder cannot
/// be written or no process can be started. Errors of a single run are in the report.
report run_showcase(settings const& chosen);

/// Writes showcase.json and showcase.html. Throws std::system_error.
void save(report const& all);

} // namespace showcase
