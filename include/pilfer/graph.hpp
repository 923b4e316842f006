// A graph of tasks that is built once and run many times.
#pragma once

#include <concepts>
#include <cstddef>
#include <iosfwd>
#include <string_view>
#include <type_traits>
#include <utility>

#include <pilfer/detail/graph/graph_core.hpp>
#include <pilfer/detail/graph/typed.hpp>
#include <pilfer/pool.hpp>

namespace pilfer {
inline namespace v0 {

template <class R = void>
class node;

/// At most `most` tasks of a group run at once; the others wait in a queue and hold neither a worker nor a
/// stack. A task joins the group by graph_node::limited_by().
///
/// A limit serves the tasks of one graph for good, and must outlive it.
class graph_limit {
public:
    /// Throws std::invalid_argument if `most` is 0.
    explicit graph_limit(unsigned most) : m_core(most) {}
    graph_limit(const graph_limit&) = delete;
    graph_limit& operator=(const graph_limit&) = delete;
    /// After the graph of its tasks.
    ~graph_limit() = default;

private:
    friend class graph_node;
    detail::limit_core m_core;
};

/// Refers to a task of a graph, which must outlive every use. Copies refer to the same task. A handle that
/// was made without a task is empty, and its members throw usage_error.
///
/// Each member but order_only() throws usage_error while the graph runs. A member with several tasks as
/// arguments takes them in turn, so that an error leaves the edges of those before.
class graph_node {
public:
    /// Makes an empty handle.
    graph_node() noexcept = default;

    /// This task ends before each of `later` starts. Throws usage_error for a task of another graph and if
    /// this is a condition, and std::bad_alloc. Cost: 8 bytes an edge beyond the first two of a task.
    template <std::derived_from<graph_node>... N>
    void precede(const N&... later) const {
        (detail::graph_core::connect(m_task, later.m_task), ...);
    }
    /// This task starts after each of `earlier` has ended. Throws what precede() throws.
    template <std::derived_from<graph_node>... N>
    void succeed(const N&... earlier) const {
        (detail::graph_core::connect(earlier.m_task, m_task), ...);
    }
    /// This task as an input that gives the order and no value.
    [[nodiscard]] node<> order_only() const noexcept;
    /// Sets the name of the task for errors and graph::dot(). Throws std::bad_alloc.
    void name(std::string_view text) const { detail::graph_core::name(m_task, text); }
    /// Adds the task to the group of `l`, and removes it from the group that it was in. Throws usage_error if
    /// `l` is used by another graph, and std::bad_alloc.
    void limited_by(graph_limit& l) const { detail::graph_core::limit(m_task, l.m_core); }

protected:
    /// For the templates of this library.
    explicit graph_node(detail::task_ref task) noexcept : m_task(task) {}
    detail::task_ref m_task; ///< Null: the handle is empty.

    friend class graph;
    friend class condition_node;
};

/// Refers to a task that returns an R. R is void for a task without a value.
template <class R>
class node : public graph_node {
public:
    /// Makes an empty handle.
    node() noexcept = default;

    /// The value that the task returned in the last run. It lives until the task runs again or the graph
    /// ends. The graph destroys the newest values first; in a new run those of the inputs are replaced first,
    /// so that a value must not use its inputs in its destructor. Throws usage_error while the graph runs,
    /// and if the task did not end in the last run.
    [[nodiscard]] std::add_lvalue_reference_t<const R> value() const requires(!std::is_void_v<R>) {
        detail::graph_core::check_idle(m_task);
        return static_cast<const detail::value_vertex<R>*>(m_task.task)->value_of(*m_task.graph);
    }

private:
    friend class graph;
    friend class graph_node;
    using graph_node::graph_node;
};

inline node<> graph_node::order_only() const noexcept { return node<>(m_task); }

/// Refers to a condition: a task that chooses which task runs next.
class condition_node : public graph_node {
public:
    /// Makes an empty handle.
    condition_node() noexcept = default;

    /// Appends `next` to the tasks that the condition chooses from; the first one of all has index 0. Such an
    /// edge is weak: a task starts when it is chosen, also if tasks that precede it have not ended. It may be
    /// chosen again. Throws usage_error for a task of another graph, and std::bad_alloc.
    template <std::derived_from<graph_node>... N>
    void chooses(const N&... next) const {
        (detail::graph_core::offer(m_task, next.m_task), ...);
    }

private:
    friend class graph;
    using graph_node::graph_node;
};

/// Tasks and the order between them. A graph is built by one thread and run any number of times.
///
/// A task starts when all tasks that precede it have ended. It runs as a task of the pool: it may fork, wait
/// and run loops, and its worker does other work while it waits. The guide (docs/guides/graphs.md) describes
/// conditions, loops, limits and errors.
class graph {
public:
    /// Makes an empty graph.
    graph() noexcept = default;
    graph(const graph&) = delete;
    graph& operator=(const graph&) = delete;
    /// Destroys the tasks and their values. Not while the graph runs. Of a large graph up to 64 MiB of memory
    /// are left to later ones.
    ~graph() = default;

    /// Adds a task that calls f with the values of `inputs`, as `const A&`, after all of them have ended. An
    /// input without a value only gives the order. A reference that f returns is stored as a copy.
    /// Throws usage_error for an input of another graph or while the graph runs, std::bad_alloc, and what
    /// moving f throws; then nothing is added. Cost: 64 bytes beside f and its value, 8 for each value that
    /// is read.
    template <class F, class... A>
    auto task(F&& f, const node<A>&... inputs) -> node<detail::graph_result_t<F, A...>> {
        using result = detail::graph_result_t<F, A...>;
        using vertex = detail::task_vertex<std::decay_t<F>, result, detail::graph_inputs_t<A...>>;
        return node<result>(m_core.add<vertex>({inputs.m_task...}, std::forward<F>(f),
                                               detail::graph_inputs<A...>(inputs.m_task...)));
    }

    /// Adds a condition: f is called as by task(), and returns the index of the task that runs next, among
    /// those that condition_node::chooses() gave. With any other index none runs. Throws what task() throws.
    template <class F, class... A>
    requires(std::integral<detail::graph_result_t<F, A...>> ||
             std::is_enum_v<detail::graph_result_t<F, A...>>) auto condition(F&& f, const node<A>&... inputs)
        -> condition_node {
        using vertex = detail::condition_vertex<std::decay_t<F>, detail::graph_inputs_t<A...>>;
        return condition_node(m_core.add<vertex>({inputs.m_task...}, std::forward<F>(f),
                                                 detail::graph_inputs<A...>(inputs.m_task...)));
    }

    /// Adds a task that runs `inner`, after `inputs`. `inner` must outlive this graph. Throws usage_error if
    /// `inner` contains this graph, and what task() throws.
    template <class... A>
    auto subgraph(graph& inner, const node<A>&... inputs) -> node<> {
        return node<>(m_core.add_inner(inner.m_core, {inputs.m_task...}));
    }

    /// Runs the graph in the pool of the calling task, or in pool::common() from outside. Returns when all
    /// tasks have ended; the calling task suspends meanwhile.
    ///
    /// The first exception of a task is rethrown. It cancels the run, as `stopped` does: tasks that have not
    /// started do not start, and those that run are stopped at their next wait, as in a cancelled scope. The
    /// graph may be run again afterwards. Throws stopped if the run was cancelled without an exception.
    /// Throws usage_error if the graph runs already, for a cycle of strong edges, for a graph without a task
    /// to start with, and if a task is to start while it runs. Cost from the second run on: no allocation.
    void run();
    /// run() in the pool `p`. Throws what run() and pool::run() throw.
    void run(pool& p) {
        p.run([this] { m_core.run(); });
    }

    /// The number of tasks.
    [[nodiscard]] std::size_t size() const noexcept { return m_core.size(); }
    /// Writes the graph in the DOT language of Graphviz; edges of conditions are dashed, and a subgraph is a
    /// cluster. Throws what `out` throws.
    void dot(std::ostream& out) const { m_core.dot(out); }

private:
    detail::graph_core m_core;
};

inline void graph::run() {
    if (detail::this_worker() != nullptr) {
        m_core.run();
    } else {
        run(pool::common());
    }
}

} // namespace v0
} // namespace pilfer
