// Tasks in deques whose owners have gone: workers that stepped aside, guests that left their seats. Busy
// workers steal nothing, so one word tells them. Edge idle.S9: README.md.
#pragma once

#include <pilfer/detail/base/atom.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

template <class Atom>
class leftovers {
public:
    /// Whoever leaves some, behind its last push and behind what says that it has gone. Not a store: it hands
    /// on what others said that nobody has looked at yet.
    void leave() noexcept { (void)m_some.exchange(true, rel); } // idle.S9
    /// There may be some.
    [[nodiscard]] bool any() const noexcept { return m_some.load(rlx); }
    /// A worker that was summoned: are there any? `look()` goes over all deques whose owners have gone. Where
    /// it sees nothing there is nothing to be said any more; but who has left since then may have done so in
    /// vain, and others may have looked in between. So it looks again, and tells them.
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
