// The activity of a worker that neither searches nor is simply inside a task, for the checked build.
#pragma once

#include <atomic>

#include <pilfer/detail/base/atom.hpp>
#include <pilfer/detail/base/checked.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

/// Written by the worker's thread, in the checked build only.
enum class activity : unsigned char {
    other,
    publishing, ///< after a push, before the wake-up of sleepers that the push requires
    resting,    ///< asleep, and its last scan is over
};

/// Keeps `where` at `what` during the object's lifetime.
class in_activity {
public:
    in_activity(std::atomic<activity>& where, activity what) noexcept : m_where(where) { change(what); }
    ~in_activity() { change(activity::other); }
    in_activity(const in_activity&) = delete;
    in_activity& operator=(const in_activity&) = delete;

private:
    void change([[maybe_unused]] activity to) noexcept {
        if constexpr (checked_build) {
            m_where.store(to, rel);
        }
    }
    std::atomic<activity>& m_where;
};

} // namespace detail
} // namespace v0
} // namespace pilfer
