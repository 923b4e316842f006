// The split deque: one owner at the bottom, any number of thieves at the top.
//
//      top          split              bottom
//       |  shared     |     private      |
//
// The private part belongs to the owner: push and pop there are plain loads and stores. The shared part
// is a Chase-Lev deque whose end is `split`. States, orders, edges E1..E4, R1..R3 and the argument why
// nothing is lost or run twice are in src/deque/README.md; the edge names below refer to it.
//
// Sources: Chase and Lev, SPAA 2005; Le, Pop, Cohen and Zappa Nardelli, PPoPP 2013 (orders); van Dijk
// and van de Pol, "Lace", 2014 (the split point).
#pragma once

#include <cstdint>

#include <pilfer/detail/base/atom.hpp>
#include <pilfer/detail/base/tripwire.hpp>
#include <pilfer/detail/deque/deque_weights.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

/// An entry: the address of a task with its kind in the low bits. 0 is "none".
using task_word = std::uintptr_t;

enum class steal_status { empty, refused, lost, success };
struct steal_result {
    steal_status status;
    task_word task;
    std::uint64_t weight = 1;
};

template <class Atom>
struct ring {
    using slot = typename Atom::template atomic<task_word>;
    std::int64_t mask; // capacity - 1, capacity a power of two
    ring* previous;    // kept: a thief may still read it
    slot* slots;
    weight_entry<Atom>* weights = nullptr; // as many; null: every task of this ring weighs 1
};

/// What exposing does to a task before it becomes stealable, where nothing is to be done.
struct leave_alone {
    void operator()(task_word) const noexcept {}
};

template <class Atom>
class split_deque {
    template <class T>
    using atomic = typename Atom::template atomic<T>;
    using slot = typename ring<Atom>::slot;
    static constexpr std::int64_t pinned_guard = INT64_MAX;
    static constexpr std::int64_t nothing_weighs = INT64_MAX;
    // One thread needs no order for its own words; ThreadSanitizer sees one thread per context.
#if defined(PILFER_TSAN)
    static constexpr auto own_slots_store = rel;
    static constexpr auto own_slots_load = acq;
#else
    static constexpr auto own_slots_store = rlx;
    static constexpr auto own_slots_load = rlx;
#endif

public:
    /// `pinned`: every pop takes the slow path, under the lock (exact counting, the classic policy, and
    /// machines without membarrier). `start`: first index, for tests near the wrap.
    split_deque(ring<Atom>* first, bool pinned, std::int64_t start = 0) noexcept
        : m_top(start), m_bottom(start), m_guard(pinned ? pinned_guard : start), m_slots(first->slots),
          m_mask(first->mask), m_limit(start + first->mask), m_trip(start + first->mask), m_split(start),
          m_ring(first), m_pinned(pinned) {
        if (pinned) {
            m_trip.pin();
        }
    }
    split_deque(const split_deque&) = delete;
    split_deque& operator=(const split_deque&) = delete;

    [[nodiscard]] tripwire<Atom>& trip() noexcept { return m_trip; }
    [[nodiscard]] const tripwire<Atom>& trip() const noexcept { return m_trip; }

    /// In a child of fork(), which has none of the threads that may hold the lock. Whatever they were doing
    /// under it, the deque is as it may be between any two steps of theirs.
    void forget_threads() noexcept { m_lock.store(0, rlx); }

    class owner_end;
    class thief_end;
    [[nodiscard]] owner_end owner() noexcept { return owner_end(*this); }
    [[nodiscard]] thief_end thief() noexcept { return thief_end(*this); }

private:
    void lock() noexcept {
        for (unsigned round = 0; m_lock.exchange(1, acq) != 0; ++round) {
            Atom::relax(round);
        }
    }
    [[nodiscard]] bool try_lock() noexcept {
        return m_lock.load(rlx) == 0 && !PILFER_CHAOS_MAYBE(busy) && m_lock.exchange(1, acq) == 0;
    }
    void unlock() noexcept { m_lock.store(0, rel); }
    void set_guard(std::int64_t value) noexcept { m_guard.store(m_pinned ? pinned_guard : value, rlx); }

