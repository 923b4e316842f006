// Subgraphs, and the text of a graph.
#include <pilfer/detail/graph/graph_core.hpp>

#include <ostream>
#include <set>
#include <string>
#include <vector>

#include <pilfer/error.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {
namespace {

class inner_vertex final : public vertex {
public:
    explicit inner_vertex(graph_core& g) noexcept : vertex(kind::graph), m_graph(g) {}
    std::int64_t run(graph_core&) override {
        m_graph.run();
        return 0;
    }
    [[nodiscard]] const graph_core* inner() const noexcept override { return &m_graph; }

private:
    graph_core& m_graph;
};

/// A text in quotes, as DOT reads it.
void write_quoted(std::ostream& out, const std::string& text) {
    out << '"';
    for (const char c : text) {
        if (c == '\n') {
            out << "\\n";
            continue;
        }
        if (c == '"' || c == '\\') {
            out << '\\';
        }
        out << c;
    }
    out << '"';
}

} // namespace

/// True if this graph is `g`, or `g` is a subgraph at any depth. Throws std::bad_alloc.
bool graph_core::contains(const graph_core* g) const {
    std::vector<const graph_core*> found{this};
    std::set<const graph_core*> seen{this};
    while (!found.empty()) {
        const graph_core* const at = found.back();
        found.pop_back();
        if (at == g) {
            return true;
        }
        for (const graph_core* const inner : at->m_inner) {
            if (seen.insert(inner).second) {
                found.push_back(inner);
            }
        }
    }
    return false;
}

task_ref graph_core::add_inner(graph_core& inner, std::initializer_list<task_ref> inputs) {
    check_free("graph::subgraph()");
    if (inner.contains(this)) {
        throw usage_error("pilfer: a graph would contain itself");
    }
    m_inner.push_back(&inner);
    try {
        return add<inner_vertex>(inputs, inner);
    } catch (...) {
        m_inner.pop_back();
        throw;
    }
}

void graph_core::dot(std::ostream& out) const {
    out << "digraph {\n";
    dot_body(out, "n", 1);
    out << "}\n";
}

void graph_core::dot_body(std::ostream& out, const std::string& prefix, unsigned depth) const {
    const std::string indent(std::size_t{4} * depth, ' ');
    const auto id = [&](const vertex* v) { return prefix + std::to_string(v->m_number); };
    for (const vertex* v = m_first; v != nullptr; v = v->m_next) {
        const std::string* const given = given_name(*v);
        const std::string label = given != nullptr ? *given : name_of(*v);
        if (const graph_core* const inner = v->inner()) {
            out << indent << "subgraph cluster_" << id(v) << " {\n" << indent << "    label=";
            write_quoted(out, label);
            out << ";\n";
            inner->dot_body(out, id(v) + "_", depth + 1);
            // The edges of the subgraph begin and end here.
            out << indent << "    " << id(v) << " [label=";
            write_quoted(out, label);
            out << " shape=box];\n" << indent << "}\n";
            continue;
        }
        out << indent << id(v) << " [label=";
        write_quoted(out, label);
        out << (v->is_condition() ? " shape=diamond];\n" : "];\n");
    }
    for (const vertex* v = m_first; v != nullptr; v = v->m_next) {
        for (std::uint32_t k = 0; k < v->m_count; ++k) {
            out << indent << id(v) << " -> " << id(v->out()[k]);
            if (v->is_condition()) {
                out << " [style=dashed label=" << std::to_string(k) << "]";
            }
            out << ";\n";
        }
    }
}

} // namespace detail
} // namespace v0
} // namespace pilfer
