// A thread outside that takes one of the pool's spare seats while it waits, and works there.
#pragma once

#include <atomic>
#include <cstdint>

namespace pilfer {
inline namespace v0 {
namespace detail {

/// Why it is there. On its own stack.
struct guest {
    /// Called on the visiting thread, between two tasks: its wait is over.
    bool (*over)(guest&) noexcept;
    /// Before it sleeps, when others may wake it already: it has to ask again. No code of the user.
    bool (*stirred)(guest&) noexcept;
    /// It sleeps no longer than while this is 0; null: until it is woken as a worker is.
    std::atomic<std::uint32_t>* word;
};

} // namespace detail
} // namespace v0
} // namespace pilfer
