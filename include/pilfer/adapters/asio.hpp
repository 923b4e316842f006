// A pool as an executor of asio: for post, dispatch, strands, bind_executor and co_spawn.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <type_traits>
#include <utility>

#include <asio/execution.hpp>
#include <asio/execution_context.hpp>

#include <pilfer/error.hpp>
#include <pilfer/event.hpp>
#include <pilfer/mutex.hpp>
#include <pilfer/pool.hpp>

namespace pilfer {
inline namespace v0 {
namespace adapters {

class asio_executor;

/// A pool as an execution context of asio, with its services, such as the strands. Refers to the pool, which
/// must outlive it. The destructor waits as join() does, and no cancellation ends that wait.
class asio_context : public asio::execution_context {
public:
    /// The name that the contexts of asio have.
    using executor_type = asio_executor;

    /// Makes a context of `p`. Throws std::bad_alloc.
    explicit asio_context(pool& p) : m_pool(&p) {}
    ~asio_context() {
        mutex shield; // a task that holds a lock is not cancelled
        std::unique_lock hold(shield);
        join();
        hold.unlock();
        shutdown();
        destroy();
    }

    /// An executor that does not count as work and may run functions of dispatch() in the call.
    [[nodiscard]] asio_executor get_executor() noexcept;
    /// Waits until no function is queued or running and no executor tracks work; a task suspends. Functions
    /// may post others meanwhile. Afterwards the context takes none. Throws stopped if the task is cancelled.
    void join() {
        if (!m_joined.exchange(true, std::memory_order_relaxed)) {
            m_own.reset();
        }
        m_idle.wait();
    }

private:
    friend class asio_executor;
    using work = std::shared_ptr<asio_context>; // the last one says that there is none

    pool* m_pool;
    event m_idle;
    std::atomic<bool> m_joined{false};
    work m_own{this, [](asio_context* c) { c->m_idle.set(); }}; // until join()
    const std::weak_ptr<asio_context> m_work{m_own};
};

/// Runs functions as tasks of a pool. shutdown(drop) of the pool destroys functions that have not started.
///
/// The properties are blocking.never and blocking.possibly, outstanding_work, relationship.fork and context.
/// Executors of one context with the same properties are equal. Copies are free unless they track
/// work.
class asio_executor {
public:
    /// Runs `f` as a task: one allocation. An exception of `f` goes to options.on_error. But if blocking is
    /// possible and the caller is a task of this pool, `f` is a plain call. Throws pool_closed if the pool or
    /// the context takes no functions, queue_full, std::bad_alloc, and what a plain call throws.
    template <class F>
    void execute(F&& f) const {
        pool& p = *m_context->m_pool;
        const detail::worker* w = detail::this_worker();
        if (!m_never && w != nullptr && w->pool == &p.core()) {
            std::decay_t<F> function(std::forward<F>(f));
            function();
            return;
        }
        work mine = m_context->m_work.lock();
        if (mine == nullptr) {
            PILFER_THROW(pool_closed());
        }
        // The function is destroyed before the context hears of its end.
        p.submit(counted<std::decay_t<F>>{std::move(mine), std::forward<F>(f)});
    }

    /// An executor whose functions never run in the call.
    [[nodiscard]] asio_executor require(asio::execution::blocking_t::never_t) const {
        return {m_context, true, m_tracked};
    }
    /// An executor whose functions may run in the call.
    [[nodiscard]] asio_executor require(asio::execution::blocking_t::possibly_t) const {
        return {m_context, false, m_tracked};
    }
    /// An executor that counts as work, except after asio_context::join().
    [[nodiscard]] asio_executor require(asio::execution::outstanding_work_t::tracked_t) const {
        return {m_context, m_never, m_context->m_work.lock()};
    }
    /// An executor that does not count as work.
    [[nodiscard]] asio_executor require(asio::execution::outstanding_work_t::untracked_t) const {
        return {m_context, m_never, {}};
    }
    /// This executor: every function is a task of its own.
    [[nodiscard]] asio_executor require(asio::execution::relationship_t::fork_t) const { return *this; }
    /// The context.
    [[nodiscard]] asio_context& query(asio::execution::context_t) const noexcept { return *m_context; }
    /// Whether functions may run in the call.
    [[nodiscard]] asio::execution::blocking_t query(asio::execution::blocking_t b) const noexcept {
        return m_never ? b = b.never : b = b.possibly;
    }
    /// Whether the executor counts as work.
    [[nodiscard]] asio::execution::outstanding_work_t
    query(asio::execution::outstanding_work_t o) const noexcept {
        return m_tracked ? o = o.tracked : o = o.untracked;
    }
    /// True for executors of one context with the same properties.
    [[nodiscard]] bool operator==(const asio_executor&) const noexcept = default;

private:
    friend class asio_context;

    using work = asio_context::work;
    template <class F>
    struct counted {
        work mine;
        F function;
        void operator()() { function(); }
    };

    asio_executor(asio_context* c, bool never, work tracked) noexcept
        : m_context(c), m_never(never), m_tracked(std::move(tracked)) {}

    asio_context* m_context;
    bool m_never;
    work m_tracked; // null: does not count
};

inline asio_executor asio_context::get_executor() noexcept { return {this, false, {}}; }

} // namespace adapters
} // namespace v0
} // namespace pilfer
