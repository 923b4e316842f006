// One thread interleaves all tasks of a pool: at each operation of the library the chooser says who goes on.
//
// The deque stays empty. What is announced, submitted or resumed comes into one list. A task that another one
// preempts is suspended like one that waits, and is in the list, too. README.md has the rules.
#include "explore/exploring.hpp"

#if defined(PILFER_TEST)

#include <cstdlib>
#include <exception>
#include <optional>
#include <utility>

#include <pilfer/detail/base/test_point.hpp>
#include <pilfer/detail/timer/timed_task.hpp>
#include <pilfer/scope.hpp>

#include "backend/work_stealing.hpp"
#include "base/write.hpp"
#include "explore/steps.hpp"
#include "idle/audit.hpp"
#include "io/readiness.hpp"
#include "platform/os.hpp"
#include "pool/figures.hpp"
#include "pool/pool_core.hpp"
#include "search/outcome_text.hpp"
#include "search/user_frames.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {

namespace {

using trip = signal_word<std_atom>;

/// While fewer branches than this are ready, loops are split.
constexpr std::size_t enough_branches = 4;

} // namespace

/// The task that calls the body.
struct exploring::root : submission {
    explicit root(exploring& e) noexcept : owner(e) {
        run = [](spark* self, worker*) noexcept -> suspension* {
            auto& r = *static_cast<root*>(static_cast<submission*>(self));
            exploring& x = r.owner;
            try {
                x.m_exploration.call_body();
            } catch (...) {
                const test_step order("fails", nullptr, false);
                const interleaving::bookkeeping now(x.m_now);
                x.m_now.fails(verdict::exception, x.m_exploration.name_of_body() + " has thrown " +
                                                      text_of_exception(std::current_exception()));
            }
            x.m_body_over = true;
            return nullptr;
        };
        set_parent(nullptr);
        set_test_origin(0);
    }
    exploring& owner;
};

exploring::exploring(team& t, pool_core& p, exploration& x)
    : work_stealing(t), m_exploration(x), m_now(t, p, x, m_thread) {}
exploring::~exploring() = default;

const run_report& exploring::explore() noexcept {
    const std::uint64_t most = m_exploration.most_time(); // before the worker runs schedules
    m_asked.store(1, rel);
    os::futex_wake(&m_asked, 1);
    if (most != 0) {
        if (const auto at = m_thread.watch(m_answered, m_team.at(0).thread, most); at.depth != 0) {
            thread_was_stopped(at);
        }
    } else {
        while (m_answered.load(acq) == 0) {
            os::futex_wait(m_answered, 0);
        }
    }
    return m_now.report();
}

void exploring::thread_was_stopped(const watched_thread::stopped& at) {
    run_report& report = m_now.report();
    report.holds_thread = true;
    const activation* const a = m_here->current.load(rlx);
    const char* const name = a != nullptr ? a->ctx->name.load(rlx) : nullptr;
    const std::string who = a == nullptr ? "the pool" : "task " + std::to_string(m_now.tasks().of(a->ctx));
    if (m_now.shows_lines()) {
        learn_lines({at.frames.data(), at.frames.data() + at.depth});
    }
    std::string text = who + (name != nullptr ? std::string(" \"") + name + '"' : "");
    text += at.blocked ? " blocks the thread, and thus all tasks" : " computes without a step";
    text += std::string("; the last step was: ") + m_thread.last_step() +
            text_of_frames(at.frames.data(), at.depth);
    bool elsewhere = false;
    if (const std::string others = m_now.waits(elsewhere); !others.empty()) {
        text += "\nThe other tasks:\n" + others;
    } else {
        text += "\n";
    }
    text +=
        at.blocked
            ? "A std::mutex, a read from a pipe, and other calls that block are not explored: the task that "
              "would end the wait needs this thread, too. Use pilfer::mutex, or pilfer::test::atomic"
            : "A loop that reads a plain variable or a std::atomic never ends here: no other task runs. Use "
              "pilfer::test::atomic and pilfer::yield()";
    report.abandoned = true;
    if (report.how != verdict::passed) {
        text += "\nBefore that: " + report.message;
        report.how = verdict::passed; // it is not repeated for the sake of the first failure
    }
    m_now.fails(verdict::blocked, std::move(text));
    m_now.over();
}

// ---- the worker -------------------------------------------------------------------------------

