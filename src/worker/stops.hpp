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
struct told_source : submission {
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
/// That branch of a join has thrown, and the frame that joins does not wait for it yet: what that runs on its
/// own stack is stopped. False: nobody was told.
[[nodiscard]] bool fail(spark& branch) noexcept;
/// By the frame that joins, behind its wait for it.
void collected(spark& branch) noexcept;
/// Does the running task stand in such a part of a join? Tells its scopes there.
[[nodiscard]] bool stands_in_failing_join(worker* w) noexcept;
/// Can it? Not where no other stack ever runs a branch of a join. (That of a frame that suspends is run by
/// its own worker, too.)
[[nodiscard]] bool branches_move(const worker* w) noexcept;
/// A lock is free under which a scope began that goes on: those below of it may be stopped now.
void look_again() noexcept;
/// By a listener's stop(): the canceller requests a stop there, behind all locks, and deletes it.
void tell(told_source* t) noexcept;
/// A scope that was cancelled is through.
void over() noexcept;
/// Behind the unlinking of a scope that ends out of turn: nobody looks up through it any more.
void wait_for_lookers() noexcept;
/// In the frame of a task that waits for what it cannot leave: it learns that it is stopped, and so do its
/// scopes.
class waiting_frame {
public:
    /// `branch`, if not null, is given up then: see stolen_branch::give_up().
    explicit waiting_frame(worker* w, spark* branch = nullptr, spark::run_function lies_there = nullptr,
                           spark::run_function given_up = nullptr) noexcept;
    waiting_frame(const waiting_frame&) = delete;
    waiting_frame& operator=(const waiting_frame&) = delete;
    ~waiting_frame();

private:
    using list = stop_list<std_atom, futex_park, scope_place>;
    struct known : list::listener {
        spark* branch;
        spark::run_function lies_there;
        spark::run_function given_up;
    };
    known m_known;
    list* m_list = nullptr; // null: it cannot be stopped
};

/// Where the running task enters a wait: who is below of no scope (`place` null) can only be stopped by a
/// branch that fails on its own stack, and is found by that.
[[nodiscard]] stop_list<std_atom, futex_park, scope_place>& list_for(worker* w, scope_place* place) noexcept;

/// Is whoever stands at `place` stopped? On `w`, for a task that runs or is about to start there.
/// `tells` as for is_stopped().
[[nodiscard]] bool stopped_at(worker* w, scope_place* place, bool tells = true) noexcept;

} // namespace stops
} // namespace detail
} // namespace v0
} // namespace pilfer
