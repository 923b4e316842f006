// A scope's wait with a time limit: what the last child and the end of the time settle between them.
//
// States, edges worker.J6 and worker.J7 and the argument: src/scope/README.md.
#pragma once

#include <pilfer/detail/base/atom.hpp>
#include <pilfer/detail/task/completion.hpp>
#include <pilfer/detail/wait/wait_list.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

/// In the frame of the parent. `Park` as for `sleepers`.
template <class Atom, class Park>
class timed_parent {
public:
    using list_type = wait_list<Atom, Park>;
    using entry = typename list_type::entry;

    timed_parent() noexcept {
        m_list.lock();
        m_list.add(m_entry);
        m_list.unlock();
    }
    /// The wait is one in this list; the counter is published before, while the parent still runs.
    [[nodiscard]] list_type& list() noexcept { return m_list; }
    [[nodiscard]] entry& place() noexcept { return m_entry; }

    /// Called by the last child, for which the parent waits. Returns the entry, which the child completes;
    /// null: the time was over. After the call the child touches nothing of this object.
    [[nodiscard]] entry* last_has_ended() noexcept {
        m_list.lock();
        const bool waits = m_entry.end == list_type::fate::waiting;
        if (waits) {
            m_list.take(m_entry);
        }
        m_list.unlock();
        if (!waits) {
            m_through.store(1, rel); // worker.J7
            return nullptr;
        }
        return &m_entry;
    }
    /// Called by the parent after its wait. True: all children have ended. False: its time is over, and the
    /// counter is as it was before it was published.
    [[nodiscard]] bool all_ended(child_counter<Atom>& children) noexcept {
        if (m_entry.end == list_type::fate::notified) {
            return true;
        }
        if (children.withdraw()) {
            return false;
        }
        // The last child ended meanwhile, and is a few instructions from letting go of this frame.
        for (unsigned round = 0; m_through.load(acq) == 0; ++round) { // worker.J7
            Atom::relax(round);
        }
        return true;
    }

private:
    list_type m_list; // the only entry that is ever in it
    entry m_entry;
    typename Atom::template atomic<std::uint32_t> m_through{0};
};

} // namespace detail
} // namespace v0
} // namespace pilfer
