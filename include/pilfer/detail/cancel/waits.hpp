// The waits that a cancellation ends, as a forest: a canceller visits the waits below its node only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>

#include <pilfer/detail/base/atom.hpp>
#include <pilfer/detail/base/raw_lock.hpp>
#include <pilfer/detail/cancel/cancel.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

/// The waits on a worker that a cancellation ends. `Node` is as for is_stopped().
///
/// A node that has waits below it on this worker has a group here. A table finds the group of a node, so that
/// a node has no word for it, and its constructor does nothing. All is under one lock.
template <class Atom, class Park, class Node>
class cancellable_waits {
    template <class T>
    using plain = typename Atom::template plain<T>;
    struct group;

public:
    /// A wait that is listed here, in the frame or object that waits, from before the wait until after it.
    struct waiter {
        plain<waiter*> next = nullptr;
        plain<waiter*> previous = nullptr;
        plain<bool> stopped = false;
        /// The place of the waiting task: its node, and as what it is there.
        plain<Node*> node = nullptr;
        plain<group*> in = nullptr; // null: loose
        /// Called once, under the lock, if the task is stopped. The task may go on at once, up to remove().
        void (*stop)(waiter& self) noexcept = nullptr;
    };

    cancellable_waits() = default;
    cancellable_waits(const cancellable_waits&) = delete;
    cancellable_waits& operator=(const cancellable_waits&) = delete;
    ~cancellable_waits() {
        for (std::size_t i = 0; i < m_buckets; ++i) {
            free_all(m_table[i]);
        }
        free_all(m_spare);
        delete[] m_table;
    }

    /// Lists `l`. After the call the caller looks whether its task is stopped: a canceller that has not found
    /// `l` here has cancelled before (cancel.C2).
    void add(waiter& l) noexcept {
        m_lock.lock();
        group* const g = group_of(l.node);
        l.in = g;
        waiter*& first = g != nullptr ? g->waits : m_loose;
        l.next = first;
        if (first != nullptr) {
            first->previous = &l;
        }
        first = &l;
        m_lock.unlock();
    }
    /// Takes `l` out. After the call no thread calls its stop().
    void remove(waiter& l) noexcept {
        m_lock.lock();
        group* const g = l.in;
        waiter* const next = l.next;
        waiter* const previous = l.previous;
        if (previous != nullptr) {
            previous->next = next;
        } else {
            (g != nullptr ? g->waits : m_loose) = next;
        }
        if (next != nullptr) {
            next->previous = previous;
        }
        drop_empty(g);
        m_lock.unlock();
    }
    /// Called by a canceller after it has cancelled `node`: stops the waits below, if their tasks are
    /// stopped.
    void stop_below(const Node& node) noexcept {
        m_lock.lock();
        stop_all(m_loose);
        if (group* const top = find(&node); top != nullptr) {
            for (group* g = top; g != nullptr; g = after(g, top)) {
                stop_all(g->waits);
            }
        }
        m_lock.unlock();
    }
    /// Called after `gone`, which ends out of turn, has left the chain of nodes. Its address may be that of
    /// another node soon.
    void unlink(const Node& gone) noexcept {
        m_lock.lock();
        if (group* const g = find(&gone); g != nullptr) {
            while (group* const child = g->children) {
                detach(*child);
                attach(*child, g->parent);
            }
            drop_empty(g);
        }
        m_lock.unlock();
    }

    /// In a child of fork(), by its only thread. No task of another thread can go on.
    void forget_threads() noexcept {
        if (m_lock.open_for_good()) { // the groups may be half linked
            m_loose = nullptr;
            m_spare = nullptr;
            m_table = nullptr;
            m_buckets = m_groups = m_spares = 0;
        }
    }

private:
    /// The waits at a node, and the groups of the nodes below it.
    struct group {
        const Node* node;
        group* next_in_bucket; // or of the spare ones
        group* parent;
        group* children;
        group* next; // of the children of one group
        group* previous;
        waiter* waits;
    };

    /// A wait whose node would need more groups than this is loose: every canceller looks at it. Otherwise a
    /// task alone in a deep tree would pay for the depth at each wait.
    static constexpr unsigned most_new_groups = 64;
    static constexpr std::size_t most_spares = 256;

