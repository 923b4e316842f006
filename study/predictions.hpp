// Runs of a recorded graph in the simulator: as it is, and as if parts of the program took another time.
#pragma once

#include <string>
#include <vector>

#include "costs.hpp"
#include "graph.hpp"
#include "trace.hpp"
#include "workload.hpp"

namespace study {

/// A run of a graph in the simulator.
struct simulated_run {
    unsigned workers = 0;
    moment alone = 0; ///< The time of one worker, with the runtime's costs.
    moment time = 0;
    std::vector<std::vector<slice>> timeline;
    [[nodiscard]] double speedup() const noexcept {
        return time == 0 ? 1 : static_cast<double>(alone) / static_cast<double>(time);
    }
};
/// With the runtime's default policies.
[[nodiscard]] simulated_run simulate_run(const workload& graph, unsigned workers, const costs& price);

/// The makespan with the runtime's default policies if each part's strands took `factor[part]` of their time.
[[nodiscard]] moment predicted(const recorded_graph& g, unsigned workers, const costs& price,
                               const std::vector<double>& factor);

/// The makespan with the runtime's default policies.
[[nodiscard]] moment predicted(const recorded_graph& g, unsigned workers, const costs& price);

/// The predicted time if the strands of each line took `factor[line]` of their time.
[[nodiscard]] moment predicted_by_line(const recorded_graph& g, unsigned workers, const costs& price,
                                       const std::vector<double>& factor);

/// Printed beside simulated times.
[[nodiscard]] std::string left_out(const recorded_graph& g);

} // namespace study
