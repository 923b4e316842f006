// Several objects at once: call_all().
#pragma once

#include <cstddef>
#include <memory>

#include <pilfer/detail/base/platform.hpp>

namespace pilfer {
inline namespace v0 {

template <class T, class Lock>
class synchronized;

namespace detail {

/// One of the objects of call_all(), without its type.
struct synchronized_part {
    void* object;
    void (*enter)(void*);
    void (*leave)(void*) noexcept;
};
/// Enters all objects in the order of their addresses, so that no two callers wait for each other. Throws
/// usage_error if one is named twice, or if the caller is inside one. Then the caller has entered none.
PILFER_API void enter_all(synchronized_part* parts, std::size_t n);
PILFER_API void leave_all(const synchronized_part* parts, std::size_t n) noexcept;

/// For call_all().
struct synchronized_access {
    template <class T, class Lock>
    [[nodiscard]] static synchronized_part part(synchronized<T, Lock>& object) noexcept {
        return {std::addressof(object),
                [](void* p) { static_cast<synchronized<T, Lock>*>(p)->m_lock.enter(); },
                [](void* p) noexcept { static_cast<synchronized<T, Lock>*>(p)->m_lock.leave(); }};
    }
    template <class T, class Lock>
    [[nodiscard]] static T& value(synchronized<T, Lock>& object) noexcept {
        return object.m_value;
    }
};

} // namespace detail
} // namespace v0
} // namespace pilfer
