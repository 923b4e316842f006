// Sleeping and waking without polling, without a lock and without a shared counter.
//
// A sleeper announces itself, tells every worker, fences, looks at everything once more and only then
// sleeps on a word of its own. A publisher reads nothing but its own tripwire while nobody sleeps. The
// rule, the seven simpler rules that lose wake-ups, and edges S1..S6: src/idle/README.md.
#pragma once

#include <bit>
#include <cstdint>

#include <pilfer/detail/base/atom.hpp>
#include <pilfer/detail/base/tripwire.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

/// Park policy: `static void wait(atomic<uint32_t>&, uint32_t expected)` returns at the latest when the
/// word differs and wake() was called (it may return early); `static void wake(atomic<uint32_t>&)`.
/// `Bell`: `void ring() noexcept` ends the sleep of one that lies elsewhere than on its word, begun or not.
struct no_bell {
    void ring() noexcept {}
};
template <class Atom, class Park, class Bell = no_bell>
class sleepers {
public:
    static constexpr unsigned nobody = UINT32_MAX;
    enum state : std::uint32_t {
        running = 0,
        asleep = 1,
        token = 2,  // woken, and obliged to look again before it runs what it finds
        afield = 3, // asleep, and not on this word: a bell has to be rung
        alert = 4,  // searching, and obliged to look at what is queued before it runs what it finds
    };
    /// One per worker, on a line of its own.
    struct alignas(line_bytes) seat {
        typename Atom::template atomic<std::uint32_t> state{running};
        typename Atom::template atomic<std::uint32_t> hint{0};
    };
    using map_word = typename Atom::template atomic<std::uint64_t>;
    /// `found`: the scan saw something. Who held a token before still owes what it stands for: a publisher
    /// may have been throttled by it, and another worker may take what this one saw. `woken`: a token.
    enum class outcome { found, woken };

    /// `seats`: n of them; `map`: ceil(n / 64) words, all zero; `aside`: as many for who steps aside, null
    /// where nobody does. All outlive this object.
    sleepers(seat* seats, map_word* map, unsigned n, map_word* aside = nullptr) noexcept
        : m_seats(seats), m_map(map), m_aside(aside), m_count(n) {}

    /// There are only `n` workers after all. Before anybody else knows this object.
    void shrink(unsigned n) noexcept { m_count = n; }

