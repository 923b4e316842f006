// What the rest of the library asks of cancellation.
#pragma once

#include <atomic>
#include <cstdint>
#include <stop_token>
#include <utility>

#include <pilfer/detail/base/park.hpp>
#include <pilfer/detail/cancel/cancel.hpp>
#include <pilfer/detail/worker/branch.hpp>
#include <pilfer/detail/worker/runtime.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

class pool_core;

/// Somebody outside the library who wants to know that a task is stopped.
struct told_source {
    explicit told_source(std::stop_source s) noexcept : source(std::move(s)) {}
    std::stop_source source;
    told_source* next_told = nullptr;
};

namespace stops {

/// A pool begins and ends: cancellations reach its workers.
void add(pool_core& p) noexcept;
void remove(pool_core& p) noexcept;

/// Cancels the scope of that word.
void request(std::atomic<std::uint32_t>& disturbed) noexcept;
/// The same of a branch, which may end once `told` says so: before code of the user runs, which may wait.
void request(std::atomic<std::uint32_t>& disturbed, branch_protocol<std_atom>& told) noexcept;
/// A lock is free under which a scope began that goes on: those below of it may be stopped now.
void look_again() noexcept;
/// By a listener's stop(): the canceller requests a stop there, behind all locks, and deletes it.
void tell(told_source* t) noexcept;
/// A scope that was cancelled is through.
void over() noexcept;
/// Behind the unlinking of a scope that ends out of turn: nobody looks up through it any more.
void wait_for_lookers() noexcept;
/// Is whoever stands at `place` stopped? On `w`, for a task that runs or is about to start there.
/// `tells` as for is_stopped().
[[nodiscard]] bool stopped_at(worker* w, scope_place* place, bool tells = true) noexcept;

} // namespace stops
} // namespace detail
} // namespace v0
} // namespace pilfer
