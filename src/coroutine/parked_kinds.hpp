// The kinds of waits in lists, for reports.
#pragma once

#include <pilfer/detail/task/parked.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

/// A kind of wait with and without a time limit. A wait with a limit ends by itself, so it is no part of a
/// stall.
class waits_in_list {
public:
    constexpr explicit waits_in_list(const char* what, void (*look)(const void* object,
                                                                    wait_facts&) noexcept = nullptr) noexcept
        : m_kinds{{what, look, true}, {what, look, false}} {}
    [[nodiscard]] constexpr const parked_kind& kind(bool has_limit) const noexcept {
        return m_kinds[has_limit ? 1 : 0];
    }

private:
    parked_kind m_kinds[2];
};

} // namespace detail
} // namespace v0
} // namespace pilfer
