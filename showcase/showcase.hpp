// The job: plan, run, compare.
#pragma once

#include "report.hpp"
#include "settings.hpp"

namespace showcase {

/// Runs everything that was chosen. Throws std::system_error when the folder cannot be read, the output
/// folder cannot be written or no process can be started; what a single run does wrong is in the report.
report run_showcase(settings const& chosen);

/// Writes showcase.json and showcase.html. Throws std::system_error.
void save(report const& all);

} // namespace showcase
