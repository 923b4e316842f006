// Coroutines as the library knows them: who resumes them, and how they come back from a wait.
//
// Argument: src/coroutine/README.md.
#pragma once

#include <concepts>
#include <coroutine>
#include <cstdint>

#include <pilfer/cancel.hpp>
#include <pilfer/detail/cancel/cancel.hpp>
#include <pilfer/detail/future/future_state.hpp>
#include <pilfer/detail/worker/alarm.hpp>
#include <pilfer/detail/worker/handover.hpp>
#include <pilfer/detail/worker/parked.hpp>
#include <pilfer/detail/worker/runtime.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

struct coroutine_root;

/// In the frame of whoever resumes coroutines. A coroutine that starts another one, or ends, says here who is
/// next and returns. So one stack frame carries chains and loops of any length, whether or not the compiler
/// makes a tail call of a resumption: g++ does not below -O2, nor with a sanitizer.
struct coroutine_driver {
    /// The innermost scope of the task that drives: what encloses the scopes of all coroutines here.
    scope_place* within;
    coroutine_frame* next = nullptr;
};

/// What stands behind the last coroutine of a chain.
struct coroutine_root : coroutine_frame {
    /// That one has ended; called last in a unit, which this ends. Returns whom to resume, as a spark does.
    [[nodiscard]] virtual suspension* over(worker* w) noexcept = 0;

protected:
    coroutine_root() = default;
    ~coroutine_root() = default;
};

/// Resumes `first`, and whoever is to go on behind it, until one suspends: null; or until the last has ended:
/// its root. No frame is touched behind its resumption, for it may be running elsewhere, or be gone.
[[nodiscard]] inline coroutine_root* drive(coroutine_frame& first, coroutine_driver& d) noexcept {
    coroutine_root* ended = nullptr;
    for (coroutine_frame* f = &first; f != nullptr; f = d.next) {
        if (!f->handle) {
            ended = static_cast<coroutine_root*>(f);
            break;
        }
        d.next = nullptr;
        f->driver = &d;
        f->handle.resume();
    }
    detail::ensure([&d] { return detail::this_activation()->innermost.load(rlx) == d.within; },
                   "a scope lived across a wait of a coroutine that is no task of this library");
    return ended;
}
/// The same from within the scopes that the caller stands in.
[[nodiscard]] inline coroutine_root* drive(coroutine_frame& first) noexcept {
    coroutine_driver d{detail::this_activation()->innermost.load(rlx)};
    return detail::drive(first, d);
}

/// The same as a unit of its own, which it ends.
[[nodiscard]] PILFER_API suspension* drive_as_unit(coroutine_frame& first) noexcept;

/// In the frame of a suspended coroutine: its place among the tasks of its pool.
class PILFER_API resumption : public submission {
public:
    resumption() noexcept { run = &resumption::run_resumed; }
    resumption(const resumption&) = delete;
    resumption& operator=(const resumption&) = delete;

    template <class Promise>
    void is_of(std::coroutine_handle<Promise> h) noexcept {
        if constexpr (std::derived_from<Promise, coroutine_frame>) {
            m_who = &h.promise();
        } else {
            m_stand_in.handle = h;
            m_who = &m_stand_in;
        }
    }
    /// Before anybody can call go_on(): from now on a drain waits for it. It will go on in the pool of the
    /// caller, outside of pools in the common one. Throws pool_closed and what making that one throws, there
    /// only; usage_error where a scope that has children would live across the wait, or a lock be held.
    void begin();
    /// Behind begin(), before anybody can call go_on(): what it waits for, for reports.
    void park(const parked_kind& why, const void* object) noexcept;
    /// Behind begin(): it does not suspend after all.
    void withdraw() noexcept;
    /// Once, by anyone, on any stack: runs nothing of the user's. The frame may be gone when it returns.
    void go_on() noexcept;
    /// Behind is_of(), before begin(): a coroutine that is stopped leaves here. One of another library does
    /// not, since nobody knows what it is below of.
    void leave_if_stopped() const;
    /// It was taken out of its wait.
    void leave_if_taken_out() const {
        if (m_taken_out) [[unlikely]] {
            PILFER_THROW(stopped());
        }
    }

protected:
    /// On the worker that is about to suspend it: see begin(). And where it does not suspend after all.
    void take_scopes_along(const pool_core& to);
    void bring_scopes() noexcept;
    /// In the task that goes on with it, which this ends. Returns whom to resume.
    [[nodiscard]] suspension* drive_on() noexcept;
    /// As go_on(), where locks are held: it is queued, not announced.
    void queue() noexcept;
    /// Where it stands while it is suspended; null: in no scope, or nobody knows.
    [[nodiscard]] scope_place* place() noexcept { return m_scopes != nullptr ? m_scopes : within(); }

private:
    static suspension* run_resumed(spark* self, worker* w) noexcept;

    void unpark() noexcept;

    coroutine_frame m_stand_in;
    coroutine_frame* m_who = nullptr;
    parked m_parked;
    parked_list* m_list = nullptr; // null: it is in none
    pool_core* m_pool = nullptr;
    scope_place* m_scopes = nullptr; // the innermost of those that live across this wait
    bool m_of_worker = false;        // begun as a unit of a worker, else as a submission

protected:
    // Of those whose wait a cancellation ends.
    bool m_listens = false;   // the listener is in a worker's list
    bool m_taken_out = false; // by a cancellation: written by who took it out
};

