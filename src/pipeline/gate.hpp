// The gate of a serial stage, and the tokens of a pipeline: who may call a serial stage, and with which item.
//
// States, edges pipeline.E1 to pipeline.E3 and the argument: README.md.
#pragma once

#include <cstddef>
#include <cstdint>

#include <pilfer/detail/base/atom.hpp>
#include <pilfer/detail/base/checked.hpp>
#include <pilfer/detail/base/raw_lock.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

/// The head of an item's record; the memory of its values follows. It belongs to the task that carries the
/// item, or to the lock of the gate or of the tokens that hold it.
template <class Atom>
struct pipeline_item {
    template <class T>
    using plain = typename Atom::template plain<T>;

    plain<std::uint64_t> ticket = 0;      ///< The number of the item: how many the source has given before.
    plain<pipeline_item*> next = nullptr; ///< In a queue of a gate, or among the free records.
    plain<std::size_t> stage = 0;         ///< The stage that it comes to next. 0: the record holds no value.
};

/// Lets one item at a time into a serial stage and keeps the others. `Park`: as for `sleepers`.
template <class Atom, class Park>
class stage_gate {
    template <class T>
    using plain = typename Atom::template plain<T>;

public:
    using item = pipeline_item<Atom>;
    using slot = plain<item*>;

    /// `ring`: as many null pointers as there are tokens at least, a power of two; they outlive the gate.
    /// Null: items enter as they come.
    stage_gate(slot* ring, std::uint64_t slots) noexcept : m_ring(ring), m_mask(slots - 1) {}

    /// True: the caller runs the stage on `i`, then calls leave(). False: `i` is parked, and not the caller's
    /// any longer.
    [[nodiscard]] bool enter(item* i) noexcept {
        m_lock.lock(); // pipeline.E1, pipeline.E2
        const bool is_free = !m_busy && (m_ring == nullptr || i->ticket == m_turn);
        if (is_free) {
            m_busy = true;
        } else {
            park(i);
        }
        m_lock.unlock();
        return is_free;
    }
    /// Called by the task that has run the stage. Returns the item on which it runs the stage next, then
    /// calls leave() again. Null: the stage is free.
    [[nodiscard]] item* leave() noexcept {
        m_lock.lock(); // pipeline.E1, pipeline.E2
        m_turn = m_turn + 1;
        item* const next = m_ring != nullptr ? take_turn() : take_first();
        m_busy = next != nullptr;
        m_lock.unlock();
        return next;
    }

private:
    void park(item* i) noexcept {
        if (m_ring != nullptr) {
            slot& place = m_ring[i->ticket & m_mask];
            ensure([&place] { return place == nullptr; }, "two items of a pipeline in one slot");
            place = i;
            return;
        }
        i->next = nullptr;
        item* const last = m_last;
        m_last = i;
        if (last != nullptr) {
            last->next = i;
        } else {
            m_first = i;
        }
    }
    [[nodiscard]] item* take_turn() noexcept {
        slot& place = m_ring[m_turn & m_mask];
        item* const i = place;
        place = nullptr;
        return i;
    }
    [[nodiscard]] item* take_first() noexcept {
        item* const i = m_first;
        if (i != nullptr) {
            m_first = i->next;
            if (i->next == nullptr) {
                m_last = nullptr;
            }
        }
        return i;
    }

    raw_lock<Atom, Park> m_lock;
    plain<bool> m_busy = false;
    plain<std::uint64_t> m_turn = 0; // in order: the number of the item that is inside, or comes next
    slot* const m_ring;
    const std::uint64_t m_mask;
    plain<item*> m_first = nullptr; // as they come: the queue
    plain<item*> m_last = nullptr;
};

/// The right to call the source, and the records that hold no item. `New`: makes a record that was never
/// used.
template <class Atom, class Park>
class token_box {
    template <class T>
    using plain = typename Atom::template plain<T>;

public:
    using item = pipeline_item<Atom>;

