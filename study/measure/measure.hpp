// The commands of pilfer-measure: `pilfer calibrate` and `pilfer study --validate` start it.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "study/costs.hpp"

namespace measure {

using wall_clock = std::chrono::steady_clock;

[[nodiscard]] inline double ns_since(wall_clock::time_point begin) {
    return std::chrono::duration<double, std::nano>(wall_clock::now() - begin).count();
}
[[nodiscard]] inline double median(std::vector<double> all) {
    std::sort(all.begin(), all.end());
    return all.empty() ? 0 : all[all.size() / 2];
}

/// Every constant as the median of `rounds` interleaved rounds. Needs two CPUs.
[[nodiscard]] study::costs calibrate(unsigned rounds);

/// Prints the times of the runtime and of the simulator for equal programs under equal policies.
void validate(const study::costs& price, const std::vector<unsigned>& workers, unsigned rounds);

} // namespace measure
