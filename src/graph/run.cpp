// A run of a graph: which task starts when.
#include <pilfer/detail/base/test_point.hpp>
#include <pilfer/detail/graph/graph_core.hpp>

#include <cstdint>
#include <utility>
#include <vector>

#include <pilfer/cancel.hpp>
#include <pilfer/detail/base/chaos.hpp>
#include <pilfer/detail/base/race.hpp>
#include <pilfer/detail/cancel/points.hpp>
#include <pilfer/scope.hpp>

#include "scope/nesting.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {

/// A child of the run's scope. A child that does not get to its end cuts the run short.
struct graph_core::step {
    graph_core* graph;
    vertex* task; // null: the roots from `first` to `last`
    std::uint32_t first = 0;
    std::uint32_t last = 0; // not 0, and a task: its edges from `first` to `last`. The task has ended.
    nesting forked;

    step(graph_core* g, vertex* v, nesting n, std::uint32_t from = 0, std::uint32_t to = 0) noexcept
        : graph(g), task(v), first(from), last(to), forked(n.forked()) {}
    step(step&& other) noexcept
        : graph(std::exchange(other.graph, nullptr)), task(other.task), first(other.first), last(other.last),
          forked(other.forked) {}
    step& operator=(step&&) = delete;
    ~step() {
        if (graph != nullptr) {
            graph->m_cut.store(true, rlx); // the end of the scope's round makes it seen
        }
    }
    void operator()() {
        try {
            run(forked.begun());
        } catch (const stopped&) {
            // A scope does not cancel the siblings of a child that leaves so. A run is cut short by it.
            if (!graph->m_cut.exchange(true, rlx)) {
                graph->m_scope->cancel();
            }
            throw;
        }
        graph = nullptr;
    }

private:
    void run(nesting here) {
        if (task == nullptr) {
            graph->start_roots(first, last, here);
        } else if (last != 0) {
            graph->work(graph->release(task, first, last, nullptr, here), here);
        } else {
            graph->work(task, here);
        }
    }
};

/// One run at a time.
struct graph_core::only_run {
    graph_core& graph;

    explicit only_run(graph_core& g) : graph(g) {
        PILFER_TEST_ORDER("begins a run of a graph", &g);
        if (graph.m_running.exchange(true, acq)) { // graph.E5
            throw usage_error("pilfer: a graph was run while it runs");
        }
    }
    only_run(const only_run&) = delete;
    only_run& operator=(const only_run&) = delete;
    ~only_run() {
        PILFER_TEST_ORDER("ends a run of a graph", &graph);
        graph.m_running.store(false, rel); // graph.E5
    }
};

#if defined(PILFER_RACE)
/// For `pilfer race`: the order of the tasks of one run.
struct graph_core::ordered_run {
    graph_core& graph;
    race::ordered_tasks tasks{race::how::graph_task};

    explicit ordered_run(graph_core& g) : graph(g) {
        g.m_ordered = &tasks;
        g.m_next = tasks.first();
        if (g.m_choices) {
            race::cannot_follow("graphs with conditions, whose tasks count as one after the other");
        }
        for (vertex* v = g.m_first; v != nullptr; v = v->m_next) {
            if (v->m_extras != nullptr && v->m_extras->limit != nullptr) {
                v->m_extras->limit->m_next = tasks.first();
            }
        }
    }
    ordered_run(const ordered_run&) = delete;
    ordered_run& operator=(const ordered_run&) = delete;
    ~ordered_run() {
        for (vertex* v = graph.m_first; v != nullptr; v = v->m_next) {
            v->m_after = {};
            race::ordered_tasks::forget(v->m_end);
        }
        if (graph.m_cut.load(rlx)) {
            race::cannot_follow(race::left_out);
        }
    }
    /// Tasks with a limit of one are in the order of this run, as are all tasks if there are conditions.
    static std::int64_t call(graph_core& g, vertex* v, limit_core* limit) {
        using race::ordered_tasks;
        const bool alone = limit != nullptr && limit->m_most == 1;
        race::task_start after = g.m_choices ? g.m_next : std::exchange(v->m_after, {});
        if (alone) {
            race::cannot_follow("graph_limits of one task, whose tasks count as one after the other");
            ordered_tasks::add_edges(limit->m_next, after);
        }
        const race::running here(g.m_ordered->start(after), nullptr);
        const std::int64_t choice = v->run(g);
        g.m_ordered->note_end(v->m_end);
        if (alone) {
            ordered_tasks::add_edge(v->m_end, limit->m_next);
        }
        if (g.m_choices) {
            if (g.m_next.next == after.next && g.m_next.edges == after.edges) {
                g.m_next = {}; // no other task has ended meanwhile, so the order needs no edges
            }
            ordered_tasks::add_edge(v->m_end, g.m_next);
        }
        return choice;
    }
};
#else
struct graph_core::ordered_run {
    explicit ordered_run(const graph_core&) noexcept {}
    static PILFER_ALWAYS_INLINE std::int64_t call(graph_core& g, vertex* v, const limit_core*) {
        return v->run(g);
    }
};
#endif

