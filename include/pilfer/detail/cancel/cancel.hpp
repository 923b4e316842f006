// The state of a node in the tree of cancellation, how workers learn of a cancellation, and a task's look
// upwards.
//
// A canceller writes into one node only, and trips every worker. A task whose worker is tripped looks up from
// its own node. States, edges cancel.C1 to cancel.C8 and why no task is missed: src/cancel/README.md.
#pragma once

#include <cstdint>

#include <pilfer/detail/base/atom.hpp>
#include <pilfer/detail/base/platform.hpp>
#include <pilfer/detail/base/raw_lock.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

/// The bits of scope_head::cancel_state. The rest of it counts exceptions.
namespace cancel_flag {
inline constexpr std::uint32_t from_below = 1U << 31;  ///< A task below announced a child here.
inline constexpr std::uint32_t cancelled = 1U << 30;   ///< The node was cancelled: `cancellations` counts it.
inline constexpr std::uint32_t cancel_seen = 1U << 29; ///< The task that owns the node is stopped.
inline constexpr std::uint32_t shielded = 1U << 28;    ///< Tasks below are exempt from the exit of one scope.
inline constexpr std::uint32_t cleanup = 1U << 26;     ///< Its owner unwinds: a look from below ends here.
inline constexpr std::uint32_t branch = 1U << 25;      ///< A stolen branch: see scope_head::join().
inline constexpr std::uint32_t failures = branch - 1;
inline constexpr std::uint32_t stops = cancelled | cancel_seen; ///< The tasks below are stopped.
inline constexpr std::uint32_t drops =
    ~(from_below | shielded | cleanup | branch); ///< Children that have not started never start.
} // namespace cancel_flag

/// Repeats a walk from `place` up to `end`, which is excluded. Returns true at the first link whose head
/// satisfies f.
///
/// Scopes that end out of turn may have left the chain meanwhile, even `end` itself. The walk then ends at
/// the parent of `end`. That link is stable: only the owner of `end` changes it, and waits for the end of
/// this walk.
template <class Node, class F>
bool walk_again(Node* place, const Node* end, F f) noexcept {
    for (Node* at = place;;) {
        Node* const s = Node::strip(at);
        if (s == end || s == Node::strip(end->parent())) {
            return false;
        }
        if (f(s->head())) {
            return true;
        }
        at = s->parent();
    }
}

/// True if a shield against the scope `against` is among the nodes from `place` up to `against`.
template <class Node>
[[nodiscard]] bool is_shielded(Node* place, const Node* against) noexcept {
    return walk_again(place, against, [against](auto& head) {
        return (head.cancel_state.load(rlx) & cancel_flag::shielded) != 0 && head.shielded() == against;
    });
}

/// Marks a scope as a cleanup: its owner unwinds, and forks there or waits for its children. Nothing
/// further out stops the tasks below. The owner calls this before the child can be found.
///
/// False, and nothing changes: the scope was cancelled, has failed, or has `cancel_seen`, as a scope that is
/// older than the exception may have.
template <class State>
bool begin_cleanup(State& word) noexcept {
    std::uint32_t was = word.load(rlx);
    while ((was & (cancel_flag::drops | cancel_flag::cleanup)) == 0 &&
           !word.compare_exchange_weak(was, was | cancel_flag::cleanup, rlx, rlx)) {
    }
    return (was & cancel_flag::drops) == 0;
}

/// Hands a cancellation from further out down to a node: its owner is stopped.
template <class State>
void propagate(State& word) noexcept {
    if ((word.load(rlx) & cancel_flag::cancel_seen) == 0) {
        word.fetch_or(cancel_flag::cancel_seen, rlx); // cancel.C4
    }
}

/// True if a task at `place` is stopped. The look goes up to the first node that says so. Then it marks the
/// nodes below that one with `cancel_seen`, so that the next look from there ends at once. Every node on the
/// way outlives the call.
///
/// `Node` is like scope_node. Its head has `cancel_state` and shielded(): the scope whose exit does not stop
/// the tasks below.
///
/// Between a shield and the scope that it is against `cancel_seen` says nothing, because that exit may be its
/// cause. If a task on the way holds a lock, nothing further out counts until the lock is free. If a scope on
/// the way is the cleanup of a task that unwinds, nothing further out counts.
///
/// `epoch`: of `cancellations`, loaded before the call. If nothing stops the task, its node notes that, and
/// looks that pass the node in this epoch end there. 0: neither.
///
/// `propagates`: whether the nodes below are marked. It is false for a task that unwinds: a scope of its own
/// may be a cleanup that is not marked as one yet.
template <class Node>
[[nodiscard]] bool is_stopped(Node* place, std::uint64_t epoch = 0, bool propagates = true) noexcept {
    unsigned shields = 0; // those passed that are against scopes further up
    Node* end = place;
    const auto clear = [place, epoch, &end] {
        if (epoch != 0 && end != place) {
            Node::strip(place)->note_clear(epoch);
        }
        return false;
    };
    for (;; end = Node::strip(end)->parent()) {
        Node* const s = Node::strip(end);
        if (s == nullptr || Node::holds(end)) {
            return clear();
        }
        s->seen_here();
        const std::uint32_t word = s->head().cancel_state.load(rlx);
        if (shields == 0 && (word & cancel_flag::cancel_seen) != 0) {
            break;
        }
        // Whether a shield is against this scope matters only if the scope is cancelled. Otherwise the
        // shield stays counted, and `cancel_seen` says nothing for longer.
        if ((word & cancel_flag::cancelled) != 0) {
            const bool shielded = shields != 0 && is_shielded<Node>(place, s);
            shields -= shielded ? 1 : 0;
            // The owner is not below its scope: only what stops the owner itself counts.
            if (!Node::is_owner(end) && !shielded) {
                break;
            }
        }
        // A cleanup protects the tasks below it. It does not protect its owner, whose exception may have
        // been handled.
        if ((word & cancel_flag::cleanup) != 0 && !Node::is_owner(end)) {
            return clear();
        }
        if (epoch != 0 && s->was_clear(epoch)) {
            return clear();
        }
        shields += (word & cancel_flag::shielded) != 0 ? 1 : 0;
    }
    if (!propagates) {
        return true;
    }
    walk_again(place, Node::strip(end), [](auto& head) {
        propagate(head.cancel_state);
        return false;
    });
    return true;
}

