// Keeps the events of the one worker apart from the calls of other threads.
//
// The worker enters several times for each task; another thread only for a submission, for the end of its
// wait and for the figures. So the worker takes no lock. It marks that it is inside, then looks if another
// thread wants in. That thread takes the lock, says so, and waits until the mark is gone. One of the two sees
// the other: Dekker's handshake with an asymmetric fence, as in `leases` (src/objects). The edges are in
// README.md.
#pragma once

#include <algorithm>
#include <cstdint>

#include <pilfer/detail/base/atom.hpp>
#include <pilfer/detail/base/platform.hpp>
#include <pilfer/detail/base/raw_lock.hpp>
#include <pilfer/detail/base/sanitizer.hpp>

namespace pilfer {
inline namespace v0 {
namespace profile {

using detail::acq;
using detail::rel;
using detail::rlx;

/// `Park`: as for `raw_lock`, with a timed wait. Sections do not nest.
template <class Atom, class Park>
class section {
public:
    /// `fence`: heavy fences do not reach the worker.
    explicit section(bool fence) noexcept : m_fence(fence) {}

    // -- the worker
    void enter() noexcept {
        m_inside.store(1, rlx);
        if (m_fence) {
            Atom::fence_sc();
        }
        Atom::light_fence();                        // profile.E1
        if (m_wanted.load(acq) != 0) [[unlikely]] { // profile.E3
            enter_after_others();
        }
        detail::san::acquire(this); // ThreadSanitizer treats the contexts of one thread as different threads
    }
    void leave() noexcept {
        detail::san::release(this);
        m_inside.store(0, rel); // profile.E2
    }

    // -- any other thread; the worker too, outside of its section
    /// Cost: a heavy fence.
    void lock() noexcept {
        m_lock.lock();
        m_wanted.store(1, rlx);
        Atom::heavy_fence(); // profile.E1
        wait_for_worker();
        detail::san::acquire(this);
    }
    void unlock() noexcept {
        detail::san::release(this);
        m_wanted.store(0, rel); // profile.E3
        m_lock.unlock();
    }

    /// In a child of fork(), called by the worker outside of its section: the other threads do not exist.
    void forget_threads() noexcept {
        m_wanted.store(0, rlx);
        (void)m_lock.open_for_good();
    }

private:
    template <class T>
    using atomic = typename Atom::template atomic<T>;

    /// Mostly some instructions. An allocation or a write to a file may take longer, so after `looks` rounds
    /// the thread sleeps between two of them. The worker wakes it only if it comes back and waits itself:
    /// otherwise it would have to ask each time.
    void wait_for_worker() noexcept {
        constexpr unsigned looks = 100;
        constexpr std::uint64_t longest_ns = 1'000'000;
        std::uint64_t ns = 50'000;
        for (unsigned round = 0; m_inside.load(acq) != 0; ++round) { // profile.E2
            if (round < looks) {
                Atom::relax(round);
            } else {
                Park::wait_for(m_inside, 1, ns);
                ns = std::min(2 * ns, longest_ns);
            }
        }
    }
    /// The next thread that wants in takes the lock after this, so it sees the mark.
    PILFER_NOINLINE void enter_after_others() noexcept {
        m_inside.store(0, rel); // profile.E2
        Park::wake(m_inside);
        m_lock.lock();
        m_inside.store(1, rlx);
        m_lock.unlock();
    }

    const bool m_fence;
    atomic<std::uint32_t> m_inside{0};
    atomic<std::uint32_t> m_wanted{0};
    detail::raw_lock<Atom, Park> m_lock;
};

} // namespace profile
} // namespace v0
} // namespace pilfer
