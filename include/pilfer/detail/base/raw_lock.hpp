// A lock for a few instructions, held by a thread and never across a switch of contexts.
//
// Three states, after Drepper, "Futexes are tricky" (2011), section "mutex, take 2". States, edges and why
// not a spin lock: src/sync/README.md.
#pragma once

#include <cstdint>

#include <pilfer/detail/base/atom.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

/// `Park`: as for `sleepers`. `Spins`: number of tries before the thread sleeps.
template <class Atom, class Park, unsigned Spins = 3>
class raw_lock {
public:
    void lock() noexcept {
        std::uint32_t seen = open;
        if (m_word.compare_exchange_strong(seen, held, acq, rlx)) { // sync.L1
            return;
        }
        // The holder is a few instructions from its end, unless it has lost its CPU.
        for (unsigned round = 0; round < Spins; ++round) {
            Atom::relax(round);
            seen = open;
            if (m_word.compare_exchange_strong(seen, held, acq, rlx)) { // sync.L1
                return;
            }
        }
        // From here on the word says that a thread may be asleep. The price is at most one unneeded wake-up.
        while (m_word.exchange(contended, acq) != open) { // sync.L1
            Park::wait(m_word, contended);
        }
    }
    /// After the exchange only the address is used: the object around this lock may be gone.
    void unlock() noexcept {
        auto& word = m_word;
        PILFER_CHAOS_POINT(complete);
        if (word.exchange(open, rel) == contended) { // sync.L1
            Park::wake(word);
        }
    }

    /// False: a thread holds it. In a child of fork() that thread may be the parent's.
    [[nodiscard]] bool try_lock() noexcept {
        std::uint32_t seen = open;
        return m_word.compare_exchange_strong(seen, held, acq, rlx); // sync.L1
    }

    /// Opens the lock in a child of fork(), which has none of the threads that may hold it. True if one did.
    [[nodiscard]] bool open_for_good() noexcept { return m_word.exchange(open, rlx) != open; }

private:
    static constexpr std::uint32_t open = 0;
    static constexpr std::uint32_t held = 1;
    static constexpr std::uint32_t contended = 2;

    typename Atom::template atomic<std::uint32_t> m_word{open};
};

} // namespace detail
} // namespace v0
} // namespace pilfer
