// Graphs of tasks, for C.
#include <pilfer/pilfer_graph.h>

#include <cstddef>
#include <cstdint>
#include <ios>
#include <sstream>
#include <string>

#include <pilfer/detail/graph/graph_core.hpp>

#include "capi/error.hpp"
#include "capi/run_in.hpp"
#include "capi/task.hpp"

using pilfer::detail::graph_core;
using pilfer::detail::task_ref;
using pilfer::detail::vertex;

struct pilfer_graph {
    graph_core core;
};
struct pilfer_graph_limit {
    pilfer::detail::limit_core core;
};

namespace {

/// A task or a condition: the latter may return any number from 0 on.
template <vertex::kind Kind>
class function_vertex final : public vertex {
public:
    function_vertex(int (*f)(void*), void* argument) noexcept
        : vertex(Kind), m_function(f), m_argument(argument) {}
    std::int64_t run(graph_core&) override {
        const int result = pilfer::capi::call(m_function, m_argument);
        if (result < 0 || (Kind == kind::task && result > 0)) {
            pilfer::capi::throw_returned(result);
        }
        return result;
    }

private:
    int (*m_function)(void*);
    void* m_argument;
};

[[nodiscard]] task_ref ref_of(pilfer_node n) noexcept {
    return {static_cast<graph_core*>(n.graph), static_cast<vertex*>(n.task)};
}

/// Stores the task that add() returns in *out. `complete`: all arguments are there.
template <class Add>
int add_task(bool complete, pilfer_node* out, Add add) noexcept {
    task_ref added;
    const int code = complete ? pilfer::capi::guarded([&] { added = add(); }) : PILFER_EINVAL;
    if (out != nullptr) {
        *out = {added.graph, added.task};
    }
    return code;
}

} // namespace

extern "C" {

int pilfer_graph_new(pilfer_graph** out) {
    if (out == nullptr) {
        return PILFER_EINVAL;
    }
    *out = nullptr;
    return pilfer::capi::guarded([&] { *out = new pilfer_graph; });
}

int pilfer_graph_free(pilfer_graph* graph) {
    return pilfer::capi::guarded([graph] {
        if (graph != nullptr) {
            graph_core::check_idle({&graph->core, nullptr});
            delete graph;
        }
    });
}

size_t pilfer_graph_size(const pilfer_graph* graph) { return graph != nullptr ? graph->core.size() : 0; }

int pilfer_graph_task(pilfer_graph* graph, int (*f)(void*), void* arg, pilfer_node* out) {
    return add_task(graph != nullptr && f != nullptr, out,
                    [&] { return graph->core.add<function_vertex<vertex::kind::task>>({}, f, arg); });
}

int pilfer_graph_condition(pilfer_graph* graph, int (*f)(void*), void* arg, pilfer_node* out) {
    return add_task(graph != nullptr && f != nullptr, out,
                    [&] { return graph->core.add<function_vertex<vertex::kind::condition>>({}, f, arg); });
}

int pilfer_graph_subgraph(pilfer_graph* graph, pilfer_graph* inner, pilfer_node* out) {
    return add_task(graph != nullptr && inner != nullptr, out,
                    [&] { return graph->core.add_inner(inner->core, {}); });
}

int pilfer_node_precede(pilfer_node node, pilfer_node later) {
    return pilfer::capi::guarded([&] { graph_core::connect(ref_of(node), ref_of(later)); });
}

int pilfer_node_succeed(pilfer_node node, pilfer_node earlier) { return pilfer_node_precede(earlier, node); }

int pilfer_node_choose(pilfer_node condition, pilfer_node next) {
    return pilfer::capi::guarded([&] { graph_core::offer(ref_of(condition), ref_of(next)); });
}

int pilfer_node_set_name(pilfer_node node, const char* name) {
    if (name == nullptr) {
        return PILFER_EINVAL;
    }
    return pilfer::capi::guarded([&] { graph_core::name(ref_of(node), name); });
}

int pilfer_graph_limit_new(pilfer_graph_limit** out, unsigned most) {
    if (out == nullptr) {
        return PILFER_EINVAL;
    }
    *out = nullptr;
    return pilfer::capi::guarded([&] { *out = new pilfer_graph_limit{pilfer::detail::limit_core(most)}; });
}

void pilfer_graph_limit_free(pilfer_graph_limit* limit) { delete limit; }

int pilfer_node_limit(pilfer_node node, pilfer_graph_limit* limit) {
    if (limit == nullptr) {
        return PILFER_EINVAL;
    }
    return pilfer::capi::guarded([&] { graph_core::limit(ref_of(node), limit->core); });
}

int pilfer_graph_run(pilfer_pool* pool, pilfer_graph* graph) {
    if (graph == nullptr) {
        return PILFER_EINVAL;
    }
    return pilfer::capi::guarded([&] { pilfer::capi::run_in(pool, [graph] { graph->core.run(); }); });
}

int pilfer_graph_dot(const pilfer_graph* graph, int (*write)(const char*, size_t, void*), void* arg) {
    if (graph == nullptr || write == nullptr) {
        return PILFER_EINVAL;
    }
    return pilfer::capi::guarded([&] {
        std::ostringstream out;
        out.exceptions(std::ios::badbit); // so that a lack of memory is an exception
        graph->core.dot(out);
        const std::string text = out.str();
        if (const int code = pilfer::capi::call(write, text.c_str(), text.size(), arg); code != 0) {
            pilfer::capi::throw_returned(code);
        }
    });
}

} // extern "C"
