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

protected:
    recorded_graph(std::vector<std::string> parts, std::vector<unsigned> part_of,
                   std::vector<source_line> lines)
        : m_parts(std::move(parts)), m_part_of(std::move(part_of)), m_lines(std::move(lines)),
          m_line_names(study::line_names(m_lines)) {}

private:
    std::vector<std::string> m_parts;
    std::vector<unsigned> m_part_of;
    std::vector<source_line> m_lines;
    std::vector<std::string> m_line_names;
};

/// Reads the file that PILFER_PROFILE_GRAPH or `pilfer profile --graph` has written. Throws
/// std::runtime_error "FILE:LINE: what". A graph that waits for itself is found when it is simulated.
[[nodiscard]] std::unique_ptr<recorded_graph> read_graph(const std::string& file);
/// Reads a graph from a stream. Errors name `name` as the file.
[[nodiscard]] std::unique_ptr<recorded_graph> read_graph(std::istream& in, const std::string& name);

} // namespace study
