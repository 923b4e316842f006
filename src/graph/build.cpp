// How a graph is built: its memory, its edges, what is refused.
#include <pilfer/detail/graph/graph_core.hpp>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>

#include <pilfer/detail/base/checked.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

/// Appends an edge. Throws std::bad_alloc, and nothing has changed then.
void vertex::push_edge(vertex* to) {
    if (m_count < few) {
        m_out.in_place[m_count] = to;
    } else if (m_count == few) {
        auto* const places = new vertex* [4] { m_out.in_place[0], m_out.in_place[1], to, nullptr };
        m_out.many = places;
    } else {
        if (std::has_single_bit(m_count)) {
            auto* const places = new vertex*[std::size_t{2} * m_count];
            std::copy_n(m_out.many, m_count, places);
            delete[] m_out.many;
            m_out.many = places;
        }
        m_out.many[m_count] = to;
    }
    ++m_count;
}

/// Removes the newest edge.
void vertex::pop_edge() noexcept {
    --m_count;
    if (m_count == few) {
        vertex** const places = m_out.many;
        m_out.in_place[0] = places[0];
        m_out.in_place[1] = places[1];
        delete[] places;
    }
}

/// The newest task first: its value may refer to those of its inputs.
graph_core::~graph_core() {
    ensure([this] { return !m_running.load(rlx); }, "a graph was destroyed while it ran");
    vertex* newest = nullptr;
    for (vertex* v = m_first; v != nullptr;) {
        vertex* const next = std::exchange(v->m_next, newest);
        newest = std::exchange(v, next);
    }
    while (newest != nullptr) {
        std::exchange(newest, newest->m_next)->~vertex();
    }
}

void graph_core::check_free(const char* call) const {
    if (m_running.load(acq)) { // graph.E5
        throw usage_error((std::string("pilfer: ") + call + " was called while the graph runs").c_str());
    }
}

void graph_core::check_idle(const task_ref& t) {
    if (t.graph == nullptr) {
        throw usage_error("pilfer: the handle of a task of a graph is empty");
    }
    t.graph->check_free("a member of a task's handle");
}

void graph_core::check_precedes(const vertex& v) {
    if (v.is_condition()) {
        throw usage_error(
            ("pilfer: " + name_of(v) + " is a condition, which precedes only tasks that it chooses").c_str());
    }
}

void graph_core::check_inputs(std::initializer_list<task_ref> inputs) {
    check_free("graph::task()");
    for (const task_ref& in : inputs) {
        if (in.graph != this) {
            throw usage_error(in.graph == nullptr ? "pilfer: the handle of an input is empty"
                                                  : "pilfer: an input is a task of another graph");
        }
        check_precedes(*in.task);
    }
}

/// Links a new task. On an error it is destroyed and the edges to it are removed.
task_ref graph_core::adopt(vertex* v, std::initializer_list<task_ref> inputs) {
    const task_ref* linked = inputs.begin();
    try {
        for (; linked != inputs.end(); ++linked) {
            linked->task->push_edge(v);
        }
    } catch (...) {
        while (linked != inputs.begin()) {
            --linked;
            linked->task->pop_edge();
        }
        v->~vertex();
        throw;
    }
    v->m_strong = static_cast<std::uint32_t>(inputs.size());
    v->m_number = m_size++;
    (m_last != nullptr ? m_last->m_next : m_first) = v;
    m_last = v;
    m_choices = m_choices || v->is_condition();
    m_changed = true;
    return {this, v};
}

void graph_core::check_edge(const task_ref& from, const task_ref& to) {
    check_idle(from);
    check_idle(to);
    if (from.graph != to.graph) {
        throw usage_error(("pilfer: " + name_of(*from.task) + " and " + name_of(*to.task) +
                           " are tasks of different graphs")
                              .c_str());
    }
}

void graph_core::edge(vertex* from, vertex* to) {
    from->push_edge(to);
    m_backward = m_backward || to->m_number <= from->m_number;
    m_changed = true;
}

void graph_core::connect(const task_ref& from, const task_ref& to) {
    check_edge(from, to);
    check_precedes(*from.task);
    from.graph->edge(from.task, to.task);
    ++to.task->m_strong;
}

void graph_core::offer(const task_ref& from, const task_ref& to) {
    check_edge(from, to);
    if (!from.task->is_condition()) { // only C can ask
        throw usage_error(
            ("pilfer: " + name_of(*from.task) + " is no condition, and cannot choose a task").c_str());
    }
    from.graph->edge(from.task, to.task);
    to.task->m_chosen = true;
}

vertex_extras& graph_core::extras(vertex* v) {
    if (v->m_extras == nullptr) {
        v->m_extras = std::make_unique<vertex_extras>();
    }
    return *v->m_extras;
}

void graph_core::name(const task_ref& t, std::string_view text) {
    check_idle(t);
    std::string copy(text);
    extras(t.task).name = std::move(copy);
}

void graph_core::limit(const task_ref& t, limit_core& l) {
    check_idle(t);
    vertex_extras& e = extras(t.task);
    if (!l.belongs_to(t.graph)) {
        throw usage_error("pilfer: a graph_limit is used by another graph");
    }
    e.limit = &l;
    t.graph->m_unclean = true; // the limit may be as a run that was cut short has left it
}

const std::string* graph_core::given_name(const vertex& v) noexcept {
    return v.m_extras != nullptr && !v.m_extras->name.empty() ? &v.m_extras->name : nullptr;
}

std::string graph_core::name_of(const vertex& v) {
    if (const std::string* const given = given_name(v)) {
        return "\"" + *given + "\"";
    }
    constexpr const char* what[] = {"task ", "condition ", "subgraph "};
    return what[static_cast<unsigned>(v.m_kind)] + std::to_string(v.m_number);
}

void graph_core::no_value(const vertex& v) {
    throw usage_error(("pilfer: " + name_of(v) + " did not end in the last run, and has no value").c_str());
}

void graph_core::not_ready(const vertex& v, const char* what) {
    throw usage_error(("pilfer: " + name_of(v) + " " + what).c_str());
}

limit_core::limit_core(unsigned most) : m_most(most) {
    if (most == 0) {
        throw std::invalid_argument("pilfer: a graph_limit lets at least one task run");
    }
}

bool limit_core::belongs_to(const graph_core* g) noexcept {
    m_lock.lock();
    if (m_graph == nullptr) {
        m_graph = g;
    }
    const bool is_same = m_graph == g;
    m_lock.unlock();
    return is_same;
}

} // namespace detail
} // namespace v0
} // namespace pilfer
