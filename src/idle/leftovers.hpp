// Tasks in deques whose owners are gone: retired workers, and guests that left their slots. Busy workers do
// not steal, so one word notifies them. Edge idle.S9: README.md.
#pragma once

#include <pilfer/detail/base/atom.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

template <class Atom>
class leftovers {
public:
    /// Announces tasks in the deque of an owner that goes away. The owner calls it after its last push and
    /// after it is marked as gone. An exchange, not a store, so that earlier unobserved announcements stay in
    /// the release sequence.
    void leave() noexcept { (void)m_some.exchange(true, rel); } // idle.S9
    /// True if such tasks may exist.
    [[nodiscard]] bool any() const noexcept { return m_some.load(rlx); }
    /// Called by a worker with a yield request: true if such tasks exist. `look()` scans all deques whose
    /// owners are gone.
    ///
    /// If the scan finds nothing, the mark is cleared. An owner may have announced tasks after that scan, and
    /// other workers may have seen the cleared mark. So a second scan follows. If it finds a task, the mark
    /// is set again, and `tell()` notifies the other workers.
    template <class Look, class Tell>
    [[nodiscard]] bool look_for(Look look, Tell tell) noexcept {
        if (!any()) {
            return false;
        }
        if (look()) {
            return true;
        }
        if (!m_some.exchange(false, acq) || !look()) { // idle.S9
            return false;
        }
        leave();
        tell();
        return true;
    }

private:
    typename Atom::template atomic<bool> m_some{false};
};

} // namespace detail
} // namespace v0
} // namespace pilfer
