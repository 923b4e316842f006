// One thread interleaves all tasks of a pool: at each operation of the library the chooser says who goes on.
//
// The deque stays empty. What is announced, submitted or resumed comes into one list. A task that another one
// preempts is suspended like one that waits, and is in the list, too. README.md has the rules.
#include "explore/exploring.hpp"

#if defined(PILFER_TEST)

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <utility>

#include <pilfer/detail/base/test_point.hpp>
#include <pilfer/scope.hpp>

#include "backend/work_stealing.hpp"
#include "base/write.hpp"
#include "explore/outcome_text.hpp"
#include "explore/user_frames.hpp"
#include "idle/audit.hpp"
#include "observe/snapshot.hpp"
#include "platform/os.hpp"
#include "platform/source_lines.hpp"
#include "platform/stop_thread.hpp"
#include "platform/symbols.hpp"
#include "pool/figures.hpp"
#include "pool/pool_core.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {

namespace {

using trip = signal_word<std_atom>;

/// While fewer branches than this are ready, loops are split.
constexpr std::size_t enough_branches = 4;
/// A step takes this long, so that what was armed later is due later. In nanoseconds.
constexpr instant step_time = 100;
/// Among the numbers of tasks: an alarm.
constexpr std::uint32_t alarm_number = 0;
/// So often each of the ready tasks yields before time jumps.
constexpr std::uint64_t yields_in_vain = 4;
/// In the text of a deadlock.
constexpr std::size_t most_awaited = 8;
constexpr std::size_t most_frames_said = 3;
/// A thread is stopped so often in search of a place at which it holds no lock.
constexpr unsigned most_tries = 2'000;
/// The kinds of objects in the texts of steps and waits. A promise and its future share one object.
constexpr struct {
    std::string_view text;
    std::string_view kind;
} object_kinds[] = {{"a shared mutex", "shared mutex"},
                    {"a mutex", "mutex"},
                    {"a condition variable", "condition variable"},
                    {"an event", "event"},
                    {"a latch", "latch"},
                    {"a barrier", "barrier"},
                    {"a semaphore", "semaphore"},
                    {"a channel", "channel"},
                    {"a future", "future"},
                    {"a promise", "future"},
                    {"an atomic", "atomic"},
                    {"a scope", "scope"},
                    {"its join", "join"}};

/// The innermost functions that are not the library's, one a line.
[[nodiscard]] std::string frames_said(const void* const* frames, std::size_t depth) {
    std::string text;
    for (const user_frame& f : user_frames(frames, depth, most_frames_said)) {
        text += (text.empty() ? "\n    in " : "\n    called by ") + f.function +
                (f.place.empty() ? "" : " (" + f.place + ")");
    }
    return text;
}

/// FNV-1a.
void add_to_hash(std::uint32_t& hash, std::string_view text) noexcept {
    for (const char c : text) {
        hash = (hash ^ static_cast<unsigned char>(c)) * 16'777'619;
    }
}

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
                x.fails(verdict::exception, "body has thrown " + text_of_exception(std::current_exception()));
            }
            x.m_body_over = true;
            return nullptr;
        };
        set_parent(nullptr);
    }
    exploring& owner;
};

struct exploring::preempted : suspension {
    exploring* owner;
    std::uint32_t number;
    std::uint64_t owes;
};

struct exploring::notified : suspension {
    exploring* owner;
};

exploring::exploring(team& t, pool_core& p, exploration& x) : work_stealing(t), m_pool(p), m_exploration(x) {}
exploring::~exploring() = default;

const run_report& exploring::explore() noexcept {
    const std::uint64_t most = m_exploration.most_time(); // before the worker runs schedules
    m_asked.store(1, rel);
    os::futex_wake(&m_asked, 1);
    if (most != 0) {
        watch(most);
    } else {
        while (m_answered.load(acq) == 0) {
            os::futex_wait(m_answered, 0);
        }
    }
    return m_report;
}

