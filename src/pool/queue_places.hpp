// A bound on the submission queue: which submitters may queue a task, and which wait for a place.
//
// This class only counts places; the queue transfers the tasks. So all accesses to the count are relaxed.
// States and the argument: README.md, "A bounded queue".
#pragma once

#include <cstdint>

#include <pilfer/detail/base/atom.hpp>
#include <pilfer/detail/wait/wait_list.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

/// `Park` as for `sleepers`.
template <class Atom, class Park>
class queue_places {
public:
    using list_type = wait_list<Atom, Park>;
    using entry = typename list_type::entry;
    enum class step {
        taken,  ///< the caller has a place
        wait,   ///< the entry is in the list; when it is completed, `wants` is given or refused
        closed, ///< the queue is closed: no waiting is possible
    };
    static constexpr std::uintptr_t refused = 0;
    static constexpr std::uintptr_t given = 1; ///< the entry owns a place

    /// `capacity`: number of places; 0: no bound, and no other function may be called.
    explicit queue_places(std::uint64_t capacity) noexcept : m_capacity(capacity) {}

    [[nodiscard]] bool bounded() const noexcept { return m_capacity != 0; }
    [[nodiscard]] std::uint64_t capacity() const noexcept { return m_capacity; }
    /// For reports and checks: tasks that are queued or about to be.
    [[nodiscard]] std::uint64_t taken() const noexcept { return m_word.load(rlx) / one; }

    /// Any thread. False: no place is free, or other submitters wait for one.
    [[nodiscard]] bool try_take() noexcept {
        word seen = m_word.load(rlx);
        while ((seen & awaited) == 0 && seen / one < m_capacity) {
            if (m_word.compare_exchange_weak(seen, seen + one, rlx, rlx)) {
                return true;
            }
        }
        return false;
    }
    /// Any thread that must neither wait nor fail. May exceed the bound.
    void take_anyway() noexcept { m_word.fetch_add(one, rlx); }
    /// Any thread, after try_take() has failed. Takes a place, or adds the entry to the list.
    [[nodiscard]] step enter(entry& e) noexcept {
        m_waiting.lock();
        if (m_closed) {
            m_waiting.unlock();
            return step::closed;
        }
        word seen = m_word.load(rlx);
        for (;;) {
            if ((seen & awaited) == 0 && seen / one < m_capacity) {
                if (m_word.compare_exchange_weak(seen, seen + one, rlx, rlx)) {
                    m_waiting.unlock();
                    return step::taken;
                }
            } else if (m_word.compare_exchange_weak(seen, seen | awaited, rlx, rlx)) {
                break;
            }
        }
        e.wants = refused;
        m_waiting.add(e);
        m_waiting.unlock();
        return step::wait;
    }
    /// Gives a place back: a task has left the queue, or will not be queued after all. Returns the entry that
    /// now owns the place; the caller sets its `wants` and completes it. Null: no entry waited.
    [[nodiscard]] entry* give_back() noexcept {
        word seen = m_word.load(rlx);
        while ((seen & awaited) == 0) {
            if (m_word.compare_exchange_weak(seen, seen - one, rlx, rlx)) {
                return nullptr;
            }
        }
        m_waiting.lock();
        entry* const first = m_waiting.first();
        bool passes = false;
        seen = m_word.load(rlx);
        do {
            // If the bound is exceeded, this place disappears. A later give_back() serves the entry.
            passes = first != nullptr && seen / one <= m_capacity;
        } while (!passes && !m_word.compare_exchange_weak(seen, seen - one, rlx, rlx));
        if (passes) {
            m_waiting.take(*first);
            if (m_waiting.empty()) {
                m_word.fetch_and(~awaited, rlx);
            }
        }
        m_waiting.unlock();
        return passes ? first : nullptr;
    }
    /// Ends waiting for good. Returns the entries that wait, linked by `next`; the caller refuses them.
    [[nodiscard]] entry* close() noexcept {
        m_waiting.lock();
        m_closed = true;
        entry* const all = m_waiting.take_all();
        m_word.fetch_and(~awaited, rlx);
        m_waiting.unlock();
        return all;
    }

    [[nodiscard]] list_type& waiting() noexcept { return m_waiting; }

private:
    using word = std::uint64_t;
    static constexpr word awaited = 1; // the list is not empty; changed under its lock
    static constexpr word one = 2;     // a place

    const std::uint64_t m_capacity;
    typename Atom::template atomic<word> m_word{0};
    typename Atom::template plain<bool> m_closed = false; // under the list's lock
    list_type m_waiting;
};

} // namespace detail
} // namespace v0
} // namespace pilfer
