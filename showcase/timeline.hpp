// The activity of each worker in one run, from the trace that the library writes (include/pilfer/trace.hpp).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace showcase {

enum class activity : unsigned char { searching, own, stolen, asleep };

/// Number of equal parts of a run; a part shows the activity that took most of its time.
constexpr std::size_t timeline_parts = 720;

struct timeline {
    std::string input;                          // for people
    double seconds = 0;                         // from the first task to the end of the last one
    std::vector<std::vector<activity>> workers; // timeline_parts of each
    std::uint64_t thefts = 0;                   // of the whole run
    std::uint64_t sleeps = 0;
    std::string failure; // why there is none, or empty

    bool empty() const { return workers.empty(); }
    /// Fraction of the run that the worker spent so.
    double share(std::size_t worker, activity what) const;
};

/// Reads Chrome trace JSON. A trace that cannot be read, or without any task, gives a failure.
timeline parse_trace(std::string_view json);

} // namespace showcase