    // Thieves write this line.
    alignas(line_bytes) atomic<std::int64_t> m_top;
    // The owner's line: everything that push and pop touch. m_slots, m_mask and m_limit are the owner's
    // alone; relaxed atomics, because ThreadSanitizer sees the contexts of one thread as strangers.
    alignas(line_bytes) atomic<std::int64_t> m_bottom;
    atomic<std::int64_t> m_guard;
    atomic<slot*> m_slots;
    atomic<std::int64_t> m_mask;
    atomic<std::int64_t> m_limit;
    tripwire<Atom> m_trip;
    // Written at exposure, read by thieves.
    alignas(line_bytes) atomic<std::int64_t> m_split;
    atomic<ring<Atom>*> m_ring;
    atomic<std::int64_t> m_weighs_from{nothing_weighs}; // written by the owner
    atomic<int> m_lock{0};
    bool m_pinned;
};

/// What only the deque's own worker may do.
template <class Atom>
class split_deque<Atom>::owner_end {
public:
    explicit owner_end(split_deque& deque) noexcept : m_deque(deque) {}

    /// Announces `task`. True: look after the tripwire (make_room() before the next push).
    [[nodiscard]] PILFER_ALWAYS_INLINE bool push(task_word task) noexcept {
        const std::int64_t b = m_deque.m_bottom.load(rlx);
        at(b).store(task, rlx);
        m_deque.m_bottom.store(b + 1, rel); // R2: a reach publishes it further; S1: the sleeper's scan
        Atom::light_fence();                // S1, with the sleeper's heavy fence
        return m_deque.m_trip.hit(b);
    }

