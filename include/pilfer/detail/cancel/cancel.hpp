// Cancelled scopes: their bits, how workers learn of a cancellation, and the look upwards of a task.
//
// A canceller writes into its scope only, and trips every worker. Each task looks up for itself at its
// next look at its worker's signal word. States, edges C1..C6 and why no task is missed: src/scope/README.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <pilfer/detail/base/atom.hpp>
#include <pilfer/detail/base/raw_lock.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

/// The bits of scope_head::disturbed. The rest of it counts exceptions.
namespace disturb {
inline constexpr std::uint32_t from_below = 1U << 31; ///< A task below announced a child here.
inline constexpr std::uint32_t requested = 1U << 30;  ///< The scope was cancelled: `cancellations` counts it.
inline constexpr std::uint32_t told = 1U << 29;       ///< The task that owns the scope is stopped.
inline constexpr std::uint32_t shields = 1U << 28;    ///< Tasks below are exempt from the exit of one scope.
inline constexpr std::uint32_t cleanup = 1U << 26;    ///< Its owner unwinds: a look from below ends here.
inline constexpr std::uint32_t branch = 1U << 25;     ///< The place of a branch: see scope_head::join().
inline constexpr std::uint32_t failures = branch - 1;
inline constexpr std::uint32_t stops = requested | told; ///< Its children are stopped.
inline constexpr std::uint32_t drops =
    ~(from_below | shields | cleanup | branch); ///< Children that have not started never start.
} // namespace disturb

/// Repeats a walk from `place` up to `end`, which is excluded and was `steps` links away. Returns true at
/// the first link whose head satisfies f.
///
/// A scope that ends out of turn may have left the chain meanwhile, even `end` itself. The walk then ends
/// at the end of the chain or after `steps` links. That is no further out than `end` was, unless two
/// scopes of two tasks left at once.
template <class Link, class F>
bool walk_again(Link* place, const Link* end, std::size_t steps, F f) noexcept {
    for (Link* at = place; steps > 0; --steps) {
        Link* const s = Link::strip(at);
        if (s == nullptr || s == end) {
            break;
        }
        if (f(s->head())) {
            return true;
        }
        at = s->above();
    }
    return false;
}

/// True if a shield against the scope `against` is among the `steps` links from `place` up.
template <class Link>
[[nodiscard]] bool is_shielded(Link* place, const Link* against, std::size_t steps) noexcept {
    return walk_again(place, against, steps, [against](auto& head) {
        return (head.disturbed.load(rlx) & disturb::shields) != 0 && head.shielded() == against;
    });
}

/// Marks a scope as a cleanup: its owner unwinds, and forks there or waits for its children. Nothing
/// further out stops the tasks below. The owner calls this before the child can be found.
///
/// False: the scope was cancelled, has failed, or is marked `told`. A scope that is older than the
/// exception may be marked so. Such a scope stays as it is.
template <class Disturbed>
bool begin_cleanup(Disturbed& word) noexcept {
    std::uint32_t was = word.load(rlx);
    while ((was & (disturb::drops | disturb::cleanup)) == 0 &&
           !word.compare_exchange_weak(was, was | disturb::cleanup, rlx, rlx)) {
    }
    return (was & disturb::drops) == 0;
}

/// Marks a scope with `told`: its owner is stopped.
template <class Disturbed>
void tell_scope(Disturbed& word) noexcept {
    if ((word.load(rlx) & disturb::told) == 0) {
        word.fetch_or(disturb::told, rlx); // cancel.C4
    }
}

/// True if a task at `place` is stopped. The look goes up to the first scope that says so. It marks the
/// scopes below that one with `told`, so that the next look from there ends at once. Every scope on the
/// way outlives the call.
///
/// `Link` is like scope_link. Its head has `disturbed` and shielded(): the scope whose exit does not stop
/// the tasks below.
///
/// After a shield, and up to the scope that it is against, `told` says nothing: that very exit may be its
/// cause. If a task on the way holds a lock, nothing further out counts until the lock is free. If a scope
/// on the way is the cleanup of a task that unwinds, nothing further out counts.
///
/// `tells`: whether the scopes below are marked. It is false for a task that unwinds itself: its own
/// scopes may be cleanups that do not say so yet.
template <class Link>
[[nodiscard]] bool is_stopped(Link* place, bool tells = true) noexcept {
    unsigned shields = 0; // those passed that are against scopes further up
    std::size_t steps = 0;
    Link* end = place;
    for (;; end = Link::strip(end)->above(), ++steps) {
        Link* const s = Link::strip(end);
        if (s == nullptr || Link::holds(end)) {
            return false;
        }
        s->seen_here();
        const std::uint32_t word = s->head().disturbed.load(rlx);
        if (shields == 0 && (word & disturb::told) != 0) {
            break;
        }
        // Whether a shield is against this scope matters only if the scope is cancelled. Otherwise the
        // shield stays counted, and `told` says nothing for longer.
        if ((word & disturb::requested) != 0) {
            const bool shielded = shields != 0 && is_shielded<Link>(place, s, steps);
            shields -= shielded ? 1 : 0;
            // The owner is not below its scope: only what stops the owner itself counts.
            if (!Link::is_owner(end) && !shielded) {
                break;
            }
        }
        // A cleanup protects the tasks below it. It does not protect its owner, whose exception may have
        // been handled.
        if ((word & disturb::cleanup) != 0 && !Link::is_owner(end)) {
            return false;
        }
        shields += (word & disturb::shields) != 0 ? 1 : 0;
    }
    if (!tells) {
        return true;
    }
    walk_again(place, Link::strip(end), steps, [](auto& head) {
        tell_scope(head.disturbed);
        return false;
    });
    return true;
}