void exploring::run(scheduler& w) noexcept {
    m_thread.begins_here();
    m_here = &w;
    m_now.begins_on(w);
    w.explores = true;
    w.recording = true; // loops are split although the pool has one worker
    w.deque.signal().set(trip::yield_request);
    while (m_asked.load(acq) == 0) {
        m_team.life.worker_is_idle();
        os::futex_wait(m_asked, 0);
    }
    if (!m_team.stopping()) {
        while (const plan* p = m_exploration.next()) {
            m_picked = false;
            m_body_over = false;
            m_now.begin(*p);
            m_thread.runs_schedule(true);
            run_schedule();
            m_thread.runs_schedule(false);
            judge();
            m_now.check_failed_too();
            m_now.over();
            if (m_now.report().abandoned) {
                break;
            }
        }
        m_asked.store(0, rlx);
        m_answered.store(1, rel);
        os::futex_wake(&m_answered, 1);
    }
    while (!m_now.report().abandoned && !m_team.stopping()) {
        m_team.life.worker_is_idle();
        os::futex_wait(m_asked, 0);
    }
    w.reserve.give_contexts();
}

void exploring::end_threads(unsigned threads) noexcept {
    m_asked.store(1, rel);
    os::futex_wake(&m_asked, 1);
    for (unsigned i = 0; i < threads; ++i) {
        os::thread_join(m_team.at(i).thread);
    }
}

void exploring::check_end(audit& a, const counters&, std::uint64_t, unsigned) noexcept {
    a.equal("tasks left of a schedule", m_now.list().size(), 0);
    a.equal("contexts that a schedule left suspended", m_suspended, 0);
}

void exploring::run_schedule() noexcept {
    root body(*this);
    m_now.add(reinterpret_cast<task_word>(static_cast<spark*>(&body)) | kind_spark, nullptr,
              m_now.tasks().next(), nullptr);
    for (;;) {
        take_from_outside();
        if (m_now.report().abandoned) {
            return;
        }
        if (m_now.ends_quiet_waits(false) || m_now.ends_limit(false)) {
            continue;
        }
        if (!m_now.list().empty()) {
            if (const std::optional<ready> r = m_now.next()) {
                enter(*r);
            }
        } else if (!descriptor_is_ready() && !m_now.fire_next_alarm() && !m_now.ends_limit(true) &&
                   !m_now.ends_quiet_waits(true)) {
            return;
        }
    }
}

/// Resumes tasks that wait for descriptors which are ready. What comes from the kernel or from another
/// process takes real time: it gets a little before the clock jumps, and more before all tasks wait for ever.
bool exploring::descriptor_is_ready() noexcept {
    readiness* const io = m_here->core().io->if_made();
    if (io == nullptr || !io->is_awaited()) {
        return false;
    }
    constexpr std::uint64_t nap = 100'000; // ns
    const unsigned naps = m_team.first_due() != never ? 20 : 2'000;
    for (unsigned i = 0; !io->look(); ++i) {
        if (i == naps) {
            return false;
        }
        std::atomic<std::uint32_t> nobody{0};
        os::futex_wait_for(nobody, 0, nap);
    }
    return true;
}

void exploring::enter(const ready& r) noexcept {
    if (r.task == 0) {
        m_picked = true;
        m_here->switching.resume_now(*r.frame);
        return;
    }
    if ((r.task & kind_mask) != kind_continuation && !m_here->reserve.has_context()) {
        os::write_error("pilfer: there is no memory for the stack of a task whose schedules are explored\n");
        std::abort();
    }
    m_beginning = r.number;
    san::release(reinterpret_cast<const void*>(r.task & ~kind_mask));
    m_here->execute(r.task);
}

/// Nothing can run any more.
void exploring::judge() {
    run_report& report = m_now.report();
    m_now.check_all_followed();
    if (report.abandoned || (m_suspended == 0 && figures::waiting_coroutines(m_team) == 0)) {
        return;
    }
    report.abandoned = true;
    bool elsewhere = false;
    const std::string text = m_now.waits(elsewhere);
    if (elsewhere) {
        m_now.fails(verdict::outsider, "a task waits for another pool, which is not explored:\n" + text);
    } else if (m_body_over) {
        m_now.fails(verdict::left_waiting,
                    m_exploration.name_of_body() + " has ended, and tasks wait for ever:\n" + text);
    } else {
        m_now.fails(verdict::deadlock, "a deadlock: all tasks wait for ever:\n" + text);
    }
}

// ---- what becomes ready -----------------------------------------------------------------------

bool exploring::announce(scheduler& w, task_word task, way) noexcept {
    // All pushes come here, because the deque is pinned, and none stays there.
    [[maybe_unused]] const task_word back = w.deque.owner().pop(1);
    ensure([back, task] { return back == task; }, "the deque of an explored pool was not empty");
    {
        const interleaving::bookkeeping now(m_now);
        const context* const here = w.current.load(rlx)->ctx;
        if ((task & kind_mask) == kind_continuation) {
            // The caller is the child, on a stack of its own.
            const auto& s = *reinterpret_cast<const scope_core*>(task & ~kind_mask);
            const std::uint32_t parent = m_now.tasks().of(scope_access::owner(s)->ctx);
            m_now.tasks().set(here, m_now.tasks().next());
            m_now.note("begins, spawned by", nullptr, parent);
            m_now.add(task, nullptr, parent, here);
        } else {
            const std::uint32_t child = m_now.tasks().next();
            m_now.add(task, nullptr, child, here);
            m_now.note("forks", nullptr, child);
        }
    }
    m_now.point("goes on", nullptr);
    return true;
}