    enum class popped { taken, gone, slow };
    /// Takes `task` if it is the newest. `slow`: bottom is already lowered, call pop_slow().
    [[nodiscard]] PILFER_ALWAYS_INLINE popped pop_if(task_word task) noexcept {
        const std::int64_t b = m_deque.m_bottom.load(rlx) - 1;
        // The look comes before the decrement, so that a stranger's task is never hidden from a
        // sleeper's scan. A stale slot that matches is found out by the guard.
        if (at(b).load(rlx) != task) {
            return popped::gone;
        }
        return lower_to(b) ? popped::taken : popped::slow;
    }
    /// The newest entry without a look at the thieves' line: where the deque is empty, what was there last.
    struct seen {
        task_word task;
        std::int64_t index;
    };
    [[nodiscard]] PILFER_ALWAYS_INLINE seen look_at_newest() const noexcept {
        const std::int64_t b = m_deque.m_bottom.load(rlx) - 1;
        return {at(b).load(rlx), b};
    }
    /// What lies so many further down, or once did: to be fetched ahead.
    [[nodiscard]] PILFER_ALWAYS_INLINE task_word look_below(const seen& newest,
                                                            std::int64_t steps) const noexcept {
        return at(newest.index - steps).load(rlx);
    }
    /// Takes what look_at_newest() has just returned. False: bottom is already lowered, call pop_slow().
    [[nodiscard]] PILFER_ALWAYS_INLINE bool pop_newest(const seen& newest) noexcept {
        return lower_to(newest.index);
    }
    /// The newest task, or 0 if there is none.
    [[nodiscard]] task_word pop(std::int64_t take_back) noexcept {
        const std::int64_t b = m_deque.m_bottom.load(rlx) - 1;
        if (b < m_deque.m_top.load(rlx)) {
            return 0;
        }
        return lower_to(b) ? at(b).load(rlx) : pop_slow(take_back);
    }
    /// After bottom was lowered below the guard: a reach is under way, the private part is empty, or
    /// the deque is pinned. `take_back`: how many shared tasks to make private again at most.
    [[nodiscard]] PILFER_NOINLINE task_word pop_slow(std::int64_t take_back) noexcept {
        const std::int64_t b = m_deque.m_bottom.load(rlx);
        m_deque.lock();
        const std::int64_t s = m_deque.m_split.load(rlx);
        if (b >= s) {
            const task_word task = at(b).load(rlx);
            m_deque.unlock();
            return task;
        }
        m_deque.m_bottom.store(s, rel); // the private part is empty
        PILFER_CHAOS_POINT(lock);
        const std::int64_t oldest = m_deque.m_top.load(rlx);
        if (oldest < s - 1 && lower_split(s, s - take_back < oldest ? oldest : s - take_back)) {
            m_deque.m_bottom.store(s - 1, rel);
            const task_word task = at((s - 1)).load(rlx);
            m_deque.unlock();
            return task;
        }
        m_deque.unlock();
        return take_top(s);
    }
    /// The newest entry without taking it. It may be stale: pop_if() decides.
    [[nodiscard]] task_word peek() const noexcept {
        const std::int64_t b = m_deque.m_bottom.load(rlx) - 1;
        return b < m_deque.m_top.load(rlx) ? 0 : at(b).load(rlx);
    }
    /// Moves up to `count` of the oldest private tasks to the shared part, each after before(task). 0:
    /// nothing private, or a reach holds the lock and is about to expose anyway: keep the request.
    template <class Before = leave_alone>
    std::int64_t expose(std::int64_t count, Before before = {}) noexcept {
        if (!m_deque.try_lock()) {
            return 0;
        }
        const std::int64_t s = m_deque.m_split.load(rlx);
        const std::int64_t n = m_deque.m_bottom.load(rlx) - s;
        const std::int64_t moved = n < count ? (n < 0 ? 0 : n) : count;
        if (moved > 0) {
            for (std::int64_t i = s; i < s + moved; ++i) {
                before(at(i).load(rlx));
            }
            m_deque.set_guard(s + moved);
            PILFER_CHAOS_POINT(lock);
            m_deque.m_split.store(s + moved, rel); // E1: slot and task, read by steal's acquire
        }
        m_deque.unlock();
        return moved;
    }
    [[nodiscard]] std::int64_t private_size() const noexcept {
        return m_deque.m_bottom.load(rlx) - m_deque.m_split.load(rlx);
    }
    [[nodiscard]] std::int64_t shared_size() const noexcept {
        return m_deque.m_split.load(rlx) - m_deque.m_top.load(rlx);
    }
    /// After a hit of the tripwire: raises the limit as far as thieves have made room. False: the ring
    /// is full, grow() it before the next push.
    [[nodiscard]] bool make_room() noexcept {
        // E3: acquire pairs with the release of the thief's compare-and-swap: its slot may be reused.
        const std::int64_t limit = m_deque.m_top.load(acq) + m_deque.m_mask.load(rlx);
        move_limit(limit);
        return m_deque.m_bottom.load(rlx) <= limit;
    }
    /// The same without a look at what thieves have made room for. True: the next push needs none.
    [[nodiscard]] bool has_room() const noexcept {
        return m_deque.m_bottom.load(rlx) <= m_deque.m_limit.load(rlx);
    }
    /// Where has_room(): clears the slot that the next push writes, for pushed_since(). No thief claims what
    /// it reads there: the slot's last use is below top.
    [[nodiscard]] std::int64_t mark() noexcept {
        const std::int64_t b = m_deque.m_bottom.load(rlx);
        at(b).store(0, rlx);
        return b;
    }
    /// Has anything been pushed to that place since? A hint: what was pushed below it, or before the ring
    /// grew, is missed.
    [[nodiscard]] bool pushed_since(std::int64_t mark) const noexcept { return at(mark).load(rlx) != 0; }
    [[nodiscard]] bool pinned() const noexcept { return m_deque.m_pinned; }
    /// Calls f while nobody reaches.
    template <class F>
    auto locked(F f) noexcept {
        m_deque.lock();
        const auto result = f();
        m_deque.unlock();
        return result;
    }
    [[nodiscard]] std::int64_t capacity() const noexcept { return m_deque.m_mask.load(rlx) + 1; }
    /// Copies what is alive into `bigger`, which must hold as much as the present ring at least, and have
    /// entries for weights where weighs().
    void grow(ring<Atom>* bigger) noexcept {
        const std::int64_t t = m_deque.m_top.load(acq);
        const std::int64_t b = m_deque.m_bottom.load(rlx);
        for (std::int64_t i = t; i < b; ++i) {
            bigger->slots[i & bigger->mask].store(at(i).load(rlx), rlx);
        }
        move_weights(bigger, t, b);
        bigger->previous = m_deque.m_ring.load(rlx);
        m_deque.m_slots.store(bigger->slots, own_slots_store);
        m_deque.m_mask.store(bigger->mask, rlx);
        m_deque.m_ring.store(bigger, rel); // G1: a thief that sees the ring sees its slots
        move_limit(t + bigger->mask);
    }
    [[nodiscard]] ring<Atom>* rings() noexcept { return m_deque.m_ring.load(rlx); }

