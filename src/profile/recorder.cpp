#include "profile/recorder.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <mutex>
#include <new>
#include <ostream>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "names/object_names.hpp"
#include "platform/os.hpp"
#include "platform/symbols.hpp"
#include "platform/ticks.hpp"

namespace pilfer {
inline namespace v0 {
namespace profile {

burden burden_from(const char* environment) {
    burden b;
    if (environment == nullptr) {
        return b;
    }
    constexpr std::uint64_t most = 1'000'000'000;
    const char* const end = environment + std::strlen(environment);
    const auto theft = std::from_chars(environment, end, b.theft_ns);
    const bool two = theft.ec == std::errc{} && theft.ptr != end && *theft.ptr == ',';
    const auto resume = two ? std::from_chars(theft.ptr + 1, end, b.resume_ns) : theft;
    if (!two || resume.ec != std::errc{} || resume.ptr != end || b.theft_ns > most || b.resume_ns > most) {
        throw std::invalid_argument("pilfer: PILFER_PROFILE_BURDEN must be what a theft and what a "
                                    "resumption costs, as in \"561,51\", from 0 to 1000000000 ns each, "
                                    "not \"" +
                                    std::string(environment) + "\"");
    }
    return b;
}

void path::raise(const path& other) noexcept {
    if (other.ns > ns) {
        ns = other.ns;
        places = other.places;
    }
    burdened_ns = std::max(burdened_ns, other.burdened_ns);
    strands = std::max(strands, other.strands);
    tasks = std::max(tasks, other.tasks);
}

namespace {

/// The worker's side of a section.
template <class Section>
class worker_inside {
public:
    explicit worker_inside(Section& s) noexcept : m_section(s) { m_section.enter(); }
    worker_inside(const worker_inside&) = delete;
    worker_inside& operator=(const worker_inside&) = delete;
    ~worker_inside() { m_section.leave(); }

private:
    Section& m_section;
};

} // namespace

/// Without memory for a record the rest of the program runs unrecorded: a profile is no reason to fail.
template <class F>
void recorder::guarded(F f) noexcept {
    if (m_broken || m_finished) {
        return;
    }
    try {
        f();
    } catch (const std::bad_alloc&) {
        m_broken = true;
    }
}

/// The clock is read first on the way in and last on the way out, and not at all on the way in if it stands:
/// a reading costs as much as the rest of a short event.
template <class F>
void recorder::on_worker(F f) noexcept {
    const std::uint64_t now = stopping();
    const worker_inside inside(m_section);
    stop_clock(now);
    guarded(f);
    start_clock();
}

/// An event of another thread.
template <class F>
void recorder::outside(F f) noexcept {
    if (has_lost_worker()) {
        return;
    }
    const std::lock_guard lock(m_section);
    m_changes = true;
    guarded(f);
    m_changes = false;
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

namespace {

/// A reading of both clocks. Of several readings it keeps the shortest one, which was not interrupted.
struct moment {
    std::uint64_t ns = 0;
    std::uint64_t ticks = 0;
    std::uint64_t took = UINT64_MAX;

    moment() noexcept {
        for (unsigned i = 0; i < 32; ++i) {
            const std::uint64_t before = os::ticks();
            const std::uint64_t now = os::now_ns();
            const std::uint64_t behind = os::ticks();
            if (behind - before < took) {
                took = behind - before;
                ns = now;
                ticks = before;
            }
        }
    }
};

} // namespace

/// Measures the rate of the ticks over a millisecond, and the duration of an empty stretch.
void recorder::calibrate() noexcept {
    constexpr std::uint64_t enough = 1'000'000;
    constexpr unsigned most_readings = 1'000'000; // a clock that has not moved by then is stopped
    const moment first;
    m_empty = first.took;
    for (unsigned i = 0; i < most_readings && os::now_ns() - first.ns < enough; ++i) {
        m_began.store(os::ticks(), std::memory_order_relaxed);
        m_empty = std::min(m_empty, os::ticks() - m_began.load(std::memory_order_relaxed));
    }
    m_began.store(standing, std::memory_order_relaxed);
    m_cpu = os::thread_cpu_ns(); // of another thread: the first comparison is not counted
    m_compared = os::ticks();
    const moment last;
    const double rate = last.ticks != first.ticks ? static_cast<double>(last.ns - first.ns) /
                                                        static_cast<double>(last.ticks - first.ticks)
                                                  : 1;
    // A clock that jumped gives nonsense, and ticks are then taken for nanoseconds.
    m_ns_per_tick = rate > 0.01 && rate < 1'000 ? rate : 1;
    m_suspicious = static_cast<std::uint64_t>(suspicious_ns / m_ns_per_tick);
    m_often = static_cast<std::uint64_t>(often_ns / m_ns_per_tick);
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

void recorder::locked(const void* lock, const spot& here) noexcept {
    on_worker([&] {
        if (m_running == nullptr || m_graph == nullptr) {
            return;
        }
        const auto self = reinterpret_cast<key>(lock);
        auto at = m_locks.find(self);
        if (at == m_locks.end()) {
            at = m_locks.emplace(self, lock_entry{m_locks.size() + 1, place_of(here, *m_running)}).first;
        }
        m_running->held.push_back(self);
        write_strand();
        m_running->words.locked(at->second.number);
    });
}

void recorder::unlocked(const void* lock) noexcept {
    on_worker([&] {
        if (m_running == nullptr || m_graph == nullptr) {
            return;
        }
        const auto self = reinterpret_cast<key>(lock);
        auto& held = m_running->held;
        const auto at = std::find(held.begin(), held.end(), self);
        if (at != held.end()) { // else it was taken before the task was recorded
            held.erase(at);
            write_strand();
            m_running->words.unlocked(m_locks.at(self).number);
        }
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

/// The functions have names only while the program is loaded.
void recorder::write_functions() {
    os::symbols names;
    for (const auto& [runs, number] : m_functions) {
        write_function(*m_graph, number, names.name(runs, false));
    }
}

const std::vector<trace::source_place>& recorder::sources() const {
    if (m_sources.empty() && !m_places.empty()) {
        os::source_lines lines;
        m_sources = m_places.known().sources(lines);
    }
    return m_sources;
}

void recorder::write_places() {
    const auto& all = sources();
    for (std::size_t i = 1; i < all.size(); ++i) {
        write_line(*m_graph, i, all[i].line, all[i].file.empty() ? all[i].function : all[i].file);
    }
}

void recorder::write_locks() {
    for (const auto& [lock, entry] : m_locks) {
        write_lock(*m_graph, entry.number, entry.place);
    }
}

/// Of several places on one line the names are equal.
recorder::line_name recorder::name_of(std::size_t place) const {
    const auto& names = sources();
    if (place >= names.size()) {
        return {};
    }
    const trace::source_place& p = names[place];
    return {p.file, p.line, p.file.empty() ? p.function : ""};
}

namespace {

/// An object of an array in JSON, which `separator` precedes: the line's name, and then numbers.
class row_writer {
public:
    explicit row_writer(std::ostream& out) noexcept : m_out(out) {}
    void begin(const std::tuple<std::string, unsigned, std::string>& name) {
        const auto& [file, line, function] = name;
        m_out << m_separator << "\n    {\"file\": " << trace::quoted(file)
              << ", \"line\": " << std::to_string(line) << ", \"function\": " << trace::quoted(function);
        m_separator = ",";
    }
    void add(const char* what, std::uint64_t n) {
        m_out << ", \"" << what << "\": " << std::to_string(n); // no locale
    }
    void add(const char* what, const char* text) { m_out << ", \"" << what << "\": " << trace::quoted(text); }
    void end() { m_out << '}'; }
    void end_array() { m_out << (*m_separator == '[' ? "[]" : "\n  ]"); }

private:
    std::ostream& m_out;
    const char* m_separator = "[";
};

} // namespace

void recorder::write_waits(std::ostream& out) const {
    const std::lock_guard lock(m_section);
    std::map<std::tuple<line_name, std::string, std::string>, wait_figures> rows;
    for (const auto& [at, figures] : m_waits) {
        const auto& [place, why, object] = at;
        rows[{name_of(place), why, object}].add(figures);
    }
    row_writer writer(out);
    for (const auto& [at, figures] : rows) {
        const auto& [line, why, object] = at;
        writer.begin(line);
        writer.add("for", why.c_str());
        if (!object.empty()) {
            writer.add("object_name", object.c_str());
        }
        writer.add("waits", figures.waits);
        writer.add("total_ns", figures.total_ns);
        writer.add("longest_ns", figures.longest_ns);
        writer.end();
    }
    writer.end_array();
}

void recorder::write_lines(std::ostream& out) const {
    const std::lock_guard lock(m_section);
    struct row : place_figures {
        std::uint64_t chain_ns = 0;
        std::uint64_t burden_ns = 0;
    };
    std::map<line_name, row> rows;
    for (std::size_t i = 0; i < m_at.size(); ++i) {
        row& r = rows[name_of(i)];
        r.work_ns += m_at[i].work_ns;
        r.strands += m_at[i].strands;
        r.tasks += m_at[i].tasks;
        r.tasks_ns += m_at[i].tasks_ns;
        r.waits += m_at[i].waits;
        r.waited_ns += m_at[i].waited_ns;
    }
    (m_longest.ns >= m_outside->longest.ns ? m_longest : m_outside->longest)
        .places.each([&](const at_place& e) {
            row& r = rows[name_of(e.place)];
            r.chain_ns += e.ns;
            r.burden_ns += e.burden_ns;
        });
    row_writer writer(out);
    for (const auto& [name, r] : rows) {
        if (r.strands + r.tasks + r.waits == 0) {
            continue;
        }
        writer.begin(name);
        const std::pair<const char*, std::uint64_t> numbers[] = {
            {"work_ns", r.work_ns}, {"chain_ns", r.chain_ns},  {"burden_ns", r.burden_ns},
            {"tasks", r.tasks},     {"tasks_ns", r.tasks_ns},  {"strands", r.strands},
            {"waits", r.waits},     {"waited_ns", r.waited_ns}};
        for (const auto& [what, n] : numbers) {
            writer.add(what, n);
        }
        writer.end();
    }
    writer.end_array();
}

void recorder::finish() noexcept {
    outside([&] {
        m_finished = true;
        if (m_graph != nullptr) {
            write_task(*m_graph, m_outside->number, m_outside->words);
            write_functions();
            write_places();
            write_locks();
            write_end(*m_graph, m_made);
        }
    });
}

} // namespace profile
} // namespace v0
} // namespace pilfer
