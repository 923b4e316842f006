// The state behind a future: queued, running, done; it only goes forward.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <type_traits>
#include <utility>

#include <pilfer/balance.hpp>
#include <pilfer/detail/future_protocol.hpp>
#include <pilfer/detail/outcome.hpp>
#include <pilfer/detail/runtime.hpp>
#include <pilfer/error.hpp>

namespace pilfer {
inline namespace v0 {
namespace profile {
struct mark;
} // namespace profile

namespace detail {

/// On the stack of one that waits for a future. `who`: a suspension, or a foreign_waiter with
/// waiter_is_foreign.
using future_waiter = future_protocol<std_atom>::waiter;

/// Claim and waiters, without the result.
class PILFER_API future_core : public submission {
public:
    void retain() noexcept { m_life.retain(); }
    void release() noexcept {
        if (m_life.release()) {
            destroy();
        }
    }
    [[nodiscard]] bool is_done() const noexcept { return m_life.is_done(); }
    /// For reports, from a frame that waits for this.
    void look(wait_facts& f) const noexcept;
    /// Claims and runs a queued task on a worker of its pool, else waits.
    void wait() noexcept;
    /// Announces the task: on the own deque on a worker of `p`, else by submission. May throw pool_closed.
    void start(pool_core& p);
    void start(pool_core& p, weight heavy);

protected:
    future_core() noexcept;
    virtual ~future_core();
    /// Runs the function into the outcome.
    virtual void execute() noexcept = 0;
    virtual void break_promise() noexcept = 0;

private:
    static suspension* run_task(spark* self, worker* w) noexcept;
    void run_claimed(worker* w) noexcept;
    void finish() noexcept;
    void destroy() noexcept { delete this; }

    void wait_for_end() noexcept;
    /// announce(worker, entry) on a worker of `p`.
    template <class Announce>
    void start_by(pool_core& p, Announce announce);

    future_protocol<std_atom> m_life;
    pool_core* m_pool = nullptr;                   // set before anybody else sees the task
    std::atomic<const context*> m_runner{nullptr}; // where the task runs, from its claim on; for reports
    const profile::mark* m_end = nullptr;          // written before the end is seen; null: nobody records
};

template <class T>
class future_state : public future_core {
public:
    [[nodiscard]] decltype(auto) look() const { return m_outcome.look(); }
    [[nodiscard]] T take() { return m_outcome.take_keeping(); }

protected:
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
    explicit async_task(G&& g) : m_function(std::forward<G>(g)) {}

private:
    ~async_task() override {
        if (!this->is_done()) { // the pool never accepted it
            std::destroy_at(&m_function);
        }
    }
    // The function dies with the execution, not with the last handle: who sees the result also sees what
    // the function held released.
    void execute() noexcept override {
        this->m_outcome.fill(m_function);
        std::destroy_at(&m_function);
    }
    void break_promise() noexcept override {
        this->m_outcome.fail(detail::dropped_error());
        std::destroy_at(&m_function);
    }
    union {
        F m_function;
    };
};

} // namespace detail
} // namespace v0
} // namespace pilfer
