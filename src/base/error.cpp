// The errors that the library throws, and exceptions as values.
#include <pilfer/error.hpp>

#include <cstdlib>
#include <exception>

#include <pilfer/detail/base/errors.hpp>

#include "base/write.hpp"

#include "base/probe.hpp"

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
pool_forked::pool_forked()
    : std::runtime_error(
          "pilfer: this pool was left in the parent process by fork(): its threads are there") {}
pool_forked::~pool_forked() = default;

namespace detail {
namespace {

template <class Make>
[[nodiscard]] std::exception_ptr error_or_lack_of_memory(Make make) noexcept {
    try {
        return std::make_exception_ptr(make()); // its text is a string on the heap
    } catch (...) {
        return std::current_exception();
    }
}

} // namespace

std::exception_ptr caught_error() noexcept {
    std::exception_ptr error = std::current_exception();
    if (error == nullptr) { // of another language, or none at all
        os::write_error(
            "pilfer: a task has called pthread_exit(), its thread was cancelled, or an exception of "
            "another language has left it\n");
        std::abort();
    }
    PILFER_PROBE0(exception);
    return error;
}

std::exception_ptr dropped_error() noexcept {
    return error_or_lack_of_memory([] { return broken_promise(); });
}

std::exception_ptr closed_error() noexcept {
    return error_or_lack_of_memory([] { return pool_closed(); });
}

std::exception_ptr unset_error() noexcept {
    return error_or_lack_of_memory(
        [] { return broken_promise("pilfer: the promise was destroyed before it was set"); });
}

void ends_without_exceptions(const char* what) noexcept {
    os::write_error("pilfer: a program without exceptions cannot go on: ");
    os::write_error(what);
    os::write_error("\n");
    std::terminate();
}

} // namespace detail

} // namespace v0
} // namespace pilfer
