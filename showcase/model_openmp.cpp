#include "executor_openmp.hpp"
#include "model.hpp"
#include "models.hpp"

namespace showcase {

outcome run_openmp(job const& what) { return run_model<openmp_executor>(what); }

} // namespace showcase
