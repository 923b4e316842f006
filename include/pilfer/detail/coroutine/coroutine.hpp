// Resumption of coroutines: drivers, and the ways back from a wait.
//
// Argument: src/coroutine/README.md.
#pragma once

#include <concepts>
#include <coroutine>
#include <cstdint>
#include <exception>

#include <pilfer/cancel.hpp>
#include <pilfer/detail/cancel/points.hpp>
#include <pilfer/detail/cancel/waits.hpp>
#include <pilfer/detail/future/future_state.hpp>
#include <pilfer/detail/task/completion.hpp>
#include <pilfer/detail/task/parked.hpp>
#include <pilfer/detail/task/runtime.hpp>
#include <pilfer/detail/timer/alarm.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

struct coroutine_root;

/// The loop that resumes coroutines, in the frame of its caller. A coroutine that starts another one, or
/// ends, names the next coroutine here and returns. So one stack frame carries chains and loops of any
/// length. It does not need a tail call of a resumption, which g++ does not make below -O2, nor with a
/// sanitizer.
struct coroutine_driver {
    /// The innermost scope of the task that drives. It encloses the scopes of all coroutines here.
    scope_node* parent;
    coroutine_root* root;
    coroutine_frame* next = nullptr;
};

inline constexpr const char* lock_kept = "a coroutine ended that holds a lock of the library";

/// The end of a chain: it follows the last coroutine.
struct coroutine_root : coroutine_frame {
    /// Called after the last coroutine has ended, last in a task, which this call ends. Returns the
    /// suspension to resume, as a spark does.
    [[nodiscard]] virtual suspension* over(worker* w) noexcept = 0;

    /// The number of locks that the coroutines before it hold by co_await. While they run, these locks are in
    /// activation::locks, too.
    unsigned locks = 0;

protected:
    coroutine_root() = default;
    ~coroutine_root() = default;
};
/// The error of a root whose coroutines have ended with a lock in hand, after the end of their frame: `own`,
/// their exception; without one a usage_error. Ends the program if the lock is not in the frame but
/// elsewhere: its unlock would write to the root.
[[nodiscard]] PILFER_API std::exception_ptr lock_kept_error(const coroutine_root& root,
                                                            std::exception_ptr own) noexcept;

/// Resumes `first` and the coroutines that follow it, until one suspends or the last one ends. Returns null
/// in the first case, the root in the second. A frame is not touched after its resumption: it may run on
/// another thread, or be gone.
[[nodiscard]] inline coroutine_root* drive(coroutine_frame& first, coroutine_driver& d) noexcept {
    coroutine_root* ended = nullptr;
    for (coroutine_frame* f = &first; f != nullptr; f = d.next) {
        if (!f->handle) {
            ended = static_cast<coroutine_root*>(f);
            break;
        }
        d.next = nullptr;
        f->driver = &d;
#if defined(PILFER_RACE)
        const race::unseen here;
        race::cannot_follow("coroutines, which are not looked at");
#endif
        f->handle.resume();
    }
    detail::ensure([ended] { return ended == nullptr || ended->locks == 0; }, lock_kept);
    detail::ensure([&d] { return detail::this_activation()->node.load(rlx) == d.parent; },
                   "a scope lived across a wait of a coroutine that is no task of this library");
    return ended;
}
/// drive() from within the scopes of the calling task. A root follows `first`.
[[nodiscard]] inline coroutine_root* drive(coroutine_frame& first) noexcept {
    coroutine_driver d{detail::this_activation()->node.load(rlx), static_cast<coroutine_root*>(first.then)};
    return detail::drive(first, d);
}

/// drive() as a task of its own, which the call ends. A root follows `first`.
[[nodiscard]] PILFER_API suspension* drive_as_task(coroutine_frame& first) noexcept;

