// Free contexts: the pool's stock, and each worker's own list.
//
// Owners and rule worker.W2: src/context/README.md. Only addresses, counts and links are kept here; stacks
// are made elsewhere.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include <pilfer/detail/base/atom.hpp>
#include <pilfer/detail/base/sanitizer.hpp>
#include <pilfer/detail/context/context.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

/// The reserve of a pool, and the limit of its contexts. `Node` has the links `next` and `link`.
template <class Atom, class Node, class Lock>
class context_stock {
    template <class T>
    using atomic = typename Atom::template atomic<T>;

public:
    explicit context_stock(Lock& lock) noexcept : m_lock(lock) {}

    /// Before any other thread knows this object. `most`: alive at once, 0: no limit; `reserve`: kept free.
    void set_limits(std::size_t most, std::size_t reserve) noexcept {
        m_most = most;
        m_reserve = reserve;
    }
    /// Takes a list of up to `n` contexts, or null. The list leaves room for what a worker that keeps `keep`
    /// retains when its list is cut. `build()` makes a context, under the lock, or returns null.
    template <class Build>
    [[nodiscard]] Node* take(std::uint32_t n, std::uint32_t keep, Build build) noexcept {
        const std::lock_guard guard(m_lock);
        Node* list = take_locked(n, keep, build, false);
        m_exhausted.store(list == nullptr, rlx);
        return list;
    }
    /// Takes one, even beyond the limit: for a waiting frame that must not start anything on its own stack.
    template <class Build>
    [[nodiscard]] Node* take_beyond(std::uint32_t keep, Build build) noexcept {
        const std::lock_guard guard(m_lock);
        return take_locked(1, keep, build, true);
    }
    /// Takes a list back. For each context beyond the reserve, or the limit, it calls `discard(c)`, under the
    /// lock.
    template <class Discard>
    void give(Node* list, Discard discard) noexcept {
        using link = ranked<Node>;
        const std::lock_guard guard(m_lock);
        while (list != nullptr) {
            san::acquire(list);
            Node* next = link::node(list->next.load(rlx));
            const bool beyond = m_most != 0 && m_live.load(rlx) > m_most;
            if (m_warm_count < m_reserve && !beyond) {
                list->next.store(link::of(m_warm, 1), rlx);
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
    /// Takes one of the kept contexts, at the end of the pool; null when there are no more.
    [[nodiscard]] Node* take_last() noexcept {
        Node* c = m_warm;
        if (c != nullptr) {
            m_warm = ranked<Node>::node(c->next.load(rlx));
        }
        return c;
    }
    /// True if `c` is one of the kept contexts. Under the lock.
    [[nodiscard]] bool keeps_locked(const Node* c) const noexcept {
        const Node* kept = m_warm;
        while (kept != nullptr && kept != c) {
            kept = ranked<Node>::node(kept->next.load(rlx));
        }
        return kept != nullptr;
    }
    /// The number of kept contexts, counted one by one.
    [[nodiscard]] std::size_t warm() noexcept {
        const std::lock_guard guard(m_lock);
        std::size_t n = 0;
        for (const Node* c = m_warm; c != nullptr; c = ranked<Node>::node(c->next.load(rlx))) {
            ++n;
        }
        return n;
    }
    /// True if the last request got none, and none has been given back since.
    [[nodiscard]] bool exhausted() const noexcept { return m_exhausted.load(rlx); }
    [[nodiscard]] std::size_t live() const noexcept { return m_live.load(rlx); }
    [[nodiscard]] std::size_t peak() const noexcept { return m_peak.load(rlx); }

private:
    template <class Build>
    [[nodiscard]] Node* take_locked(std::uint32_t n, std::uint32_t keep, Build& build, bool beyond) noexcept {
        using link = ranked<Node>;
        Node* list = nullptr;
        std::uint32_t rank = keep / 2; // see put_and_cut()
        for (n = std::min(n, keep - rank); n > 0; --n) {
            Node* c = one(build, beyond);
            if (c == nullptr) {
                break;
            }
            c->next.store(list != nullptr ? list->link.load(rlx) : 0, rlx);
            c->link.store(link::of(c, ++rank), rlx);
            list = c;
        }
        return list;
    }
    template <class Build>
    [[nodiscard]] Node* one(Build& build, bool beyond) noexcept {
        Node* c = m_warm;
        if (c != nullptr) {
            m_warm = ranked<Node>::node(c->next.load(rlx));
            m_warm_count = m_warm_count - 1;
            return c;
        }
        const std::size_t live = m_live.load(rlx);
        if (m_most != 0 && live >= m_most && !beyond) {
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

/// Puts `c` at the front of a worker's own list, which only the code on its thread touches. If the list gets
/// too long, cuts it and returns the surplus for the pool, else null. `c` itself is never in the surplus: the
/// caller still runs on it (worker.W2).
///
/// Ranks decrease along a list, and none is above `keep`. So the list is never longer than that, whichever
/// contexts come back by the fast path. The rank of each is above that of the next context when it was taken.
template <class Head, class Node>
[[nodiscard]] Node* put_and_cut(Head& list, Node* c, std::uint32_t keep) noexcept {
    using link = ranked<Node>;
    std::uintptr_t rest = list.load(rlx);
    std::uint32_t rank = link::rank(rest) + 1;
    if (c->next.load(rlx) == 0) {
        // The last one of a batch keeps its rank if it can. The others of the batch come next, and then find
        // it unchanged.
        rank = std::max(rank, link::rank(c->link.load(rlx)));
    }
    if (rank <= keep) {
        c->next.store(rest, rlx);
        c->link.store(link::of(c, rank), rlx);
        san::release(c);
        list.store(link::of(c, rank), rlx);
        return nullptr;
    }
    // Half stays after `c`, whose rank is that of the last one of a batch.
    rank = keep / 2 + 1;
    list.store(link::of(c, rank), rlx);
    c->link.store(link::of(c, rank), rlx);
    Node* last = c;
    while (--rank > 0 && rest != 0) {
        Node* const k = link::node(rest);
        san::acquire(k);
        rest = k->next.load(rlx);
        k->link.store(link::of(k, rank), rlx);
        last->next.store(link::of(k, rank), rlx);
        san::release(last); // after the last look at it: see put_context()
        last = k;
    }
    last->next.store(0, rlx);
    san::release(last);
    return link::node(rest);
}

} // namespace detail
} // namespace v0
} // namespace pilfer
