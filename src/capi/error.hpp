// Codes for exceptions.
#pragma once

#include <string>
#include <system_error>

#include <pilfer/detail/base/platform.hpp>
#include <pilfer/pilfer.h>

#include "capi/task.hpp"

namespace pilfer {
inline namespace v0 {
namespace capi {

/// A code that a function of C has returned, as an exception on its way to the call that returns it.
struct returned_code {
    int code;
};
/// Throws for a function of C that returned something else than 0. PILFER_ECANCELED is `stopped`, and a
/// positive number becomes PILFER_EINVAL.
[[noreturn]] PILFER_COLD void throw_returned(int code);

/// In a catch block: returns the code of the caught exception and writes its text to `why`, if `why` is not
/// null. An exception that the runtime does not throw ends the program.
[[nodiscard]] PILFER_COLD int code_of_caught(std::string* why = nullptr) noexcept;

/// The code for a result of the calls for descriptors.
[[nodiscard]] int code_of(const std::error_code& error) noexcept;

/// Calls f() and lets no exception pass. Returns 0 or a code.
template <class F>
PILFER_ALWAYS_INLINE int guarded(F f, std::string* why = nullptr) noexcept {
    try {
        f();
        return 0;
    } catch (...) {
        return capi::code_of_caught(why);
    }
}

} // namespace capi
} // namespace v0
} // namespace pilfer
