// The submission queue: any thread pushes without a lock, workers take the oldest first.
#pragma once

#include <cstdint>

#include <pilfer/detail/base/atom.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

template <class Atom>
class submission_queue {
public:
    struct node {
        typename Atom::template plain<node*> next = nullptr;
        typename Atom::template plain<node*> previous = nullptr; // in a one-lock pool only: src/backend
    };

    /// Anyone. True if workers have fetched everything that was pushed before.
    bool push(node* n) noexcept {
        node* head = m_in.load(rlx);
        do {
            n->next = head;
        } while (!m_in.compare_exchange_weak(head, n, rel, rlx)); // idle.Q1
        return head == nullptr;
    }
    /// Workers, also before they sleep. The order of the reads matters. A taker empties m_in only while it
    /// holds the lock, and fills m_out before it releases the lock (idle.Q2). So one of the three reads shows
    /// the item.
    [[nodiscard]] bool empty() const noexcept {
        // In the usual case this read decides, and the line of m_in is left to the pushers.
        if (m_out.load(rlx) != nullptr) {
            return false;
        }
        return m_in.load(acq) == nullptr && m_lock.load(acq) == 0 && m_out.load(acq) == nullptr;
    }
    /// Workers: the oldest item. Null if there is none, or if another worker holds the lock.
    [[nodiscard]] node* pop() noexcept {
        if (m_out.load(rlx) == nullptr && m_in.load(rlx) == nullptr) {
            return nullptr;
        }
        if (m_lock.load(rlx) != 0 || PILFER_CHAOS_MAYBE(busy) || m_lock.exchange(1, acq) != 0) {
            return nullptr;
        }
        node* oldest = m_out.load(rlx);
        if (oldest == nullptr) {
            oldest = reversed(m_in.exchange(nullptr, acq_rel)); // idle.Q1, idle.Q2
        }
        PILFER_CHAOS_POINT(lock);
        if (oldest != nullptr) {
            node* const after = oldest->next;
            m_out.store(after, rel);
            __builtin_prefetch(after, 1); // it is in its pusher's cache, and a worker is about to run it
        }
        m_lock.store(0, rel); // idle.Q2
        return oldest;
    }

private:
    [[nodiscard]] static node* reversed(node* n) noexcept {
        node* out = nullptr;
        while (n != nullptr) {
            node* next = n->next;
            n->next = out;
            out = n;
            n = next;
        }
        return out;
    }

    alignas(line_bytes) typename Atom::template atomic<node*> m_in{nullptr};  // newest first
    alignas(line_bytes) typename Atom::template atomic<node*> m_out{nullptr}; // oldest first
    typename Atom::template atomic<int> m_lock{0};
};

} // namespace detail
} // namespace v0
} // namespace pilfer
