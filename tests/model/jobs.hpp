// Work for several processes: the engine is one per process, and a finding must not stop the others.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace model {

/// The report of one job. Its size is fixed, because it is in shared memory.
struct report {
    bool done = false;
    bool failed = false;
    std::uint64_t executions = 0;
    std::uint64_t steps = 0;
    bool complete = false; // every execution within the bounds was made
    char message[240] = {};
    char choices[6000] = {}; // as text; longer ones are cut and cannot be replayed
};

void set_text(char* to, std::size_t size, const std::string& text);

/// Runs work(i, r) for each i < n in up to `processes` children. A child that dies leaves `done` false.
[[nodiscard]] std::vector<report> run_jobs(unsigned n, unsigned processes,
                                           const std::function<void(unsigned, report&)>& work);

} // namespace model
