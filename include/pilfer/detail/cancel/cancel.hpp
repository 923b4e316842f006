// Cancelled scopes: the bits that say so, how it is made known, and the look upwards of a task.
//
// A canceller writes into its scope only, and trips every worker. Each task looks up for itself where it next
// looks at its worker's tripwire. States, edges C1..C6 and why no task is missed: src/scope/README.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <pilfer/detail/base/atom.hpp>
#include <pilfer/detail/base/raw_lock.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

struct activation;

/// The bits of scope_head::disturbed. The rest of it counts exceptions.
namespace disturb {
inline constexpr std::uint32_t from_below = 1U << 31; ///< a task below announced a child here
inline constexpr std::uint32_t requested = 1U << 30;  ///< this scope was cancelled: cancellations counts it
inline constexpr std::uint32_t told = 1U << 29;       ///< the task that owns it is stopped
inline constexpr std::uint32_t shields = 1U << 28;    ///< what is below is excepted from the exit of a scope
inline constexpr std::uint32_t bare = 1U << 27;       ///< a place by itself: no scope is around it
inline constexpr std::uint32_t cleanup = 1U << 26; ///< of a task that unwinds: nothing further out stops it
inline constexpr std::uint32_t branch = 1U << 25;  ///< a bare place of a branch: see scope_head::join()
inline constexpr std::uint32_t failures = branch - 1;
inline constexpr std::uint32_t stops = requested | told; ///< its children are stopped
inline constexpr std::uint32_t drops =
    ~(from_below | shields | bare | cleanup | branch); ///< children that have not started never start
} // namespace disturb

/// Goes once more the way from `place` up to `end`, which is excluded and was `steps` away; up to the first
/// link of which f says true. A scope that ends out of turn may have been taken out of the chain meanwhile,
/// `end` itself among them: then the way ends where the chain does, or `steps` links on, which is no further
/// out than `end` was (unless two went at once, of two tasks).
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

/// Is there a shield against that scope on the way?
template <class Link>
[[nodiscard]] bool is_shielded(Link* place, const Link* against, std::size_t steps) noexcept {
    return walk_again(place, against, steps, [against](auto& head) {
        return (head.disturbed.load(rlx) & disturb::shields) != 0 && head.shielded() == against;
    });
}

/// The owner of a scope unwinds, and forks there, or waits for its children: what is below is not stopped
/// from further out. By the owner, before the child can be found. False: the scope was cancelled, has failed,
/// or was told, which happens to scopes that are older than the exception; they stay as they are.
template <class Disturbed>
bool begin_cleanup(Disturbed& word) noexcept {
    std::uint32_t was = word.load(rlx);
    while ((was & (disturb::drops | disturb::cleanup)) == 0 &&
           !word.compare_exchange_weak(was, was | disturb::cleanup, rlx, rlx)) {
    }
    return (was & disturb::drops) == 0;
}

/// A scope learns that its owner is stopped.
template <class Disturbed>
void tell_scope(Disturbed& word) noexcept {
    if ((word.load(rlx) & disturb::told) == 0) {
        word.fetch_or(disturb::told, rlx); // C4
    }
}

