// The names of objects in another process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "process_memory.hpp"

namespace tools {

class object_names {
public:
    /// Reads the names that have changed since the last call.
    void read(process_memory const& memory);
    /// The name of the smallest named object that contains that address; empty: none.
    [[nodiscard]] std::string at(address object) const;

private:
    struct known_name {
        address object = 0;
        std::size_t place = 0; ///< in its list, which begins with the newest
        std::size_t bytes = 0;
        address text = 0;
        std::string name;
    };
    void read_list(process_memory const& memory, address first);

    std::vector<std::uint64_t> m_changes; // of each list
    std::vector<known_name> m_names;      // by address and place
    std::size_t m_longest = 0;            // bytes of the largest object
};

} // namespace tools
