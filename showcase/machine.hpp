// The machine of the measurements.
#pragma once

#include <cstdint>
#include <string>

namespace showcase {

struct machine {
    std::string processor;
    unsigned cores = 0; // that this process may use or not
    std::uint64_t memory_bytes = 0;
    std::string system;
    std::string compiler;
    std::string date; // UTC, ISO 8601
};

machine this_machine();

} // namespace showcase