void graph_core::run() {
    const only_run alone(*this);
    prepare();
    if (m_size == 0) {
        return;
    }
    m_unclean = true;
    m_cut.store(false, rlx);
    m_kept.clear();
    {
        const ordered_run order(*this);
        scope s;
        m_scope = &s;
        s.fork(step(this, nullptr, {}, 0, static_cast<std::uint32_t>(m_roots.size())));
        s.sync();
    }
    if (m_cut.load(rlx)) {
        throw stopped();
    }
    m_unclean = false;
}

/// Looks at what has been added since the last run, and sets the words of the tasks for this one.
void graph_core::prepare() {
    if (m_changed) {
        m_unclean = true;
        if (m_backward) {
            check_cycles();
        }
    }
    // Without conditions a task sets its own words for the next run.
    if (m_unclean || m_choices) {
        rearm();
        if (m_roots.empty() && m_size != 0) {
            throw usage_error("pilfer: a graph has no task to start with: each one is preceded or chosen");
        }
        m_changed = false;
    }
    if (++m_run == 0) {
        m_run = 1;
    }
}

/// Sets the words of all tasks, and finds those to start with.
void graph_core::rearm() {
    m_roots.clear();
    for (vertex* v = m_first; v != nullptr; v = v->m_next) {
        v->m_missing.store(v->m_strong, rlx);
        v->m_active.store(false, rlx);
        if (v->m_extras != nullptr && v->m_extras->limit != nullptr) {
            v->m_extras->limit->reset();
        }
        if (v->m_strong == 0 && !v->m_chosen) {
            m_roots.push_back(v);
        }
    }
}

/// Removes tasks without strong edges to them, until none is left (A. B. Kahn, 1962). Tasks that are left
/// have a cycle among them.
void graph_core::check_cycles() {
    std::vector<vertex*> ready;
    ready.reserve(m_size);
    for (vertex* v = m_first; v != nullptr; v = v->m_next) {
        v->m_missing.store(v->m_strong, rlx);
        v->m_active.store(false, rlx);
        if (v->m_strong == 0) {
            ready.push_back(v);
        }
    }
    for (std::size_t i = 0; i < ready.size(); ++i) {
        const vertex* const v = ready[i];
        for (std::uint32_t k = 0; k < v->m_count && !v->is_condition(); ++k) {
            vertex* const to = v->out()[k];
            const std::uint32_t left = to->m_missing.load(rlx) - 1;
            to->m_missing.store(left, rlx);
            if (left == 0) {
                ready.push_back(to);
            }
        }
    }
    if (ready.size() != m_size) {
        throw usage_error(("pilfer: a graph has a cycle through " + name_of(*find_cycle())).c_str());
    }
}

