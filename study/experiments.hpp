// The experiments of the study: each asks one question and answers with a section.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "costs.hpp"
#include "simulator.hpp"
#include "table.hpp"

namespace study {

struct frame_of_study {
    costs price;
    std::uint64_t seed = 1;
    std::vector<unsigned> workers; ///< to compare; rising
};

/// 2, 4, 8 ... 4,096.
[[nodiscard]] std::vector<unsigned> usual_workers();

/// A setup of the policy that `text` names in the words of PILFER_BALANCE. Throws std::invalid_argument.
[[nodiscard]] setup with_policy(const frame_of_study& f, unsigned workers, const std::string& text);

[[nodiscard]] section example_of_eight(const frame_of_study& f);
[[nodiscard]] section law_of_parts(const frame_of_study& f);
[[nodiscard]] section time_to_all_busy(const frame_of_study& f);
[[nodiscard]] section makespan_by_fraction(const frame_of_study& f);
[[nodiscard]] section fraction_and_imbalance(const frame_of_study& f);
[[nodiscard]] section wave_of_wakes(const frame_of_study& f);
[[nodiscard]] section variants_of_the_wave(const frame_of_study& f);
[[nodiscard]] section all_policies(const frame_of_study& f);
/// One workload under the policies named, or all amounts and victims.
[[nodiscard]] section one_workload(const frame_of_study& f, const std::string& workload,
                                   const std::vector<std::string>& policies);
/// 10^7 tasks of three kinds, and the seconds that each took. The only section that a clock decides.
[[nodiscard]] section speed_of_simulation(const frame_of_study& f);

} // namespace study
