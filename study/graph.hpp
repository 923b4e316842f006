// Task graphs of real runs, in the format that docs/profiling.md defines.
#pragma once

#include <istream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "lines.hpp"
#include "workload.hpp"

namespace study {

/// What a recorded graph consists of. All tasks in one row of steps, each of which ends with step::kind::end.
struct graph_parts {
    std::vector<step> steps;
    std::vector<std::uint64_t> begins; ///< The first step of each task.
    std::vector<std::string> names;    ///< As recorded_graph::parts().
    std::vector<unsigned> part_of;     ///< Of each task: an index of `names`.
    std::vector<source_line> lines;
    std::vector<unsigned> line_of;    ///< Of each step: an index of `lines`. Empty: no lines.
    std::vector<unsigned> lock_lines; ///< Of each lock, counted from 1: the line that locked it first.
};

/// A recorded program. A part of it is all tasks that run one function.
class recorded_graph : public workload {
public:
    /// The names of the parts. The first one has all tasks whose function is not known.
    [[nodiscard]] const std::vector<std::string>& parts() const noexcept { return m_parts; }
    [[nodiscard]] unsigned part_of(std::uint64_t task) const noexcept { return m_part_of[task]; }
    /// The lines at which tasks were forked or waited. The first one stands for those that are not known.
    [[nodiscard]] const std::vector<source_line>& lines() const noexcept { return m_lines; }
    /// Their names, for people.
    [[nodiscard]] const std::vector<std::string>& line_names() const noexcept { return m_line_names; }
    /// True if a line is known. False: the program has no debug information, or the file is an older one.
    [[nodiscard]] bool has_lines() const noexcept;
    /// Of a lock, counted from 1: the line that locked it first.
    [[nodiscard]] unsigned line_of_lock(std::uint64_t lock) const noexcept { return m_lock_lines[lock]; }
    [[nodiscard]] unsigned locks() const override { return static_cast<unsigned>(m_lock_lines.size()); }

protected:
    /// Takes all but the steps and what belongs to each of them.
    explicit recorded_graph(graph_parts&& p)
        : m_parts(std::move(p.names)), m_part_of(std::move(p.part_of)), m_lines(std::move(p.lines)),
          m_line_names(study::line_names(m_lines)), m_lock_lines(std::move(p.lock_lines)) {}

private:
    std::vector<std::string> m_parts;
    std::vector<unsigned> m_part_of;
    std::vector<source_line> m_lines;
    std::vector<std::string> m_line_names;
    std::vector<unsigned> m_lock_lines; // the first one stands for no lock
};

/// The graph of these parts, which must fit together.
[[nodiscard]] std::unique_ptr<recorded_graph> make_graph(graph_parts p);

/// Reads the file that PILFER_PROFILE_GRAPH or `pilfer profile --graph` has written. Throws
/// std::runtime_error "FILE:LINE: what". A graph that waits for itself is found when it is simulated.
[[nodiscard]] std::unique_ptr<recorded_graph> read_graph(const std::string& file);
/// Reads a graph from a stream. Errors name `name` as the file.
[[nodiscard]] std::unique_ptr<recorded_graph> read_graph(std::istream& in, const std::string& name);

} // namespace study
