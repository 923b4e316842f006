// From exceptions to codes.
#pragma once

#include <string>
#include <system_error>

#include <pilfer/detail/base/platform.hpp>
#include <pilfer/pilfer.h>

#include "capi/task.hpp"

namespace pilfer {
inline namespace v0 {
namespace capi {

/// In a catch block: the code of what was caught; its text goes to `why`, if that is there. What the runtime
/// does not throw ends the program.
[[nodiscard]] PILFER_COLD int code_of_caught(std::string* why = nullptr) noexcept;

/// Of what the calls for descriptors return.
[[nodiscard]] int code_of(const std::error_code& error) noexcept;

/// f() behind the wall that no exception passes.
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
