// The state of a mutex: one word for the fast paths, and a list of waiters.
//
// A newcomer may take a free mutex ahead of the waiters. It may not take it ahead of a waiter that was passed
// over 64 times: that waiter is given the mutex. States, edges M1..M3 and the argument: src/sync/README.md.
#pragma once

#include <cstdint>

#include <pilfer/detail/base/atom.hpp>
#include <pilfer/detail/base/checked.hpp>
#include <pilfer/detail/wait/wait_list.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

/// `Park`: as for `sleepers`. `Patience`: number of times that later comers may take the mutex ahead of a
/// waiter; then it is handed to the waiter.
template <class Atom, class Park, std::uint32_t Patience = 64>
class mutex_protocol {
    template <class T>
    using plain = typename Atom::template plain<T>;

public:
    using list_type = wait_list<Atom, Park>;
    using entry = typename list_type::entry;
    using fate = typename list_type::fate;
    enum class step {
        owned, ///< the caller holds it
        wait,  ///< the entry is in the list: wait, then call look()
        over,  ///< the time is over, and the entry is outside
    };
    /// Locks if the mutex is free and no entry waits.
    [[nodiscard]] PILFER_ALWAYS_INLINE bool lock_fast() noexcept {
        std::uint32_t seen = 0;
        return m_word.compare_exchange_strong(seen, held, acq, rlx); // sync.M1
    }
    /// Unlocks if no entry waits. False: call unlock_slow().
    [[nodiscard]] PILFER_ALWAYS_INLINE bool unlock_fast() noexcept {
        std::uint32_t seen = held;
        return m_word.compare_exchange_strong(seen, 0, rel, rlx); // sync.M1
    }
    /// Locks if the mutex is free, even if entries wait.
    [[nodiscard]] bool try_lock() noexcept {
        std::uint32_t seen = m_word.load(rlx);
        while ((seen & held) == 0) {
            if (m_word.compare_exchange_weak(seen, seen | held, acq, rlx)) { // sync.M1
                return true;
            }
        }
        return false;
    }
    /// Locks, or puts `e` into the list. Returns owned or wait.
    [[nodiscard]] step enter(entry& e) noexcept {
        for (unsigned round = 0; round < spins; ++round) {
            if (try_lock()) {
                return step::owned;
            }
            Atom::relax(round);
        }
        m_waiting.lock();
        std::uint32_t seen = m_word.load(rlx);
        for (;;) {
            if ((seen & held) == 0) {
                if (m_word.compare_exchange_weak(seen, seen | held, acq, rlx)) { // sync.M1
                    m_waiting.unlock();
                    return step::owned;
                }
            } else if (m_word.compare_exchange_weak(seen, seen | queued, rlx, rlx)) { // sync.M2
                break;
            }
        }
        e.passed = m_turn;
        m_waiting.add(e);
        m_waiting.unlock();
        return step::wait;
    }
    /// After a wait, for whatever reason it has ended. `over()` returns true if the time is over; it is asked
    /// under the list's lock.
    template <class Over>
    [[nodiscard]] step look(entry& e, Over over) noexcept {
        m_waiting.lock();
        const fate end = e.end;
        if (end != fate::called) {
            m_waiting.unlock();
            return end == fate::notified ? step::owned : step::over;
        }
        std::uint32_t seen = m_word.load(rlx);
        while ((seen & held) == 0) {
            if (m_word.compare_exchange_weak(seen, seen | held, acq, rlx)) { // sync.M1
                m_waiting.take(e);
                m_in_order = true;
                m_word.store(held | queue(), rlx); // the only writer: held, and under the list's lock
                m_waiting.unlock();
                return step::owned;
            }
        }
        if (over()) {
            m_waiting.take(e, fate::withdrawn); // the holder calls the next one
            m_waiting.unlock();
            return step::over;
        }
        m_waiting.wait_again(e);
        m_waiting.unlock();
        return step::wait;
    }
    /// Holder, after unlock_fast() has failed. Returns the entry to be completed now, or null. Nothing of the
    /// mutex may be touched afterwards.
    [[nodiscard]] entry* unlock_slow() noexcept {
        for (;;) {
            m_waiting.lock();
            entry* const first = m_waiting.first();
            if (first == nullptr) {
                // All waiters have withdrawn. The mutex is not released here: the next holder may destroy it
                // while this thread is still inside the list's lock.
                m_word.store(held, rlx);
                m_waiting.unlock();
                if (unlock_fast()) {
                    return nullptr;
                }
                continue;
            }
            const bool is_called = first->end == fate::called;
            if (!m_in_order) {
                m_turn = m_turn + 1;
            }
            m_in_order = false;
            const std::uint32_t passed = m_turn - first->passed;
            if (passed >= Patience) {
                m_waiting.take(*first);
                m_in_order = true;
                m_word.store(held | queue(), rlx); // sync.M3: the holder hands it over
            } else {
                if (!is_called) {
                    m_waiting.call(*first);
                }
                m_word.store(queued, rel); // sync.M1
            }
            m_waiting.unlock();
            return is_called ? nullptr : first;
        }
    }

    [[nodiscard]] list_type& waiting() noexcept { return m_waiting; }
    /// For checks: true if the mutex is free and no entry waits.
    [[nodiscard]] bool at_rest() const noexcept {
        return (m_word.load(rlx) & held) == 0 && m_waiting.empty();
    }
    [[nodiscard]] bool is_held() const noexcept { return (m_word.load(rlx) & held) != 0; }

private:
    static constexpr std::uint32_t held = 1;
    static constexpr std::uint32_t queued = 2; // the list is not empty, or was not a moment ago
    static constexpr unsigned spins = 3;

    [[nodiscard]] std::uint32_t queue() const noexcept { return m_waiting.empty() ? 0 : queued; }

    typename Atom::template atomic<std::uint32_t> m_word{0};
    // Under the list's lock.
    plain<std::uint32_t> m_turn = 0; // number of unlocks by holders that took it ahead of the waiters
    plain<bool> m_in_order = false;  // the holder was the first of the list
    list_type m_waiting;
};

} // namespace detail
} // namespace v0
} // namespace pilfer
