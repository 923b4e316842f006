// The waits that a cancellation ends, in a list with brackets: a canceller visits the waits below its node
// only.
#pragma once

#include <array>
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
/// The waits are in a list. A node that has waits below it on this worker has two brackets in the list.
/// Between them are these waits, and the brackets of the nodes below. Hash tries find the brackets of a node,
/// so that a node has no word for them, and its constructor does nothing. All is under one lock.
///
/// Source of the list: the tour of a tree as a sequence, in which a subtree is a section (Tarjan and Vishkin,
/// "An efficient parallel biconnectivity algorithm", 1985). Source of the tries: Wellons, "An
/// easy-to-implement, arena-friendly hash map" (2023).
template <class Atom, class Park, class Node>
class cancellable_waits {
    template <class T>
    using plain = typename Atom::template plain<T>;
    struct group;
    /// A wait or a bracket.
    struct element {
        plain<element*> next = nullptr;
        plain<element*> previous = nullptr;
        plain<group*> bracket_of = nullptr; // null: a wait
    };

public:
    /// A wait that is listed here, in the frame or object that waits, from before the wait until after it.
    struct waiter : element {
        plain<bool> stopped = false;
        /// The place of the waiting task: its node, and as what it is there.
        plain<Node*> node = nullptr;
        /// Called once, under the lock, if the task is stopped. The task may go on at once, up to remove().
        void (*stop)(waiter& self) noexcept = nullptr;
    };

    cancellable_waits() = default;
    cancellable_waits(const cancellable_waits&) = delete;
    cancellable_waits& operator=(const cancellable_waits&) = delete;
    ~cancellable_waits() {
        while (group* const g = m_spare) {
            m_spare = g->below[0];
            delete g;
        }
    }

    /// Lists `l`. After the call the caller looks whether its task is stopped: a canceller that has not found
    /// `l` here has cancelled before (cancel.C2).
    ///
    /// Puts brackets around `l`, further and further out, up to a node that has some. One pass, because a
    /// scope that ends out of turn changes the chain of nodes meanwhile.
    void add(waiter& l) noexcept {
        m_lock.lock();
        element* first = &l;
        element* last = &l;
        brackets* around = &m_roots;
        unsigned made = 0;
        for (Node* n = Node::strip(l.node); n != nullptr; n = parent_of(*n), ++made) {
            group*& g = group_of(n);
            if (g != nullptr) {
                around = g;
                break;
            }
            g = made < most_new_groups ? make(n) : nullptr;
            if (g == nullptr) {
                around = &m_loose;
                break;
            }
            link(g->begin, *first);
            link(*last, g->end);
            first = &g->begin;
            last = &g->end;
        }
        link(*last, *around->begin.next);
        link(around->begin, *first);
        if (around == &m_loose) { // without those further out the new brackets are of no use
            take_out(l);
            link(l, *m_loose.begin.next);
            link(m_loose.begin, l);
        }
        m_lock.unlock();
    }
    /// After the call no thread calls the stop() of `l`.
    void remove(waiter& l) noexcept {
        m_lock.lock();
        take_out(l);
        m_lock.unlock();
    }
    /// Called by a canceller after it has cancelled `node`: stops the waits below, if their tasks are
    /// stopped.
    void stop_below(const Node& node) noexcept {
        m_lock.lock();
        stop_between(m_loose);
        if (const group* const g = group_of(&node); g != nullptr) {
            stop_between(*g);
        }
        m_lock.unlock();
    }
    /// Called after `gone`, which ends out of turn, has left the chain of nodes. Its address may be that of
    /// another node soon. The waits between its brackets are then between those around them.
    void unlink(const Node& gone) noexcept {
        m_lock.lock();
        if (group* const g = group_of(&gone); g != nullptr) {
            drop(*g);
        }
        m_lock.unlock();
    }

