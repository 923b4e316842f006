// Stolen branches of joins that have thrown while the joining frame runs another branch on its own stack.
//
// Whoever looks whether it is stopped finds them here, without a lock, and compares addresses: nobody follows
// one. States, edges B3 to B5: src/scope/README.md.
#pragma once

#include <cstdint>

#include <pilfer/detail/base/atom.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

/// `Place` is a pointer: where the frame that joins stood as it announced the branch. `Most` at once, since
/// each look goes over all: of more than these the frames that join hear at their ends, as they hear of every
/// error.
template <class Atom, class Place, unsigned Most = 64>
class failing_joins {
    template <class T>
    using atomic = typename Atom::template atomic<T>;

public:
    /// Under the lock of `cancellations`, before any worker is told. False: there is no room.
    /// `where`: its stack, or null.
    [[nodiscard]] bool add(const void* branch, Place within, void* where) noexcept {
        unsigned i = 0;
        const unsigned used = m_used.load(rlx);
        while (i < used && m_slots[i].branch.load(rlx) != nullptr) {
            ++i;
        }
        if (i == Most) {
            return false;
        }
        write(m_slots[i], branch, within);
        m_slots[i].where = where;
        if (i == used) {
            m_used.store(used + 1, rlx); // B3: *stop* is set behind it
        }
        return true;
    }
    /// Under the same lock, by the frame that joins.
    void remove(const void* branch) noexcept {
        unsigned used = m_used.load(rlx);
        for (unsigned i = 0; i < used; ++i) {
            if (m_slots[i].branch.load(rlx) == branch) {
                write(m_slots[i], nullptr, Place{});
                while (used > 0 && m_slots[used - 1].branch.load(rlx) == nullptr) {
                    --used;
                }
                m_used.store(used, rlx);
                return;
            }
        }
    }
    /// Under the same lock: f of the stack of each.
    template <class F>
    void each_place(F f) const noexcept {
        for (unsigned i = 0; i < m_used.load(rlx); ++i) {
            void* const where = m_slots[i].where;
            if (m_slots[i].branch.load(rlx) != nullptr && where != nullptr) {
                f(where);
            }
        }
    }
    /// Is there one of which f(branch, within) says true? Anyone. One that comes or goes meanwhile may be
    /// missed; one that the caller is inside of does neither.
    template <class F>
    [[nodiscard]] bool any(F f) const noexcept {
        const unsigned used = m_used.load(rlx); // B3: *stop* was seen
        for (unsigned i = 0; i < used; ++i) {
            const slot& s = m_slots[i];
            const std::uint32_t before = s.version.load(acq); // B4
            const void* const branch = s.branch.load(acq);    // B5
            const Place within = s.within.load(acq);          // B5
            // A pair of two halves would be a join that never was.
            if (branch != nullptr && s.version.load(rlx) == before && before % 2 == 0 && f(branch, within)) {
                return true;
            }
        }
        return false;
    }

private:
    struct slot {
        atomic<std::uint32_t> version{0}; ///< odd while it changes
        atomic<const void*> branch{nullptr};
        atomic<Place> within{Place{}};
        typename Atom::template plain<void*> where{nullptr};
    };
    static void write(slot& s, const void* branch, Place within) noexcept {
        const std::uint32_t version = s.version.load(rlx);
        s.version.store(version + 1, rlx);
        s.branch.store(branch, rel);       // B5
        s.within.store(within, rel);       // B5
        s.version.store(version + 2, rel); // B4
    }

    slot m_slots[Most];
    atomic<unsigned> m_used{0};
};

} // namespace detail
} // namespace v0
} // namespace pilfer