/// The entry of a suspended coroutine among the tasks of its pool, in the coroutine's frame.
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
    /// Called before another thread can call go_on(): from now on a drain waits for the coroutine. It will be
    /// resumed in the pool of the caller; outside of pools, in the common pool.
    ///
    /// Throws pool_closed, and what making the common pool throws, outside of pools only. Throws usage_error
    /// if a scope that has children would live across the wait, or if a lock is held that is not the
    /// coroutine's.
    void begin();
    /// After begin(), before another thread can call go_on(): the object of the wait, for reports.
    void park(const parked_kind& why, const void* object) noexcept;
    /// After begin(): the coroutine does not suspend after all.
    void withdraw() noexcept;
    /// Makes the coroutine a task again. Called once, by any thread, on any stack; runs no code of the user.
    /// The frame may be gone when it returns.
    void go_on() noexcept;
    /// After is_of(), before begin(): throws `stopped` if the coroutine is cancelled. A coroutine of another
    /// library goes on, because its enclosing scope is unknown.
    void leave_if_stopped() const;
    /// Throws `stopped` if a cancellation took the coroutine out of its wait.
    void leave_if_taken_out() const {
        if (m_taken_out) [[unlikely]] {
            PILFER_THROW(stopped());
        }
    }

protected:
    /// Moves the coroutine's scopes and locks into the frame, on the worker that is about to suspend it.
    /// Throws as begin().
    void take_scopes_along(const pool_core& to);
    void bring_scopes() noexcept;
    /// After is_of(): throws as begin() if the running coroutine may not suspend. `other_locks`: the number
    /// of locks that it will have released by then.
    void check_held(unsigned other_locks = 0) const;
    /// Undoes park(), unless another thread did.
    void unpark() noexcept;
    /// Resumes the coroutine in the current task, and ends that task. Returns the suspension to
    /// resume.
    [[nodiscard]] suspension* drive_on() noexcept;
    /// As go_on(), for a caller that holds locks: the coroutine is queued, not announced.
    void queue() noexcept;
    /// The innermost scope of the suspended coroutine. Null: in no scope, or the scope is unknown.
    [[nodiscard]] scope_node* place() noexcept { return m_scopes != nullptr ? m_scopes : parent(); }
    // After begin().
    [[nodiscard]] coroutine_root* root() const noexcept { return m_root; }
    [[nodiscard]] pool_core& pool() const noexcept { return *m_pool; }
    [[nodiscard]] const void* frame() const noexcept { return m_who->handle.address(); }

private:
    static suspension* run_resumed(spark* self, worker* w) noexcept;

    coroutine_frame m_stand_in;
    coroutine_frame* m_who = nullptr;
    parked m_parked;
    parked_list* m_list = nullptr; // null: in no list
    pool_core* m_pool = nullptr;
    coroutine_root* m_root = nullptr; // null: of another library
    scope_node* m_scopes = nullptr; // the place of the coroutine, if it has scopes or a lock across this wait
    unsigned m_locks = 0;           // activation::locks

protected:
    bool m_of_worker = false; // begun as a task of a worker, else as a submission
    // For resumptions whose wait a cancellation ends.
    bool m_listens = false;   // the listener is in a worker's list
    bool m_taken_out = false; // by a cancellation: written by the thread that took it out
};

/// The kind of wait for an awaitable of another library.
PILFER_API extern const parked_kind parked_elsewhere;

