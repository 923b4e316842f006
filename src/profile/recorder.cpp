#include "profile/recorder.hpp"

#include <algorithm>
#include <mutex>
#include <new>
#include <ostream>
#include <utility>

#include "names/object_names.hpp"
#include "platform/os.hpp"
#include "platform/ticks.hpp"
#include "profile/recorder_inside.hpp"

namespace pilfer {
inline namespace v0 {
namespace profile {

void path::raise(const path& other) noexcept {
    if (other.ns > ns) {
        ns = other.ns;
        places = other.places;
    }
    burdened_ns = std::max(burdened_ns, other.burdened_ns);
    strands = std::max(strands, other.strands);
    tasks = std::max(tasks, other.tasks);
}

bool recorder::has_lost_worker() const noexcept { return m_process != detail::forks::this_process(); }

void recorder::forget_threads() noexcept {
    m_section.forget_threads();
    if (m_changes) {
        m_broken = true; // and the child stays one without the worker
    } else {
        m_process = detail::forks::this_process();
    }
}

mark::~mark() {
    // Chains share what only one thread at a time may touch.
    if (home == nullptr || !end.longest.places.shares()) {
        return;
    }
    if (home->has_lost_worker()) {
        ::new (&end.longest.places) chain; // its memory is lost
    } else if (home->m_worker.load(std::memory_order_relaxed) == std::this_thread::get_id()) {
        const worker_inside inside(home->m_section);
        end.longest.places = {};
    } else {
        const std::lock_guard lock(home->m_section);
        home->m_changes = true;
        end.longest.places = {};
        home->m_changes = false;
    }
}

recorder::recorder(std::ostream* graph, burden costs, bool lines)
    : m_burden(costs), m_graph(graph), m_outside(std::make_unique<task>(&m_tasks)), m_lines(lines) {
    calibrate();
    if (m_graph != nullptr) {
        write_head(*m_graph);
    }
}

recorder::~recorder() {
    m_waiting.clear();
    m_ended.clear();
    m_outside.reset();
    while (m_tasks != nullptr) {
        const std::unique_ptr<task> left(m_tasks);
    }
}

std::uint64_t recorder::ns_of(std::uint64_t ticks) const noexcept {
    return static_cast<std::uint64_t>(static_cast<double>(ticks) * m_ns_per_tick + 0.5);
}

/// The time since the last call in which the thread was not on a CPU: other threads ran, or it slept.
std::uint64_t recorder::off_cpu(std::uint64_t now) noexcept {
    const std::uint64_t before = std::exchange(m_cpu, os::thread_cpu_ns());
    const std::uint64_t passed = ns_of(now - std::exchange(m_compared, os::ticks()));
    const std::uint64_t used = m_cpu - before;
    return passed > used ? passed - used : 0;
}

/// The moment at which an event stops the clock; 0 if it stands already.
std::uint64_t recorder::stopping() const noexcept {
    return m_began.load(std::memory_order_relaxed) == standing ? 0 : os::ticks();
}

/// Ends a stretch. In a long stretch the thread may have lost its CPU. Then the thread's CPU clock says how
/// much of the stretch it ran. That clock is a system call, ten times as long as a short strand. So it is not
/// read each time, but often enough for clocks that run at different rates.
void recorder::stop_clock(std::uint64_t now) noexcept {
    if (now == 0) {
        return;
    }
    const std::uint64_t began = m_began.load(std::memory_order_relaxed);
    m_began.store(standing, std::memory_order_relaxed);
    m_stopped = now;
    if (m_running == nullptr || now <= began + m_empty) {
        return;
    }
    const std::uint64_t stretch = now - began - m_empty;
    std::uint64_t ns = ns_of(stretch);
    if (stretch > m_suspicious || now - m_compared > m_often) {
        const std::uint64_t lost = off_cpu(now);
        ns -= stretch > m_suspicious ? std::min(lost, ns) : 0;
    }
    m_running->strand_ns += ns;
}

/// If the CPU was lost while no task was on it, that time counts for no task.
void recorder::start_clock() noexcept {
    std::uint64_t now = os::ticks();
    if (now - m_stopped > m_suspicious) {
        (void)off_cpu(now);
        now = os::ticks();
    }
    m_began.store(now, std::memory_order_relaxed);
}

/// Writes what the running task has computed since the last word.
void recorder::write_strand() {
    task& t = *m_running;
    if (m_graph != nullptr) {
        t.words.computed(t.strand_ns - t.written_ns);
        t.written_ns = t.strand_ns;
    }
}

/// The stretch since the last fork, wait or begin counts for the task that computed it.
void recorder::close_strand() {
    task& t = *m_running;
    write_strand();
    t.written_ns = 0;
    t.longest.ns += t.strand_ns;
    t.longest.burdened_ns += t.strand_ns;
    t.longest.strands += 1;
    m_work.ns += t.strand_ns;
    m_work.strands += 1;
    if (m_lines) {
        t.longest.places.add(t.came_to, t.strand_ns, 0);
        m_at[t.came_to].work_ns += t.strand_ns;
        m_at[t.came_to].strands += 1;
        m_at[t.forked_at].tasks_ns += t.strand_ns;
    }
    t.strand_ns = 0;
}

/// The task that forks. Code that runs after the end of its task (the destructor of a result) counts as
/// outside.
recorder::task& recorder::running() noexcept { return m_running != nullptr ? *m_running : *m_outside; }

/// The task that forks or has waited, after its current strand was closed.
recorder::task& recorder::behind_strand() {
    if (m_running != nullptr) {
        close_strand();
    }
    return running();
}

/// The place of a fork or a wait of `t`.
trace::places::number recorder::place_of(const spot& here, const task& t) {
    return m_lines ? m_places.at(here.from, here.end, t.forked_at, t.came_to) : 0;
}

/// `t` goes on at `place`. Its strand is closed.
void recorder::comes_to(task& t, trace::places::number place) {
    if (m_lines) {
        t.came_to = place;
        if (place >= m_places_seen) [[unlikely]] {
            add_places(place);
        }
        if (m_graph != nullptr) {
            t.words.at(place);
        }
    }
}

PILFER_NOINLINE void recorder::add_places(trace::places::number last) {
    m_at.resize(last + 1);
    m_places_seen = last + 1;
}

/// At the place to which the parent came last.
std::unique_ptr<recorder::task> recorder::child_of(task& parent) {
    auto child = std::make_unique<task>(&m_tasks);
    child->number = m_made++;
    child->longest = parent.longest;
    child->longest.tasks += 1;
    child->split_from = m_work.ns;
    child->forked_at = child->came_to = parent.came_to;
    if (m_lines) {
        m_at[child->came_to].tasks += 1;
    }
    m_work.tasks += 1;
    return child;
}

/// Adds a child that begins when a worker takes it.
recorder::task* recorder::add_child(std::unique_ptr<task>& slot, key self, code runs, task& parent,
                                    const spot& here, key scope) {
    comes_to(parent, place_of(here, parent));
    auto child = child_of(parent);
    child->self = self;
    child->awaited_as = scope;
    if (m_graph != nullptr) {
        parent.words.forked(child->number);
        child->words.runs(m_functions.try_emplace(runs, m_functions.size() + 1).first->second);
    }
    slot = std::move(child);
    return slot.get();
}

void recorder::pause() noexcept {
    const std::uint64_t now = stopping();
    const worker_inside inside(m_section);
    stop_clock(now);
}

void recorder::go_on() noexcept {
    on_worker([] {});
}

void recorder::forked(key child, code runs, const spot& here, key scope) noexcept {
    on_worker([&] {
        // A task that was reclaimed for a yield, and announced again, has already been forked.
        if (auto& slot = m_waiting[child]; slot == nullptr) {
            task& parent = behind_strand();
            task& made = *add_child(slot, child, runs, parent, here, scope);
            made.longest.burdened_ns += m_burden.theft_ns;
            if (m_lines) {
                made.longest.places.add(made.came_to, 0, m_burden.theft_ns);
            }
        }
    });
}

void recorder::spawned(key rest, const void* spawner, const spot& here) noexcept {
    on_worker([&] {
        if (m_running == nullptr || m_waiting.find(rest) != nullptr) {
            return;
        }
        close_strand();
        const bool known = m_lines && spawner != nullptr;
        comes_to(*m_running, known ? m_places.at(spawner, m_running->forked_at) : place_of(here, *m_running));
        auto child = child_of(*m_running);
        if (m_graph != nullptr) {
            m_running->words.spawned(child->number);
        }
        m_running->longest.burdened_ns += m_burden.theft_ns;
        if (m_lines) {
            m_running->longest.places.add(m_running->came_to, 0, m_burden.theft_ns);
        }
        auto& parked = m_waiting[rest];
        parked.reset(m_running);
        m_running = child.release();
    });
}

void recorder::begun(key task_or_rest) noexcept {
    on_worker([&] {
        m_worker.store(std::this_thread::get_id(), std::memory_order_relaxed);
        if (auto t = m_waiting.take(task_or_rest); t != nullptr) {
            m_running = t.release();
            m_running->split_from = m_work.ns;
        }
    });
}

recorder::task* recorder::leave() noexcept {
    const std::uint64_t now = stopping();
    const worker_inside inside(m_section);
    stop_clock(now);
    return std::exchange(m_running, nullptr);
}

recorder::task* recorder::leave(const char* why, const void* object, const spot& here) noexcept {
    const std::uint64_t now = stopping();
    const worker_inside inside(m_section);
    stop_clock(now);
    task* const t = std::exchange(m_running, nullptr);
    guarded([&] {
        if (m_lines && t != nullptr) {
            m_open_waits[t] = {place_of(here, *t), why, detail::object_names::of(object), m_stopped};
        }
    });
    return t;
}

void recorder::wait_figures::add(const wait_figures& other) noexcept {
    waits += other.waits;
    total_ns += other.total_ns;
    longest_ns = std::max(longest_ns, other.longest_ns);
}

/// `t` goes on, after a wait of any kind.
void recorder::end_wait(const task* t) noexcept {
    const auto at = m_open_waits.find(t);
    if (at == m_open_waits.end()) {
        return;
    }
    guarded([&, wait = std::move(at->second)] {
        const std::uint64_t now = os::ticks(); // of another CPU, whose counter may be behind
        const std::uint64_t ns = now > wait.since ? ns_of(now - wait.since) : 0;
        m_waits[{wait.place, wait.why, wait.object_name}].add({1, ns, ns});
    });
    m_open_waits.erase(at);
}

void recorder::enter(task* t) noexcept {
    const worker_inside inside(m_section);
    m_running = t;
    if (!m_open_waits.empty()) {
        end_wait(t);
    }
    start_clock();
}

/// Ends the running task, whose last strand is closed.
std::unique_ptr<recorder::task> recorder::retire() {
    std::unique_ptr<task> t(std::exchange(m_running, nullptr));
    m_longest.raise(t->longest);
    if (m_graph != nullptr) {
        for (const key lock : t->held) { // code after the end of a task is not recorded
            t->words.unlocked(m_locks.at(lock).number);
        }
        write_task(*m_graph, t->number, t->words);
        t->words = {};
    }
    return t;
}

void recorder::ended() noexcept {
    on_worker([&] {
        if (m_running == nullptr) {
            return; // as a child of its scope, a root or a future
        }
        close_strand();
        auto& end = m_ended[m_running->self]; // may fail, so it comes first
        end = retire();
    });
}

void recorder::child_ended(key scope) noexcept {
    on_worker([&] {
        if (m_running == nullptr) {
            return;
        }
        close_strand();
        retire_into(scope);
    });
}

/// Ends the running task, a child of `scope`, whose last strand is closed.
void recorder::retire_into(key scope) {
    auto& all = m_scopes[scope];
    all.longest.raise(m_running->longest);
    if (m_graph != nullptr) {
        all.tasks.push_back(m_running->number);
    }
    (void)retire();
}

recorder::task* recorder::called(key child) noexcept {
    task* const caller = m_running;
    begun(child);
    return caller;
}

void recorder::returned(task* caller) noexcept {
    const std::uint64_t now = stopping();
    const worker_inside inside(m_section);
    stop_clock(now);
    if (m_running == caller) {
        return; // it was a part of the caller
    }
    guarded([&] {
        close_strand();
        if (const key scope = m_running->awaited_as; scope != 0) {
            retire_into(scope);
        } else {
            (void)retire();
        }
    });
    m_running = caller;
}

void recorder::root_ended() noexcept {
    on_worker([&] {
        if (m_running == nullptr) {
            return;
        }
        close_strand();
        wait_over(*m_outside, m_running->longest, m_running->number);
        (void)retire();
    });
}

mark* recorder::fulfilled(key self) noexcept {
    mark* m = nullptr;
    on_worker([&] {
        if (m_running == nullptr) {
            return;
        }
        auto made = std::make_unique<mark>();
        close_strand();
        made->end.longest = m_running->longest;
        // A task that could not be announced ran as a part of its maker, which is not over.
        if (m_running->self == self) {
            made->end.task = m_running->number;
            (void)retire();
        }
        made->home = shared_from_this(); // nothing fails from here on: its end enters the section
        m = made.release();
    });
    return m;
}

/// `t` is resumed after the end of what it waited for, at its place.
void recorder::wait_over(task& t, const path& end, std::uint64_t number) {
    const std::uint64_t resumption = &t != m_outside.get() ? m_burden.resume_ns : 0;
    const std::uint64_t before = t.longest.ns;
    t.longest.raise(end);
    t.longest.burdened_ns = std::max(t.longest.burdened_ns, end.burdened_ns + resumption);
    if (m_lines) {
        m_at[t.came_to].waits += 1;
        if (t.longest.ns > before) {
            m_at[t.came_to].waited_ns += t.longest.ns - before;
            t.longest.places.add(t.came_to, 0, resumption);
        }
    }
    if (m_graph != nullptr && number != 0) {
        t.words.waited(number);
    }
}

void recorder::joined(key child, const spot& here) noexcept {
    on_worker([&] {
        const auto end = m_ended.take(child);
        if (end == nullptr) {
            return;
        }
        task& t = behind_strand();
        comes_to(t, place_of(here, t));
        wait_over(t, end->longest, end->number);
    });
}

/// `t` has waited for the children of `scope`.
void recorder::wait_over(task& t, key scope, const spot* here) {
    if (m_scopes.find(scope) == nullptr) {
        return;
    }
    const children all = m_scopes.take(scope);
    if (&t == m_running) {
        close_strand();
        comes_to(t, place_of(*here, t));
    }
    wait_over(t, all.longest, 0);
    for (const std::uint64_t child : all.tasks) {
        t.words.waited(child);
    }
}

void recorder::synced(key scope, const spot& here) noexcept {
    on_worker([&] { wait_over(running(), scope, &here); });
}

void recorder::got(const mark& m, const spot& here) noexcept {
    on_worker([&] {
        task& t = behind_strand();
        comes_to(t, place_of(here, t));
        wait_over(t, m.end.longest, m.end.task);
    });
}

void recorder::submitted(key child, code runs, const spot& here) noexcept {
    on_worker([&] { add_child(m_waiting[child], child, runs, behind_strand(), here); });
}

void recorder::submitted_outside(key child, code runs, const spot& here, key scope) noexcept {
    outside([&] {
        if (auto& slot = m_waiting[child]; slot == nullptr) { // A foreign task may be queued several times.
            add_child(slot, child, runs, *m_outside, here, scope);
        }
    });
}

void recorder::carries(key carrier, bool comes) noexcept {
    outside([&] {
        if (comes) {
            m_carriers.insert(carrier);
        } else {
            m_carriers.erase(carrier);
        }
        m_carrier_count.store(m_carriers.size(), std::memory_order_relaxed);
    });
}

/// The thread that submits has announced its carrier before.
bool recorder::is_carrier(key submission) noexcept {
    bool is = false;
    if (m_carrier_count.load(std::memory_order_relaxed) != 0) {
        outside([&] {
            is = m_carriers.erase(submission) != 0;
            m_carrier_count.store(m_carriers.size(), std::memory_order_relaxed);
        });
    }
    return is;
}

bool recorder::is_in_child(key scope) noexcept {
    bool yes = false;
    outside([&] { yes = m_running != nullptr && m_running->awaited_as == scope; });
    return yes;
}

void recorder::synced_outside(key scope) noexcept {
    outside([&] { wait_over(*m_outside, scope, nullptr); });
}

void recorder::got_outside(const mark& m) noexcept {
    outside([&] { wait_over(*m_outside, m.end.longest, m.end.task); });
}

bool recorder::may_split() noexcept {
    bool yes = false;
    on_worker([&] {
        if (m_running == nullptr) {
            return;
        }
        const std::uint64_t work = m_work.ns + m_running->strand_ns;
        yes = work - m_running->split_from >= smallest_piece_ns;
        if (yes) {
            m_running->split_from = work;
        }
    });
    return yes;
}

work_span recorder::figures() const noexcept {
    std::unique_lock lock(m_section, std::defer_lock);
    if (!has_lost_worker()) {
        lock.lock();
    }
    const path& last = m_outside->longest;
    work_span f;
    f.work_ns = m_work.ns;
    f.strands = m_work.strands;
    f.tasks = m_work.tasks;
    f.span_ns = std::max(m_longest.ns, last.ns);
    f.burdened_span_ns = std::max(m_longest.burdened_ns, last.burdened_ns);
    f.span_strands = std::max(m_longest.strands, last.strands);
    f.span_tasks = std::max(m_longest.tasks, last.tasks);
    f.theft_ns = m_burden.theft_ns;
    f.resume_ns = m_burden.resume_ns;
    f.complete = !m_broken && lock.owns_lock();
    return f;
}

} // namespace profile
} // namespace v0
} // namespace pilfer
