// Free instances, one list for each worker. The worker takes and gives back at its own list without an atomic
// read-modify-write.
//
// A list belongs to the thread that is that worker now. Any other thread stops all owners first.
// "worker_local" in src/objects/README.md has edges E1..E3, and says why no instance is lost or has two
// users.
#pragma once

#include <cstdint>

#include <pilfer/detail/base/atom.hpp>
#include <pilfer/detail/base/raw_lock.hpp>
#include <pilfer/detail/base/sanitizer.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

template <class Atom, class Park>
class leases {
    template <class T>
    using atomic = typename Atom::template atomic<T>;

public:
    struct node {
        atomic<node*> next{nullptr};
    };
    /// The list of one worker.
    struct alignas(line_bytes) place {
        atomic<std::uint32_t> busy{0};
        atomic<node*> free{nullptr};
    };

    /// The node after `n` in its list. ThreadSanitizer treats the contexts of one thread as different
    /// threads. So the edge from the last user of `n`, or from its maker, is announced before `n` is read at
    /// all.
    [[nodiscard]] static PILFER_ALWAYS_INLINE node* below(const node* n) noexcept {
        san::acquire(n);
        return n->next.load(rlx);
    }

    /// Takes a node from `p`, on the thread of its worker. `fence`: heavy fences do not reach this thread.
    /// Null: the list is empty, or another thread has stopped the owners.
    [[nodiscard]] PILFER_ALWAYS_INLINE node* take(place& p, bool fence) noexcept {
        node* n = nullptr;
        if (enter(p, fence)) [[likely]] {
            n = p.free.load(rlx);
            if (n != nullptr) [[likely]] {
                p.free.store(below(n), rlx);
            }
        }
        p.busy.store(0, rel); // objects.E2
        return n;
    }
    /// Gives a node back to `p`, on the thread of its worker. False: another thread has stopped the owners.
    [[nodiscard]] PILFER_ALWAYS_INLINE bool give(place& p, node* n, bool fence) noexcept {
        const bool may = enter(p, fence);
        if (may) [[likely]] {
            n->next.store(p.free.load(rlx), rlx);
            p.free.store(n, rlx);
        }
        p.busy.store(0, rel); // objects.E2
        return may;
    }

    /// Anyone; never held across a switch of contexts. While it is held, only the holder stops the owners.
    void lock() noexcept { m_lock.lock(); } // objects.E3
    void unlock() noexcept { m_lock.unlock(); }

    /// By the holder of the lock: takes a node that a thread outside has given back.
    [[nodiscard]] node* take_outside() noexcept {
        node* const n = m_outside.load(rlx);
        if (n != nullptr) {
            m_outside.store(below(n), rlx);
        }
        return n;
    }
    [[nodiscard]] const node* outside() const noexcept { return m_outside.load(rlx); }
    void give_outside(node* n) noexcept {
        n->next.store(m_outside.load(rlx), rlx);
        m_outside.store(n, rlx);
    }
    /// By the holder of the lock: calls f() while no owner is at its list. `each_place` calls its argument
    /// with every existing place. Cost: a heavy fence.
    template <class Each, class F>
    void stop_owners(Each each_place, F f) noexcept {
        m_stopped.store(1, rlx);
        Atom::heavy_fence(); // objects.E1
        each_place([](place& p) {
            for (unsigned round = 0; p.busy.load(acq) != 0; ++round) { // objects.E2
                Atom::relax(round);
            }
        });
        f();
        m_stopped.store(0, rel); // objects.E3
    }

private:
    [[nodiscard]] PILFER_ALWAYS_INLINE bool enter(place& p, bool fence) noexcept {
        p.busy.store(1, rlx);
        if (fence) {
            Atom::fence_sc();
        }
        Atom::light_fence();             // objects.E1
        return m_stopped.load(acq) == 0; // objects.E3
    }

    alignas(line_bytes) atomic<std::uint32_t> m_stopped{0}; // read by all owners, rarely written
    alignas(line_bytes) raw_lock<Atom, Park> m_lock;
    atomic<node*> m_outside{nullptr}; // under the lock
};

} // namespace detail
} // namespace v0
} // namespace pilfer
