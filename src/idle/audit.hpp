// The sums of a pool that has ended, for the checked build.
#pragma once

#include <cstdint>
#include <cstdio>

#include "base/write.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {

/// Prints each sum that does not balance, before the program ends, because one often explains another.
class audit {
public:
    void equal(const char* what, std::uint64_t left, std::uint64_t right) noexcept {
        if (left != right) {
            char line[256];
            std::snprintf(line, sizeof line, "pilfer: at the pool's end: %s: %llu, %llu\n", what,
                          static_cast<unsigned long long>(left), static_cast<unsigned long long>(right));
            os::write_error(line);
            m_failed = true;
        }
    }
    void holds(const char* what, bool right) noexcept { equal(what, right ? 1 : 0, 1); }
    [[nodiscard]] bool failed() const noexcept { return m_failed; }

private:
    bool m_failed = false;
};

} // namespace detail
} // namespace v0
} // namespace pilfer
