// A task for which no other task or thread waits.
#pragma once

#include <exception>
#include <functional>
#include <type_traits>
#include <utility>

#include <pilfer/detail/base/race.hpp>
#include <pilfer/detail/task/runtime.hpp>
#include <pilfer/named.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

/// On a worker, after a task for which no task waits: passes its exception to options.on_error, or ends the
/// program.
PILFER_API void nobody_waits_for(worker* w, std::exception_ptr error) noexcept;

class PILFER_API detached_task : public submission {
public:
    /// Announces the task, as future_core::start() does. The task destroys itself. Throws pool_closed; then
    /// the caller still owns it.
    void start(pool_core& p);
    /// start() with options. A task with a priority is always submitted.
    void start(pool_core& p, const task_options& o);
    virtual ~detached_task() = default;

protected:
    detached_task() noexcept;
    virtual void execute() = 0;

private:
    static suspension* run_task(spark* self, worker* w) noexcept;
};

template <class F>
class detached_function final : public detached_task {
public:
    template <class G>
    // NOLINTNEXTLINE(bugprone-forwarding-reference-overload): made from functions only
    explicit detached_function(G&& g) : m_function(std::forward<G>(g)) {
#if defined(PILFER_RACE)
        m_strand = race::fork_apart();
#endif
    }

private:
    void execute() override {
#if defined(PILFER_RACE)
        const race::running here(m_strand, nullptr);
        auto body = [this] { this->call(); };
        race::in_own_frame(body);
        race::release(race::detached_tasks);
    }
    void call() {
#endif
        if constexpr (is_named<F>) {
            (void)m_function.call_or(true, [] { nobody_waits_for(this_worker(), detail::caught_error()); });
        } else {
            m_function();
        }
    }
    F m_function;
#if defined(PILFER_RACE)
    race::strand m_strand = 0;
#endif
};

} // namespace detail
} // namespace v0
} // namespace pilfer
