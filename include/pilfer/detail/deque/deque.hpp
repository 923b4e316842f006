// The split deque: one owner at the bottom, any number of thieves at the top.
//
//      top          split              bottom
//       |  shared     |     private      |
//
// The private part belongs to the owner: push and pop there are plain loads and stores. The shared part
// is a Chase-Lev deque whose end is `split`. States, orders, edges E1..E4, R1..R3, G1 and the argument why
// nothing is lost or run twice are in src/deque/README.md; the edge names below refer to it.
//
// Sources: Chase and Lev, SPAA 2005; Le, Pop, Cohen and Zappa Nardelli, PPoPP 2013 (orders); van Dijk
// and van de Pol, "Lace", 2014 (the split point).
#pragma once

#include <cstdint>

#include <pilfer/detail/base/atom.hpp>
#include <pilfer/detail/base/signal_word.hpp>
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
    slot* cells;
    weight_entry<Atom>* weights = nullptr; // as many; null: every task of this ring weighs 1
};

/// The default of `before`: exposing does nothing to a task.
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
    /// `pinned`: every pop takes the slow path, under the lock (exact counting, exposures other than
    /// exposure::on_demand, and machines without membarrier). `start`: first index, for tests near the wrap.
    split_deque(ring<Atom>* first, bool pinned, std::int64_t start = 0) noexcept
        : m_top(start), m_bottom(start), m_guard(pinned ? pinned_guard : start), m_slots(first->cells),
          m_mask(first->mask), m_limit(start + first->mask), m_signal(start + first->mask), m_split(start),
          m_ring(first), m_pinned(pinned) {
        if (pinned) {
            m_signal.pin();
        }
    }
    split_deque(const split_deque&) = delete;
    split_deque& operator=(const split_deque&) = delete;

    [[nodiscard]] signal_word<Atom>& signal() noexcept { return m_signal; }
    [[nodiscard]] const signal_word<Atom>& signal() const noexcept { return m_signal; }

    /// In a child of fork(), which has none of the threads that may hold the lock. Whatever they were doing
    /// under the lock, the deque is in a state that any two steps of theirs may have between them.
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
    // alone; relaxed atomics, because ThreadSanitizer treats the contexts of one thread as different threads.
    alignas(line_bytes) atomic<std::int64_t> m_bottom;
    atomic<std::int64_t> m_guard;
    atomic<slot*> m_slots;
    atomic<std::int64_t> m_mask;
    atomic<std::int64_t> m_limit;
    signal_word<Atom> m_signal;
    // Written at exposure, read by thieves.
    alignas(line_bytes) atomic<std::int64_t> m_split;
    atomic<ring<Atom>*> m_ring;
    atomic<std::int64_t> m_weighs_from{nothing_weighs}; // written by the owner
    atomic<int> m_lock{0};
    bool m_pinned;
};

/// Operations of the deque's own worker only.
template <class Atom>
class split_deque<Atom>::owner_end {
public:
    explicit owner_end(split_deque& deque) noexcept : m_deque(deque) {}

    /// Announces `task`. True if the signal word is hit: call make_room() before the next push.
    [[nodiscard]] PILFER_ALWAYS_INLINE bool push(task_word task) noexcept {
        const std::int64_t b = m_deque.m_bottom.load(rlx);
        at(b).store(task, rlx);
        m_deque.m_bottom.store(
            b + 1,
            rel);            // deque.R2: a forced exposure publishes it further; idle.S1: the sleeper's scan
        Atom::light_fence(); // idle.S1, with the sleeper's heavy fence
        return m_deque.m_signal.pending(b);
    }

