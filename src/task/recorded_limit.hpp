// Time limits of operations, in a recording and in a schedule that follows one. Only real time says in a
// recording which of them end a wait, and only the recording says so in its repetition.
#pragma once

#if defined(PILFER_TEST)

#include <atomic>

#include "task/service.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {

class test_identity;

/// The calling task if it is recorded and inside an operation; null: it is not.
[[nodiscard]] test_identity* recorded_in_operation() noexcept;
/// True if the calling task repeats a recording and is inside an operation. It has waited then, until `wait`
/// was ended by another operation, or its limit as in the recording.
[[nodiscard]] bool waits_as_recorded(limited_wait& wait) noexcept;
/// The time limit of `task` is over, in a recording. Withdraws its wait as an operation. False: the wait has
/// ended already. `has_left`: it has, and its task may hold the lock of all operations.
template <class Withdraw>
[[nodiscard]] bool withdraw_in_order(const test_identity& task, const std::atomic<bool>& has_left,
                                     Withdraw withdraw) noexcept;
/// The calling task has found by its clock whether a time limit is over. Returns what it is to believe:
/// inside an operation of a repetition what the recording says.
[[nodiscard]] bool time_is_over_as_recorded(bool is_over) noexcept;

/// The lock of all operations, for a thread that is in none. False: `has_left` was set.
[[nodiscard]] bool lock_operations(const std::atomic<bool>& has_left, bool& is_own) noexcept;
void unlock_operations(const test_identity& task, bool is_own, bool has_ended) noexcept;

template <class Withdraw>
bool withdraw_in_order(const test_identity& task, const std::atomic<bool>& has_left,
                       Withdraw withdraw) noexcept {
    bool is_own = false;
    if (!lock_operations(has_left, is_own)) {
        return false;
    }
    const bool mine = withdraw();
    unlock_operations(task, is_own, mine);
    return mine;
}

} // namespace detail
} // namespace v0
} // namespace pilfer

#else

namespace pilfer {
inline namespace v0 {
namespace detail {

[[nodiscard]] constexpr bool time_is_over_as_recorded(bool is_over) noexcept { return is_over; }

} // namespace detail
} // namespace v0
} // namespace pilfer

#endif