/// A guard of a worker that goes up a chain of scopes: no scope on the way may end meanwhile.
template <class Atom>
class look_guard {
public:
    /// Called by the worker: returns the result of `look`. `pinned`: there is no membarrier, so that
    /// the other side's fence orders only itself.
    template <class Look>
    [[nodiscard]] bool during(bool pinned, Look look) noexcept {
        m_looks.store(true, rlx);
        if (pinned) {
            Atom::fence_sc();
        }
        Atom::light_fence(); // cancel.C3
        const bool found = look();
        m_looks.store(false, rel); // cancel.C3
        return found;
    }
    /// Called for a scope that has unlinked itself, after a heavy fence. On return the worker's look
    /// is not at that scope.
    void wait_for_end() noexcept {
        for (unsigned round = 0; m_looks.load(acq); ++round) { // cancel.C3
            Atom::relax(round);
        }
    }

private:
    typename Atom::template atomic<bool> m_looks{false};
};

/// All scopes of the process that are cancelled and have not ended. `each(f)` calls f with the signal word of
/// every worker.
template <class Atom, class Park>
class cancellations {
public:
    /// Cancels the node that has `state`. Calls `stop_waits()` under the lock, after every worker's
    /// signal word was set, unless the node was cancelled before.
    template <class State, class Each, class StopWaits>
    void request(State& state, Each each, StopWaits stop_waits) noexcept {
        m_lock.lock();
        if ((state.fetch_or(cancel_flag::cancelled, rlx) & cancel_flag::cancelled) == 0) {
            m_live = m_live + 1;
            renew();
            if (!m_ever.load(rlx)) {
                m_ever.store(true, rlx);
                Atom::fence_sc(); // cancel.C5
            }
            // Set again for each cancellation: the bit may be there, but a worker that has seen it may have
            // looked up before. (cancel.C1)
            each([](auto& trip) noexcept { trip.set(trip.stop); });
            Atom::fence_sc(); // cancel.C6
            stop_waits();
        }
        m_lock.unlock();
    }
    /// Counts the end of a cancelled scope that has no children left.
    template <class Each>
    void over(Each each) noexcept {
        m_lock.lock();
        m_live = m_live - 1;
        if (m_live == 0) {
            each([](auto& trip) noexcept { trip.clear_stop(); });
        }
        m_lock.unlock();
    }
    /// Adds workers: add() makes them known to `each`.
    template <class Add, class Each>
    void join(Add add, Each each) noexcept {
        m_lock.lock();
        add();
        if (m_live != 0) {
            each([](auto& trip) noexcept { trip.set(trip.stop); });
        }
        m_lock.unlock();
    }
    /// Changes with each cancellation, and by renew(). Never 0.
    [[nodiscard]] std::uint64_t epoch() const noexcept { return m_epoch.load(acq); } // cancel.C7
    /// Called after something that kept tasks from being stopped is over: what looks have noted is void.
    void renew() noexcept { m_epoch.fetch_add(1, rel); } // cancel.C7
    /// True if any scope of the process has been cancelled. False: every later look up finds the caller's
    /// scope unlinked.
    [[nodiscard]] bool ever() const noexcept {
        Atom::fence_sc(); // cancel.C5
        return m_ever.load(rlx);
    }
    /// Looks again at the tasks that wait, by `stop_waits()`. Before the call the caller has written that
    /// what kept tasks from being stopped is over. A task that cancels meanwhile sees it (cancel.C6).
    template <class StopWaits>
    void again(StopWaits stop_waits) noexcept {
        m_lock.lock();
        if (m_live != 0) {
            stop_waits();
        }
        m_lock.unlock();
    }
    /// Called in a child of fork(), by its only thread. Cancelled scopes stay counted, because they
    /// end here as elsewhere. A scope that only another thread would have ended stays counted, too. Another
    /// thread may have been about to count one: that scope is added.
    ///
    /// A count that is too high makes looks slow. One that is too low would end the cancellations of
    /// others.
    void forget_threads() noexcept {
        if (m_lock.open_for_good()) {
            m_live = m_live + 1;
            renew(); // notes may be older than a cancellation that was under way
        }
    }
    /// Calls f while no task cancels.
    template <class F>
    void apart(F f) noexcept {
        m_lock.lock();
        f();
        m_lock.unlock();
    }

private:
    raw_lock<Atom, Park> m_lock;
    typename Atom::template plain<std::uint64_t> m_live = 0;
    typename Atom::template atomic<bool> m_ever{false};
    // On a line of its own: each look reads it, and each cancellation writes what is before it.
    alignas(line_bytes) typename Atom::template atomic<std::uint64_t> m_epoch{1};
};

} // namespace detail
} // namespace v0
} // namespace pilfer
