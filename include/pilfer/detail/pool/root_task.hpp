// Tasks that a thread waits for, and loops that a thread is in until a condition holds.
#pragma once

#include <exception>

#include <pilfer/detail/base/outcome.hpp>
#include <pilfer/detail/base/race.hpp>
#include <pilfer/detail/cancel/points.hpp>
#include <pilfer/detail/task/runtime.hpp>
#include <pilfer/error.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

/// A function that some thread waits for, on that thread's stack.
template <class F>
class root_task final : public submission {
public:
    using value = result_t<F>;

    explicit root_task(F& f) noexcept : m_function(f) { run = &root_task::run_root; }
    /// Runs the function as a task of `p` and waits for it. `submits(p, s)`: submits it.
    template <class Submit>
    [[nodiscard]] value run_in(pool_core& p, Submit submits) {
        scope_node* const parent = detail::share_scopes(p);
        const worker* w = this_worker();
        // A destructor that runs because of an exception must not get a second one. So its task has no
        // enclosing scope, and is not cancelled.
        set_parent(w != nullptr && detail::unwinds(w) ? nullptr : parent);
        submits(p, this);
        detail::wait_for(m_done, this, &p);
        san::acquire(this);
#if defined(PILFER_RACE)
        m_caller.returns();
#endif
        if (m_outcome.failed()) {
            detail::note_suppressed(m_suppressed); // the number belongs to the thread that sees the exception
        }
        return m_outcome.take();
    }

private:
    static suspension* run_root(spark* self, worker* w) noexcept {
        auto* s = static_cast<root_task*>(static_cast<submission*>(self));
        if (detail::dropping(w)) {
            s->m_outcome.fail(detail::dropped_error());
            detail::count_dropped(w);
        } else if (detail::stopped_here(w)) {
            s->m_outcome.fail(detail::stopped_error());
            detail::count_dropped(w);
        } else {
            detail::note_suppressed(0); // of an earlier task on this thread
#if defined(PILFER_RACE)
            const race::caller::call now(s->m_caller);
#endif
            s->m_outcome.fill(s->m_function);
            if (s->m_outcome.failed()) {
                s->m_suppressed = suppressed_exceptions();
            }
        }
        worker* now = this_worker();
        detail::root_ends(
            now); // before the waiter may go on and destroy the pool: shutdown joins this thread
        san::release(s);
        const auto waiter = s->m_done.complete();
        return waiter != 0 ? detail::release_waiter(waiter, now) : nullptr;
    }

    completion<std_atom> m_done;
    F& m_function;
    std::uint64_t m_suppressed = 0;
    outcome<value> m_outcome;
#if defined(PILFER_RACE)
    race::caller m_caller;
#endif
};

/// The condition of run_until().
template <class Done>
struct asks_until {
    Done& done;
    std::exception_ptr error;
    static bool ask(void* self) {
        auto& s = *static_cast<asks_until*>(self);
        PILFER_TRY { return static_cast<bool>(s.done()); }
        PILFER_CATCH_ALL {
            s.error = detail::caught_error();
            return true;
        }
    }
};
PILFER_API void run_until(pool_core& p, bool (*ask)(void*), void* self);

} // namespace detail
} // namespace v0
} // namespace pilfer
