// Figures of a task graph: work, the longest chain, and both by line and by function.
#pragma once

#include <cstdint>
#include <vector>

#include "costs.hpp"
#include "graph.hpp"
#include "workload.hpp"

namespace study {

/// A stretch of the longest chain.
struct link {
    std::uint64_t task = 0;
    moment begin = 0; ///< If there were a worker for each task.
    moment time = 0;
    unsigned line = 0; ///< An index of recorded_graph::lines().
};

/// The work of tasks from a line on, to their next fork or wait. A task begins at the line that forks it.
struct line_figures {
    unsigned line = 0;       ///< An index of recorded_graph::lines().
    std::uint64_t tasks = 0; ///< Forked there.
    moment tasks_work = 0;   ///< Their computing time, from any line on.
    std::uint64_t strands = 0;
    moment work = 0;
    moment on_chain = 0;
    std::uint64_t thefts = 0, resumptions = 0; ///< On the chain, if each fork on it were stolen.
    std::uint64_t waits = 0;
    moment waited = 0; ///< If there were a worker for each task.

    /// Its time on the chain with what thefts and resumptions cost.
    [[nodiscard]] moment burdened(const costs& price) const noexcept;
};

struct graph_figures {
    std::uint64_t tasks = 0; ///< Without task 0, which is the threads outside.
    std::uint64_t strands = 0;
    moment work = 0, span = 0;
    std::vector<link> chain; ///< In the order of time. Neighbours of one task and line are one link.
    std::vector<line_figures>
        lines; ///< The longest on the chain first; lines without a task or a wait are left out.
    std::vector<double> ready_curve; ///< Tasks that could run, averages of equal stretches of the span.
    [[nodiscard]] double parallelism() const noexcept {
        return span == 0 ? 1 : static_cast<double>(work) / static_cast<double>(span);
    }
};
/// Throws std::runtime_error if the graph waits for itself.
[[nodiscard]] graph_figures figures_of(const workload& graph);

/// The line that forks the most tasks that compute for less than a theft takes; null: there is none.
[[nodiscard]] const line_figures* tiny_tasks(const graph_figures& f, const costs& price);

/// All tasks that run one function.
struct part_figures {
    unsigned part = 0; ///< An index of recorded_graph::parts().
    std::uint64_t tasks = 0;
    moment work = 0;
    moment on_chain = 0; ///< Its time on the longest chain.
};
/// The most work first; parts without tasks are left out.
[[nodiscard]] std::vector<part_figures> parts_of(const recorded_graph& g, const graph_figures& f);

} // namespace study
