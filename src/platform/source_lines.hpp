// Source lines of return addresses, for recordings and for reports of tests.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace pilfer {
inline namespace v0 {
namespace os {

/// A place in the source.
struct source_line {
    std::string function;
    std::string file; ///< Empty: not known.
    unsigned line = 0;
};

/// Asks llvm-addr2line or addr2line, which read what a compiler wrote for debuggers (-g). Without these
/// programs, or without -g, no line is known. Keeps what it has learned.
class source_lines {
public:
    /// A run of the program that takes longer than `most` nanoseconds is ended, and then its lines are
    /// unknown.
    explicit source_lines(std::uint64_t most = 60'000'000'000) noexcept : m_most(most) {}
    /// Asks for the lines of these return addresses at once: one run of the program for each loaded file.
    /// Throws std::bad_alloc.
    void learn(const std::vector<const void*>& addresses);
    /// The function around a return address is last. Functions that are compiled into it come before, the
    /// innermost one first. Empty: nothing is known.
    [[nodiscard]] const std::vector<source_line>& at(const void* return_address) const;

private:
    using place = std::pair<std::string, std::uintptr_t>; // file and address, which survive a dlclose()
    std::map<place, std::vector<source_line>> m_lines;
    std::uint64_t m_most;
};

/// Writes the return addresses of the calling thread's stack, innermost first, and returns their number.
[[nodiscard]] unsigned return_addresses(const void** to, unsigned most) noexcept;
/// Inside of a signal handler: those of what the signal has interrupted, beginning with the place itself.
[[nodiscard]] unsigned interrupted_addresses(const void** to, unsigned most) noexcept;

} // namespace os
} // namespace v0
} // namespace pilfer
