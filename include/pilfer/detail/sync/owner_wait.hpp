// A wait for a mutex in the table of owners, of a task, a thread or a coroutine.
#pragma once

#include <cstdint>

#include <pilfer/detail/base/park.hpp>
#include <pilfer/detail/sync/owners.hpp>
#include <pilfer/detail/task/parked.hpp>
#include <pilfer/detail/task/worker.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

using mutex_owners = owner_table<std_atom, futex_park>;

/// The name of a coroutine as an owner. `root` follows the coroutine and those that await it. The lowest bit
/// tells it from activations and threads.
[[nodiscard]] inline const void* coroutine_owner(const coroutine_frame* root) noexcept {
    return reinterpret_cast<const void*>(reinterpret_cast<std::uintptr_t>(root) | 1);
}
[[nodiscard]] inline bool is_coroutine_owner(const void* owner) noexcept {
    return (reinterpret_cast<std::uintptr_t>(owner) & 1) != 0;
}
/// The root, for reports; null: the owner is no coroutine.
[[nodiscard]] inline const void* owning_coroutine(const void* owner) noexcept {
    return is_coroutine_owner(owner) ? static_cast<const char*>(owner) - 1 : nullptr;
}

/// A wait in the table, with what a report calls the waiter.
struct named_wait : mutex_owners::waiting {
    const pool_core* pool = nullptr; // null: a thread outside, or one of a one-lock pool
    const context* stack = nullptr;  // null: a thread or a coroutine
    const void* coroutine = nullptr; // the address of its frame
    std::uint64_t thread = 0;        // its number in the system, if it is neither

    named_wait(const void* w, const mutex_owners::owner_word& o, const void* what) noexcept
        : waiting(w, o, what) {}
};

/// Adds a wait to the table before it begins, and reports the cycle that it closes.
void begins_to_wait(named_wait& w) noexcept;
/// Removes a wait, before the waiter becomes the owner.
void waits_no_more(named_wait& w) noexcept;
/// False in a task that is explored or recorded: it may wait for ever, and the test says so.
[[nodiscard]] bool reports_cycles() noexcept;

} // namespace detail
} // namespace v0
} // namespace pilfer