/// A task on a cycle, of those that check_cycles() could not remove. Each of them has another one before it.
/// So a walk backwards comes to a cycle, and after as many steps as there are tasks it is on one.
vertex* graph_core::find_cycle() {
    const auto is_left = [](const vertex* v) { return v->m_missing.load(rlx) != 0; };
    std::vector<vertex*> before(m_size);
    vertex* at = nullptr;
    for (vertex* v = m_first; v != nullptr; v = v->m_next) {
        if (!is_left(v) || v->is_condition()) {
            continue;
        }
        for (std::uint32_t k = 0; k < v->m_count; ++k) {
            vertex* const to = v->out()[k];
            if (is_left(to)) {
                before[to->m_number] = v;
                at = to;
            }
        }
    }
    for (std::uint32_t i = 0; i < m_size; ++i) {
        at = before[at->m_number];
    }
    return at;
}

/// `v` starts. A fork that is nested too deep is none: the calling task runs `v` before it ends.
void graph_core::fork(vertex* v, nesting here) {
    if (!here.is_deep()) {
        m_scope->fork(step(this, v, here));
        return;
    }
    PILFER_TEST_ORDER("keeps a task of a graph", v);
    m_kept_lock.lock(); // graph.E6
    PILFER_TRY { m_kept.push_back(v); }
    PILFER_CATCH_ALL {
        m_kept_lock.unlock();
        PILFER_RETHROW;
    }
    m_keeps.store(true, rlx);
    m_kept_lock.unlock();
}

vertex* graph_core::take_kept() noexcept {
    PILFER_TEST_ORDER("looks for tasks that a graph has kept", this);
    if (!m_keeps.load(rlx)) {
        return nullptr;
    }
    vertex* v = nullptr;
    m_kept_lock.lock(); // graph.E6
    if (!m_kept.empty()) {
        v = m_kept.back();
        m_kept.pop_back();
    }
    m_keeps.store(!m_kept.empty(), rlx);
    m_kept_lock.unlock();
    return v;
}

/// Runs these roots. The upper half goes to a child each time, so that few children wait at once.
void graph_core::start_roots(std::uint32_t first, std::uint32_t last, nesting here) {
    while (last - first > 1 && !here.is_deep()) {
        const std::uint32_t middle = first + (last - first) / 2;
        m_scope->fork(step(this, nullptr, here, middle, last));
        last = middle;
    }
    while (last - first > 1) {
        fork(m_roots[--last], here);
    }
    work(m_roots[first], here);
}

/// Between two tasks: does what other threads ask for. False: the run was cancelled.
bool graph_core::goes_on() {
    using trip = signal_word<std_atom>;
    worker* const w = this_worker();
    if (stopped_here(w)) {
        m_cut.store(true, rlx); // the end of the scope's round makes it seen
        return false;
    }
    if (w->deque.signal().has(trip::yield_request) || w->deque.thief().has_any()) {
        attend(w);
    }
    return true;
}

/// Runs `v`, then one of the tasks that this makes ready, and so on; the others become children. A loop, so
/// that the length of a chain does not matter.
void graph_core::work(vertex* v, nesting here) {
    using trip = signal_word<std_atom>;
    const bool choices = m_choices;
    bool has_place = false; // in its limit
    while (v != nullptr || (v = take_kept()) != nullptr) {
        if (this_worker()->deque.signal().has(trip::asked)) [[unlikely]] {
            if (!goes_on()) {
                return;
            }
        }
        limit_core* const limit = v->m_extras != nullptr ? v->m_extras->limit : nullptr;
        if (limit != nullptr && !has_place && !limit->enter(v)) {
            v = nullptr;
            continue;
        }
        const std::int64_t choice = ordered_run::call(*this, v, limit);
        vertex* next = limit != nullptr ? limit->leave() : nullptr;
        has_place = next != nullptr;
        v = choices ? release_guarded(v, choice, next, here) : release(v, 0, v->m_count, next, here);
    }
}

