// The settings of `pilfer check`, which come through the program's environment.
#pragma once

#if defined(PILFER_TEST)

#include <cstdint>
#include <optional>
#include <string_view>

#include <pilfer/test.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

struct check_settings {
    std::uint64_t schedules = 1'000;
    test::options how{};
};

/// Of PILFER_CHECK: words with values, as "schedules=1000 strategy=pct faults=2 io=1". Throws
/// std::invalid_argument that names the word.
[[nodiscard]] check_settings check_settings_of(std::string_view text);
/// By PILFER_CHECK, or by PILFER_SCHEDULE if that is a schedule of a whole program, and removes the variable,
/// because programs that this one starts are not meant. Empty: main() runs as usual. Throws what
/// check_settings_of() throws.
[[nodiscard]] std::optional<check_settings> take_check_settings();

} // namespace detail
} // namespace v0
} // namespace pilfer

#endif