    /// Are there entries for weights? Else grow() into a ring that has them.
    [[nodiscard]] bool can_weigh() const noexcept { return entries() != nullptr; }
    /// Does each push have to weigh_newest()? From the first weighted task on, until one finds all positions
    /// from there on popped or stolen.
    [[nodiscard]] bool weighs() const noexcept { return m_deque.m_weighs_from.load(rlx) != nothing_weighs; }
    /// push() of a task with a weight, where can_weigh().
    [[nodiscard]] bool push_weighted(task_word task, std::uint64_t weight) noexcept {
        const std::int64_t b = m_deque.m_bottom.load(rlx);
        if (const std::int64_t from = m_deque.m_weighs_from.load(rlx); b < from) {
            // The first one, or pops have gone below it since. Nothing lies at b or above.
            m_deque.m_weighs_from.store(b, rlx);
            if (from == nothing_weighs) {
                m_deque.m_trip.pin(); // every push from now on
            }
        }
        weigh(b, weight); // published with the slot (R2, E1)
        return push(task);
    }
    /// After a push of a task without a weight, where weighs().
    void weigh_newest() noexcept {
        const std::int64_t b = m_deque.m_bottom.load(rlx) - 1;
        if (b <= m_deque.m_weighs_from.load(rlx) || b <= m_deque.m_top.load(rlx)) {
            stop_weighing(); // whatever had a weight was taken
        } else {
            weigh(b, 1);
        }
    }
    /// Of the newest task, which there is.
    [[nodiscard]] std::uint64_t newest_weight() const noexcept {
        const std::int64_t b = m_deque.m_bottom.load(rlx) - 1;
        return b < m_deque.m_weighs_from.load(rlx) ? 1 : entry(b).weight.load(rlx);
    }

private:
    [[nodiscard]] weight_entry<Atom>* entries() const noexcept {
        return m_deque.m_ring.load(own_slots_load)->weights;
    }
    [[nodiscard]] weight_entry<Atom>& entry(std::int64_t index) const noexcept {
        return entries()[index & m_deque.m_mask.load(rlx)];
    }
    /// The entry below is right: every push since `from` has made its own, and a pop leaves them alone.
    void weigh(std::int64_t index, std::uint64_t weight) noexcept {
        std::uint64_t below = static_cast<std::uint64_t>(index);
        if (index > m_deque.m_weighs_from.load(rlx)) {
            below = entry(index - 1).below.load(rlx) + entry(index - 1).weight.load(rlx);
        }
        entry(index).below.store(below, rlx);
        entry(index).weight.store(weight, rlx);
    }
    void stop_weighing() noexcept {
        m_deque.m_weighs_from.store(nothing_weighs, rlx);
        if (!m_deque.m_pinned) {
            m_deque.m_trip.unpin();
        }
    }
    void move_weights(ring<Atom>* to, std::int64_t top, std::int64_t bottom) noexcept {
        if (!weighs()) {
            return;
        }
        // What is gone needs none: sums are differences, and the next entry may stand on any other.
        const std::int64_t from = m_deque.m_weighs_from.load(rlx);
        for (std::int64_t i = top < from ? from : top; i < bottom; ++i) {
            to->weights[i & to->mask].below.store(entry(i).below.load(rlx), rlx);
            to->weights[i & to->mask].weight.store(entry(i).weight.load(rlx), rlx);
        }
    }
    /// True: what lies at `b` is the owner's.
    [[nodiscard]] PILFER_ALWAYS_INLINE bool lower_to(std::int64_t b) noexcept {
        m_deque.m_bottom.store(b, rel);
        Atom::light_fence(); // R1, with the reaching thief's heavy fence
        return b >= m_deque.m_guard.load(rlx);
    }
    [[nodiscard]] PILFER_ALWAYS_INLINE slot& at(std::int64_t index) const noexcept {
        return m_deque.m_slots.load(own_slots_load)[index & m_deque.m_mask.load(rlx)];
    }
    void move_limit(std::int64_t limit) noexcept {
        m_deque.m_trip.move_limit(limit - m_deque.m_limit.load(rlx));
        m_deque.m_limit.store(limit, rlx);
    }
    /// Under the lock, private part empty: makes [result, s) private. The task AT top is contested and
    /// is never taken this way. True if at least one became private.
    [[nodiscard]] bool lower_split(std::int64_t s, std::int64_t to) noexcept {
        m_deque.m_split.store(to, rel); // release too: the lowering store heads no release sequence of E1
        Atom::fence_sc();               // E2, with the fence in steal
        const std::int64_t t = m_deque.m_top.load(rlx);
        const std::int64_t kept = t < to ? to : (t + 1 < s ? t + 1 : s);
        if (kept != to) {
            m_deque.m_split.store(kept, rel);
        }
        m_deque.set_guard(kept);
        return kept < s;
    }
    /// At most the task at top is left: taken as a thief takes it, without the lock (E4).
    [[nodiscard]] task_word take_top(std::int64_t s) noexcept {
        std::int64_t t = m_deque.m_top.load(rlx);
        if (t >= s) {
            return 0;
        }
        const task_word task = at(t).load(rlx);
        PILFER_CHAOS_POINT(claim);
        return m_deque.m_top.compare_exchange_strong(t, t + 1, rlx, rlx) ? task : 0;
    }

