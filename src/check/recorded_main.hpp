// A program whose main() runs on several workers and is recorded.
#pragma once

#if defined(PILFER_TEST)

#include <string>

#include "platform/whole_program.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {

/// By PILFER_RECORD, which it removes, because programs that this one starts are not meant. Empty: nothing is
/// recorded.
[[nodiscard]] std::string take_recording_name();

/// Runs the rest of the program as a task of a pool that is recorded in a file, and ends the process as the
/// program does. Throws std::system_error if there is no such file, and what making a pool throws.
[[noreturn]] void record_main(const std::string& file, const os::rest_of_program& rest);

} // namespace detail
} // namespace v0
} // namespace pilfer

#endif
