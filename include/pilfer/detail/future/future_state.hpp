// The state of a future: pending, queued, running, done, in this order.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include <pilfer/balance.hpp>
#include <pilfer/detail/base/outcome.hpp>
#include <pilfer/detail/base/race.hpp>
#include <pilfer/detail/future/future_protocol.hpp>
#include <pilfer/detail/task/runtime.hpp>
#include <pilfer/detail/wait/wait.hpp>
#include <pilfer/error.hpp>

namespace pilfer {
inline namespace v0 {
template <class T>
class future;

namespace profile {
struct mark;
} // namespace profile

namespace detail {

/// The entry of a waiter for a future, on its stack. `who`: a suspension, or a foreign_waiter with
/// waiter_is_foreign.
using future_waiter = future_protocol<std_atom>::waiter;

class future_core;

inline constexpr std::uintptr_t waiter_is_listener = 1; // as waiter_is_foreign, a tag

/// A waiter for a future without a frame or a thread: it is called once, at the end.
struct future_listener : future_waiter {
    /// Called on the stack of the thread that ends the future, or in listen(). It must not wait nor run code
    /// of the user. Returns null, or a running future that has its result. The caller ends that future and
    /// gives one of its references back. So a chain of ends is a loop, not a recursion.
    using fire_function = future_core* (*)(future_listener& self) noexcept;

    explicit future_listener(fire_function f) noexcept : fire(f) {
        who = reinterpret_cast<std::uintptr_t>(this) | waiter_is_listener;
    }
    future_listener(const future_listener&) = delete;
    future_listener& operator=(const future_listener&) = delete;

    fire_function fire;
};

/// A task that begins when a future is done.
struct PILFER_API future_follower : future_listener {
    explicit future_follower(future_core& task) noexcept;
    future_core* follower;
};

/// The waiters of one future that may leave before its end: see future_waiters.
struct timed_waiters : future_listener {
    timed_waiters() noexcept;
    /// A worker keeps the memory, as for future states.
    [[nodiscard]] static void* operator new(std::size_t bytes) {
        if (void* p = take_block(bytes)) {
            return p;
        }
        PILFER_THROW(std::bad_alloc());
    }
    static void operator delete(void* p, std::size_t bytes) noexcept { put_block(p, bytes); }
    future_waiters<std_atom, futex_park> waiter_list;
};

/// The maker of the result; for reports.
enum class future_source : std::uint8_t { task, promise, follower, combination, coroutine };

/// Claim and waiters of a future, without the result.
class PILFER_API future_core : public submission {
public:
    void retain() noexcept { m_life.retain(); }
    void release() noexcept {
        if (m_life.release()) {
            destroy();
        }
    }
    // For all derived types. Memory of a type that is aligned to more than the default of operator new is not
    // recycled.
    [[nodiscard]] static void* operator new(std::size_t bytes) {
        void* const p = take_block(bytes);
        if (p == nullptr) {
            PILFER_THROW(std::bad_alloc());
        }
        race::fresh(p, bytes);
        return p;
    }
    [[nodiscard]] static void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
        void* const p = take_block(bytes);
        race::fresh(p, p != nullptr ? bytes : 0);
        return p;
    }
    static void operator delete(void* p, const std::nothrow_t&) noexcept { ::operator delete(p); }
    static void operator delete(void* p, std::size_t bytes) noexcept { put_block(p, bytes); }
    [[nodiscard]] static void* operator new(std::size_t bytes, std::align_val_t a) {
        return ::operator new(bytes, a);
    }
    static void operator delete(void* p, std::size_t, std::align_val_t a) noexcept {
        ::operator delete(p, a);
    }

    [[nodiscard]] bool is_done() const noexcept { return m_life.is_done(); }
    /// For reports, from a frame that waits for this.
    void look(wait_facts& f) const noexcept;
    /// The facts that follow no pointer and need no virtual call, so that a copy of the bytes has them too.
    void look_at_words(wait_facts& f) const noexcept;
    /// Claims and runs a queued task on a worker of its pool, else waits. Throws stopped if the caller is
    /// cancelled and the result is not there.
    void wait();
    /// As wait(), but waits to the end even if the caller is cancelled.
    void wait_to_the_end() noexcept;
    /// Waits at most until about `until`, without claiming. True: the result is there. Throws std::bad_alloc:
    /// the first such wait for this future makes a list for all of them.
    [[nodiscard]] bool wait_until(instant until);
    /// The list of the waiters that may leave before the end, made for the first one; null: no memory for it.
    [[nodiscard]] timed_waiters* try_timed_list() noexcept;
    /// Calls `l` when the result is there, perhaps at once, in this call.
    void listen(future_listener& l) noexcept;
    /// Announces the task: on a worker of `p` in its deque, else by submission. May throw pool_closed.
    void start(pool_core& p);
    /// start() with options. A task with a priority is always submitted, and a submission has no weight.
    void start(pool_core& p, const task_options& o);
    /// Announces the task in `p` as soon as `source` is done. If `p` is null, it is the pool of `source`,
    /// else of the calling worker, else the common one. If that pool is closed by then, calls refuse(). May
    /// throw what making the common pool throws.
    void start_behind(future_core& source, pool_core* p, future_follower& place);

protected:
    future_core() noexcept;
    /// A pending one. `references`: those of the handle and of the party that ends it.
    future_core(future_source from, std::uint32_t references) noexcept;
    virtual ~future_core();
    /// Runs the function into the outcome.
    virtual void execute() noexcept = 0;
    virtual void break_promise() noexcept = 0;
    /// For reports: the root of the coroutine that makes the result, as a coroutine_frame.
    [[nodiscard]] virtual const void* coroutine() const noexcept { return nullptr; }
    /// Called if the pool does not take the task.
    virtual void refuse() noexcept { break_promise(); }

    /// Sets the pool of its followers. Called before another thread sees it.
    void belongs_in(pool_core& p) noexcept;
    /// For a pending one that is no task. True: the caller alone writes the result, then calls end().
    [[nodiscard]] bool begin() noexcept { return m_life.begin(); }
    /// Ends it. The caller has a reference, because the waiters may give theirs back meanwhile.
    void end() noexcept;

private:
    friend struct future_follower;
    friend struct future_layout;
    static suspension* run_task(spark* self, worker* w) noexcept;
    void run_claimed(worker* w) noexcept;
    [[nodiscard]] bool run_here(worker* w) noexcept;
    static void sweep() noexcept;
    void tell(future_core*& more) noexcept;
    static void end_all(future_core* more) noexcept;
    [[nodiscard]] future_core* go_ahead() noexcept;
    [[nodiscard]] bool belongs_to(const pool_core& p) const noexcept;
    [[nodiscard]] timed_waiters& waiter_list();
    void record_wait() noexcept;
    void check_here() const;
    void destroy() noexcept { delete this; }

    enum class may_leave { no, when_stopped };
    void wait_for_end(may_leave when);
    [[nodiscard]] bool wait_stoppably();
    /// Calls announce(worker, entry) on a worker of `p`.
    template <class Announce>
    void start_by(pool_core& p, Announce announce);

    future_protocol<std_atom> m_life;
    future_source m_source = future_source::task;
    pool_core* m_pool = nullptr;     // set before another thread sees the task
    std::uint64_t m_pool_number = 0; // number of m_pool, which may have ended
    waiters_cell<std_atom, timed_waiters> m_waiters_cell;
    std::atomic<const context*> m_runner{nullptr}; // runs the task, from its claim on; for reports
    const profile::mark* m_end = nullptr;          // written before the end is seen; null: no recording
};

template <class T>
class future_state : public future_core {
public:
    using value = T;

    [[nodiscard]] bool failed() const noexcept { return m_outcome.failed(); }
    [[nodiscard]] const std::exception_ptr& error() const noexcept { return m_outcome.error(); }
    [[nodiscard]] decltype(auto) look() const { return m_outcome.look(); }
    [[nodiscard]] T take() { return m_outcome.take_keeping(); }

protected:
    using future_core::future_core;
    ~future_state() override {
        if (is_done()) {
            m_outcome.discard();
        }
    }
    outcome<regular_t<T>> m_outcome;
};

template <class F>
class async_task final : public future_state<std::invoke_result_t<F&>> {
public:
    template <class G>
    // NOLINTNEXTLINE(bugprone-forwarding-reference-overload): made from functions only
    explicit async_task(G&& g) : m_function(std::forward<G>(g)) {
#if defined(PILFER_RACE)
        m_strand = race::fork_apart();
#endif
    }

private:
    ~async_task() override {
        if (!this->is_done()) { // the pool never accepted it
            std::destroy_at(std::addressof(m_function));
        }
    }
    // The function is destroyed with the execution, not with the last handle. So a thread that sees the
    // result also sees released what the function held.
    void execute() noexcept override {
#if defined(PILFER_RACE)
        const race::running here(m_strand, nullptr);
        auto fill = [this] { this->m_outcome.fill(m_function); };
        race::in_own_frame(fill);
        std::destroy_at(std::addressof(m_function));
        race::release_first(this);
#else
        this->m_outcome.fill(m_function);
        std::destroy_at(std::addressof(m_function));
#endif
    }
    void break_promise() noexcept override {
        this->m_outcome.fail(detail::dropped_error());
        std::destroy_at(std::addressof(m_function));
    }
    union {
        F m_function;
    };
#if defined(PILFER_RACE)
    race::strand m_strand = 0;
#endif
};

/// The argument of a function of `then` or `continue_with`.
enum class follows { value, handle };

template <class T, follows How, class F>
struct followed {
    static_assert(std::is_invocable_v<F&, future<T>>,
                  "pilfer::future::continue_with: the function takes the future itself, a future<T>");
    using type = std::invoke_result_t<F&, future<T>>;
};
template <class T, class F>
struct followed<T, follows::value, F> {
    static_assert(std::is_invocable_v<F&, const T&>,
                  "pilfer::future::then: the function takes the result, as T or const T&");
    using type = std::invoke_result_t<F&, const T&>;
};
template <class T, class F>
struct followed<T&, follows::value, F> {
    static_assert(std::is_invocable_v<F&, T&>, "pilfer::future::then: the function takes the result, a T&");
    using type = std::invoke_result_t<F&, T&>;
};
template <class F>
struct followed<void, follows::value, F> {
    static_assert(std::is_invocable_v<F&>, "pilfer::future::then: the function takes no argument");
    using type = std::invoke_result_t<F&>;
};

/// A task that follows another future. It holds a reference to that future until it has run.
template <class T, follows How, class F>
class following_task final : public future_state<typename followed<T, How, F>::type> {
    using result = typename followed<T, How, F>::type;

public:
    template <class G>
    following_task(future_state<T>& source, G&& g)
        : future_state<result>(future_source::follower, 2), m_source(std::addressof(source)), m_place(*this),
          m_function(std::forward<G>(g)) {
        source.retain();
#if defined(PILFER_RACE)
        m_strand = race::fork_apart();
#endif
    }
    void start(pool_core* p) { this->start_behind(*m_source, p, m_place); }

private:
    ~following_task() override {
        if (!this->is_done()) { // it never waited for any future
            leave();
        }
    }
    void execute() noexcept override {
#if defined(PILFER_RACE)
        const race::running here(m_strand, nullptr);
        auto body = [this] { this->follow(); };
        race::in_own_frame(body);
        race::release_first(this);
    }
    void follow() noexcept {
#endif
        m_source->wait(); // it is done: records the task that waited and the one that it waited for
        if constexpr (How == follows::handle) {
            auto call = [this]() -> result {
                return std::invoke(m_function, future<T>(std::exchange(m_source, nullptr)));
            };
            this->m_outcome.fill(call);
        } else if (m_source->failed()) {
            this->m_outcome.fail(m_source->error());
        } else {
            auto call = [this]() -> result {
                if constexpr (std::is_void_v<T>) {
                    return std::invoke(m_function);
                } else if constexpr (std::is_reference_v<T>) {
                    return std::invoke(m_function, static_cast<T>(*m_source->look()));
                } else {
                    return std::invoke(m_function, m_source->look());
                }
            };
            this->m_outcome.fill(call);
        }
        leave();
    }
    void break_promise() noexcept override {
        this->m_outcome.fail(detail::dropped_error());
        leave();
    }
    void refuse() noexcept override {
        this->m_outcome.fail(detail::closed_error());
        leave();
    }
    /// Drops the function and the reference with the execution: in a long chain no end of a task causes that
    /// of the next.
    void leave() noexcept {
        std::destroy_at(std::addressof(m_function));
        if (m_source != nullptr) {
            m_source->release();
        }
    }

    future_state<T>* m_source;
    future_follower m_place;
    union {
        F m_function;
    };
#if defined(PILFER_RACE)
    race::strand m_strand = 0;
#endif
};

/// The state of a promise, with the promise's reference.
template <class T>
class promise_state final : public future_state<T> {
public:
    promise_state() noexcept : future_state<T>(future_source::promise, 1) {}

    /// False: another thread has set it, or is about to.
    template <class F>
    [[nodiscard]] bool set(F make) noexcept {
        if (!this->begin()) {
            return false;
        }
        this->m_outcome.fill(make);
        race::release_first(this);
        this->end();
        return true;
    }
    [[nodiscard]] bool fail(std::exception_ptr error) noexcept {
        if (!this->begin()) {
            return false;
        }
        this->m_outcome.fail(std::move(error));
        race::release_first(this);
        this->end();
        return true;
    }
    void abandon() noexcept {
        if (this->begin()) {
            break_promise();
            this->end();
        }
    }

private:
    void execute() noexcept override {}
    void break_promise() noexcept override { this->m_outcome.fail(detail::unset_error()); }
};

} // namespace detail
} // namespace v0
} // namespace pilfer
