#include "executor_pilfer.hpp"
#include "model.hpp"
#include "models.hpp"

namespace showcase {

outcome run_pilfer(job const& what) { return run_model<pilfer_executor>(what); }

} // namespace showcase
