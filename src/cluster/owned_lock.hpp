// A lock that its owner takes without a locked instruction, while no other thread wants it.
//
// The owner marks that it is inside, then looks if the lock is shared. The first other thread that wants it
// takes the inner lock, shares it, and waits until the mark is gone. One of the two sees the other: Dekker's
// handshake with an asymmetric fence, as in `profile::section`. A heavy fence costs as much as some hundred
// inner locks, so the lock stays shared for a while: all use the inner lock, until the owner has been there
// `Again` times and no other thread.
//
// * cluster.O1: the owner stores `m_inside` and looks at `m_shared` after a light fence; another thread
//   stores `m_shared` and looks at `m_inside` after a heavy one.
// * cluster.O2: the owner leaves by `m_inside` = 0, which releases; another thread acquires it.
//
// After a shared time the inner lock orders the owner's accesses after those of the others.
#pragma once

#include <cstdint>

#include <pilfer/detail/base/atom.hpp>
#include <pilfer/detail/base/platform.hpp>
#include <pilfer/detail/base/raw_lock.hpp>
#include <pilfer/detail/base/sanitizer.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

/// `Park`: as for `raw_lock`. It does not nest, and no frame may suspend while it has the lock.
template <class Atom, class Park, unsigned Again = 1000>
class owned_lock {
public:
    /// `fences_reach_all`: heavy fences reach the owner. If not, the lock is always shared.
    explicit owned_lock(bool fences_reach_all) noexcept
        : m_again(fences_reach_all ? Again : 0), m_shared(fences_reach_all ? 0 : 1) {}

    // -- the owner
    void lock_as_owner() noexcept {
        m_inside.store(1, rlx);
        Atom::light_fence();                        // cluster.O1
        if (m_shared.load(rlx) != 0) [[unlikely]] { // cluster.O1
            lock_shared();
        }
        san::acquire(this); // ThreadSanitizer treats the contexts of one thread as different threads
    }
    void unlock_as_owner() noexcept {
        san::release(this);
        if (m_inside.load(rlx) != 0) [[likely]] {
            m_inside.store(0, rel); // cluster.O2
        } else {
            unlock_shared();
        }
    }

    // -- any other thread
    /// Cost: a heavy fence, unless the lock is shared already.
    void lock() noexcept {
        m_lock.lock();
        if (m_shared.load(rlx) == 0) {
            m_shared.store(1, rlx);
            Atom::heavy_fence();                                         // cluster.O1
            for (unsigned round = 0; m_inside.load(acq) != 0; ++round) { // cluster.O2
                Atom::relax(round);
            }
        }
        m_left = m_again;
        san::acquire(this);
    }
    void unlock() noexcept {
        san::release(this);
        m_lock.unlock();
    }

private:
    template <class T>
    using atomic = typename Atom::template atomic<T>;

    PILFER_NOINLINE void lock_shared() noexcept {
        m_inside.store(0, rel); // cluster.O2
        m_lock.lock();
    }
    PILFER_NOINLINE void unlock_shared() noexcept {
        if (m_left != 0) {
            m_left = m_left - 1;
            if (m_left == 0) {
                m_shared.store(0, rlx);
            }
        }
        m_lock.unlock();
    }

    const unsigned m_again;
    atomic<std::uint32_t> m_inside{0};
    atomic<std::uint32_t> m_shared;                   // written under m_lock
    typename Atom::template plain<unsigned> m_left{}; // under m_lock
    raw_lock<Atom, Park> m_lock;
};

} // namespace detail
} // namespace v0
} // namespace pilfer
