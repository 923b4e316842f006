// Several objects at once: call_all().
#pragma once

#include <cstddef>
#include <memory>
#include <type_traits>

#include <pilfer/detail/base/platform.hpp>

namespace pilfer {
inline namespace v0 {

class mutex;
class shared_mutex;
template <class T, class Lock>
class synchronized;

namespace detail {

/// One of the objects of call_all(), without its type.
struct synchronized_part {
    void* object;
    void (*enter)(void*);
    void (*adopt)(void*) noexcept; ///< Enters; the caller has the lock already.
    void (*leave)(void*) noexcept;
    // Its lock; the other one is null.
    mutex* alone;
    shared_mutex* shared;
};
/// Orders the objects by their addresses, so that no two callers that enter in this order wait for each
/// other. Throws usage_error if one is named twice.
PILFER_API void order_all(synchronized_part* parts, std::size_t n);
/// Enters all objects in their order. Throws as order_all(), and if the caller is inside one. Then the caller
/// has entered none.
PILFER_API void enter_all(synchronized_part* parts, std::size_t n);
PILFER_API void leave_all(const synchronized_part* parts, std::size_t n) noexcept;

/// The objects of a call_all() that the caller is inside.
struct inside_all {
    const synchronized_part* parts;
    std::size_t n;
    ~inside_all() { detail::leave_all(parts, n); }
};

/// The result of a call on several objects.
template <class F, class... Ts>
struct all_result {
    using type = std::invoke_result_t<F&, Ts&...>;
    static_assert(!std::is_reference_v<type>,
                  "a call returns a value: a reference would leave what the objects' locks guard");
};

/// For call_all().
struct synchronized_access {
    template <class T, class Lock>
    [[nodiscard]] static synchronized_part part(synchronized<T, Lock>& object) noexcept {
        synchronized_part p{std::addressof(object),
                            [](void* o) { static_cast<synchronized<T, Lock>*>(o)->m_lock.enter(); },
                            [](void* o) noexcept { static_cast<synchronized<T, Lock>*>(o)->m_lock.adopt(); },
                            [](void* o) noexcept { static_cast<synchronized<T, Lock>*>(o)->m_lock.leave(); },
                            nullptr,
                            nullptr};
        if constexpr (std::is_same_v<Lock, mutex>) {
            p.alone = &object.m_lock.lock();
        } else {
            p.shared = &object.m_lock.lock();
        }
        return p;
    }
    template <class T, class Lock>
    [[nodiscard]] static T& value(synchronized<T, Lock>& object) noexcept {
        return object.m_value;
    }
};

} // namespace detail
} // namespace v0
} // namespace pilfer
