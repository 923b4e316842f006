// Free contexts: the pool's stock, and the list that each worker keeps of its own.
//
// Owners and rule W2: src/context/README.md. Only addresses, counts and links; stacks are made elsewhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>

#include <pilfer/detail/atom.hpp>
#include <pilfer/detail/sanitizer.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

/// What a pool has in reserve, and how many contexts there may be at all. `Node` has `next` and `rank`.
template <class Atom, class Node, class Lock>
class context_stock {
    template <class T>
    using atomic = typename Atom::template atomic<T>;

public:
    explicit context_stock(Lock& lock) noexcept : m_lock(lock) {}

    /// Before anybody else knows this object. `most`: alive at once, 0: no limit; `reserve`: kept free.
    void set_limits(std::size_t most, std::size_t reserve) noexcept {
        m_most = most;
        m_reserve = reserve;
    }
    /// A list of up to `n` linked by next, or null. `build()` makes one, under the lock, or returns null.
    template <class Build>
    [[nodiscard]] Node* take(unsigned n, Build build) noexcept {
        const std::lock_guard guard(m_lock);
        Node* list = nullptr;
        for (unsigned i = 0; i < n; ++i) {
            Node* c = one(build);
            if (c == nullptr) {
                break;
            }
            c->next.store(list, rlx);
            c->rank.store(list == nullptr ? 1 : list->rank.load(rlx) + 1, rlx);
            list = c;
        }
        m_exhausted.store(list == nullptr, rlx);
        return list;
    }
    /// Takes a list back. Beyond the reserve `discard(c)` ends one, under the lock.
    template <class Discard>
    void give(Node* list, Discard discard) noexcept {
        const std::lock_guard guard(m_lock);
        while (list != nullptr) {
            san::acquire(list);
            Node* next = list->next.load(rlx);
            if (m_warm_count < m_reserve) {
                list->next.store(m_warm, rlx);
                m_warm = list;
                m_warm_count = m_warm_count + 1;
            } else {
                discard(list);
                m_live.store(m_live.load(rlx) - 1, rlx);
            }
            list = next;
        }
        m_exhausted.store(false, rlx);
    }
    /// The last one goes: one that is kept, null when there are no more.
    [[nodiscard]] Node* take_last() noexcept {
        Node* c = m_warm;
        if (c != nullptr) {
            m_warm = c->next.load(rlx);
        }
        return c;
    }
    /// Those kept, counted one by one.
    [[nodiscard]] std::size_t warm() noexcept {
        const std::lock_guard guard(m_lock);
        std::size_t n = 0;
        for (const Node* c = m_warm; c != nullptr; c = c->next.load(rlx)) {
            ++n;
        }
        return n;
    }
    /// Nobody could have one when it was asked for last, and none has been given back since.
    [[nodiscard]] bool exhausted() const noexcept { return m_exhausted.load(rlx); }
    [[nodiscard]] std::size_t live() const noexcept { return m_live.load(rlx); }
    [[nodiscard]] std::size_t peak() const noexcept { return m_peak.load(rlx); }

private:
    template <class Build>
    [[nodiscard]] Node* one(Build& build) noexcept {
        Node* c = m_warm;
        if (c != nullptr) {
            m_warm = c->next.load(rlx);
            m_warm_count = m_warm_count - 1;
            return c;
        }
        const std::size_t live = m_live.load(rlx);
        if (m_most != 0 && live >= m_most) {
            return nullptr;
        }
        c = build();
        if (c != nullptr) {
            m_live.store(live + 1, rlx);
            m_peak.store(live + 1 > m_peak.load(rlx) ? live + 1 : m_peak.load(rlx), rlx);
        }
        return c;
    }

    Lock& m_lock;
    std::size_t m_most = 0;
    std::size_t m_reserve = 0;
    typename Atom::template plain<Node*> m_warm = nullptr;
    typename Atom::template plain<std::size_t> m_warm_count = 0;
    atomic<bool> m_exhausted{false};
    atomic<std::size_t> m_live{0}; // built: in use, cached or warm
    atomic<std::size_t> m_peak{0};
};

/// A worker's own list: only whatever runs on its thread touches it. `c` goes to the front, and what is
/// beyond `keep` is returned for the pool, or null. Never `c` itself: the caller still stands on it (W2).
template <class Head, class Node>
[[nodiscard]] Node* put_and_cut(Head& list, Node* c, std::uint32_t keep) noexcept {
    Node* head = list.load(rlx);
    if (head != nullptr) {
        san::acquire(head);
    }
    const std::uint32_t rank = head != nullptr ? head->rank.load(rlx) + 1 : 1;
    san::release(head); // looked at, and not to be looked at again: see put_context()
    const bool end_of_batch = c->next.load(rlx) == nullptr;
    c->next.store(head, rlx);
    c->rank.store(rank, rlx);
    san::release(c);
    list.store(c, rlx);
    // Contexts that come back by the quick way keep the rank of their own batch, so at the end of each
    // batch the list is counted.
    if (head == nullptr || (rank <= keep && !end_of_batch)) {
        return nullptr;
    }
    std::uint32_t n = 1;
    Node* last = c;
    for (; n < keep / 2 && last->next.load(rlx) != nullptr; ++n) {
        Node* const next = last->next.load(rlx);
        san::release(last);
        last = next;
        san::acquire(last);
    }
    Node* const half = last;
    std::uint32_t kept = n;
    for (; n <= keep && last->next.load(rlx) != nullptr; ++n) {
        Node* const next = last->next.load(rlx);
        san::release(last);
        last = next;
        san::acquire(last);
    }
    san::release(last);
    if (n <= keep) {
        return nullptr;
    }
    // What is beyond the half goes back, but never `c`.
    Node* rest = half->next.exchange(nullptr, rlx);
    for (Node* k = c; k != nullptr;) {
        Node* const next = k->next.load(rlx);
        k->rank.store(kept--, rlx);
        san::release(k);
        k = next;
    }
    return rest;
}

} // namespace detail
} // namespace v0
} // namespace pilfer