    /// In a child of fork(), by its only thread. No task of another thread can go on.
    void forget_threads() noexcept {
        if (m_lock.open_for_good()) { // the list may be half linked
            ::new (static_cast<void*>(this)) cancellable_waits();
        }
    }

private:
    struct brackets {
        brackets() noexcept { link(begin, end); }
        element begin;
        element end;
    };
    /// A node that has brackets.
    struct group : brackets {
        const Node* node = nullptr;
        std::array<group*, 2> below{}; // in its trie; the first one is the next of the spare groups
    };

    /// A wait whose node would need more groups than this is loose: every canceller looks at it. Otherwise a
    /// task alone in a deep tree would pay for the depth at each wait.
    static constexpr unsigned most_new_groups = 64;
    static constexpr unsigned most_spares = 256;

    [[nodiscard]] static Node* parent_of(Node& node) noexcept {
        node.seen_here();
        return Node::strip(node.parent());
    }
    static void link(element& left, element& right) noexcept {
        left.next = &right;
        right.previous = &left;
    }
    /// Takes out `l`, and the brackets that are empty then.
    void take_out(waiter& l) noexcept {
        element* before = l.previous;
        link(*before, *l.next);
        for (group* g = before->bracket_of; g != nullptr && g->begin.next == &g->end;
             g = before->bracket_of) {
            before = g->begin.previous;
            drop(*g);
        }
    }
    static void stop_between(const brackets& b) noexcept {
        for (element* e = b.begin.next; e != &b.end; e = e->next) {
            if (e->bracket_of == nullptr) {
                auto& l = static_cast<waiter&>(*e);
                if (!l.stopped && is_stopped<Node>(l.node)) {
                    l.stopped = true;
                    l.stop(l);
                }
            }
        }
    }

    /// The place for the group of `node` in its trie. Null is there if the node has none. Each bit of the
    /// hash after the first eight is a step down.
    [[nodiscard]] group*& group_of(const Node* node) noexcept {
        auto hash = reinterpret_cast<std::uintptr_t>(node) * std::uint64_t{0x9e3779b97f4a7c15};
        group** at = &m_tries[hash >> 56];
        for (hash <<= 8; *at != nullptr && (*at)->node != node; hash <<= 1) {
            at = &(*at)->below[hash >> 63];
        }
        return *at;
    }
    /// Null without memory.
    [[nodiscard]] group* make(const Node* node) noexcept {
        group* g = m_spare; // no malloc at each wait
        if (g != nullptr) {
            m_spare = g->below[0];
            --m_spares;
        } else {
            g = new (std::nothrow) group;
            if (g == nullptr) {
                return nullptr;
            }
            g->begin.bracket_of = g->end.bracket_of = g;
        }
        g->node = node;
        g->below = {};
        return g;
    }
    /// Takes out the brackets and the group. A leaf below the group gets its place in the trie: which leaf
    /// does not matter. A group from before a fork() is in no trie and stays.
    void drop(group& g) noexcept {
        group*& place = group_of(g.node);
        if (place != &g) {
            return;
        }
        link(*g.begin.previous, *g.begin.next);
        link(*g.end.previous, *g.end.next);
        group** leaf = &place;
        for (group** at = leaf; *at != nullptr; at = &(*at)->below[(*at)->below[0] == nullptr]) {
            leaf = at;
        }
        group* const heir = *leaf;
        place = heir;
        *leaf = nullptr; // the same place if nothing is below
        heir->below = g.below;
        if (m_spares < most_spares) {
            g.below[0] = m_spare;
            m_spare = &g;
            ++m_spares;
        } else {
            delete &g;
        }
    }

    raw_lock<Atom, Park> m_lock;
    brackets m_roots; // around all but the loose waits
    brackets m_loose;
    std::array<group*, 256> m_tries{};
    group* m_spare = nullptr;
    unsigned m_spares = 0;
};

} // namespace detail
} // namespace v0
} // namespace pilfer
