// Names of tasks, and of what they wait for, for reports.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>
#include <type_traits>
#include <utility>

#include <pilfer/detail/base/platform.hpp>
#include <pilfer/detail/context/context.hpp>
#include <pilfer/detail/fwd.hpp>
#include <pilfer/detail/task/named.hpp>

namespace pilfer {
inline namespace v0 {

/// Returns f as a task called `name`. pool::dump(), the report of stalls and the message about an unhandled
/// exception print the name until f has ended. For calls that take no task_options: after, every, then, join
/// and so on.
///
/// Children of the task do not inherit the name. The name is copied: 1 to 255 bytes without control
/// characters, else std::invalid_argument. Throws std::bad_alloc, and what moving f throws. Cost: a string
/// beside f (a short one needs no allocation), and two stores as it runs.
template <class F>
[[nodiscard]] detail::named_function<std::decay_t<F>> named(std::string_view name, F&& f) {
    return {detail::checked_name(name), std::forward<F>(f)};
}
/// Returns f as a task called `name`. Throws std::invalid_argument if `name` is null.
template <class F>
[[nodiscard]] detail::named_function<std::decay_t<F>> named(const char* name, F&& f) {
    return {detail::checked_name(detail::name_or_none(name)), std::forward<F>(f)};
}

/// The name of the innermost named function on the calling task's stack, also inside options.on_error; null
/// if there is none, or outside of pools. Valid until that function ends.
[[nodiscard]] PILFER_API const char* current_task_name() noexcept;

/// The name of an object that tasks wait for, as long as this handle lives: a mutex, channel, event and so
/// on. Dumps, reports, traces, profiles, gdb and `pilfer top` show it.
///
///     pilfer::mutex accounts;
///     pilfer::object_name accounts_name{accounts, "accounts"}; // after the object, so that it ends first
///
/// The name covers all bytes of the object: that of a structure stands for the mutexes in it which have none.
/// Of two names of one object the newer one is shown. If the object ends or moves before its name, the name
/// is shown for whatever is made at its place. A future has no such name, because its state is elsewhere.
///
/// The name is copied: 1 to 255 bytes without control characters, else std::invalid_argument; in JSON a byte
/// that is not of UTF-8 becomes U+FFFD. Throws std::bad_alloc. Cost: two allocations, three if the name
/// is longer than 15 bytes, and a short lock of the process, on both ends. Objects without a name cost
/// nothing. While there are names, a recorded wait looks for one.
class PILFER_API object_name {
public:
    /// Names nothing.
    constexpr object_name() noexcept = default;
    /// Names `object`.
    template <class T>
    object_name(const T& object, std::string_view name)
        : object_name(static_cast<const volatile void*>(std::addressof(object)), sizeof object, name) {
        static_assert(std::is_class_v<T> || std::is_union_v<T>, "the object itself has the name");
    }
    /// Throws std::invalid_argument if `name` is null.
    template <class T>
    object_name(const T& object, const char* name) : object_name(object, detail::name_or_none(name)) {}
    template <class T, class Name>
    object_name(const T&& object, const Name& name) = delete; // it would end at once
    template <class T, class Name>
    object_name(const future<T>& object, const Name& name) = delete; // name its task
    /// `other` then names nothing.
    object_name(object_name&& other) noexcept : m_name(std::exchange(other.m_name, nullptr)) {}
    /// Removes the name that this handle had. `other` then names nothing.
    object_name& operator=(object_name&& other) noexcept {
        object_name(std::move(other)).swap(*this);
        return *this;
    }
    ~object_name() {
        if (m_name != nullptr) {
            end();
        }
    }
    /// Exchanges the names of the two handles.
    void swap(object_name& other) noexcept { std::swap(m_name, other.m_name); }

private:
    object_name(const volatile void* object, std::size_t bytes, std::string_view name);
    void end() noexcept;

    detail::named_object* m_name = nullptr;
};

} // namespace v0
} // namespace pilfer