    [[nodiscard]] static Node* parent_of(Node& node) noexcept {
        node.seen_here();
        return Node::strip(node.parent());
    }
    [[nodiscard]] std::size_t bucket_of(const Node* node) const noexcept {
        return static_cast<std::size_t>(
                   (reinterpret_cast<std::uintptr_t>(node) >> 3) * std::uint64_t{0x9e3779b97f4a7c15} >> 32) &
               (m_buckets - 1);
    }
    [[nodiscard]] group* find(const Node* node) const noexcept {
        group* g = m_buckets != 0 ? m_table[bucket_of(node)] : nullptr;
        while (g != nullptr && g->node != node) {
            g = g->next_in_bucket;
        }
        return g;
    }
    /// The group of the node of `place`. It is made if there is none, and so are those of the nodes above.
    /// Null: the wait stays loose. One pass, because a scope that ends out of turn changes the chain
    /// meanwhile.
    [[nodiscard]] group* group_of(Node* place) noexcept {
        if (!make_room()) {
            return nullptr;
        }
        group* lowest = nullptr;
        group* below = nullptr;
        unsigned made = 0;
        for (Node* n = Node::strip(place); n != nullptr; n = parent_of(*n)) {
            group* g = find(n);
            const bool known = g != nullptr;
            if (!known) {
                if (made == most_new_groups) {
                    drop_empty(lowest);
                    return nullptr;
                }
                g = make(n);
                ++made;
            }
            if (below != nullptr) {
                attach(*below, g);
            } else {
                lowest = g;
            }
            if (known) {
                break;
            }
            below = g;
        }
        return lowest;
    }
    [[nodiscard]] group* make(const Node* n) noexcept {
        group* const g = m_spare;
        m_spare = g->next_in_bucket;
        --m_spares;
        group*& bucket = m_table[bucket_of(n)];
        *g = {n, bucket, nullptr, nullptr, nullptr, nullptr, nullptr};
        bucket = g;
        ++m_groups;
        return g;
    }
    /// False: there is no memory for the groups that a wait may need.
    [[nodiscard]] bool make_room() noexcept {
        for (; m_spares < most_new_groups; ++m_spares) {
            auto* const g = new (std::nothrow) group{};
            if (g == nullptr) {
                return false;
            }
            g->next_in_bucket = m_spare;
            m_spare = g;
        }
        if (m_groups + most_new_groups > m_buckets) {
            grow();
        }
        return m_buckets != 0;
    }
    void grow() noexcept {
        group** const old = m_table;
        const std::size_t buckets = m_buckets;
        auto* const table = new (std::nothrow) group* [buckets == 0 ? most_spares : 2 * buckets] {};
        if (table == nullptr) {
            return; // the chains get longer
        }
        m_table = table;
        m_buckets = buckets == 0 ? most_spares : 2 * buckets;
        for (std::size_t i = 0; i < buckets; ++i) {
            while (group* const g = old[i]) {
                old[i] = g->next_in_bucket;
                group*& bucket = m_table[bucket_of(g->node)];
                g->next_in_bucket = bucket;
                bucket = g;
            }
        }
        delete[] old;
    }
    static void attach(group& g, group* parent) noexcept {
        g.parent = parent;
        g.previous = nullptr;
        g.next = nullptr;
        if (parent != nullptr) {
            g.next = parent->children;
            if (g.next != nullptr) {
                g.next->previous = &g;
            }
            parent->children = &g;
        }
    }
    static void detach(group& g) noexcept {
        if (g.previous != nullptr) {
            g.previous->next = g.next;
        } else if (g.parent != nullptr) {
            g.parent->children = g.next;
        }
        if (g.next != nullptr) {
            g.next->previous = g.previous;
        }
    }
    /// Removes `g`, and those above it, as far as nothing is left in them. A group from before a fork() is
    /// in no table and stays.
    void drop_empty(group* g) noexcept {
        if (g == nullptr || find(g->node) != g) {
            return;
        }
        while (g != nullptr && g->waits == nullptr && g->children == nullptr) {
            group** at = &m_table[bucket_of(g->node)];
            while (*at != g) {
                at = &(*at)->next_in_bucket;
            }
            *at = g->next_in_bucket;
            --m_groups;
            detach(*g);
            group* const parent = g->parent;
            if (m_spares < most_spares) {
                g->next_in_bucket = m_spare;
                m_spare = g;
                ++m_spares;
            } else {
                delete g;
            }
            g = parent;
        }
    }
    /// The group after `g` in a walk over all below `top`, null after the last one.
    [[nodiscard]] static group* after(group* g, const group* top) noexcept {
        if (g->children != nullptr) {
            return g->children;
        }
        while (g != top && g->next == nullptr) {
            g = g->parent;
        }
        return g != top ? g->next : nullptr;
    }
    static void stop_all(waiter* l) noexcept {
        for (; l != nullptr; l = l->next) {
            if (!l->stopped && is_stopped<Node>(l->node)) {
                l->stopped = true;
                l->stop(*l);
            }
        }
    }
    static void free_all(group* g) noexcept {
        while (g != nullptr) {
            group* const next = g->next_in_bucket;
            delete g;
            g = next;
        }
    }

    raw_lock<Atom, Park> m_lock;
    waiter* m_loose = nullptr;
    group** m_table = nullptr; // m_buckets of them, a power of two
    group* m_spare = nullptr;  // for the next groups: no malloc at each wait
    std::size_t m_buckets = 0;
    std::size_t m_groups = 0;
    std::size_t m_spares = 0;
};

} // namespace detail
} // namespace v0
} // namespace pilfer
