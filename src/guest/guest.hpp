// A thread outside that takes a guest slot of the pool while it waits, and runs tasks there.
#pragma once

#include <atomic>
#include <cstdint>

namespace pilfer {
inline namespace v0 {
namespace detail {

/// Describes the wait of a guest. It is on the guest's own stack.
struct guest {
    /// True if the guest's wait is over. Called by the guest thread between two tasks.
    bool (*over)(guest&) noexcept;
    /// True if over() has to be called again. Called before the guest sleeps, when wakers can already see it.
    /// It runs no user code.
    bool (*stirred)(guest&) noexcept;
    /// The guest sleeps only while this word is 0. Null: it sleeps until it is woken as a worker is.
    std::atomic<std::uint32_t>* word;
};

} // namespace detail
} // namespace v0
} // namespace pilfer
