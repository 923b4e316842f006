// The exceptions that a thread handles at present, as the C++ runtime keeps them.
#pragma once

#include <cxxabi.h>

#include <exception>

#if defined(_LIBCPP_VERSION)
// The runtime of libc++ has the function, too, but its header does not declare it.
namespace __cxxabiv1 {
struct __cxa_eh_globals;
extern "C" __cxa_eh_globals* __cxa_get_globals();
} // namespace __cxxabiv1
#endif

namespace pilfer {
inline namespace v0 {
namespace detail {

/// The record of the calling thread: a pointer to the innermost exception, then the number of those thrown
/// and not yet caught.
[[nodiscard]] inline void* exceptions_of_thread() noexcept { return abi::__cxa_get_globals(); }

} // namespace detail
} // namespace v0
} // namespace pilfer