/// A resumption whose wait a cancellation ends, if the coroutine has an enclosing scope. Argument:
/// src/coroutine/README.md.
class PILFER_API stoppable_resumption : public resumption {
    using list = cancellable_waits<std_atom, futex_park, scope_node>;

public:
    // NOLINTNEXTLINE(modernize-use-equals-default): the listener is made on demand
    stoppable_resumption() noexcept {}

protected:
    ~stoppable_resumption() = default;
    /// After begin(): true if a cancellation can reach the coroutine. One test if no scope encloses it.
    [[nodiscard]] bool may_be_stopped() noexcept {
        return scope_node::strip(place()) != nullptr && may_be_stopped_below();
    }
    /// Called when the coroutine may already be resumed. From here on a cancellation calls take_out(), under
    /// the lock of a list that this leaves before the coroutine runs. True: the coroutine is already
    /// cancelled (cancel.C2), and the caller takes it out itself. `resumed` calls listens_no_more().
    [[nodiscard]] bool listen(void (*take_out)(stoppable_resumption& self) noexcept,
                              run_function resumed = &stoppable_resumption::run_listening) noexcept;
    void listens_no_more() noexcept;
    /// True if the coroutine is cancelled at this moment.
    [[nodiscard]] bool is_stopped() noexcept;
    /// Used instead of withdraw().
    void stay() noexcept;
    static suspension* run_listening(spark* self, worker* w) noexcept;

private:
    struct listener : list::waiter {
        list* where;
        stoppable_resumption* owner;
        void (*take_out)(stoppable_resumption& self) noexcept;
    };
    [[nodiscard]] bool may_be_stopped_below() noexcept;

    union {
        listener m_listener; // while m_listens
    };
};

class listed_resumption;

/// The time limit of a wait in a list, beside the wait in the coroutine's frame.
class wait_limit : private alarm {
public:
    using result = bool;
    explicit wait_limit(instant until) noexcept : m_until(until) {}
    /// Called before the wait.
    void limits(listed_resumption& wait) noexcept;
    /// After the wait: false if the time was over first.
    [[nodiscard]] bool in_time() const noexcept { return !m_is_over; }

private:
    friend class listed_resumption;

    instant m_until;
    listed_resumption* m_wait = nullptr; // from arm() on
    bool m_is_over = false;              // written by the thread that took the coroutine out
};

/// Instead of a wait_limit: the wait has none.
struct no_limit {
    using result = void;
    explicit no_limit(instant /*until*/) noexcept {}
    void limits(listed_resumption& /*wait*/) const noexcept {}
    void in_time() const noexcept {}
};

/// A wait in the list of an object.
class PILFER_API listed_resumption : public stoppable_resumption {
protected:
    ~listed_resumption() = default;
    /// `e` of this object is in `l`. True: the coroutine is suspended, and the caller touches nothing of
    /// this. False: the coroutine is resumed at once.
    [[nodiscard]] bool suspend_in(waiters& l, waiters::entry& e) noexcept;

    // The parts of suspend_in().
    void waits_as(waiters& l, waiters::entry& e) noexcept;
    /// True if a cancellation has taken the entry out already. The caller resumes the coroutine.
    [[nodiscard]] bool is_stopped_at_once(run_function resumed) noexcept;
    /// False: the entry was taken out or called.
    [[nodiscard]] bool publish() noexcept;
    /// Called before publish(), when a cancellation can already take the entry out. `resumed` calls
    /// ends_limit().
    void begins_limit(run_function resumed) noexcept;
    /// After the call nothing ends the wait because of the time.
    void ends_limit() noexcept;
    [[nodiscard]] bool has_limit() const noexcept { return m_limit != nullptr; }
    /// Before the wait: true if its time is over already.
    [[nodiscard]] bool is_over_before() const noexcept;
    /// After begin() and is_over_before(), instead of the wait: lets other tasks run, without an entry in the
    /// list. The coroutine is suspended, and the caller touches nothing of this.
    void gives_way() noexcept;
    /// By the coroutine itself, while no other thread can take the entry out: true if the wait must end,
    /// because of a cancellation or of the time.
    [[nodiscard]] bool must_end() noexcept;

private:
    friend class wait_limit;

    struct caller : callback_waiter {
        listed_resumption* owner;
    };
    static suspension* run_listed(spark* self, worker* w) noexcept;
    static void wait_is_over(callback_waiter& self) noexcept;
    static void take_out(stoppable_resumption& self) noexcept;
    static void time_has_come(alarm& self) noexcept;

    wait_limit* m_limit = nullptr;

    caller m_caller; // these from waits_as() on
    waiters* m_waits_in;
    waiters::entry* m_waits_as;
};

