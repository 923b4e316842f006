// What makes the value of a first_result_scope is excepted from its cancellation.
#pragma once

#include <pilfer/scope.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

/// While it lives, what the running task does is excepted from the exit of `against`. In a frame of it.
class exit_shield {
public:
    explicit exit_shield(scope& against) noexcept { scope_access::raise(m_shield, against); }
    exit_shield(const exit_shield&) = delete;
    exit_shield& operator=(const exit_shield&) = delete;
    ~exit_shield() { scope_access::lower(m_shield); }

private:
    scope m_shield;
};

} // namespace detail
} // namespace v0
} // namespace pilfer