/// A guard of a worker that goes up a chain of scopes: no scope on the way may end meanwhile.
template <class Atom>
class look_guard {
public:
    /// Called by the worker: returns the result of `look`. `pinned`: there is no membarrier, so that the
    /// other side's fence orders only itself.
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
    /// Called for a scope that has unlinked itself, after a heavy fence. On return the worker's look is
    /// not at that scope.
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
    /// Cancels the scope of that word. True: the scope was not cancelled before. `behind()` runs under the
    /// lock, after every worker's signal word was set.
    template <class Disturbed, class Each, class Behind>
    bool request(Disturbed& word, Each each, Behind behind) noexcept {
        m_lock.lock();
        const bool first = (word.fetch_or(disturb::requested, rlx) & disturb::requested) == 0;
        if (first) {
            count_one(each);
            behind();
        }
        m_lock.unlock();
        return first;
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
    /// Adds workers that `each` has not reached before: add() makes them known.
    template <class Add, class Trips>
    void join(Add add, Trips trips) noexcept {
        m_lock.lock();
        add();
        if (m_live != 0) {
            trips([](auto& trip) noexcept { trip.set(std::remove_reference_t<decltype(trip)>::stop); });
        }
        m_lock.unlock();
    }
    /// True if any scope of the process has been cancelled. False: every later look up finds the caller's
    /// scope unlinked.
    [[nodiscard]] bool ever() const noexcept {
        Atom::fence_sc(); // cancel.C5
        return m_ever.load(rlx);
    }
    /// Looks again at the tasks that wait, by `behind()`. The caller has ended what kept tasks from being
    /// stopped, and has written that before. No task that cancels meanwhile misses it (cancel.C6).
    template <class Behind>
    void again(Behind behind) noexcept {
        m_lock.lock();
        if (m_live != 0) {
            behind();
        }
        m_lock.unlock();
    }
    /// Called in a child of fork(), by its only thread. Cancelled scopes stay counted, because they end
    /// here as elsewhere. A scope that only another thread would have ended stays counted, too. Another
    /// thread may have been about to count one: that scope is added.
    ///
    /// A count that is too high makes looks slow. One that is too low would end the cancellations of
    /// others.
    void forget_threads() noexcept {
        if (m_lock.open_for_good()) {
            m_live = m_live + 1;
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
    template <class Each>
    void count_one(Each each) noexcept {
        m_live = m_live + 1;
        if (!m_ever.load(rlx)) {
            m_ever.store(true, rlx);
            Atom::fence_sc(); // cancel.C5
        }
        // Set again for each cancellation: the bit may be there, but a worker that has seen it may have
        // looked up before.
        each([](auto& trip) noexcept {
            trip.set(std::remove_reference_t<decltype(trip)>::stop);
        });               // cancel.C1
        Atom::fence_sc(); // cancel.C6
    }

    raw_lock<Atom, Park> m_lock;
    typename Atom::template plain<std::uint64_t> m_live = 0;
    typename Atom::template atomic<bool> m_ever{false};
};

/// The tasks on a worker that a cancellation takes out of their waits. `Link` is as for is_stopped().
template <class Atom, class Park, class Link>
class stop_list {
    template <class T>
    using plain = typename Atom::template plain<T>;

public:
    /// An entry of the list, in the frame or object that waits. It is listed from before the wait until
    /// after it.
    struct listener {
        plain<listener*> next = nullptr;
        plain<listener*> previous = nullptr;
        plain<bool> told = false;
        plain<Link*> place = nullptr;
        /// Called once, under the list's lock, if the task is stopped. The task may go on at once, up to
        /// remove().
        void (*stop)(listener& self) noexcept = nullptr;
    };

    /// Enters `l`. After the call the caller looks itself whether it is stopped: a canceller that has not
    /// found `l` here has cancelled before (cancel.C2).
    void add(listener& l) noexcept {
        m_lock.lock();
        listener* const first = m_first;
        l.next = first;
        if (first != nullptr) {
            first->previous = &l;
        }
        m_first = &l;
        m_lock.unlock();
    }
    /// Takes `l` out. After the call no thread calls its stop().
    void remove(listener& l) noexcept {
        m_lock.lock();
        listener* const next = l.next;
        listener* const previous = l.previous;
        if (previous == nullptr) {
            m_first = next;
        } else {
            previous->next = next;
        }
        if (next != nullptr) {
            next->previous = previous;
        }
        m_lock.unlock();
    }
    /// Called by a canceller after its mark: stops the waits of the tasks that are stopped.
    void tell() noexcept {
        m_lock.lock();
        for (listener* l = m_first; l != nullptr; l = l->next) {
            if (!l->told && is_stopped<Link>(l->place)) {
                l->told = true;
                l->stop(*l);
            }
        }
        m_lock.unlock();
    }

    /// In a child of fork(), by its only thread.
    void forget_threads() noexcept {
        if (m_lock.open_for_good()) {
            m_first = nullptr; // it may have been half linked; no task on it can go on
        }
    }

private:
    raw_lock<Atom, Park> m_lock;
    plain<listener*> m_first = nullptr;
};

} // namespace detail
} // namespace v0
} // namespace pilfer
