// A small number for each worker of the process, whatever its pool: an index for tables of other rooms.
#pragma once

#include <cstdint>

namespace pilfer {
inline namespace v0 {
namespace detail {

/// No lock, so that a fork() at any moment leaves them in order. What was done under a number happens before
/// what is done by whoever has it next.
struct numbers {
    static constexpr std::uint32_t most = 65'536;
    /// The smallest that is free; worker::no_serial: there are none.
    [[nodiscard]] static std::uint32_t take() noexcept;
    static void give(std::uint32_t number) noexcept;
};

} // namespace detail
} // namespace v0
} // namespace pilfer
