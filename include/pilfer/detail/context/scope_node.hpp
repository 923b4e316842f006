// The node: a scope or a stolen branch in the chain of those that enclose it, and the mark of nodes that
// other workers may reach.
//
// A node is plain memory of its worker until a task below it is exposed. The thread that exposes a task first
// marks the task's node and all above it. Why no node is missed, and why a thief may read the chain:
// src/scope/README.md. src/cancel/README.md says how a cancellation uses a node.
#pragma once

#include <cstdint>

#include <pilfer/detail/base/atom.hpp>
#include <pilfer/detail/base/sanitizer.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

struct no_head {};

/// The part of a scope that other threads look at: its parent, and its mark. `Head`, which has the state of
/// cancellation, comes before them, so that a scope and its node have one address: a second one would be
/// computed at each spawn.
template <class Atom, class Head = no_head>
class alignas(8) basic_scope_node {
public:
    /// Owner: this node begins at `parent`, the owner's place (null: inside no node), unmarked.
    explicit basic_scope_node(basic_scope_node* parent) noexcept : m_parent(parent) {
        san::release(&m_parent); // not this: that names the edge from a task to its children
    }
    basic_scope_node(const basic_scope_node&) = delete;
    basic_scope_node& operator=(const basic_scope_node&) = delete;

    // A place is a pointer to a node with two bits; the pointer may be null with or without them. Bit 0: the
    // task owns the node. Otherwise it is below the node, and a cancellation of the node stops it. Bit 1: the
    // task holds a lock. Cancellations of that node and of those further out wait for the end of the lock.
    //
    // Places are parent(), the `node` of an activation and the `parent` of a task. Only strip() gives a
    // pointer that may be dereferenced.

    /// The place of the owner of `node`. The compiler computes this address as it would compute the node's
    /// own.
    [[nodiscard]] static basic_scope_node* as_owner(basic_scope_node* node) noexcept {
        return reinterpret_cast<basic_scope_node*>(reinterpret_cast<std::uintptr_t>(node) | 1);
    }
    [[nodiscard]] static bool is_owner(const basic_scope_node* place) noexcept {
        return (reinterpret_cast<std::uintptr_t>(place) & 1) != 0;
    }
    [[nodiscard]] static basic_scope_node* strip(basic_scope_node* place) noexcept {
        return reinterpret_cast<basic_scope_node*>(reinterpret_cast<std::uintptr_t>(place) &
                                                   ~std::uintptr_t{3});
    }
    [[nodiscard]] static basic_scope_node* as_holder(basic_scope_node* place) noexcept {
        return reinterpret_cast<basic_scope_node*>(reinterpret_cast<std::uintptr_t>(place) | 2);
    }
    [[nodiscard]] static basic_scope_node* as_free(basic_scope_node* place) noexcept {
        return reinterpret_cast<basic_scope_node*>(reinterpret_cast<std::uintptr_t>(place) &
                                                   ~std::uintptr_t{2});
    }
    [[nodiscard]] static bool holds(const basic_scope_node* place) noexcept {
        return (reinterpret_cast<std::uintptr_t>(place) & 2) != 0;
    }

    [[nodiscard]] Head& head() noexcept { return m_head; }
    [[nodiscard]] const Head& head() const noexcept { return m_head; }
    /// The owner's place when this node began.
    [[nodiscard]] basic_scope_node* parent() const noexcept { return m_parent.load(rlx); }
    /// True if the node is marked. Once true, it stays true. The owner may see it late: what may be shared by
    /// then must not be counted plainly on the strength of this.
    [[nodiscard]] bool shared() const noexcept { return (m_mark.load(rlx) & marked) != 0; }

    /// True if a look from here in that epoch of cancellations has found that nothing above stops a task.
    [[nodiscard]] bool was_clear(std::uint64_t epoch) const noexcept {
        return (m_mark.load(acq) & looked) != 0 && m_head.clear_in() == epoch; // cancel.C8
    }
    /// Notes for was_clear() what a look that began in `epoch` has found.
    void note_clear(std::uint64_t epoch) noexcept {
        m_head.set_clear_in(epoch);
        if ((m_mark.load(rlx) & looked) == 0) {
            m_mark.fetch_or(looked, rel); // cancel.C8: no constructor has written the epoch
        }
    }

    /// True if nothing is left to mark from `from` on, which may be null. No lock is needed: the look
    /// is at this node alone, and the caller is inside it. (scope.M2)
    [[nodiscard]] static bool is_settled(basic_scope_node* from) noexcept {
        const basic_scope_node* const node = strip(from);
        if (node == nullptr) {
            return true;
        }
        node->seen_here();
        return (node->m_mark.load(acq) & settled) != 0;
    }
    /// Marks `from` and all above it; returns how many were not marked before. The caller knows that
    /// they outlive the call, except for those that end out of turn. Against these it holds a reach lock
    /// of the pool (scope.M5). It publishes afterwards what made the marks necessary.
    ///
    /// A second pass says of each scope that everything above is marked, so that the next walk may end
    /// there. The mark alone does not say it: a walk from below that meets another walk under way would
    /// end too early, and publish. Source: none; the two passes are those of any traversal that may meet
    /// another one.
    static std::uint64_t share(basic_scope_node* from) noexcept {
        std::uint64_t fresh = 0;
        basic_scope_node* end = strip(from);
        for (; end != nullptr; end = strip(end->parent())) {
            san::acquire(&end->m_parent); // the scope may have begun on any context
            // scope.M2: what another walk has marked above comes before what this caller publishes.
            const mark seen = end->m_mark.load(acq);
            if ((seen & settled) != 0) {
                break;
            }
            PILFER_CHAOS_POINT(lock); // the scope may be about to leave the chain (scope.M5)
            if ((seen & marked) == 0 && (end->m_mark.fetch_or(marked, rlx) & marked) == 0) {
                ++fresh;
            }
        }
        for (basic_scope_node* s = strip(from); s != end; s = strip(s->parent())) {
            s->m_mark.fetch_or(settled, rel); // scope.M2
        }
        return fresh;
    }
    /// Called before this node is read on another context than the one on which it began.
    void seen_here() const noexcept { san::acquire(&m_parent); }
    /// Called by the owner before any task is below: marks this node alone, and walks from below end here.
    /// It serves a task that others may run while all that encloses it does not move: a monitor call.
    void seal() noexcept { m_mark.store(marked | settled, rlx); }
    /// Called by the owner under the reach locks of all workers, if scopes end in another order than the
    /// reverse of their beginning. `gone`, which ends, is no longer above this node.
    void relink(const basic_scope_node& gone) noexcept {
        m_parent.store(holds(parent()) ? as_holder(gone.parent()) : gone.parent(), rlx);
    }
    /// Called by the owner: this scope began while its owner held a lock, which is free now. (cancel.C6)
    void outlives_lock() noexcept { m_parent.store(as_free(parent()), rlx); }

private:
    using mark = std::uint16_t; // narrow: it fits the padding of the head, and one store clears both
    static constexpr mark marked = 1;
    static constexpr mark settled = 2;
    static constexpr mark looked = 4; // clear_in() of the head has a value

    [[no_unique_address]] Head m_head;
    typename Atom::template atomic<mark> m_mark{0};
    typename Atom::template atomic<basic_scope_node*> m_parent;
};

} // namespace detail
} // namespace v0
} // namespace pilfer
