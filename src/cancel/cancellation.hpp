// The process-wide registry of cancellations, for the rest of the library. Protocol: README.md.
#pragma once

#include <memory>
#include <stop_token>
#include <utility>

#include <pilfer/detail/base/park.hpp>
#include <pilfer/detail/cancel/cancel.hpp>
#include <pilfer/detail/cancel/waits.hpp>
#include <pilfer/detail/task/branch.hpp>
#include <pilfer/detail/task/runtime.hpp>

#include "task/service.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {

class scheduler;
class team;

/// A stop_source of a stop_on_cancel whose task was found to be cancelled.
struct stop_request {
    explicit stop_request(std::stop_source s) noexcept : source(std::move(s)) {}
    std::stop_source source;
    stop_request* next = nullptr;
};

/// The part of one worker that cancellations use.
class alignas(line_bytes) cancel_seat {
public:
    [[nodiscard]] static cancel_seat& of(const worker* w) noexcept;

    /// Waits inside scopes, of tasks that began the wait on this worker. A cancellation ends them.
    cancellable_waits<std_atom, futex_park, scope_node> stoppable;
    look_guard<std_atom> looks_up;
};

/// The workers of one pool, for cancellations. It exists before the threads of the pool.
class cancelled_team final : public service {
public:
    explicit cancelled_team(team& t);

    void task_begins(scheduler& w, scope_node* parent) noexcept override;

    team& workers;
    cancelled_team* next = nullptr; // of all, under the lock of the cancellations

private:
    std::unique_ptr<cancel_seat[]> m_seats;
};

namespace cancellation {

/// Cancellations reach the workers of `t` from add() until remove().
void add(cancelled_team& t) noexcept;
void remove(cancelled_team& t) noexcept;
/// In a child of fork(), by its only thread.
void forget_all() noexcept;

/// Cancels the node `s`. Requests the stops of stop_on_cancel objects below it before it returns. `branch`:
/// null unless `s` is the node of a stolen branch that was given up. Its is_told() is called before any of
/// these requests: a callback may wait for the worker of the branch, which waits for is_told().
void request(scope_node& s, branch_protocol<std_atom>* branch = nullptr) noexcept;
/// Called after a lock on the way up is free: results that earlier looks have noted are void.
void renew() noexcept;
/// The node `s` began under a lock that is free now. Stops the waits below it, if they are stopped.
void look_again(scope_node& s) noexcept;
/// Called by a waiter's stop(). The canceller requests that stop after it has left all locks, and deletes it.
void add_request(stop_request* r) noexcept;
/// A cancelled node has no task below it left.
void over() noexcept;
/// Called after `gone`, a scope that ends out of turn, has unlinked itself. On return no look goes through
/// it, and no list of waits knows it.
void forget(const scope_node& gone) noexcept;
/// True if a task at `place`, which runs or is about to start on `w`, is stopped. `propagates`: as for
/// is_stopped().
[[nodiscard]] bool stopped_at(worker* w, scope_node* place, bool propagates = true) noexcept;

} // namespace cancellation
} // namespace detail
} // namespace v0
} // namespace pilfer
