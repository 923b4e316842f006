// Time limits of operations, and timers, in a recording and in a schedule that follows one. Only real time
// says in a recording which limits end a wait, and only the recording says so in its repetition.
#pragma once

#if defined(PILFER_TEST)

#include <atomic>
#include <string_view>

#include <pilfer/detail/base/test_point.hpp>

#include "task/service.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {

class pool_core;
class test_identity;

/// Operations that the clock decides: a wait ends by its limit, a limit is over before there is a wait, or a
/// timer has come.
inline constexpr std::string_view limit_ends = "reaches a time limit";
inline constexpr std::string_view limit_is_over = "has no time left";
inline constexpr std::string_view timer_runs = "runs the function of a timer";

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
/// The calling task if it is recorded; null: it is not.
[[nodiscard]] test_identity* recorded_task() noexcept;
/// Calls `begins`, which says whether the function of a timer begins in the calling task. If it does, that is
/// an operation. In a repetition no other task may prevent the begin during the call.
template <class Begins>
[[nodiscard]] bool begins_as_recorded(Begins begins) noexcept;
/// An `every` of the pool begins or has ended. `p`: only compared.
void periodic_timer_begins(const pool_core* p) noexcept;
void periodic_timer_ends(const pool_core* p) noexcept;
/// The calling task has found by its clock whether a time limit is over. Returns what it is to believe:
/// inside an operation of a repetition what the recording says.
[[nodiscard]] bool time_is_over_as_recorded(bool is_over) noexcept;

/// The lock of all operations, for a thread that is in none. False: `has_left` was set.
[[nodiscard]] bool lock_operations(const std::atomic<bool>& has_left, bool& is_own) noexcept;
/// `what`: the operation of `task` that has happened; null: none has.
void unlock_operations(const test_identity& task, bool is_own, const char* what) noexcept;

template <class Withdraw>
bool withdraw_in_order(const test_identity& task, const std::atomic<bool>& has_left,
                       Withdraw withdraw) noexcept {
    bool is_own = false;
    if (!lock_operations(has_left, is_own)) {
        return false;
    }
    const bool mine = withdraw();
    unlock_operations(task, is_own, mine ? limit_ends.data() : nullptr);
    return mine;
}

template <class Begins>
bool begins_as_recorded(Begins begins) noexcept {
    const test_identity* const self = recorded_task();
    if (self == nullptr) {
        PILFER_TEST_ORDER(timer_runs.data(), nullptr);
        return begins();
    }
    const std::atomic<bool> stays{false};
    bool is_own = false;
    (void)lock_operations(stays, is_own);
    const bool yes = begins();
    unlock_operations(*self, is_own, yes ? timer_runs.data() : nullptr);
    return yes;
}

} // namespace detail
} // namespace v0
} // namespace pilfer

#else

namespace pilfer {
inline namespace v0 {
namespace detail {

[[nodiscard]] constexpr bool time_is_over_as_recorded(bool is_over) noexcept { return is_over; }
template <class Begins>
[[nodiscard]] bool begins_as_recorded(Begins begins) noexcept {
    return begins();
}

} // namespace detail
} // namespace v0
} // namespace pilfer

#endif
