#include "executor_tbb.hpp"
#include "model.hpp"
#include "models.hpp"

namespace showcase {

outcome run_tbb(job const& what) { return run_model<tbb_executor>(what); }

} // namespace showcase