    split_deque& m_deque;
};

/// What any other worker may do.
template <class Atom>
class split_deque<Atom>::thief_end {
public:
    explicit thief_end(split_deque& deque) noexcept : m_deque(deque) {}

    /// Takes the oldest shared task. `accept(task)` is asked before the claim and may decline. Claiming
    /// several by one compare-and-swap would be wrong: the owner takes back and exposes the later indices
    /// again while top stands still.
    template <class Accept>
    [[nodiscard]] steal_result steal(Accept accept) noexcept {
        std::int64_t t = m_deque.m_top.load(acq);
        Atom::fence_sc();                     // E2
        if (t >= m_deque.m_split.load(acq)) { // E1
            return {steal_status::empty, 0};
        }
        const ring<Atom>* r = m_deque.m_ring.load(acq); // G1
        const task_word task = r->slots[t & r->mask].load(rlx);
        if (!accept(task)) {
            // Declined is what was the oldest: where another thief has taken that, the slot may hold a later
            // entry. Only a claim tells, and this one takes nothing.
            return {m_deque.m_top.compare_exchange_strong(t, t, rlx, rlx) ? steal_status::refused
                                                                          : steal_status::lost,
                    0};
        }
        const std::uint64_t weight = t < weighs_from(r) ? 1 : r->weights[t & r->mask].weight.load(rlx);
        PILFER_CHAOS_POINT(claim);
        if (!m_deque.m_top.compare_exchange_strong(t, t + 1, rel, rlx)) { // E3, E4
            return {steal_status::lost, 0};
        }
        PILFER_CHAOS_POINT(claim);
        return {steal_status::success, task, weight};
    }
    /// Is anything at all in there, private or shared? top (acquire) before bottom (S4): the other way round
    /// a thief's new top meets an old bottom, and a task is overlooked until that thief hands on.
    [[nodiscard]] bool has_any() const noexcept {
        const std::int64_t t = m_deque.m_top.load(acq);
        return t < m_deque.m_bottom.load(acq);
    }
    /// Numbers that need not belong together while the owner works.
    struct sizes {
        std::int64_t shared;
        std::int64_t own;
        std::int64_t oldest; // index
    };
    [[nodiscard]] sizes look() const noexcept {
        const std::int64_t t = m_deque.m_top.load(rlx);
        const std::int64_t s = m_deque.m_split.load(rlx);
        const std::int64_t b = m_deque.m_bottom.load(rlx);
        return {s > t ? s - t : 0, b > s ? b - s : 0, t};
    }
    /// How many tasks, and what they weigh: see scales.
    [[nodiscard]] detail::scales<Atom> scales() const noexcept {
        const std::int64_t t = m_deque.m_top.load(rlx);
        const std::int64_t s = m_deque.m_split.load(rlx);
        const std::int64_t b = m_deque.m_bottom.load(rlx);
        const ring<Atom>* r = m_deque.m_ring.load(acq); // G1
        return {t, s, b, weighs_from(r), r->weights, r->mask};
    }
    /// Calls f while nobody reaches and no scope of this pool leaves its chain out of turn.
    template <class F>
    auto locked(F f) noexcept {
        lock();
        const auto result = f();
        unlock();
        return result;
    }
    /// The same in two halves, for whoever takes several of these locks: in the order of the workers.
    void lock() noexcept { m_deque.lock(); }
    void unlock() noexcept { m_deque.unlock(); }
    /// Exposes up to `count` private tasks of an owner that does not answer, each after before(task). 0:
    /// none, or somebody else is at it. Costs one heavy fence.
    template <class Before = leave_alone>
    std::int64_t reach(std::int64_t count, Before before = {}) noexcept {
        if (!m_deque.try_lock()) {
            return 0;
        }
        const std::int64_t s = m_deque.m_split.load(rlx);
        if (m_deque.m_bottom.load(rlx) <= s) {
            m_deque.unlock();
            return 0;
        }
        m_deque.set_guard(s + count);
        Atom::heavy_fence();                               // R1
        const std::int64_t b = m_deque.m_bottom.load(acq); // R2
        const std::int64_t e = b < s ? s : (b < s + count ? b : s + count);
        if (e > s) {
            // Only now do they stay what they are: the owner takes back none below the guard without the
            // lock.
            const ring<Atom>* r = m_deque.m_ring.load(acq); // G1
            for (std::int64_t i = s; i < e; ++i) {
                before(r->slots[i & r->mask].load(rlx));
            }
            m_deque.m_split.store(e, rel); // R2, E1
        }
        if (e < s + count) {
            m_deque.set_guard(e);
        }
        m_deque.unlock();
        return e - s;
    }
    /// Takes the oldest task, shared or private, whoever else is at it. 0 is a statement: at some moment
    /// during the call there was none, or the oldest one was declined. (To look whether anything is shared
    /// after a steal that found nothing would be none: another thief may have reached between the two.)
    /// `tell(status)` hears of each try; before(task): as for reach().
    template <class Accept, class Tell, class Before = leave_alone>
    [[nodiscard]] task_word insist(Accept accept, Tell tell, Before before = {}) noexcept {
        for (unsigned round = 0; has_any(); ++round) {
            const steal_result got = steal(accept);
            tell(got.status);
            if (got.status == steal_status::success) {
                return got.task;
            }
            if (got.status == steal_status::refused) {
                return 0;
            }
            if (got.status == steal_status::empty && reach(1, before) == 0) {
                Atom::relax(round); // somebody else is reaching, or has taken it
            }
        }
        return 0;
    }

private:
    [[nodiscard]] std::int64_t weighs_from(const ring<Atom>* r) const noexcept {
        return r->weights == nullptr ? nothing_weighs : m_deque.m_weighs_from.load(rlx);
    }
    split_deque& m_deque;
};

} // namespace detail
} // namespace v0
} // namespace pilfer
