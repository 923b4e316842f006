#include "executor_std.hpp"
#include "model.hpp"
#include "models.hpp"

namespace showcase {

outcome run_std(job const& what) { return run_model<std_executor>(what); }

} // namespace showcase