    enum class popped { taken, gone, slow };
    /// Takes `task` if it is the newest. `slow`: bottom is already lowered, call pop_slow().
    [[nodiscard]] PILFER_ALWAYS_INLINE popped pop_if(task_word task) noexcept {
        const std::int64_t b = m_deque.m_bottom.load(rlx) - 1;
        // The look comes before the decrement, so that another frame's task is never hidden from a sleeper's
        // scan. The guard finds out a stale slot that matches.
        if (at(b).load(rlx) != task) {
            return popped::gone;
        }
        return lower_to(b) ? popped::taken : popped::slow;
    }
    /// The newest entry, read without a look at the thieves' line. If the deque is empty, it is the entry
    /// that was there last.
    struct seen {
        task_word task;
        std::int64_t index;
    };
    [[nodiscard]] PILFER_ALWAYS_INLINE seen look_at_newest() const noexcept {
        const std::int64_t b = m_deque.m_bottom.load(rlx) - 1;
        return {at(b).load(rlx), b};
    }
    /// The entry that is, or once was, `steps` further down: to be prefetched.
    [[nodiscard]] PILFER_ALWAYS_INLINE task_word look_below(const seen& newest,
                                                            std::int64_t steps) const noexcept {
        return at(newest.index - steps).load(rlx);
    }
    /// Takes the entry that look_at_newest() has just returned. False: bottom is already lowered, call
    /// pop_slow().
    [[nodiscard]] PILFER_ALWAYS_INLINE bool pop_newest(const seen& newest) noexcept {
        return lower_to(newest.index);
    }
    /// The newest task, or 0 if there is none.
    [[nodiscard]] task_word pop(std::int64_t unshare) noexcept {
        const std::int64_t b = m_deque.m_bottom.load(rlx) - 1;
        if (b < m_deque.m_top.load(rlx)) {
            return 0;
        }
        return lower_to(b) ? at(b).load(rlx) : pop_slow(unshare);
    }
    /// After bottom was lowered below the guard. Either a forced exposure is under way, or the private part
    /// is empty, or the deque is pinned. `unshare`: maximal number of shared tasks to make private again.
    [[nodiscard]] PILFER_NOINLINE task_word pop_slow(std::int64_t unshare) noexcept {
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
        if (oldest < s - 1 && lower_split(s, s - unshare < oldest ? oldest : s - unshare)) {
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
    /// Moves up to `count` of the oldest private tasks to the shared part, each after before(task). Returns 0
    /// if nothing is private, or if a forced exposure holds the lock and is about to expose anyway: keep the
    /// request.
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
            m_deque.m_split.store(s + moved, rel); // deque.E1: slot and task, read by steal's acquire
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
    /// After a hit of the signal word: raises the limit as far as thieves have made room. False if the ring
    /// is full: grow() it before the next push.
    [[nodiscard]] bool make_room() noexcept {
        // deque.E3: acquire pairs with the release of the thief's compare-and-swap: its slot may be reused.
        const std::int64_t limit = m_deque.m_top.load(acq) + m_deque.m_mask.load(rlx);
        move_limit(limit);
        return m_deque.m_bottom.load(rlx) <= limit;
    }
    /// True if the next push needs no make_room(). Does not look at the room that thieves have made since.
    [[nodiscard]] bool has_room() const noexcept {
        return m_deque.m_bottom.load(rlx) <= m_deque.m_limit.load(rlx);
    }
    /// If has_room(): clears the slot that the next push writes, for pushed_since(). No thief can claim what
    /// it reads there, because the slot's last use is below top.
    [[nodiscard]] std::int64_t mark() noexcept {
        const std::int64_t b = m_deque.m_bottom.load(rlx);
        at(b).store(0, rlx);
        return b;
    }
    /// True if an entry was pushed to that place since mark(). A hint: it misses an entry that was pushed
    /// below that place, or before the ring grew.
    [[nodiscard]] bool pushed_since(std::int64_t mark) const noexcept { return at(mark).load(rlx) != 0; }
    [[nodiscard]] bool pinned() const noexcept { return m_deque.m_pinned; }
    /// Calls f while no thief forces an exposure.
    template <class F>
    auto locked(F f) noexcept {
        m_deque.lock();
        const auto result = f();
        m_deque.unlock();
        return result;
    }
    [[nodiscard]] std::int64_t capacity() const noexcept { return m_deque.m_mask.load(rlx) + 1; }
    /// Copies the live entries into `bigger`. It must hold at least as much as the present ring, and must
    /// have entries for weights if weighs().
    void grow(ring<Atom>* bigger) noexcept {
        const std::int64_t t = m_deque.m_top.load(acq);
        const std::int64_t b = m_deque.m_bottom.load(rlx);
        for (std::int64_t i = t; i < b; ++i) {
            bigger->cells[i & bigger->mask].store(at(i).load(rlx), rlx);
        }
        move_weights(bigger, t, b);
        bigger->previous = m_deque.m_ring.load(rlx);
        m_deque.m_slots.store(bigger->cells, own_slots_store);
        m_deque.m_mask.store(bigger->mask, rlx);
        m_deque.m_ring.store(bigger, rel); // deque.G1: a thief that sees the ring sees its slots
        move_limit(t + bigger->mask);
    }
    [[nodiscard]] ring<Atom>* rings() noexcept { return m_deque.m_ring.load(rlx); }

    /// True if there are entries for weights. If not, grow() into a ring that has them.
    [[nodiscard]] bool can_weigh() const noexcept { return entries() != nullptr; }
    /// True if each push must be followed by weigh_newest(). It is true from the first weighted task on. It
    /// ends when a push finds all positions from there on popped or stolen.
    [[nodiscard]] bool weighs() const noexcept { return m_deque.m_weighs_from.load(rlx) != nothing_weighs; }
    /// push() of a task with a weight. Requires can_weigh().
    [[nodiscard]] bool push_weighted(task_word task, std::uint64_t weight) noexcept {
        const std::int64_t b = m_deque.m_bottom.load(rlx);
        if (const std::int64_t from = m_deque.m_weighs_from.load(rlx); b < from) {
            // The first weighted task, or pops have gone below the first one since. No entry is at b or
            // above.
            m_deque.m_weighs_from.store(b, rlx);
            if (from == nothing_weighs) {
                m_deque.m_signal.pin(); // every push from now on
            }
        }
        weigh(b, weight); // published with the slot (deque.R2, deque.E1)
        return push(task);
    }
    /// After a push of a task without a weight, if weighs().
    void weigh_newest() noexcept {
        const std::int64_t b = m_deque.m_bottom.load(rlx) - 1;
        if (b <= m_deque.m_weighs_from.load(rlx) || b <= m_deque.m_top.load(rlx)) {
            stop_weighing(); // all weighted tasks were taken
        } else {
            weigh(b, 1);
        }
    }
    /// The weight of the newest task. The deque must not be empty.
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
    /// The entry below `index` is right: every push since `from` has made its own, and a pop leaves entries
    /// alone.
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
            m_deque.m_signal.unpin();
        }
    }
    void move_weights(ring<Atom>* to, std::int64_t top, std::int64_t bottom) noexcept {
        if (!weighs()) {
            return;
        }
        // Entries that are gone need no weight: sums are differences, so the next entry may start from any
        // value.
        const std::int64_t from = m_deque.m_weighs_from.load(rlx);
        for (std::int64_t i = top < from ? from : top; i < bottom; ++i) {
            to->weights[i & to->mask].below.store(entry(i).below.load(rlx), rlx);
            to->weights[i & to->mask].weight.store(entry(i).weight.load(rlx), rlx);
        }
    }
    /// True: the entry at `b` is the owner's.
    [[nodiscard]] PILFER_ALWAYS_INLINE bool lower_to(std::int64_t b) noexcept {
        m_deque.m_bottom.store(b, rel);
        Atom::light_fence(); // deque.R1, with the forcing thief's heavy fence
        return b >= m_deque.m_guard.load(rlx);
    }
    [[nodiscard]] PILFER_ALWAYS_INLINE slot& at(std::int64_t index) const noexcept {
        return m_deque.m_slots.load(own_slots_load)[index & m_deque.m_mask.load(rlx)];
    }
    void move_limit(std::int64_t limit) noexcept {
        m_deque.m_signal.move_limit(limit - m_deque.m_limit.load(rlx));
        m_deque.m_limit.store(limit, rlx);
    }
    /// Under the lock, with an empty private part: makes [result, s) private. The task AT top is contested
    /// and is never taken this way. True if at least one became private.
    [[nodiscard]] bool lower_split(std::int64_t s, std::int64_t to) noexcept {
        m_deque.m_split.store(to,
                              rel); // release too: the lowering store heads no release sequence of deque.E1
        Atom::fence_sc();           // deque.E2, with the fence in steal
        const std::int64_t t = m_deque.m_top.load(rlx);
        const std::int64_t kept = t < to ? to : (t + 1 < s ? t + 1 : s);
        if (kept != to) {
            m_deque.m_split.store(kept, rel);
        }
        m_deque.set_guard(kept);
        return kept < s;
    }
    /// At most the task at top is left. It is claimed as a thief claims it, without the lock (deque.E4).
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

/// Operations of any other worker.
template <class Atom>
class split_deque<Atom>::thief_end {
public:
    explicit thief_end(split_deque& deque) noexcept : m_deque(deque) {}

