// Source lines of instructions, as addr2line knows them.
#pragma once

#if defined(PILFER_RACE)

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace pilfer {
inline namespace v0 {
namespace detail {
namespace race {

struct source_line {
    std::string function;
    std::string file; ///< empty: there is no debugging information
    std::string line;
};

/// Instructions with the functions that were inlined around them, the innermost first.
class line_table {
public:
    /// Wants to know about this instruction, which is in front of a return address.
    void ask(std::uint64_t returns_to) { m_lines[returns_to]; }
    /// Runs addr2line once for each file of the program. False: there is no such command.
    [[nodiscard]] bool look_up();
    [[nodiscard]] const std::vector<source_line>& at(std::uint64_t returns_to) const;

private:
    std::map<std::uint64_t, std::vector<source_line>> m_lines;
};

} // namespace race
} // namespace detail
} // namespace v0
} // namespace pilfer

#endif
