// The settings of `pilfer check`, which come through the program's environment.
#pragma once

#if defined(PILFER_TEST)

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <pilfer/test.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

/// The stack of main() has usually as much, and all tasks have the same.
inline constexpr std::size_t stack_of_main = std::size_t{8} << 20;

struct check_settings {
    std::uint64_t schedules = 1'000;
    test::options how{};
    std::string shown_as{}; ///< PILFER_SCHEDULE, if it was used.
};

/// Of PILFER_CHECK: words with values, as "schedules=1000 strategy=pct faults=2 io=1". Throws
/// std::invalid_argument that names the word.
[[nodiscard]] check_settings check_settings_of(std::string_view text);
/// By PILFER_CHECK, or by PILFER_SCHEDULE if that is a schedule of a whole program, or "@" and the name of a
/// file with one. Removes the variable, because programs that this one starts are not meant. Empty: main()
/// runs as usual. Throws what check_settings_of() and text_of_schedule() throw.
[[nodiscard]] std::optional<check_settings> take_check_settings();

} // namespace detail
} // namespace v0
} // namespace pilfer

#endif
