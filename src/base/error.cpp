// The errors that the library throws.
#include <pilfer/error.hpp>

namespace pilfer {
inline namespace v0 {

pool_closed::pool_closed() : std::runtime_error("pilfer: the pool is shut down") {}
pool_closed::~pool_closed() = default;
queue_full::queue_full()
    : std::runtime_error("pilfer: the pool's queue is full (see options.queue_capacity)") {}
queue_full::~queue_full() = default;
broken_promise::broken_promise() : std::runtime_error("pilfer: the task was dropped by shutdown(drop)") {}
broken_promise::broken_promise(const char* what) : std::runtime_error(what) {}
broken_promise::~broken_promise() = default;
usage_error::usage_error(const char* what) : std::logic_error(what) {}
usage_error::~usage_error() = default;
promise_already_satisfied::promise_already_satisfied()
    : usage_error("pilfer: this promise has been set already") {}
promise_already_satisfied::~promise_already_satisfied() = default;

} // namespace v0
} // namespace pilfer
