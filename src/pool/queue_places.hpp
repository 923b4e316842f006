// A bound on the submission queue: who may put something in, and who waits until there is room.
//
// Places are counted, tasks travel by the queue; so every order of the count is relaxed. States and the
// argument: README.md, "A bounded queue".
#pragma once

#include <cstdint>

#include <pilfer/detail/base/atom.hpp>
#include <pilfer/detail/worker/wait_list.hpp>

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
        wait,   ///< the entry is in the list; once it is completed `wants` is given or refused
        closed, ///< nobody waits any more
    };
    static constexpr std::uintptr_t refused = 0;
    static constexpr std::uintptr_t given = 1; ///< the place, and whatever else its giver has done for it

    /// 0: no bound, and nothing else is called.
    explicit queue_places(std::uint64_t capacity) noexcept : m_capacity(capacity) {}

    [[nodiscard]] bool bounded() const noexcept { return m_capacity != 0; }
    [[nodiscard]] std::uint64_t capacity() const noexcept { return m_capacity; }
    /// For reports and checks: queued, or about to be.
    [[nodiscard]] std::uint64_t taken() const noexcept { return m_word.load(rlx) / one; }

    /// Anyone. False: there is no room, or others wait for it.
    [[nodiscard]] bool try_take() noexcept {
        word seen = m_word.load(rlx);
        while ((seen & awaited) == 0 && seen / one < m_capacity) {
            if (m_word.compare_exchange_weak(seen, seen + one, rlx, rlx)) {
                return true;
            }
        }
        return false;
    }
    /// Anyone who must neither wait nor fail: beyond the bound if need be.
    void take_anyway() noexcept { m_word.fetch_add(one, rlx); }
    /// Anyone, behind try_take().
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
    /// Whoever took something out of the queue, or does not put it in after all. An entry that has the place
    /// now: the caller says so in `wants` and completes it; null: nobody.
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
            // Where more is queued than there is room for, somebody else gives a place later.
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
    /// From now on nobody waits. Those who do, as a chain by `next`: refused.
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
