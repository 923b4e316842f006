// The number of executions that each strategy gets for one harness.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "engine.hpp"
#include "jobs.hpp"

namespace model {

struct budget {
    std::uint64_t random = 100'000;     // executions of the random walk
    std::uint64_t priorities = 100'000; // executions by priorities
    unsigned depth = 0;                 // of the bugs that priorities look for; 0: 2 to 6 in turn
    unsigned preemptions = 2;           // of the exhaustive strategy
    unsigned odd = 1;
    std::uint64_t exhaustive = 1'000'000; // Most executions; 0: none.
    std::optional<unsigned> first;        // The first thread of the exhaustive strategy.
    std::uint64_t seed = 1;
};

enum class kind : std::uint8_t { random, priorities, exhaustive };
[[nodiscard]] const char* to_string(kind k) noexcept;

/// Runs `h` until a failure, the end of the budget, or of the executions.
void explore(const harness& h, kind k, const budget& b, report& r);

} // namespace model
