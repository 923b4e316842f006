#include "worker/switcher.hpp"

#include <pilfer/detail/context/held_lock.hpp>
#include <pilfer/detail/task/bound_frames.hpp>
#include <pilfer/detail/task/free_lists.hpp>

#include "base/probe.hpp"
#include "context/switch.hpp"
#include "worker/team.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {
namespace {

/// Instrumented, in contrast to its caller: the task's own frames begin here.
PILFER_NOINLINE suspension* run_job(spark* job) noexcept {
    san::acquire(job);
    san::acquire(this_worker());
    return std::atomic_ref(job->run).load(rlx)(job, this_worker());
}

/// The entry of every context that the scheduler starts.
PILFER_NO_SANITIZE void context_main(void* self) noexcept {
    auto* c = static_cast<context*>(self);
    san::enter(c->view);
    const auto job = reinterpret_cast<task_word>(c->job);
    suspension* next = run_job(reinterpret_cast<spark*>(job & ~kind_mask));
    static_cast<scheduler*>(this_worker())->switching.leave_context(c, next);
}

} // namespace

switcher::switcher(scheduler& w, team& t) noexcept : m_worker(w), m_team(t) {}

void switcher::enter_thread() noexcept {
#if defined(PILFER_TSAN)
    m_view.fiber = __tsan_get_current_fiber();
#endif
#if defined(PILFER_ASAN)
    os::thread_bounds(m_view.low, m_view.size);
#endif
}

void switcher::take_over() noexcept { san::acquire(&m_view); }

/// Resumes the parent after a spawn whose child is still running on another worker.
PILFER_NO_SANITIZE void* switcher::continue_parent(scope_node& s) noexcept {
    PILFER_CHAOS_POINT(enter);
    activation* owner = m_team.take_rest(s);
    m_worker.current.store(owner, rlx);
    m_worker.reserve.leaves_rest(owner);
    san::leave(&m_view, owner->ctx->view);
    void* message = pilfer_v0_continue(&m_sp, &s.head().rest);
    san::enter(m_view);
    return message;
}

PILFER_NO_SANITIZE void* switcher::enter_context(context* c, task_word job) noexcept {
    c->job = reinterpret_cast<void*>(job);
    m_worker.reserve.leaves_rest(&c->self);
    san::leave(&m_view, c->view);
    // The context's own record is the end of its stack.
    void* message = pilfer_v0_start(&m_sp, c, &context_main, c);
    san::enter(m_view);
    return message;
}

/// Called right before `s` resumes: it waits no longer, and no thread may be reading its stack.
PILFER_NOINLINE void switcher::let_go(suspension& s) noexcept {
    context* c = s.act->ctx;
    c->waiting.store(nullptr, rlx);
    if (s.share_deferred && s.home != &m_worker) {
        m_worker.marks.mark_moved(s);
    }
    if (m_worker.deque.owner().pinned()) {
        std_atom::fence_sc(); // without membarrier the walker's fence orders only itself
    }
    std_atom::light_fence(); // observe.I1, with the heavy fence of a walker
    for (unsigned round = 0; c->walked.load(acq) != 0; ++round) {
        std_atom::relax(round);
    }
}

PILFER_NO_SANITIZE void* switcher::enter_suspended(suspension& s) noexcept {
    let_go(s);
    m_worker.reserve.leaves_rest(s.act);
    san::release(&s);
    san::leave(&m_view, s.act->ctx->view);
    void* message = pilfer_v0_switch(&m_sp, s.sp, static_cast<worker*>(&m_worker));
    san::enter(m_view);
    return message;
}

void switcher::start(task_word job) noexcept {
    m_worker.remind(m_worker.level());
    context* const c = take_context(&m_worker);
    san::release(c); // this look comes before the end of the task, which gives the record away
    m_worker.current.store(&c->self, rlx);
    scope_node* const parent = parent_of(job);
    c->self.node.store(parent, rlx);
    c->self.locks = 0;
    m_worker.note_begin(parent);
    // The look at the task also comes before its end.
    san::release(reinterpret_cast<const void*>(job & ~kind_mask));
    m_worker.backend().task_begins(m_worker, job);
    after_switch(enter_context(c, job));
}

