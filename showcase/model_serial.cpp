#include "executor_serial.hpp"
#include "model.hpp"
#include "models.hpp"

namespace showcase {

outcome run_serial(job const& what) { return run_model<serial_executor>(what); }

} // namespace showcase
