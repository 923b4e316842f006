// Exceptions as values: what a task has thrown, and what a dropped task throws at its getter.
#include <cstdlib>
#include <exception>

#include <pilfer/detail/worker/runtime.hpp>
#include <pilfer/error.hpp>

#include "base/os.hpp"

namespace pilfer {
inline namespace v0 {
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

} // namespace detail
} // namespace v0
} // namespace pilfer