void switcher::resume_now(suspension& s) noexcept {
    m_worker.remind(s.level);
    after_switch(enter_suspended(s));
}

void switcher::after_switch(void* message) noexcept {
    if (m_team.is_forked_child()) [[unlikely]] {
        forks::no_way_back();
    }
    for (;;) {
        m_worker.current.store(nullptr, rlx);
        if (message == nullptr) {
            return;
        }
        auto* s = static_cast<suspension*>(message);
        san::acquire(s); // what the frame wrote before it left
        s->act->ctx->waits.store(s->act->ctx->waits.load(rlx) + 1, rlx);
        s->act->ctx->waiting.store(s, rel); // observe.I2: read by walkers of suspended contexts
        PILFER_CHAOS_POINT(publish);
        if (s->publish(*s)) {
            PILFER_CHAOS_POINT(publish); // the frame may run elsewhere, and end
            return;
        }
        m_worker.log.note_resume(trace::what::resume_again, s->act->ctx);
        message = enter_suspended(*s);
    }
}

void switcher::suspend_here(suspension& s) noexcept {
    s.act = m_worker.current.load(rlx);
    check_locks(*s.act->ctx, s.why != nullptr ? s.why->what : "its turn");
    s.home = &m_worker;
    s.level = m_worker.level();
    s.exceptions = m_worker.exceptions->load();
    m_worker.exceptions->store({nullptr, 0});
    m_worker.count.suspends.add();
    PILFER_CHAOS_POINT(leave);
    m_worker.log.note_wait(s.why != nullptr ? s.why->what : nullptr, s.object, s.act->ctx);
    PILFER_PROBE4(suspend, m_worker.index, s.act->ctx, s.why != nullptr ? s.why->what : nullptr, s.object);
    if (m_team.size() > 1 && !s.share_deferred) {
        m_worker.marks.mark_suspending(s.act);
    }
    void* const left = m_worker.backend().task_leaves(&s);
    s.act->ctx->change(context_state::running, context_state::suspended);
    san::release(&s);
    san::leave(&s.act->ctx->view, m_view, &m_view);
    auto* now = static_cast<worker*>(pilfer_v0_switch(&s.sp, m_sp, &s));
    san::acquire(&s);
    san::acquire(now);
    san::enter(s.act->ctx->view);
    now->current.store(s.act, rlx);
    now->exceptions->store(s.exceptions);
    s.act->ctx->change(context_state::suspended, context_state::running);
    scheduler::of(now).set_level(s.level);
    scheduler::of(now).count.resumes.add();
    PILFER_PROBE2(resume, now->index, s.act->ctx);
    scheduler::of(now).backend().task_returns(scheduler::of(now), left);
    PILFER_CHAOS_POINT(leave);
    if (const worker* const home = bound_frames::home_of(*s.act->ctx); home != nullptr && home != now) {
        scheduler::of(now).go_to(home->index);
    }
}

PILFER_NO_SANITIZE void switcher::leave_context(context* c, suspension* next) noexcept {
    // For a child of spawn, which may be next on this stack: it writes neither.
    c->job = nullptr;
    ensure([c] { return !c->self.holds_lock(); }, "a task ended that holds a lock of the library");
    c->self.locks = 0;
    // Before put_context, which is the edge to the end of the pool and so to the end of the ring.
    m_worker.log.note(trace::what::ended);
    m_worker.backend().task_ends();
    if (next != nullptr) {
        if (m_team.is_forked_child()) [[unlikely]] {
            forks::no_way_back();
        }
        m_worker.log.note_resume(trace::what::resume_next, next->act->ctx);
    }
    put_context(&m_worker, c);
    if (next != nullptr) {
        let_go(*next);
        san::release(next);
        san::leave(nullptr, next->act->ctx->view);
        pilfer_v0_jump(next->sp, static_cast<worker*>(&m_worker));
    }
    san::leave(nullptr, m_view);
    pilfer_v0_jump(m_sp, nullptr);
}

} // namespace detail
} // namespace v0
} // namespace pilfer