/// Is whoever stands at `place` stopped? Up to the first scope that says so; those below of it are told, so
/// that the next look from there ends at once. Every scope on the way outlives the call. `Link` as
/// scope_link, whose head has `disturbed` and shielded(): the scope whose exit what is below is excepted
/// from.
///
/// Behind a shield and up to the scope that it is against, `told` says nothing: it may be because of that
/// very exit. If a task on the way holds a lock, nothing further out counts until the lock is free.
///
/// Where a scope on the way is the cleanup of a task that unwinds, nothing further out counts. `tells`: false
/// for a task that unwinds itself, whose own scopes may be such and do not say so yet.
template <class Link>
[[nodiscard]] bool is_stopped(Link* place, bool tells = true) noexcept {
    unsigned shields = 0; // passed, and against scopes further up
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
        // Only of a cancelled one it matters whether a shield is against it: until then `told` says nothing
        // for longer.
        if ((word & disturb::requested) != 0) {
            const bool shielded = shields != 0 && is_shielded<Link>(place, s, steps);
            shields -= shielded ? 1 : 0;
            // Its owner is not below of it: only what stops the owner itself counts.
            if (!Link::is_owner(end) && !shielded) {
                break;
            }
        }
        // It protects what is below of it, not its owner, who may be past the flight.
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

/// Of a worker: it goes up a chain of scopes, and none on the way may end.
template <class Atom>
class look_guard {
public:
    /// The worker. `pinned`: no membarrier, so that the other side's fence orders only itself.
    template <class Look>
    [[nodiscard]] bool during(bool pinned, Look look) noexcept {
        m_looks.store(true, rlx);
        if (pinned) {
            Atom::fence_sc();
        }
        Atom::light_fence(); // C3
        const bool found = look();
        m_looks.store(false, rel); // C3
        return found;
    }
    /// A scope that has unlinked itself, behind a heavy fence: nobody stands on it any more.
    void wait_for_end() noexcept {
        for (unsigned round = 0; m_looks.load(acq); ++round) { // C3
            Atom::relax(round);
        }
    }

private:
    typename Atom::template atomic<bool> m_looks{false};
};

/// All scopes of the process that are cancelled and have not ended. `each(f)` calls f with the tripwire of
/// every worker there is.
template <class Atom, class Park>
class cancellations {
public:
    /// Cancels the scope of that word. True: it was not cancelled. `behind()` runs under the lock, after
    /// every worker was told.
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
    /// A scope that was cancelled has no children left.
    template <class Each>
    void over(Each each) noexcept {
        m_lock.lock();
        m_live = m_live - 1;
        if (m_live == 0) {
            each([](auto& trip) noexcept { trip.clear_stop(); });
        }
        m_lock.unlock();
    }
    /// Workers that `each` has not reached before: add() makes them known.
    template <class Add, class Trips>
    void join(Add add, Trips trips) noexcept {
        m_lock.lock();
        add();
        if (m_live != 0) {
            trips([](auto& trip) noexcept { trip.set(std::remove_reference_t<decltype(trip)>::stop); });
        }
        m_lock.unlock();
    }
    /// Has any scope been cancelled yet? False: whoever will look up finds the caller's scope unlinked.
    [[nodiscard]] bool ever() const noexcept {
        Atom::fence_sc(); // C5
        return m_ever.load(rlx);
    }
    /// What kept tasks from being stopped is over, which the caller has written before: another look at those
    /// that wait. Nobody who cancels meanwhile misses it (C6).
    template <class Behind>
    void again(Behind behind) noexcept {
        m_lock.lock();
        if (m_live != 0) {
            behind();
        }
        m_lock.unlock();
    }
    /// In a child of fork(), by its only thread. What was cancelled stays counted, for it ends here as
    /// elsewhere; so does what only another thread would have ended, or may have been about to count: that
    /// makes looks slow, and one too few would end the cancellations of others.
    void forget_threads() noexcept {
        if (m_lock.open_for_good()) {
            m_live = m_live + 1;
        }
    }
    /// While nobody cancels.
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
            Atom::fence_sc(); // C5
        }
        // Again for each: the bit may be there, but a worker that has seen it may have looked up before.
        each([](auto& trip) noexcept { trip.set(std::remove_reference_t<decltype(trip)>::stop); }); // C1
        Atom::fence_sc();                                                                           // C6
    }

    raw_lock<Atom, Park> m_lock;
    typename Atom::template plain<std::uint64_t> m_live = 0;
    typename Atom::template atomic<bool> m_ever{false};
};

/// Those on a worker that a cancellation takes out of their waits. Link as for is_stopped().
template <class Atom, class Park, class Link>
class stop_list {
    template <class T>
    using plain = typename Atom::template plain<T>;

public:
    /// In the frame of one that waits, from before it waits until behind that.
    struct listener {
        plain<listener*> next = nullptr;
        plain<listener*> previous = nullptr;
        plain<bool> told = false;
        plain<Link*> place = nullptr;
        /// The task that waits with this in its frame. Null: what waits is no frame.
        plain<activation*> task = nullptr;
        /// Under the list's lock: what it listens for is there. It may go on at once, up to remove().
        void (*stop)(listener& self) noexcept = nullptr;
    };

    /// Behind it the caller looks itself whether it is stopped: a canceller that has not found it here has
    /// cancelled before (C2).
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
    /// Behind it nobody calls its stop().
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
    /// Canceller, behind its mark: those that it stops.
    void tell() noexcept {
        tell([](const listener& l) noexcept { return is_stopped<Link>(l.place); });
    }
    /// The same, those of which `stops` says so.
    template <class Stops>
    void tell(Stops stops) noexcept {
        m_lock.lock();
        for (listener* l = m_first; l != nullptr; l = l->next) {
            if (!l->told && stops(*l)) {
                l->told = true;
                l->stop(*l);
            }
        }
        m_lock.unlock();
    }

    /// In a child of fork(), by its only thread.
    void forget_threads() noexcept {
        if (m_lock.open_for_good()) {
            m_first = nullptr; // it may have been half linked; nobody on it can go on
        }
    }

private:
    raw_lock<Atom, Park> m_lock;
    plain<listener*> m_first = nullptr;
};

} // namespace detail
} // namespace v0
} // namespace pilfer