inline void wait_limit::limits(listed_resumption& wait) noexcept {
    wait.m_limit = m_until != never ? this : nullptr;
}

/// An awaitable with a time limit, which may be awaited again. `Awaiter` is made from the object and the
/// time.
template <class Awaiter, class Object>
class [[nodiscard]] limited_awaitable {
public:
    using pilfer_awaitable = void;
    limited_awaitable(Object& o, instant until) noexcept : m_object(o), m_until(until) {}
    [[nodiscard]] Awaiter operator co_await() const noexcept { return Awaiter(m_object, m_until); }

private:
    Object& m_object;
    instant m_until;
};

/// A wait for a future.
class PILFER_API future_resumption : public listed_resumption, public future_listener {
public:
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init): the entry is made on demand
    future_resumption() noexcept : future_listener(&future_resumption::result_is_there) {}
    /// Returns true if the coroutine is suspended; then the caller touches nothing of this. False: it is
    /// resumed at once. Throws std::bad_alloc if it has a time limit; then nothing has happened.
    [[nodiscard]] bool wait_for(future_core& f);

private:
    static future_core* result_is_there(future_listener& self) noexcept;
    [[nodiscard]] bool wait_in_list(future_core& f) noexcept;

    union {
        waiters::entry m_entry;
    };
};

/// A wait for a time.
class PILFER_API timed_resumption : public stoppable_resumption, private alarm {
public:
    timed_resumption() noexcept { fire = &timed_resumption::time_has_come; }
    /// Returns true if the coroutine is suspended; then the caller touches nothing of this. False: it is
    /// resumed at once.
    [[nodiscard]] bool wait_until(instant when);

private:
    static void time_has_come(alarm& self) noexcept;
    static void time_has_come_first(alarm& self) noexcept;
    static void take_out(stoppable_resumption& self) noexcept;

    completion<std_atom> m_done; // between the time or a cancellation, and the suspending coroutine
};

/// A move to a pool, in which the coroutine is resumed.
class PILFER_API moving_resumption : public resumption {
public:
    /// False: the pool is closed, and nothing has happened. Throws what begin() throws.
    [[nodiscard]] bool move_to(pool_core& p);
    [[nodiscard]] bool dropped() const noexcept { return m_dropped; }

private:
    static suspension* run_arrived(spark* self, worker* w) noexcept;
    bool m_dropped = false;
};

/// Makes `s` a task of `p`: announced on a worker of `p`, submitted from any other thread. False: `p` is
/// closed. `p` may end as soon as `s` has run, even before this returns.
[[nodiscard]] PILFER_API bool start_in(pool_core& p, submission* s) noexcept;

/// As start_in(), but if the queue of `p` is full it waits, or throws queue_full. Throws pool_closed.
PILFER_API void hand_to(pool_core& p, submission* s);

/// A coroutine that a thread or a task waits for, on its stack.
class PILFER_API waited_root final : public coroutine_root, public submission {
public:
    waited_root() noexcept { run = &waited_root::run_root; }
    waited_root(const waited_root&) = delete;
    waited_root& operator=(const waited_root&) = delete;
    ~waited_root() = default;
    /// Runs `first` and returns when it has ended. On a worker of `p` it begins on this stack. Throws
    /// pool_closed, and the error of shutdown(drop); then `first` has not begun.
    ///
    /// If `locks` is not 0 afterwards, the caller ends the frame of `first` before this root ends.
    void run_in(pool_core& p, coroutine_frame& first);

private:
    void run_to_end(pool_core& p, coroutine_frame& first);
    suspension* over(worker* w) noexcept override;
    static suspension* run_root(spark* self, worker* w) noexcept;
    void wait(pool_core& p) noexcept;

    /// The reason why it never began.
    enum class kept_off : std::uint8_t { no, dropped, stopped };

    completion<std_atom> m_done;
    coroutine_frame* m_first = nullptr;
    kept_off m_kept_off = kept_off::no;
};

} // namespace detail
} // namespace v0
} // namespace pilfer