    /// Worker `i` found nothing and goes to sleep. `tell_all()` sets `wanted` in every other worker's
    /// tripwire where it is clear; `ready()` says whether anything at all is there to do.
    template <class TellAll, class Ready>
    outcome sleep(unsigned i, TellAll tell_all, Ready ready) {
        return sleep(i, tell_all, ready, [](auto& word) { Park::wait(word, asleep); });
    }
    /// The same; `rest(word)` parks on the state, and may come back early.
    template <class TellAll, class Ready, class Rest>
    outcome sleep(unsigned i, TellAll tell_all, Ready ready, Rest rest) {
        m_seats[i].state.store(asleep, rlx);
        word(i).fetch_or(bit(i), acq_rel);
        Atom::fence_sc();    // S2: announced before the tripwires are read; S5: searching no more before the
                             // scan
        tell_all();          // S1, before the heavy fence
        Atom::heavy_fence(); // S1: pushes made before this point are seen by ready()
        if (ready()) {
            PILFER_CHAOS_POINT(idle);
            if ((word(i).fetch_and(~bit(i), acq_rel) & bit(i)) != 0) {
                m_seats[i].state.store(running, rlx);
                return outcome::found;
            }
            // A waker has chosen this worker: its token is on the way and must not be dropped.
            for (unsigned round = 0; m_seats[i].state.load(acq) == asleep; ++round) {
                Atom::relax(round);
            }
            return outcome::woken;
        }
        while (m_seats[i].state.load(acq) == asleep) { // S3
            PILFER_CHAOS_POINT(idle);
            rest(m_seats[i].state);
        }
        return outcome::woken;
    }
    /// Worker `i`, which owes nobody a look, steps aside: no work wakes it, only unpark(). `called()` says
    /// whether there is what it has to come back for; `rest(word)` as above.
    template <class Called, class Rest>
    outcome park(unsigned i, Called called, Rest rest) {
        m_seats[i].state.store(asleep, rlx);
        aside(i).fetch_or(bit(i), rel); // S8: asleep before it can be called
        Atom::fence_sc();               // S7: aside before the look, with the fence of whoever calls it
        if (called()) {
            PILFER_CHAOS_POINT(idle);
            if ((aside(i).fetch_and(~bit(i), rlx) & bit(i)) != 0) {
                m_seats[i].state.store(running, rlx);
                return outcome::found;
            }
            for (unsigned round = 0; m_seats[i].state.load(rlx) == asleep; ++round) {
                Atom::relax(round);
            }
            return outcome::woken;
        }
        while (m_seats[i].state.load(acq) == asleep) { // S7
            PILFER_CHAOS_POINT(idle);
            rest(m_seats[i].state);
        }
        return outcome::woken;
    }
    /// Calls worker `i` back if it has stepped aside; behind what it is called for, and a fence.
    bool unpark(unsigned i) noexcept {
        if (m_aside == nullptr || (aside(i).load(rlx) & bit(i)) == 0 ||
            (aside(i).fetch_and(~bit(i), acq) & bit(i)) == 0) { // S8: so the token comes behind
            return false;
        }
        PILFER_CHAOS_POINT(wake);
        m_seats[i].hint.store(i, rlx);
        m_seats[i].state.store(token, rlx); // S7: the fence of the caller carries what it is called for
        Park::wake(m_seats[i].state);
        return true;
    }
    /// Worker `i` has no thread: it counts as one that has stepped aside. Before its thread is made, and by
    /// who makes it.
    void seat_empty(unsigned i, bool empty) noexcept {
        m_seats[i].state.store(empty ? asleep : running, rlx);
        if (empty) {
            aside(i).fetch_or(bit(i), acq_rel);
        } else {
            aside(i).fetch_and(~bit(i), acq_rel);
        }
    }
    /// Has stepped aside, or has no thread.
    [[nodiscard]] bool is_aside(unsigned i) const noexcept {
        return m_aside != nullptr && (aside(i).load(acq) & bit(i)) != 0;
    }
    /// Worker `i`, inside `rest`: from now on it is woken by `bell`, the same for all of these sleepers.
    /// False: it is woken already. Not while another one is afield.
    [[nodiscard]] bool go_afield(unsigned i, Bell& bell) noexcept {
        m_bell.store(&bell, rlx);
        std::uint32_t expected = asleep;
        return m_seats[i].state.compare_exchange_strong(expected, afield, rel, rlx); // N1
    }
    /// Behind that, when it sleeps no more, and behind silencing the bell: on its word again, unless it is
    /// woken.
    void come_home(unsigned i) noexcept {
        std::uint32_t expected = afield;
        (void)m_seats[i].state.compare_exchange_strong(expected, asleep, rlx, rlx); // N2
    }
    /// Worker `i` holds a token and has found work: gives the token back. A look at everything must
    /// follow before the work is run, and wake_one() if anything is left.
    void settle_token(unsigned i) noexcept {
        m_seats[i].state.store(running, rlx);
        Atom::fence_sc(); // S5, with the publisher's fence before is_searching()
    }
    /// Worker `i`, which holds no token, begins to search: whoever queues something for anybody need wake
    /// nobody meanwhile.
    void be_alert(unsigned i) noexcept { m_seats[i].state.store(alert, rlx); }
    /// Worker `i` was alert and has found work. A look at what is queued must follow before the work is run,
    /// and somebody be told if anything is.
    void settle_alert(unsigned i) noexcept {
        m_seats[i].state.store(running, rlx);
        Atom::fence_sc(); // S6, with the fence of whoever calls anyone_alert()
    }
    /// After a push to a queue of all workers and a fence: is one of them awake that will look there? Of
    /// those from `first` on, in the ring; it says which. At most `most` are asked.
    [[nodiscard]] unsigned anyone_alert(unsigned first, unsigned most) const noexcept {
        const unsigned n = most < m_count ? most : m_count;
        for (unsigned k = 0, i = first < m_count ? first : 0; k < n; ++k, i = i + 1 < m_count ? i + 1 : 0) {
            // Not with a token: who was woken may not have a CPU for long.
            if (is_alert(i)) {
                return i;
            }
        }
        return nobody;
    }
    [[nodiscard]] bool anyone_asleep() const noexcept {
        for (unsigned k = 0; k * 64 < m_count; ++k) {
            if (m_map[k].load(rlx) != 0) {
                return true;
            }
        }
        return false;
    }
    /// Of several that lie down at once the last one sees all of them: the fence in sleep() stands between
    /// its own bit and this look.
    [[nodiscard]] bool everybody_asleep() const noexcept {
        for (unsigned k = 0; k * 64 < m_count; ++k) {
            const unsigned here = m_count - k * 64 < 64 ? m_count - k * 64 : 64;
            const std::uint64_t all = here == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << here) - 1;
            std::uint64_t down = m_map[k].load(acq); // what they counted before they lay down
            if (m_aside != nullptr) {
                down |= m_aside[k].load(acq);
            }
            if (down != all) {
                return false;
            }
        }
        return true;
    }
    /// Where a debugger finds the state of worker `i`.
    [[nodiscard]] const void* state_of(unsigned i) const noexcept { return &m_seats[i].state; }
    [[nodiscard]] bool is_asleep(unsigned i) const noexcept {
        const std::uint32_t now = m_seats[i].state.load(acq);
        return now == asleep || now == afield;
    }
    /// Asleep, and nobody is about to wake it.
    [[nodiscard]] bool is_left_asleep(unsigned i) const noexcept {
        return ((word(i).load(acq) & bit(i)) != 0 || is_aside(i)) && is_asleep(i);
    }
    /// Has `i` been woken without having found work yet? Then it will look again by itself.
    [[nodiscard]] bool is_searching(unsigned i) const noexcept { return m_seats[i].state.load(rlx) == token; }
    /// Does it search without a token, and owe a look at what is queued? One that was woken (a token) is not.
    [[nodiscard]] bool is_alert(unsigned i) const noexcept { return m_seats[i].state.load(rlx) == alert; }
    /// Neither asleep nor owing a look: a worker that runs a task, or that has ended.
    [[nodiscard]] bool is_running(unsigned i) const noexcept { return m_seats[i].state.load(rlx) == running; }
    /// Wakes the first sleeper behind `from` in the ring and tells it to look at `victim` first.
    unsigned wake_one(unsigned from, unsigned victim) noexcept {
        for (unsigned i = next_asleep(from); i != nobody; i = next_asleep(from)) {
            if (wake(i, victim)) {
                return i;
            }
        }
        return nobody;
    }
    /// Wakes worker `i` if it sleeps.
    bool wake(unsigned i, unsigned victim) noexcept {
        if ((word(i).load(rlx) & bit(i)) == 0 || (word(i).fetch_and(~bit(i), acq_rel) & bit(i)) == 0) {
            return false;
        }
        PILFER_CHAOS_POINT(wake); // the sleeper may find its bit gone and wait for the token
        m_seats[i].hint.store(victim, rlx);
        // S3: the token carries the push. N1: one word says how it sleeps and that it is woken.
        const std::uint32_t slept = m_seats[i].state.exchange(token, acq_rel);
        PILFER_CHAOS_POINT(wake); // it may wake by itself, and be gone
        if (slept == afield) [[unlikely]] {
            if (Bell* const bell = m_bell.load(rlx)) { // N1: there is one
                bell->ring();
            }
        } else {
            Park::wake(m_seats[i].state); // by address only: the worker may be running already
        }
        return true;
    }
    [[nodiscard]] unsigned hint(unsigned i) const noexcept { return m_seats[i].hint.load(rlx); }
    /// Owner, after it published and saw `wanted`: wakes one sleeper, unless the one it woke last is
    /// still searching. Clears `wanted` when nobody sleeps any more. True: somebody was woken, and
    /// `last_woken` says who.
    bool publish(unsigned self, unsigned& last_woken, tripwire<Atom>& trip) noexcept {
        Atom::fence_sc(); // S5: the push before the look at the searcher
        if (last_woken < m_count && is_searching(last_woken)) {
            return false;
        }
        for (;;) {
            last_woken = wake_one(self, self);
            if (last_woken != nobody) {
                return true;
            }
            PILFER_CHAOS_POINT(wake);
            trip.clear_wanted();
            Atom::fence_sc(); // S2: cleared before the map is read again
            if (!anyone_asleep()) {
                return false;
            }
            trip.set(tripwire<Atom>::wanted);
        }
    }

private:
    [[nodiscard]] map_word& word(unsigned i) const noexcept { return m_map[i / 64]; }
    [[nodiscard]] map_word& aside(unsigned i) const noexcept { return m_aside[i / 64]; }
    [[nodiscard]] static std::uint64_t bit(unsigned i) noexcept { return std::uint64_t{1} << (i % 64); }
    [[nodiscard]] unsigned next_asleep(unsigned from) const noexcept {
        const unsigned words = (m_count + 63) / 64;
        const unsigned start = (from + 1) % m_count;
        for (unsigned k = 0; k <= words; ++k) {
            const unsigned w = (start / 64 + k) % words;
            std::uint64_t set = m_map[w].load(rlx);
            if (k == 0) {
                set &= ~std::uint64_t{0} << (start % 64);
            } else if (k == words) {
                set &= ~(~std::uint64_t{0} << (start % 64));
            }
            if (set != 0) {
                return w * 64 + static_cast<unsigned>(std::countr_zero(set));
            }
        }
        return nobody;
    }

    seat* m_seats;
    map_word* m_map;
    map_word* m_aside;
    unsigned m_count;
    typename Atom::template atomic<Bell*> m_bell{nullptr};
};

} // namespace detail
} // namespace v0
} // namespace pilfer
