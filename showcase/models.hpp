// One function per runtime, each compiled in a file of its own: only model_openmp.cpp needs the compiler's
// OpenMP switch, and no program text is repeated (model.hpp has it once).
#pragma once

#include "outcome.hpp"

namespace showcase {

// Each throws std::runtime_error or std::system_error when the input cannot be used.
outcome run_serial(job const& what);
outcome run_pilfer(job const& what);
outcome run_tbb(job const& what);
outcome run_openmp(job const& what);
outcome run_std(job const& what);

/// Chooses by what.runtime. Throws std::invalid_argument for an unknown name.
outcome run_job(job const& what);

} // namespace showcase