    /// Takes the oldest shared task. `accept(task)` is asked before the claim and may decline. One
    /// compare-and-swap must not claim several tasks: the owner may take the later indices back and expose
    /// them again while top is unchanged.
    template <class Accept>
    [[nodiscard]] steal_result steal(Accept accept) noexcept {
        std::int64_t t = m_deque.m_top.load(acq);
        Atom::fence_sc();                     // deque.E2
        if (t >= m_deque.m_split.load(acq)) { // deque.E1
            return {steal_status::empty, 0};
        }
        const ring<Atom>* r = m_deque.m_ring.load(acq); // deque.G1
        const task_word task = r->cells[t & r->mask].load(rlx);
        if (!accept(task)) {
            // Check that the declined entry was the oldest. If another thief has taken the oldest, the slot
            // may hold a later entry. Only a claim can say, and this claim takes nothing.
            return {m_deque.m_top.compare_exchange_strong(t, t, rlx, rlx) ? steal_status::refused
                                                                          : steal_status::lost,
                    0};
        }
        const std::uint64_t weight = t < weighs_from(r) ? 1 : r->weights[t & r->mask].weight.load(rlx);
        PILFER_CHAOS_POINT(claim);
        if (!m_deque.m_top.compare_exchange_strong(t, t + 1, rel, rlx)) { // deque.E3, deque.E4
            return {steal_status::lost, 0};
        }
        PILFER_CHAOS_POINT(claim);
        return {steal_status::success, task, weight};
    }
    /// True if any task is in the deque, private or shared. top (acquire) is read before bottom (idle.S4). In
    /// the other order a thief's new top could meet an old bottom: a task would be overlooked until that
    /// thief shares work itself.
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
    /// A view of the tasks and their weights: see the class `scales`.
    [[nodiscard]] detail::scales<Atom> scales() const noexcept {
        const std::int64_t t = m_deque.m_top.load(rlx);
        const std::int64_t s = m_deque.m_split.load(rlx);
        const std::int64_t b = m_deque.m_bottom.load(rlx);
        const ring<Atom>* r = m_deque.m_ring.load(acq); // deque.G1
        return {t, s, b, weighs_from(r), r->weights, r->mask};
    }
    /// Calls f while no thief forces an exposure and no scope of this pool leaves its chain out of turn.
    template <class F>
    auto locked(F f) noexcept {
        lock();
        const auto result = f();
        unlock();
        return result;
    }
    /// locked() in two halves. A caller that takes several of these locks takes them in the order of the
    /// workers.
    void lock() noexcept { m_deque.lock(); }
    void unlock() noexcept { m_deque.unlock(); }
    /// Exposes up to `count` private tasks of an owner that does not answer, each after before(task). Returns
    /// 0 if there is none, or if another thread holds the lock. Costs one heavy fence.
    template <class Before = leave_alone>
    std::int64_t force_expose(std::int64_t count, Before before = {}) noexcept {
        if (!m_deque.try_lock()) {
            return 0;
        }
        const std::int64_t s = m_deque.m_split.load(rlx);
        if (m_deque.m_bottom.load(rlx) <= s) {
            m_deque.unlock();
            return 0;
        }
        m_deque.set_guard(s + count);
        Atom::heavy_fence();                               // deque.R1
        const std::int64_t b = m_deque.m_bottom.load(acq); // deque.R2
        const std::int64_t e = b < s ? s : (b < s + count ? b : s + count);
        if (e > s) {
            // Only now is it certain that these tasks stay: below the guard the owner takes none back without
            // the lock.
            const ring<Atom>* r = m_deque.m_ring.load(acq); // deque.G1
            for (std::int64_t i = s; i < e; ++i) {
                before(r->cells[i & r->mask].load(rlx));
            }
            m_deque.m_split.store(e, rel); // deque.R2, deque.E1
        }
        if (e < s + count) {
            m_deque.set_guard(e);
        }
        m_deque.unlock();
        return e - s;
    }
    /// Takes the oldest task, shared or private, whatever other thieves do. The answer 0 is a statement: at
    /// some moment during the call there was no task, or the oldest one was declined. `tell(status)` is
    /// called for each try; before(task): as for force_expose().
    ///
    /// A steal that found nothing, followed by a look at the shared part, would be no statement: another
    /// thief may have exposed between the two.
    template <class Accept, class Tell, class Before = leave_alone>
    [[nodiscard]] task_word steal_until_settled(Accept accept, Tell tell, Before before = {}) noexcept {
        for (unsigned round = 0; has_any(); ++round) {
            const steal_result got = steal(accept);
            tell(got.status);
            if (got.status == steal_status::success) {
                return got.task;
            }
            if (got.status == steal_status::refused) {
                return 0;
            }
            if (got.status == steal_status::empty && force_expose(1, before) == 0) {
                Atom::relax(round); // another thief forces an exposure, or has taken it
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