/// It waits for an awaitable of others.
PILFER_API extern const parked_kind parked_elsewhere;

/// One whose wait a cancellation ends, if it is below of a scope. Argument: src/coroutine/README.md.
class PILFER_API stoppable_resumption : public resumption {
    using list = stop_list<std_atom, futex_park, scope_place>;

public:
    // NOLINTNEXTLINE(modernize-use-equals-default): the listener is made where one is needed
    stoppable_resumption() noexcept {}

protected:
    ~stoppable_resumption() = default;
    /// Behind begin(): can a cancellation reach it? One test where it is below of no scope.
    [[nodiscard]] bool may_be_stopped() noexcept {
        return scope_place::strip(place()) != nullptr && may_be_stopped_below();
    }
    /// Once it may go on: from here on a cancellation calls take_out(), under the lock of a list that this
    /// leaves before it goes on. True: it is stopped already (C2), and the caller does the same.
    [[nodiscard]] bool listen(void (*take_out)(stoppable_resumption& self) noexcept) noexcept;
    /// At this moment.
    [[nodiscard]] bool is_stopped() noexcept;
    /// Instead of withdraw().
    void stay() noexcept;

private:
    struct listener : list::listener {
        list* where;
        stoppable_resumption* owner;
        void (*take_out)(stoppable_resumption& self) noexcept;
    };
    [[nodiscard]] bool may_be_stopped_below() noexcept;
    static suspension* run_listening(spark* self, worker* w) noexcept;

    union {
        listener m_listener; // while m_listens
    };
};

/// Waits in a list.
class PILFER_API listed_resumption : public stoppable_resumption {
protected:
    ~listed_resumption() = default;
    /// `e` of this is in `l`, as `told`. True: it is suspended, and the caller touches nothing of this.
    /// False: it goes on at once.
    [[nodiscard]] bool suspend_in(waiters& l, waiters::entry& e) noexcept;

private:
    struct caller : told_waiter {
        listed_resumption* owner;
    };
    static void wait_is_over(told_waiter& self) noexcept;
    static void take_out(stoppable_resumption& self) noexcept;

    caller m_caller; // these from suspend_in() on
    waiters* m_waits_in;
    waiters::entry* m_waits_as;
};

/// Waits for a future.
class PILFER_API future_resumption : public listed_resumption, public future_listener {
public:
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init): the entry is made where one is needed
    future_resumption() noexcept : future_listener(&future_resumption::result_is_there) {}
    /// As suspend_in().
    [[nodiscard]] bool wait_for(future_core& f);

private:
    static future_core* result_is_there(future_listener& self) noexcept;
    [[nodiscard]] bool wait_stoppably(future_core& f) noexcept;

    union {
        waiters::entry m_entry;
    };
};

/// Waits for a time.
class PILFER_API timed_resumption : public stoppable_resumption, private alarm {
public:
    timed_resumption() noexcept { fire = &timed_resumption::time_has_come; }
    /// The same.
    [[nodiscard]] bool wait_until(instant when);

private:
    static void time_has_come(alarm& self) noexcept;
    static void time_has_come_first(alarm& self) noexcept;
    static void take_out(stoppable_resumption& self) noexcept;
    void arm_here(instant when) noexcept;

    handover<std_atom> m_done; // of the time or a cancellation, and the coroutine that suspends
};

/// Goes on in a pool.
class PILFER_API moving_resumption : public resumption {
public:
    /// False: that pool is closed; nothing has happened. Throws what begin() throws.
    [[nodiscard]] bool move_to(pool_core& p);
    [[nodiscard]] bool dropped() const noexcept { return m_dropped; }

private:
    static suspension* run_arrived(spark* self, worker* w) noexcept;
    bool m_dropped = false;
};

/// `s` becomes a task of `p`: announced on a worker of `p`, submitted anywhere else. False: `p` is closed.
/// `p` may end as soon as `s` has run, even before this returns.
[[nodiscard]] PILFER_API bool start_in(pool_core& p, submission* s) noexcept;

/// The same, but where the queue of `p` is full it waits, or throws queue_full. Throws pool_closed.
PILFER_API void hand_to(pool_core& p, submission* s);

/// A coroutine that a thread or a task waits for, on its stack.
class PILFER_API waited_root final : public coroutine_root, public submission {
public:
    waited_root() noexcept { run = &waited_root::run_root; }
    waited_root(const waited_root&) = delete;
    waited_root& operator=(const waited_root&) = delete;
    ~waited_root() = default;
    /// Returns when `first` has ended. On a worker of `p` it begins on this stack. Throws pool_closed, and
    /// what shutdown(drop) leaves; then it has not begun.
    void run_in(pool_core& p, coroutine_frame& first);

private:
    suspension* over(worker* w) noexcept override;
    static suspension* run_root(spark* self, worker* w) noexcept;
    void wait(pool_core& p) noexcept;

    /// Why it never began.
    enum class kept_off : std::uint8_t { no, dropped, stopped };

    handover<std_atom> m_done;
    coroutine_frame* m_first = nullptr;
    kept_off m_kept_off = kept_off::no;
};

} // namespace detail
} // namespace v0
} // namespace pilfer
