// A small number for each worker of the process, whatever its pool: an index for tables of other rooms.
#pragma once

#include <cstdint>

namespace pilfer {
inline namespace v0 {
namespace detail {

/// There is no lock, so a fork() at any moment leaves the numbers consistent. All actions of a number's
/// holder happen before the actions of its next holder.
struct numbers {
    static constexpr std::uint32_t most = 65'536;
    static constexpr std::uint32_t none = UINT32_MAX;
    /// Takes the smallest free number. none: all are taken.
    [[nodiscard]] static std::uint32_t take() noexcept;
    static void give(std::uint32_t number) noexcept;
};

} // namespace detail
} // namespace v0
} // namespace pilfer
