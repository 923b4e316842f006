// The loop of one worker: what to look at next, and how tasks are entered and left.
#include "worker/scheduler.hpp"

#include <cxxabi.h>

#include <new>

#include "base/os.hpp"
#include "cancel/cancellation.hpp"
#include "context/overflow.hpp"
#include "context/switch.hpp"
#include "worker/numbers.hpp"
#include "worker/pool_core.hpp"

constinit thread_local pilfer::v0::detail::worker* pilfer_v0_this_worker = nullptr;

namespace pilfer {
inline namespace v0 {
namespace detail {
namespace {

constexpr std::int64_t first_capacity = 256;
#if defined(PILFER_CHAOS)
#define PILFER_START_INDEX chaos::start_index(first_capacity)
#else
#define PILFER_START_INDEX 0
#endif

[[nodiscard]] std::int64_t taken_back_at_once(const options& o) noexcept {
    return o.balance.unshare == unshare::all ? INT64_MAX / 4 : 1;
}

/// A deque reads its first ring at once; only a larger one may be missing.
[[nodiscard]] ring<std_atom>* first_ring() {
    ring<std_atom>* r = make_ring(first_capacity, false);
    if (r == nullptr) {
        throw std::bad_alloc();
    }
    return r;
}

/// The entry of every context that the scheduler starts.
PILFER_NO_SANITIZE void context_main(void* self) noexcept;

} // namespace

#if defined(PILFER_ISA_PORTABLE)
/// Not instrumented: a guest's thread changes it between its tasks, which are strangers to ThreadSanitizer.
PILFER_NOINLINE PILFER_NO_SANITIZE worker* this_worker_cold() noexcept {
    worker* w = pilfer_v0_this_worker;
    // A function without effects might be called once for two places in its caller.
    asm volatile("" : "+r"(w) : : "memory");
    return w;
}
#endif

scheduler::scheduler(pool_core& owner, unsigned number, bool pinned)
    : worker(first_ring(), pinned, PILFER_START_INDEX), m_pool(owner), m_backend(owner.backend()),
      m_random(number + 1 + PILFER_CHAOS_START(std::uint64_t)),
      m_chooser(owner.settings().balance.victim, number, owner.size()),
      m_exposer(owner.settings().balance.exposure, owner.settings().balance.threshold,
                owner.settings().balance.eager),
      m_count_all(owner.settings().debug.count_all),
      m_trace(owner.settings().debug.trace_events == 0
                  ? nullptr
                  : std::make_unique<trace::ring>(owner.settings().debug.trace_events)) {
    pool = &owner;
    index = number;
    recording = owner.settings().debug.profile;
    serial = numbers::take();
}

scheduler::~scheduler() {
    numbers::give(serial);
    for (ring<std_atom>* r = deque.owner().rings(); r != nullptr;) {
        ring<std_atom>* older = r->previous;
        free_ring(r);
        r = older;
    }
}

void scheduler::run() noexcept {
    pilfer_v0_this_worker = this;
#if defined(PILFER_CHAOS)
    chaos::thread_is(m_pool.number() << 12 | index);
#endif
    if (m_pool.never_ends()) {
        keep_loaded();
    }
    m_pool.modes().set(); // this thread may have been made by a task that rounds in another way
    thread_id.store(os::thread_id(), rel);
    on_its_cpu.store(m_pool.pin(index), rlx); // first of all, so that what it touches first is near it
    exceptions = reinterpret_cast<exception_state*>(abi::__cxa_get_globals());
    name_thread();
    const overflow::thread_stack alternate;
#if defined(PILFER_TSAN)
    m_view.fiber = __tsan_get_current_fiber();
#endif
#if defined(PILFER_ASAN)
    os::thread_bounds(m_view.low, m_view.size);
#endif
    san::release(static_cast<worker*>(this)); // every task of this thread comes after its start
    if (!thread_begins()) {
        return;
    }
    m_pool.wait_for_start();
    m_backend.run(*this);
    pilfer_v0_this_worker = nullptr;
    thread_ends();
}

void scheduler::work() noexcept {
    // Only now it is known how many there are.
    m_chooser = balance::chooser(m_pool.settings().balance.victim, index, m_pool.size(), m_pool.near(index));
    auto* const g = m_pool.governor();
    const auto work_begins = [g] {
        if (g != nullptr) {
            g->work_begins();
        }
    };
    work_begins();
    for (;;) {
        if (retires()) [[unlikely]] {
            if (resume_here()) {
                continue;
            }
            if (m_pool.stopping()) {
                break;
            }
            retire();
            work_begins();
            continue;
        }
        if (step()) {
            continue;
        }
        if (m_pool.stopping()) {
            break;
        }
        if (looks_again()) {
            continue;
        }
        sleep();
        work_begins();
    }
    note_missed();
    if (m_token || m_alert) {
        m_pool.idle().settle_token(index); // it was for the end: nobody is owed another look
    }
    give_contexts();
}

// ---- looking for work -------------------------------------------------------------------------

// Here, because only the file that defines a thread-local needs no function to initialise it.
void scheduler::disappear() noexcept { pilfer_v0_this_worker = nullptr; }
void scheduler::appear() noexcept { pilfer_v0_this_worker = this; }

bool scheduler::step() noexcept {
    const std::uint64_t turn = m_ends & fairness_mask;
    // Who watches and is up, because it was woken, still does until it finds work.
    if (const bool of_all = m_all_alarms || m_watches || turn == fairness_mask;
        of_all || alarms.earliest() != never) [[unlikely]] {
        m_all_alarms = false;
        (void)fire_due(of_all);
    }
    if (!m_prompts.empty() && run_prompt()) [[unlikely]] {
        return true;
    }
    readiness* const io = m_pool.io_if_made();
    if (io != nullptr && (turn == fairness_mask || io->is_due())) [[unlikely]] {
        (void)look_at_descriptors(*io);
    }
    // Before anything that could win at each look. A frame that has made way loses this one look.
    if (turn == fairness_mask / 4 && steal_in_turn()) {
        return true;
    }
    const bool made_way = m_submissions_first;
    m_submissions_first = false;
    if (made_way && anything_left() && steal_from_retired()) [[unlikely]] {
        return true;
    }
    // Nothing of a lower level goes before a frame that has made way.
    if ((made_way || turn == fairness_mask) && run_submission(made_way ? m_yielded_for : priority::low)) {
        return true;
    }
    const bool yielded = m_own_first;
    m_own_first = false;
    if ((yielded || turn == fairness_mask / 2) && run_own()) {
        return true;
    }
    return resume_one() || run_own() || run_submission() || search() ||
           (io != nullptr && look_at_descriptors(*io)); // cheaper than to lie down first
}

bool scheduler::resume_one() noexcept {
    auto* n = m_inbox.pop();
    const bool here = n != nullptr;
    if (!here) {
        n = m_pool.runnable.pop();
    }
    if (n == nullptr) {
        return false;
    }
    resume_found(n, here ? trace::what::resume_here : trace::what::resume_any);
    return true;
}

void scheduler::resume_found(submission_queue<std_atom>::node* n, trace::what how) noexcept {
    found_work(index);
    count.run_resumed.add();
    note_slice(how);
    m_ends = m_ends + 1;
    resume_now(*static_cast<suspension*>(n));
}

bool scheduler::run_own() noexcept {
    auto own = deque.owner();
    const task_word newest = own.peek();
    if (newest == 0 || ((newest & kind_mask) != kind_continuation && !has_context())) {
        return false;
    }
    const task_word task = own.pop(taken_back_at_once(m_pool.settings()));
    if (task == 0) {
        return false;
    }
    found_work(index);
    share_between_tasks();
    count.run_own.add();
    note_run(trace::what::run_own, task);
    execute(task);
    return true;
}

/// Who asked while the last task ran is answered before the next one: a worker that runs what it has stolen,
/// task after task, announces nothing, and thieves would have to spin and reach for each.
void scheduler::share_between_tasks() noexcept {
    using trip = signal_word<std_atom>;
    if (!deque.signal().has(trip::wanted | trip::expose)) {
        return;
    }
    const auto bits = take_bits();
    answer(bits);
    keep_yield_requests(bits); // for the task that runs next
}

/// A deadline that has come.
bool scheduler::run_prompt() noexcept {
    auto* const n = m_prompts.pop();
    if (n == nullptr) {
        return false;
    }
    auto* const s = static_cast<submission*>(n);
    if (!has_context()) {
        m_pool.queue_expected(s, priority::high);
        return false;
    }
    m_level = priority::high;
    found_work(index);
    count.run_submitted.add();
    note_slice(trace::what::run_submitted, trace::task::submission);
    m_ends = m_ends + 1;
    spark* const job = s;
    san::release(job);
    start(reinterpret_cast<task_word>(job) | kind_spark);
    return true;
}

bool scheduler::run_submission(priority lowest) noexcept {
    if (m_pool.submissions.empty_from(lowest) || !has_context()) {
        return false;
    }
    std::uint32_t turn = m_turn;
    const auto [n, level] =
        lowest == priority::low ? m_pool.submissions.pop(turn) : m_pool.submissions.pop_from(lowest);
    m_turn = turn;
    if (n == nullptr) {
        return false;
    }
    m_level = level;
    m_pool.left_queue();
    found_work(index);
    count.run_submitted.add();
    note_slice(trace::what::run_submitted, trace::task::submission);
    m_ends = m_ends + 1;
    spark* job = static_cast<submission*>(n);
    san::release(job);
    start(reinterpret_cast<task_word>(job) | kind_spark);
    return true;
}

/// `likely`: the worker that may have more, which is asked first: without it the look goes from deque to
/// deque, a line each, before anybody is woken.
void scheduler::found_work(unsigned likely) noexcept {
    leave_alarms();
    m_looks = 0;
    if (!m_token) {
        if (m_alert) {
            // idle.S6: whoever queued something since the search began may have told nobody.
            m_alert = false;
            m_pool.idle().settle_alert(index);
            if (anything_queued()) {
                m_pool.notify_any();
            }
        }
        return;
    }
    m_alert = false;
    m_token = false;
    PILFER_CHAOS_POINT(token);
    auto& idle = m_pool.idle();
    idle.settle_token(index);
    m_pool.keep_watch();
    // The token must not be spent on an older task than the one it was given for; and a wave that wakes
    // two at a time reaches everybody in about log2 N steps.
    const unsigned victim = idle.hint(index);
    const auto more = [&] { return m_pool.at(likely).deque.thief().has_any() || anything_ready(); };
    for (unsigned woken = 0; woken < 2 && more(); ++woken) {
        const unsigned other = idle.wake_one(index, victim);
        if (other == pool_core::pool_sleepers::nobody) {
            if (anything_queued() || m_pool.left_tasks.any()) {
                // Whoever queued or left it woke this worker, and so summoned nobody; what this worker has
                // found instead may never end.
                m_pool.notify_any();
            }
            return;
        }
        woke(other);
    }
}

/// Before a context is entered, which may never come back: what is queued now must not wait for it, unless it
/// is of a lower level. Nor is it kept by a worker that is back only for what can go on nowhere else.
void scheduler::remind(priority level) noexcept {
    if ((anything_queued(level) || m_pool.left_tasks.any() ||
         (retires() && m_pool.settings().resume == resume::anywhere)) &&
        !deque.signal().has(signal_word<std_atom>::yield_request)) {
        deque.signal().set(signal_word<std_atom>::yield_request);
    }
}

// ---- running what was found -------------------------------------------------------------------

bool scheduler::has_context() noexcept {
    return free_contexts.load(rlx) != 0 || m_backend.refill_contexts(*this) != 0;
}

void scheduler::give_contexts() noexcept {
    if (context* const mine = ranked<context>::node(free_contexts.exchange(0, rlx))) {
        m_pool.stacks.give(mine);
    }
}

void scheduler::execute(task_word task) noexcept {
    m_ends = m_ends + 1;
    if ((task & kind_mask) != kind_continuation) {
        start(task);
        return;
    }
    auto* s = reinterpret_cast<scope_core*>(task & ~kind_mask);
    remind(m_level);
    m_backend.task_begins(*this, task);
    after_switch(continue_parent(*s));
}

bool scheduler::keeps_at_rest(const context& c) const noexcept {
    if (current.load(rlx) != nullptr) {
        return false;
    }
    const context* at = ranked<context>::node(free_contexts.load(rlx));
    while (at != nullptr && at != &c) {
        at = ranked<context>::node(at->next.load(rlx));
    }
    return at != nullptr;
}

/// Right before `a` is entered. From the end of the program on LeakSanitizer has to see the stacks, too, that
/// are taken from this list by whatever runs here next.
void scheduler::leaves_rest([[maybe_unused]] activation* a) noexcept {
#if defined(PILFER_ASAN)
    current.store(a, rlx);
    std_atom::fence_sc(); // this store, then the look; on the other side keeps_at_rest()
    if (m_pool.stacks.shown() && !m_list_is_shown) [[unlikely]] {
        m_list_is_shown = true; // what joins the list later was in use, or came by take()
        stack_pool::show(*a->ctx);
        for (const context* c = ranked<context>::node(free_contexts.load(rlx)); c != nullptr;
             c = ranked<context>::node(c->next.load(rlx))) {
            stack_pool::show(*c);
        }
    }
#endif
}

/// Goes on behind a spawn whose child is still running elsewhere.
PILFER_NO_SANITIZE void* scheduler::continue_parent(scope_core& s) noexcept {
    PILFER_CHAOS_POINT(enter);
    activation* owner = scope_access::taken(s);
    current.store(owner, rlx);
    leaves_rest(owner);
    san::leave(&m_view, owner->ctx->view);
    void* message = pilfer_v0_continue(&m_sp, scope_access::rest(s));
    san::enter(m_view);
    return message;
}

PILFER_NO_SANITIZE void* scheduler::enter_context(context* c, task_word job) noexcept {
    c->job = reinterpret_cast<void*>(job);
    leaves_rest(&c->self);
    san::leave(&m_view, c->view);
    // The context's own record is the end of its stack.
    void* message = pilfer_v0_start(&m_sp, c, &context_main, c);
    san::enter(m_view);
    return message;
}

/// Right before `s` goes on: it waits no longer, and nobody may be reading its stack.
PILFER_NOINLINE void scheduler::let_go(suspension& s) noexcept {
    context* c = s.act->ctx;
    c->waiting.store(nullptr, rlx);
    if (s.share_deferred && s.home != this) {
        mark_moved(s);
    }
    if (deque.owner().pinned()) {
        std_atom::fence_sc(); // without membarrier the walker's fence orders only itself
    }
    std_atom::light_fence(); // observe.I1, with the heavy fence of a walker
    for (unsigned round = 0; c->walked.load(acq) != 0; ++round) {
        std_atom::relax(round);
    }
}

PILFER_NO_SANITIZE void* scheduler::enter_suspended(suspension& s) noexcept {
    let_go(s);
    leaves_rest(s.act);
    san::release(&s);
    san::leave(&m_view, s.act->ctx->view);
    void* message = pilfer_v0_switch(&m_sp, s.sp, static_cast<worker*>(this));
    san::enter(m_view);
    return message;
}

void scheduler::start(task_word job) noexcept {
    remind(m_level);
    context* const c = take_context(this);
    san::release(c); // this look comes before the end of the task, which gives the record away
    current.store(&c->self, rlx);
    scope_node* const parent = scope_access::parent(job);
    c->self.node.store(parent, rlx);
    c->self.locks = 0;
    if (deque.signal().has(signal_word<std_atom>::stop)) [[unlikely]] {
        (void)cancellation::stopped_at(this, parent); // propagates to the scope that its first look is at
    }
    san::release(reinterpret_cast<const void*>(job & ~kind_mask)); // the same for this look at the task
    m_backend.task_begins(*this, job);
    after_switch(enter_context(c, job));
}

void scheduler::resume_now(suspension& s) noexcept {
    remind(s.level);
    after_switch(enter_suspended(s));
}

void scheduler::after_switch(void* message) noexcept {
    if (m_pool.is_forked_child()) [[unlikely]] {
        forks::no_way_back();
    }
    for (;;) {
        current.store(nullptr, rlx);
        if (message == nullptr) {
            return;
        }
        auto* s = static_cast<suspension*>(message);
        san::acquire(s);                    // what the frame wrote before it left
        s->act->ctx->waiting.store(s, rel); // observe.I2: read by those who look at suspended contexts
        PILFER_CHAOS_POINT(publish);
        if (s->publish(*s)) {
            PILFER_CHAOS_POINT(publish); // the frame may run elsewhere, and end
            return;
        }
        note_slice(trace::what::resume_again);
        message = enter_suspended(*s);
    }
}

// ---- the trace --------------------------------------------------------------------------------

void scheduler::note_slice(trace::what what, trace::task task, std::uint32_t who, std::uint32_t n) noexcept {
    if (m_trace != nullptr) [[unlikely]] {
        note_slice_cold(what, task, who, n);
    }
}

void scheduler::note_run(trace::what what, task_word task, std::uint32_t who, std::uint32_t n) noexcept {
    static_assert(static_cast<task_word>(trace::task::spark) == kind_spark &&
                  static_cast<task_word>(trace::task::continuation) == kind_continuation &&
                  static_cast<task_word>(trace::task::forked) == kind_forked);
    note_slice(what, static_cast<trace::task>(task & kind_mask), who, n);
}

/// The steals that failed before a slice are one event in front of it: each by itself would fill the ring
/// with a search that found nothing.
PILFER_COLD void scheduler::note_slice_cold(trace::what what, trace::task task, std::uint32_t who,
                                            std::uint32_t n) noexcept {
    note_missed();
    m_trace->add(what, task, who, n);
}

PILFER_COLD void scheduler::note_missed() noexcept {
    const std::uint64_t failed = count.steals_failed.get() - m_noted_failed;
    const std::uint64_t lost = count.steals_lost.get() - m_noted_lost;
    if (m_trace == nullptr || failed + lost == 0) {
        return;
    }
    m_noted_failed = m_noted_failed + failed;
    m_noted_lost = m_noted_lost + lost;
    m_trace->add(trace::what::missed, {}, static_cast<std::uint32_t>(failed),
                 static_cast<std::uint32_t>(lost));
}

/// Where all of these are settled, one load for each and no lock: the usual case for a frame that has waited
/// before.
void scheduler::mark_suspending(activation* from) noexcept {
    for (activation* a = from; scope_node::is_settled(a->node.load(rlx));
         a = static_cast<activation_on_top*>(a)->beneath) {
        if (a == &a->ctx->self) {
            return;
        }
    }
    // scope.M5: a scope above may leave the chain meanwhile, on another worker, whose frame has moved
    // unmarked.
    (void)deque.owner().locked([this, from]() noexcept {
        mark_scope_cursors(from);
        return true;
    });
}

void scheduler::suspend_here(suspension& s) noexcept {
    s.act = current.load(rlx);
    check_locks(s);
    s.home = this;
    s.level = m_level;
    s.exceptions = exceptions->load();
    exceptions->store({nullptr, 0});
    count.suspends.add();
    PILFER_CHAOS_POINT(leave);
    note(trace::what::suspended);
    if (m_pool.size() > 1 && !s.share_deferred) {
        mark_suspending(s.act);
    }
    void* const left = m_backend.task_leaves();
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
    of(now).m_level = s.level;
    of(now).count.resumes.add();
    of(now).m_backend.task_returns(of(now), left);
    PILFER_CHAOS_POINT(leave);
}

namespace {

/// Instrumented, in contrast to its caller: the task's own frames begin here.
PILFER_NOINLINE suspension* run_job(spark* job) noexcept {
    san::acquire(job);
    san::acquire(this_worker());
    return std::atomic_ref(job->run).load(rlx)(job, this_worker());
}

PILFER_NO_SANITIZE void context_main(void* self) noexcept {
    auto* c = static_cast<context*>(self);
    san::enter(c->view);
    const auto job = reinterpret_cast<task_word>(c->job);
    suspension* next = run_job(reinterpret_cast<spark*>(job & ~kind_mask));
    static_cast<scheduler*>(this_worker())->leave_context(c, next);
}

} // namespace

PILFER_NO_SANITIZE void scheduler::leave_context(context* c, suspension* next) noexcept {
    // For a child of spawn, which may be next on this stack: it writes neither.
    c->job = nullptr;
    ensure([c] { return c->self.locks == 0; }, "a task ended that holds a lock of the library");
    c->self.locks = 0;
    // Before put_context, which is the edge to the end of the pool and so to the end of the ring.
    note(trace::what::ended);
    m_backend.task_ends();
    if (next != nullptr) {
        if (m_pool.is_forked_child()) [[unlikely]] {
            forks::no_way_back();
        }
        note(trace::what::resume_next);
    }
    put_context(this, c);
    if (next != nullptr) {
        let_go(*next);
        san::release(next);
        san::leave(nullptr, next->act->ctx->view);
        pilfer_v0_jump(next->sp, static_cast<worker*>(this));
    }
    san::leave(nullptr, m_view);
    pilfer_v0_jump(m_sp, nullptr);
}

} // namespace detail
} // namespace v0
} // namespace pilfer