/// Returns after the answer, or once a task has held the thread for too long. Time counts in which the thread
/// sleeps, or uses its processor. A thread that only waits for a processor is innocent.
void exploring::watch(std::uint64_t most) noexcept {
    const std::uint64_t pause = std::clamp<std::uint64_t>(most / 8, 1'000'000, 1'000'000'000);
    std::uint64_t moves = 0;
    std::uint64_t asleep = 0;
    std::uint64_t busy = 0;
    std::uint64_t used = 0;
    for (;;) {
        os::futex_wait_for(m_answered, 0, pause);
        if (m_answered.load(acq) != 0) {
            return;
        }
        const std::uint64_t thread = m_thread.load(acq);
        const std::uint64_t before = std::exchange(used, os::cpu_ns_of(thread));
        const std::uint64_t moved = m_moves.load(rlx);
        if (std::exchange(moves, moved) != moved || !m_runs.load(rlx)) {
            asleep = busy = 0;
            continue;
        }
        busy += used - std::min(before, used);
        asleep += thread != 0 && os::is_blocked(thread) ? pause : 0;
        if (asleep >= most || busy >= most) {
            if (holds_its_thread(asleep >= most, moved)) {
                return;
            }
            asleep = busy = 0;
        }
    }
}

/// The thread is stopped for good first, so that no task can go on as the caller of explore() goes on. False:
/// it has made a step meanwhile.
///
/// A computing thread may hold a lock of the allocator or the loader at any moment, and a thread that needs
/// that lock later would wait for ever. So it is stopped elsewhere, as far as it ever is elsewhere.
bool exploring::holds_its_thread(bool blocked, std::uint64_t moved) noexcept {
    std::array<const void*, most_frames> frames{};
    unsigned depth = 0;
    const os::code_with_locks locks;
    for (unsigned tries = 0;; ++tries) {
        if (!os::stop_thread(m_team.at(0).thread, frames.data(), most_frames, depth)) {
            if (m_answered.load(acq) != 0) {
                return false; // the thread has ended
            }
            os::write_error(
                "pilfer: a task holds its thread in a test of schedules, and cannot be stopped\n");
            std::abort();
        }
        if (m_moves.load(rlx) != moved || !m_runs.load(rlx)) {
            os::let_thread_go();
            return false;
        }
        if (blocked || tries == most_tries || !locks.has(frames.data(), depth)) {
            break;
        }
        os::let_thread_go();
        os::futex_wait_for(m_answered, 0, 1'000'000);
    }
    m_report.holds_thread = true;
    const activation* const a = m_here->current.load(rlx);
    const char* const name = a != nullptr ? a->ctx->name.load(rlx) : nullptr;
    const std::string who = a == nullptr ? "the pool" : "task " + std::to_string(number_of(a->ctx));
    if (m_traces && m_exploration.shows_lines()) {
        learn_lines({frames.data(), frames.data() + depth});
    }
    std::string text = who + (name != nullptr ? std::string(" \"") + name + '"' : "");
    text += blocked ? " blocks the thread, and thus all tasks" : " computes without a step";
    text += std::string("; the last step was: ") + m_last_step.load(rlx) + frames_said(frames.data(), depth);
    bool elsewhere = false;
    if (const std::string others = waits(elsewhere); !others.empty()) {
        text += "\nThe other tasks:\n" + others;
    } else {
        text += "\n";
    }
    text +=
        blocked
            ? "A std::mutex, a read from a pipe, and other calls that block are not explored: the task that "
              "would end the wait needs this thread, too. Use pilfer::mutex, or pilfer::test::atomic"
            : "A loop that reads a plain variable or a std::atomic never ends here: no other task runs. Use "
              "pilfer::test::atomic and pilfer::yield()";
    m_report.abandoned = true;
    if (m_report.how != verdict::passed) {
        text += "\nBefore that: " + m_report.message;
        m_report.how = verdict::passed; // it is not repeated for the sake of the first failure
    }
    fails(verdict::blocked, std::move(text));
    m_exploration.ran(m_chooser, m_report, m_trace);
    return true;
}

// ---- the worker -------------------------------------------------------------------------------

void exploring::run(scheduler& w) noexcept {
    os::may_be_stopped();
    m_thread.store(os::thread_id(), rel);
    m_here = &w;
    m_clock = now();
    w.explores = true;
    w.recording = true; // loops are split although the pool has one worker
    w.deque.signal().set(trip::yield_request);
    while (m_asked.load(acq) == 0) {
        m_team.life.worker_is_idle();
        os::futex_wait(m_asked, 0);
    }
    if (!m_team.stopping()) {
        while (const plan* p = m_exploration.next()) {
            begin_schedule(*p);
            m_runs.store(true, rlx);
            run_schedule();
            m_runs.store(false, rlx);
            judge();
            m_exploration.ran(m_chooser, m_report, m_trace);
            if (m_report.abandoned) {
                break;
            }
        }
        m_asked.store(0, rlx);
        m_answered.store(1, rel);
        os::futex_wake(&m_answered, 1);
    }
    while (!m_report.abandoned && !m_team.stopping()) {
        m_team.life.worker_is_idle();
        os::futex_wait(m_asked, 0);
    }
    w.switching.give_contexts();
}

void exploring::end_threads(unsigned threads) noexcept {
    m_asked.store(1, rel);
    os::futex_wake(&m_asked, 1);
    for (unsigned i = 0; i < threads; ++i) {
        os::thread_join(m_team.at(i).thread);
    }
}

void exploring::check_end(audit& a, const counters&, std::uint64_t, unsigned) noexcept {
    a.equal("tasks left of a schedule", m_ready.size(), 0);
    a.equal("contexts that a schedule left suspended", m_suspended, 0);
}

void exploring::begin_schedule(const plan& p) {
    m_chooser.begin(p);
    m_next = none;
    m_picked = false;
    m_numbers.clear();
    m_tasks = 0;
    m_joined = 0;
    m_yielded.clear();
    m_steps = 0;
    m_faults = 0;
    m_notified.clear();
    m_body_over = false;
    m_traces = m_exploration.traces();
    m_trace.clear();
    m_objects.clear();
    m_report = {};
    m_moves.store(m_moves.load(rlx) + 1, rlx);
}

void exploring::run_schedule() noexcept {
    root body(*this);
    push(reinterpret_cast<task_word>(static_cast<spark*>(&body)) | kind_spark, nullptr, ++m_tasks, nullptr);
    for (;;) {
        take_from_outside();
        if (m_report.abandoned) {
            return;
        }
        if (!m_ready.empty()) {
            step();
        } else if (!fire_next_alarm()) {
            return;
        }
    }
}

/// Runs one ready thing until it waits, ends or is preempted.
void exploring::step() noexcept {
    if (has_no_end()) {
        return;
    }
    m_clock += step_time;
    if (m_next == none) {
        const std::size_t k = choose(turn::over);
        if (k == alarm_place) {
            (void)fire_next_alarm();
            return;
        }
        m_next = k;
    }
    const ready r = m_ready[m_next];
    m_ready.erase(m_ready.begin() + static_cast<std::ptrdiff_t>(m_next));
    m_next = none;
    enter(r);
}

void exploring::enter(const ready& r) noexcept {
    if (r.task == 0) {
        m_picked = true;
        m_here->switching.resume_now(*r.frame);
        return;
    }
    if ((r.task & kind_mask) != kind_continuation && !m_here->switching.has_context()) {
        os::write_error("pilfer: there is no memory for the stack of a task whose schedules are explored\n");
        std::abort();
    }
    m_beginning = r.number;
    san::release(reinterpret_cast<const void*>(r.task & ~kind_mask));
    m_here->execute(r.task);
}

/// The next alarm fires, and time jumps to it if it is not due. False: none is set.
bool exploring::fire_next_alarm() noexcept {
    const instant due = m_team.first_due();
    if (due == never) {
        return false;
    }
    m_clock = std::max(m_clock, due);
    m_yields = 0;
    activation* const task = m_here->current.load(rlx);
    m_here->current.store(nullptr, rlx); // alarms fire as on the stack of a scheduler
    m_team.each_service([due](service& s) { s.fire_due(due); });
    m_here->current.store(task, rlx);
    return true;
}

/// Nothing can run any more.
void exploring::judge() {
    if (m_report.abandoned || (m_suspended == 0 && figures::waiting_coroutines(m_team) == 0)) {
        return;
    }
    m_report.abandoned = true;
    bool elsewhere = false;
    const std::string text = waits(elsewhere);
    if (elsewhere) {
        fails(verdict::outsider, "a task waits for another pool, which is not explored:\n" + text);
    } else if (m_body_over) {
        fails(verdict::left_waiting, "body has ended, and tasks wait for ever:\n" + text);
    } else {
        fails(verdict::deadlock, "a deadlock: all tasks wait for ever:\n" + text);
    }
}

void exploring::fails(verdict how, std::string message) {
    if (m_report.how == verdict::passed) {
        note("fails");
        m_report.how = how;
        m_report.message = std::move(message);
    }
}

// ---- choices ----------------------------------------------------------------------------------

bool exploring::has_older(std::uint64_t number) const noexcept {
    return !m_ready.empty() && m_ready.front().joined < number;
}

/// Returns the place of the chosen one: the running task, something in the list, or an alarm that is due. An
/// alarm may come late in any program, so it is only a candidate.
///
/// The oldest entry owes no turn, because only older entries have one before it.
std::size_t exploring::choose(turn how, std::uint64_t owes) {
    m_candidates.clear();
    m_places.clear();
    const auto add = [this](std::uint32_t number, std::size_t place) {
        m_candidates.push_back(number);
        m_places.push_back(place);
    };
    if (how == turn::goes_on || how == turn::is_handed) {
        add(running(), running_place);
    }
    for (std::size_t i = 0; i < m_ready.size(); ++i) {
        if (m_ready[i].owes == 0 || !has_older(m_ready[i].owes)) {
            add(m_ready[i].number, i);
        }
    }
    if (m_team.expects() && m_team.first_due() <= m_clock) {
        add(alarm_number, alarm_place);
    }
    if (how == turn::yields && !has_older(owes)) {
        add(running(), running_place);
    }
    return m_places[m_chooser.choose(m_candidates, how == turn::goes_on)];
}

void exploring::point(const char* what, const void* object) noexcept {
    note(what, object);
    goes_on(turn::goes_on);
}

bool exploring::fault(const char* what, const void* object) noexcept {
    if (m_faults == m_exploration.most_faults() || !m_chooser.fault()) {
        return false;
    }
    ++m_faults;
    note("has a fault:", object, 0, what);
    return true;
}

/// No point is between the caller's look and this wait, as with a futex.
void exploring::wait_for(const void* object) noexcept {
    static constexpr wait_kind kind{"a change of an atomic", [](const suspension&, wait_facts&) noexcept {}};
    notified s;
    s.owner = this;
    s.why = &kind;
    s.object = object;
    s.publish = [](suspension& self) noexcept {
        auto& n = static_cast<notified&>(self);
        n.owner->m_notified.push_back(&n);
        return true;
    };
    suspend(*m_here, s);
}

/// Which one of several waits one notification ends is a choice, because std says nothing about it.
void exploring::notify(const void* object, bool all) noexcept {
    m_candidates.clear();
    m_places.clear();
    for (std::size_t i = 0; i < m_notified.size(); ++i) {
        if (m_notified[i]->object == object) {
            m_candidates.push_back(number_of(m_notified[i]->act->ctx));
            m_places.push_back(i);
        }
    }
    if (!all && !m_places.empty()) {
        m_places = {m_places[m_chooser.choose(m_candidates, false)]};
    }
    std::vector<notified*> ends;
    for (const std::size_t i : m_places) {
        ends.push_back(m_notified[i]);
    }
    std::erase_if(m_notified,
                  [&](notified* n) { return std::find(ends.begin(), ends.end(), n) != ends.end(); });
    for (notified* const n : ends) {
        make_runnable(*n);
    }
}

void exploring::goes_on(turn how) noexcept {
    m_clock += step_time;
    if (has_no_end()) {
        preempt(none); // for good
        return;
    }
    const std::size_t k = choose(how);
    if (k == alarm_place) {
        (void)fire_next_alarm();
    } else if (k != running_place) {
        preempt(k);
    }
}

/// Counts a step. True: it is one too many, and the pool ends here.
bool exploring::has_no_end() noexcept {
    if (++m_steps <= m_exploration.most_steps()) {
        return false;
    }
    m_report.abandoned = true;
    fails(verdict::endless,
          "no end after " + std::to_string(m_exploration.most_steps()) +
              " steps: tasks ask for something again and again, or an alarm is set each time");
    return true;
}

/// The thing at `next` in the list runs; none: nothing more does.
void exploring::preempt(std::size_t next, std::uint64_t owes) noexcept {
    m_next = next;
    preempted s;
    s.owner = this;
    s.number = running();
    s.owes = owes;
    s.publish = [](suspension& self) noexcept {
        auto& p = static_cast<preempted&>(self);
        exploring& x = *p.owner;
        x.m_ready.push_back({p.number, 0, &p, nullptr, ++x.m_joined, p.owes});
        return true;
    };
    m_here->switching.suspend_here(s);
}

/// A yield may return at once, as it does where each task has a worker. But between two yields of a task all
/// run that were ready at the first one (Musuvathi and Qadeer, "Fair stateless model checking", PLDI 2008):
/// else an exhaustive search would follow two tasks that yield in turn for ever, and no third task would run.
void exploring::yield(scheduler&) noexcept {
    note("yields");
    if (has_no_end()) {
        preempt(none); // for good
        return;
    }
    const std::uint32_t self = running();
    m_chooser.yields(self);
    // Tasks that yield in turn, while nothing else becomes ready, wait for a time, perhaps.
    if (++m_yields > yields_in_vain * (m_ready.size() + 1)) {
        (void)fire_next_alarm();
    }
    if (self >= m_yielded.size()) {
        m_yielded.resize(self + std::size_t{1}, 0);
    }
    const std::uint64_t owes = std::exchange(m_yielded[self], m_joined + 1);
    const std::size_t k = choose(turn::yields, owes);
    if (k == alarm_place) {
        (void)fire_next_alarm();
    } else if (k != running_place) {
        preempt(k, owes);
    }
}

// ---- what becomes ready -----------------------------------------------------------------------

void exploring::push(task_word task, suspension* frame, std::uint32_t number, const context* by) {
    m_ready.push_back({number, task, frame, by, ++m_joined, 0});
    m_yields = 0;
}

bool exploring::announce(scheduler& w, task_word task, way) noexcept {
    // All pushes come here, because the deque is pinned, and none stays there.
    [[maybe_unused]] const task_word back = w.deque.owner().pop(1);
    ensure([back, task] { return back == task; }, "the deque of an explored pool was not empty");
    const context* const here = w.current.load(rlx)->ctx;
    if ((task & kind_mask) == kind_continuation) {
        // The caller is the child, on a stack of its own.
        const auto& s = *reinterpret_cast<const scope_core*>(task & ~kind_mask);
        const std::uint32_t parent = number_of(scope_access::owner(s)->ctx);
        m_numbers[here] = ++m_tasks;
        note("begins, spawned by", nullptr, parent);
        push(task, nullptr, parent, here);
    } else {
        push(task, nullptr, ++m_tasks, here);
        note("forks", nullptr, m_tasks);
    }
    point("goes on", nullptr);
    return true;
}

bool exploring::announce_weighted(scheduler& w, task_word task, std::uint64_t, way may) noexcept {
    (void)w.deque.owner().push(task);
    return announce(w, task, may);
}

/// The task is still in the list, and comes back to the one that announced it, or has begun elsewhere.
worker* exploring::reclaim(scheduler& w, task_word task) noexcept {
    point("comes to the end of a branch", nullptr);
    const context* const here = w.current.load(rlx)->ctx;
    const auto at = std::find_if(m_ready.begin(), m_ready.end(),
                                 [&](const ready& r) { return r.task == task && r.by == here; });
    if (at == m_ready.end()) {
        return nullptr;
    }
    m_ready.erase(at);
    return &w;
}

void exploring::attend(scheduler& w) noexcept {
    point("is in a loop", nullptr);
    (void)w.deque.signal().take();
    w.deque.signal().set(m_ready.size() < enough_branches ? trip::yield_request | trip::expose
                                                          : trip::yield_request);
}

void exploring::suspend(scheduler& w, suspension& s) noexcept {
    if (s.why != nullptr) {
        note("waits for", s.object, 0, s.why->what);
    }
    work_stealing::suspend(w, s);
}

void exploring::make_runnable(suspension& s) noexcept {
    if (m_team.here() == nullptr) {
        const std::lock_guard lock(m_outside_mutex);
        m_from_outside.push_back({0, 0, &s, nullptr, 0, 0});
        m_any_outside.store(true, rel);
        return;
    }
    push(0, &s, number_of(s.act->ctx), nullptr);
}

void exploring::queue(submission& s, priority, origin) noexcept {
    const auto task = reinterpret_cast<task_word>(static_cast<spark*>(&s)) | kind_spark;
    if (m_team.here() == nullptr) {
        const std::lock_guard lock(m_outside_mutex);
        m_from_outside.push_back({0, task, nullptr, nullptr, 0, 0});
        m_any_outside.store(true, rel);
        return;
    }
    push(task, nullptr, ++m_tasks, nullptr);
    if (m_here->current.load(rlx) != nullptr) {
        note("submits", nullptr, m_tasks);
    }
}

void exploring::take_from_outside() noexcept {
    if (!m_any_outside.load(acq)) {
        return;
    }
    const std::lock_guard lock(m_outside_mutex);
    for (const ready& r : m_from_outside) {
        push(r.task, r.frame, r.task != 0 ? ++m_tasks : number_of(r.frame->act->ctx), nullptr);
    }
    m_from_outside.clear();
    m_any_outside.store(false, rlx);
    fails(verdict::outsider,
          "a thread outside the pool has made a task ready: when it does cannot be chosen or "
          "repeated. Body must start nothing but tasks of this pool");
}

void exploring::run_blocking(scheduler& w, blocking_job& job) noexcept { run_in_place(w, job); }

// ---- what happens to tasks --------------------------------------------------------------------

void exploring::task_begins(scheduler& w, task_word task) noexcept {
    w.deque.signal().set(trip::yield_request | trip::expose);
    if ((task & kind_mask) != kind_continuation) {
        m_numbers[w.current.load(rlx)->ctx] = m_beginning;
        m_begins = true; // the stack is not its own yet
        note("begins");
        m_begins = false;
    } else {
        note("goes on after a spawn");
    }
}

void exploring::task_ends() noexcept { note("ends"); }

void* exploring::task_leaves() noexcept {
    ++m_suspended;
    return nullptr;
}

void exploring::task_returns(scheduler& w, void*) noexcept {
    --m_suspended;
    w.deque.signal().set(trip::yield_request | trip::expose);
    if (std::exchange(m_picked, false)) {
        return;
    }
    note("resumes");
    goes_on(turn::is_handed); // the task that it waited for has jumped to it
}

// ---- the trace --------------------------------------------------------------------------------

std::uint32_t exploring::number_of(const context* c) {
    std::uint32_t& n = m_numbers[c];
    if (n == 0) {
        n = ++m_tasks;
    }
    return n;
}

std::uint32_t exploring::running() { return number_of(m_here->current.load(rlx)->ctx); }

/// "locks a mutex" becomes "locks mutex 2": the second object that this schedule has used.
std::string exploring::with_name(std::string what, const void* object) {
    if (object == nullptr) {
        return what;
    }
    const auto number = [&](std::string_view kind) {
        return std::to_string(
            m_objects.try_emplace({object, kind}, static_cast<unsigned>(m_objects.size() + 1)).first->second);
    };
    for (const auto& k : object_kinds) {
        if (const std::size_t at = what.find(k.text); at != std::string::npos) {
            const bool is_promise = k.text == "a promise";
            return what.replace(at, k.text.size(),
                                (is_promise ? "the promise of " : "") + std::string(k.kind) + ' ' +
                                    number(k.kind));
        }
    }
    return what + " (object " + number("") + ")";
}

void exploring::note(const char* what, const void* object, std::uint32_t other, const char* of) {
    m_moves.store(m_moves.load(rlx) + 1, rlx);
    m_last_step.store(what, rlx);
    if (!m_traces) {
        return;
    }
    const activation* const a = m_here->current.load(rlx);
    const char* const name = a != nullptr ? a->ctx->name.load(rlx) : nullptr;
    const std::uint32_t task = a != nullptr ? number_of(a->ctx) : 0;
    add_to_hash(m_report.hash, what);
    add_to_hash(m_report.hash, of);
    add_to_hash(m_report.hash, std::to_string(task));
    std::string text = what;
    text += *of != '\0' ? std::string(" ") + of : "";
    trace_step s{task, name != nullptr ? name : "", with_name(std::move(text), object), other};
    if (a != nullptr && !m_report.holds_thread && !m_begins && m_exploration.shows_lines()) {
        s.depth = os::return_addresses(s.frames.data(), static_cast<unsigned>(s.frames.size()));
    }
    m_trace.push_back(std::move(s));
}

/// A line for each task that waits: for what, for whom, and where in the code. `elsewhere`: one of them waits
/// for another pool.
std::string exploring::waits(bool& elsewhere) {
    const snapshot s = take_snapshot(&m_pool);
    if (m_traces && m_exploration.shows_lines()) {
        std::vector<const void*> stacks;
        for (const waiting_context& k : s.waiting) {
            stacks.insert(stacks.end(), k.frames.begin(), k.frames.end());
        }
        learn_lines(stacks);
    }
    const auto name = [this](const waiting_context& k) {
        return "task " + std::to_string(number_of(k.at)) + (k.name.empty() ? "" : " \"" + k.name + '"');
    };
    std::vector<std::string> lines;
    for (const waiting_context& k : s.waiting) {
        if (k.owner != &m_pool) {
            continue;
        }
        elsewhere = elsewhere || k.facts.elsewhere != nullptr;
        std::string line = "  " + name(k) + " waits for " +
                           (k.why != nullptr ? with_name(k.why->what, k.object) : "its turn");
        if (k.facts.state != nullptr && k.awaits.empty()) {
            line += std::string(", which is ") + k.facts.state;
        }
        std::vector<std::string> awaited;
        for (const std::size_t i : k.awaits) {
            awaited.push_back(name(s.waiting[i]));
        }
        std::sort(awaited.begin(), awaited.end());
        for (std::size_t i = 0; i < awaited.size() && i < most_awaited; ++i) {
            line += (i == 0 ? ", that is for " : " and ") + awaited[i];
        }
        lines.push_back(line + frames_said(k.frames.data(), k.frames.size()));
    }
    os::symbols symbols;
    for (const waiting_coroutine& c : s.coroutines) {
        lines.push_back("  a coroutine, " + symbols.name(c.code.front(), false) + ", waits for " + c.what);
    }
    std::sort(lines.begin(), lines.end());
    std::string text;
    for (const std::string& line : lines) {
        text += line + "\n";
    }
    return text;
}

} // namespace detail
} // namespace v0
} // namespace pilfer

#endif