/// Counts the end of `v` at the tasks after it, by the edges from `first` to `last`. Returns the first task
/// that is ready, unless `next` is given, and makes children of the others. The upper half of many edges goes
/// to a child, so that few children wait at once.
vertex* graph_core::release(vertex* v, std::uint32_t first, std::uint32_t last, vertex* next, nesting here) {
    constexpr std::uint32_t many = 64;
    while (last - first > many && !here.is_deep()) {
        const std::uint32_t middle = first + (last - first) / 2;
        m_scope->fork(step(this, v, here, middle, last));
        last = middle;
    }
    vertex* const* const out = v->out();
    for (std::uint32_t k = first; k < last; ++k) {
        vertex* const to = out[k];
#if defined(PILFER_RACE)
        race::ordered_tasks::add_edge(v->m_end, to->m_after);
#endif
        if (!arrives(to)) {
            continue;
        }
        if (next == nullptr) {
            next = to;
        } else {
            fork(to, here);
        }
    }
    return next;
}

/// True: all tasks before `v` have ended, and the caller starts it.
bool graph_core::arrives(vertex* v) noexcept {
    if (v->m_strong == 1) {
        return true; // the order comes from the call, or from the fork
    }
    PILFER_TEST_ORDER("arrives at a task of a graph", v);
    PILFER_CHAOS_POINT(complete);
    // The last one need not count itself: no other one will look any more. (graph.E1)
    if (v->m_missing.load(acq) != 1 && v->m_missing.fetch_sub(1, acq_rel) != 1) {
        return false;
    }
    v->m_missing.store(v->m_strong, rlx); // for the next run
    return true;
}

/// As release(), in a graph in which tasks may start more than once.
vertex* graph_core::release_guarded(vertex* v, std::int64_t choice, vertex* next, nesting here) {
    end(v);
    const auto start = [&](vertex* to) {
        begin(to);
        if (next == nullptr) {
            next = to;
        } else {
            fork(to, here);
        }
    };
    if (v->is_condition()) {
        if (choice >= 0 && choice < std::int64_t{v->m_count}) {
            start(v->out()[choice]);
        }
        return next;
    }
    for (std::uint32_t k = 0; k < v->m_count; ++k) {
        if (vertex* const to = v->out()[k]; arrives_guarded(to)) {
            start(to);
        }
    }
    return next;
}

/// As arrives(). Counts and sets the word for the next time in one step, so that no edge gets lost.
bool graph_core::arrives_guarded(vertex* v) noexcept {
    PILFER_TEST_ORDER("arrives at a task of a graph", v);
    std::uint32_t missing = v->m_missing.load(rlx);
    PILFER_CHAOS_POINT(complete);
    while (!v->m_missing.compare_exchange_weak(missing, missing == 1 ? v->m_strong : missing - 1, acq_rel,
                                               rlx)) { // graph.E1
    }
    return missing == 1;
}

/// Marks a task as started. Throws usage_error if it runs.
void graph_core::begin(vertex* v) {
    PILFER_TEST_ORDER("starts a task of a graph", v);
    if (v->m_active.exchange(true, acq_rel)) { // graph.E2
        throw usage_error(("pilfer: " + name_of(*v) + " was started again before it has ended").c_str());
    }
}

/// Marks a task as ended.
void graph_core::end(vertex* v) noexcept {
    PILFER_TEST_ORDER("ends a task of a graph", v);
    v->m_active.store(false, rel); // graph.E2
}

bool limit_core::enter(vertex* v) noexcept {
    PILFER_TEST_ORDER("comes to a limit of a graph", this);
    m_lock.lock();
    const bool enters = m_running < m_most;
    if (enters) {
        ++m_running;
    } else {
        v->m_extras->behind = nullptr;
        (m_last != nullptr ? m_last->m_extras->behind : m_first) = v;
        m_last = v;
    }
    m_lock.unlock();
    return enters;
}

vertex* limit_core::leave() noexcept {
    PILFER_TEST_ORDER("leaves a limit of a graph", this);
    m_lock.lock();
    vertex* const next = m_first;
    if (next == nullptr) {
        --m_running;
    } else {
        m_first = next->m_extras->behind;
        if (m_first == nullptr) {
            m_last = nullptr;
        }
    }
    m_lock.unlock();
    return next;
}

void limit_core::reset() noexcept {
    m_running = 0;
    m_first = nullptr;
    m_last = nullptr;
}

} // namespace detail
} // namespace v0
} // namespace pilfer