    explicit token_box(std::size_t tokens) noexcept : m_unused(tokens) {}

    /// Returns a record and the right to call the source with it: the caller calls filled() or ended() next.
    /// Null: the source is in use or has ended, or all tokens are in flight. `make(n)` makes the
    /// record number n. `is_scout`: the caller is the task that an offer has forked.
    template <class Make>
    [[nodiscard]] item* claim(Make make, bool is_scout) noexcept {
        item* i = nullptr;
        m_lock.lock(); // pipeline.E3
        if (is_scout) {
            m_is_offered = false;
        }
        if (!m_busy && !m_has_ended && has_record()) {
            m_busy = true;
            i = m_free;
            if (i != nullptr) {
                m_free = i->next;
            } else {
                m_unused = m_unused - 1;
                i = make(m_made);
                m_made = m_made + 1;
            }
        }
        m_lock.unlock();
        return i;
    }
    /// The source has given `i` a value; the right to call it ends. True: the caller forks a scout, which
    /// goes for the next item.
    [[nodiscard]] bool filled(item* i) noexcept {
        m_lock.lock(); // pipeline.E3
        i->ticket = m_tickets;
        m_tickets = m_tickets + 1;
        m_busy = false;
        const bool offers = offer();
        m_lock.unlock();
        return offers;
    }
    /// The source has given nothing to `i`: there are no more items.
    void ended(item* i) noexcept {
        m_lock.lock(); // pipeline.E3
        m_busy = false;
        m_has_ended = true;
        put(i);
        m_lock.unlock();
    }
    /// The item of `i` is through. Returns `i` and the right to call the source, if that is free.
    [[nodiscard]] item* reuse(item* i) noexcept {
        m_lock.lock(); // pipeline.E3
        m_through = m_through + 1;
        const bool calls = !m_busy && !m_has_ended;
        if (calls) {
            m_busy = true;
        } else {
            put(i);
        }
        m_lock.unlock();
        return calls ? i : nullptr;
    }
    /// The item of `i` is through, and the caller has other work. True: the caller forks a scout.
    [[nodiscard]] bool give_back(item* i) noexcept {
        m_lock.lock(); // pipeline.E3
        m_through = m_through + 1;
        put(i);
        const bool offers = offer();
        m_lock.unlock();
        return offers;
    }
    /// The scout that was offered is not forked. The next item offers again.
    void withdraw() noexcept {
        m_lock.lock(); // pipeline.E3
        m_is_offered = false;
        m_lock.unlock();
    }
    /// True if the source has ended and all items are through. Called when all tasks have ended.
    [[nodiscard]] bool is_done() const noexcept { return m_has_ended && m_through == m_tickets; }
    /// The number of records that were made. Called when all tasks have ended.
    [[nodiscard]] std::size_t made() const noexcept { return m_made; }

private:
    [[nodiscard]] bool has_record() const noexcept { return m_free != nullptr || m_unused != 0; }
    void put(item* i) noexcept {
        i->next = m_free;
        m_free = i;
    }
    /// True, once: there is an item to fetch, and no scout on its way. A scout that comes while the source is
    /// in use ends; then filled() offers again.
    [[nodiscard]] bool offer() noexcept {
        const bool offers = !m_busy && !m_has_ended && !m_is_offered && has_record();
        if (offers) {
            m_is_offered = true;
        }
        return offers;
    }

    raw_lock<Atom, Park> m_lock;
    plain<bool> m_busy = false;
    plain<bool> m_has_ended = false;
    plain<bool> m_is_offered = false;
    plain<std::uint64_t> m_tickets = 0;
    plain<std::uint64_t> m_through = 0;
    plain<item*> m_free = nullptr;
    plain<std::size_t> m_made = 0;
    plain<std::size_t> m_unused;
};

} // namespace detail
} // namespace v0
} // namespace pilfer