bool exploring::announce_weighted(scheduler& w, task_word task, std::uint64_t, way may) noexcept {
    (void)w.deque.owner().push(task);
    return announce(w, task, may);
}

/// The task is still in the list, and comes back to the one that announced it, or has begun elsewhere.
worker* exploring::reclaim(scheduler& w, task_word task) noexcept {
    m_now.point("comes to the end of a branch", nullptr);
    if (m_now.begins_elsewhere(task, w.current.load(rlx)->ctx)) {
        return nullptr;
    }
    return m_now.list().take_back(task, w.current.load(rlx)->ctx) ? &w : nullptr;
}

void exploring::attend(scheduler& w) noexcept {
    m_now.point("is in a loop", nullptr);
    (void)w.deque.signal().take();
    w.deque.signal().set(m_now.list().size() < enough_branches ? trip::yield_request | trip::expose
                                                               : trip::yield_request);
}

void exploring::suspend(scheduler& w, suspension& s) noexcept {
    if (s.why != nullptr) {
        m_now.note("waits for", s.object, 0, s.why->what);
    }
    work_stealing::suspend(w, s);
    if (m_now.follows() && w.current.load(rlx)->ctx->test.steps() != 0) {
        m_now.follow("resumes", nullptr);
    }
}

void exploring::make_runnable(suspension& s) noexcept {
    if (m_team.here() == nullptr) {
        m_outside.add({0, 0, &s, nullptr});
        return;
    }
    const interleaving::bookkeeping now(m_now);
    m_now.add(0, &s, m_now.tasks().of(s.act->ctx), nullptr);
}

void exploring::queue(submission& s, priority, origin) noexcept {
    const auto task = reinterpret_cast<task_word>(static_cast<spark*>(&s)) | kind_spark;
    const activation* const caller = m_team.here() != nullptr ? m_here->current.load(rlx) : nullptr;
    if (!timed_task::is_run(s)) {
        s.set_test_origin(caller != nullptr ? caller->ctx->test.next() : 0);
    }
    if (m_team.here() == nullptr) {
        m_outside.add({0, task, nullptr, nullptr});
        return;
    }
    const interleaving::bookkeeping now(m_now);
    const std::uint32_t number = m_now.tasks().next();
    m_now.add(task, nullptr, number, nullptr);
    if (m_here->current.load(rlx) != nullptr) {
        m_now.note("submits", nullptr, number);
    }
}

void exploring::take_from_outside() noexcept {
    const std::vector<ready> all = m_outside.take_all();
    for (const ready& r : all) {
        m_now.add(r.task, r.frame, r.task != 0 ? m_now.tasks().next() : m_now.tasks().of(r.frame->act->ctx),
                  nullptr);
    }
    if (!all.empty()) {
        m_now.fails(verdict::outsider,
                    "a thread outside the pool has made a task ready: when it does cannot be chosen or "
                    "repeated. " +
                        m_exploration.name_of_body() + " must start nothing but tasks of this pool");
    }
}

/// Inside an operation others have had their turn, as during a wait.
void exploring::yield(scheduler& w) noexcept {
    m_now.yield();
    if (m_now.follows() && w.current.load(rlx)->ctx->test.steps() != 0) {
        m_now.follow("resumes", nullptr);
    }
}

void exploring::run_blocking(scheduler& w, blocking_job& job) noexcept { run_in_place(w, job); }

// ---- what happens to tasks --------------------------------------------------------------------

void exploring::task_begins(scheduler& w, task_word task) noexcept {
    const interleaving::bookkeeping now(m_now);
    w.deque.signal().set(trip::yield_request | trip::expose);
    if ((task & kind_mask) != kind_continuation) {
        context* const c = w.current.load(rlx)->ctx;
        c->test.begin(reinterpret_cast<spark*>(task & ~kind_mask)->test_origin());
        m_now.tasks().set(c, m_beginning);
        m_now.note("begins", nullptr, 0, "", false);
    } else {
        m_now.note("goes on after a spawn");
    }
}

void exploring::task_ends() noexcept { m_now.note("ends"); }

void* exploring::task_leaves(const suspension*) noexcept {
    ++m_suspended;
    return nullptr;
}

void exploring::task_returns(scheduler& w, void*) noexcept {
    --m_suspended;
    w.deque.signal().set(trip::yield_request | trip::expose);
    if (std::exchange(m_picked, false)) {
        return;
    }
    m_now.note("resumes");
    m_now.was_handed();
}

} // namespace detail
} // namespace v0
} // namespace pilfer

#endif
