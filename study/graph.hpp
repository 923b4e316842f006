// Task graphs of real runs, in the format that docs/profiling.md defines.
#pragma once

#include <istream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "workload.hpp"

namespace study {

/// A recorded program. A part of it is all tasks that run one function.
class recorded_graph : public workload {
public:
    /// The names of the parts. The first one has all tasks whose function is not known.
    [[nodiscard]] const std::vector<std::string>& parts() const noexcept { return m_parts; }
    [[nodiscard]] unsigned part_of(std::uint64_t task) const noexcept { return m_part_of[task]; }

protected:
    recorded_graph(std::vector<std::string> parts, std::vector<unsigned> part_of)
        : m_parts(std::move(parts)), m_part_of(std::move(part_of)) {}

private:
    std::vector<std::string> m_parts;
    std::vector<unsigned> m_part_of;
};

/// Reads the file that PILFER_PROFILE_GRAPH or `pilfer profile --graph` has written. Throws
/// std::runtime_error "FILE:LINE: what". A graph that waits for itself is found when it is simulated.
[[nodiscard]] std::unique_ptr<recorded_graph> read_graph(const std::string& file);
/// Reads a graph from a stream. Errors name `name` as the file.
[[nodiscard]] std::unique_ptr<recorded_graph> read_graph(std::istream& in, const std::string& name);

} // namespace study
