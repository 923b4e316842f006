// Sleeping and waking without polling, without a lock and without a shared counter.
//
// A sleeper announces itself, sets `wanted` in every worker's signal word, fences, and looks at everything
// once more. Only then it sleeps, on a word of its own. While no worker sleeps, a publisher reads nothing but
// its own signal word. src/idle/README.md has the rule and the edges idle.S1 to S9;
// docs/investigations/waking-rules.md has simpler rules, which lose wake-ups.
#pragma once

#include <bit>
#include <cstdint>

#include <pilfer/detail/base/atom.hpp>
#include <pilfer/detail/base/signal_word.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

/// Park policy: `static void wait(atomic<uint32_t>&, uint32_t expected)` returns at the latest when the word
/// differs and wake() was called (it may return early); `static void wake(atomic<uint32_t>&)`. `Notifier`:
/// `void ring() noexcept` ends the sleep of a worker that sleeps elsewhere than on its word, even if that
/// sleep has not begun.
struct no_notifier {
    void ring() noexcept {}
};
template <class Atom, class Park, class Notifier = no_notifier>
class sleepers {
public:
    static constexpr unsigned nobody = UINT32_MAX;
    enum state : std::uint32_t {
        running = 0,
        asleep = 1,
        token = 2,   // woken, and obliged to look again before it runs what it finds
        polling = 3, // asleep, but not on this word: the notifier must be rung
        alert = 4,   // searching, and obliged to look at what is queued before it runs what it finds
    };
    /// The state of one worker, on a cache line of its own.
    struct alignas(line_bytes) seat {
        typename Atom::template atomic<std::uint32_t> state{running};
        typename Atom::template atomic<std::uint32_t> hint{0};
    };
    using map_word = typename Atom::template atomic<std::uint64_t>;
    /// `found`: the scan saw work. A worker that held a token before still owes the look that the token
    /// stands for. A publisher may have been throttled by it, and another worker may take what this one saw.
    /// `woken`: the worker holds a token.
    enum class outcome { found, woken };

    /// `seats`: n of them. `map`: ceil(n / 64) words, all zero. `retired`: as many words for workers that
    /// retire, null if none ever does. All outlive this object.
    sleepers(seat* seats, map_word* map, unsigned n, map_word* retired = nullptr) noexcept
        : m_seats(seats), m_map(map), m_retired(retired), m_count(n) {}

    /// Reduces the number of workers to `n`. Before any other thread knows this object.
    void shrink(unsigned n) noexcept { m_count = n; }

    /// Worker `i` found nothing and goes to sleep. `tell_all()` sets `wanted` in every other worker's
    /// signal word in which it is clear; `ready()` returns true if there is anything to do.
    template <class TellAll, class Ready>
    outcome sleep(unsigned i, TellAll tell_all, Ready ready) {
        return sleep(i, tell_all, ready, [](auto& word) { Park::wait(word, asleep); });
    }
    /// Worker `i` goes to sleep as in the other overload; `rest(word)` parks on the state, and may return
    /// early.
    template <class TellAll, class Ready, class Rest>
    outcome sleep(unsigned i, TellAll tell_all, Ready ready, Rest rest) {
        m_seats[i].state.store(asleep, rlx);
        word(i).fetch_or(bit(i), acq_rel);
        Atom::fence_sc(); // idle.S2: announced before the signal_words are read; idle.S5: searching no more
                          // before the scan
        tell_all();       // idle.S1, before the heavy fence
        Atom::heavy_fence(); // idle.S1: pushes made before this point are seen by ready()
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
        while (m_seats[i].state.load(acq) == asleep) { // idle.S3
            PILFER_CHAOS_POINT(idle);
            rest(m_seats[i].state);
        }
        return outcome::woken;
    }
    /// Worker `i`, which owes no look, retires: no work wakes it, only unpark(). `called()` returns true
    /// if there is a reason to come back; `rest(word)` parks on the state, and may return early.
    template <class Called, class Rest>
    outcome park(unsigned i, Called called, Rest rest) {
        m_seats[i].state.store(asleep, rlx);
        retired(i).fetch_or(bit(i), rel); // idle.S8: asleep before it can be called
        Atom::fence_sc(); // idle.S7: retired before the look, with the fence of the thread that calls it back
        if (called()) {
            PILFER_CHAOS_POINT(idle);
            if ((retired(i).fetch_and(~bit(i), rlx) & bit(i)) != 0) {
                m_seats[i].state.store(running, rlx);
                return outcome::found;
            }
            for (unsigned round = 0; m_seats[i].state.load(rlx) == asleep; ++round) {
                Atom::relax(round);
            }
            return outcome::woken;
        }
        while (m_seats[i].state.load(acq) == asleep) { // idle.S7
            PILFER_CHAOS_POINT(idle);
            rest(m_seats[i].state);
        }
        return outcome::woken;
    }
    /// Calls worker `i` back if it has retired. The caller has stored the reason and has fenced.
    bool unpark(unsigned i) noexcept {
        if (m_retired == nullptr || (retired(i).load(rlx) & bit(i)) == 0 ||
            (retired(i).fetch_and(~bit(i), acq) & bit(i)) ==
                0) { // idle.S8: so the token comes after "asleep"
            return false;
        }
        PILFER_CHAOS_POINT(wake);
        m_seats[i].hint.store(i, rlx);
        m_seats[i].state.store(token, rlx); // idle.S7: the fence of the caller carries what it is called for
        Park::wake(m_seats[i].state);
        return true;
    }
    /// Worker `i` has no thread: it counts as retired. Called before its thread is made,
    /// by the thread that makes it.
    void seat_empty(unsigned i, bool empty) noexcept {
        m_seats[i].state.store(empty ? asleep : running, rlx);
        if (empty) {
            retired(i).fetch_or(bit(i), acq_rel);
        } else {
            retired(i).fetch_and(~bit(i), acq_rel);
        }
    }
    /// True if worker `i` has retired or has no thread.
    [[nodiscard]] bool is_retired(unsigned i) const noexcept {
        return m_retired != nullptr && (retired(i).load(acq) & bit(i)) != 0;
    }
    /// Worker `i`, inside `rest`: from now on `notifier` wakes it, the same notifier for all of these
    /// sleepers. False if it is already woken. At most one worker is polling at a time.
    [[nodiscard]] bool start_polling(unsigned i, Notifier& notifier) noexcept {
        m_notifier.store(&notifier, rlx);
        std::uint32_t expected = asleep;
        return m_seats[i].state.compare_exchange_strong(expected, polling, rel, rlx); // io.N1
    }
    /// Worker `i`, after its sleep polling and after silencing the notifier: it is asleep on its word again,
    /// unless it is woken.
    void stop_polling(unsigned i) noexcept {
        std::uint32_t expected = polling;
        (void)m_seats[i].state.compare_exchange_strong(expected, asleep, rlx, rlx); // io.N2
    }
    /// Worker `i` holds a token and has found work: it gives the token back. Before the work is run, a look
    /// at everything must follow, and wake_one() if anything is left.
    void settle_token(unsigned i) noexcept {
        m_seats[i].state.store(running, rlx);
        Atom::fence_sc(); // idle.S5, with the publisher's fence before is_searching()
    }
    /// Worker `i`, which holds no token, begins to search. Meanwhile a thread that queues something for any
    /// worker need not wake one.
    void be_alert(unsigned i) noexcept { m_seats[i].state.store(alert, rlx); }
    /// Worker `i` was alert and has found work. Before the work is run, a look at what is queued must follow,
    /// and a notification of another worker if anything is.
    void settle_alert(unsigned i) noexcept {
        m_seats[i].state.store(running, rlx);
        Atom::fence_sc(); // idle.S6, with the fence of the caller of anyone_alert()
    }
    /// After a push to a queue of all workers and a fence: returns an awake worker that will look there, else
    /// `nobody`. Asks at most `most` workers of the ring, from `first` on.
    [[nodiscard]] unsigned anyone_alert(unsigned first, unsigned most) const noexcept {
        const unsigned n = most < m_count ? most : m_count;
        for (unsigned k = 0, i = first < m_count ? first : 0; k < n; ++k, i = i + 1 < m_count ? i + 1 : 0) {
            // A worker with a token does not count: a woken worker may not get a CPU for long.
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
    /// True if all workers are asleep. Of several that go to sleep at once the last one sees all: the fence
    /// in sleep() is between its own bit and this look.
    [[nodiscard]] bool everybody_asleep() const noexcept {
        for (unsigned k = 0; k * 64 < m_count; ++k) {
            const unsigned here = m_count - k * 64 < 64 ? m_count - k * 64 : 64;
            const std::uint64_t all = here == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << here) - 1;
            std::uint64_t down = m_map[k].load(acq); // what each counted before it went to sleep
            if (m_retired != nullptr) {
                down |= m_retired[k].load(acq);
            }
            if (down != all) {
                return false;
            }
        }
        return true;
    }
    /// The address of the state of worker `i`, for debuggers.
    [[nodiscard]] const void* state_of(unsigned i) const noexcept { return &m_seats[i].state; }
    [[nodiscard]] bool is_asleep(unsigned i) const noexcept {
        const std::uint32_t now = m_seats[i].state.load(acq);
        return now == asleep || now == polling;
    }
    /// True if worker `i` is asleep and no thread is about to wake it.
    [[nodiscard]] bool is_left_asleep(unsigned i) const noexcept {
        return ((word(i).load(acq) & bit(i)) != 0 || is_retired(i)) && is_asleep(i);
    }
    /// True if `i` has been woken and has not found work yet. It then looks again by itself.
    [[nodiscard]] bool is_searching(unsigned i) const noexcept { return m_seats[i].state.load(rlx) == token; }
    /// True if `i` searches without a token and owes a look at what is queued. A woken worker (a token) is
    /// not alert.
    [[nodiscard]] bool is_alert(unsigned i) const noexcept { return m_seats[i].state.load(rlx) == alert; }
    /// True if `i` neither sleeps nor owes a look: a worker that runs a task, or that has ended.
    [[nodiscard]] bool is_running(unsigned i) const noexcept { return m_seats[i].state.load(rlx) == running; }
    /// Wakes the first sleeper after `from` in the ring and lets it look at `victim` first.
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
        // idle.S3: the token carries the push. io.N1: one word says how it sleeps and that it is woken.
        const std::uint32_t slept = m_seats[i].state.exchange(token, acq_rel);
        PILFER_CHAOS_POINT(wake); // the sleeper may wake by itself, and be gone
        if (slept == polling) [[unlikely]] {
            if (Notifier* const notifier = m_notifier.load(rlx)) { // io.N1: there is one
                notifier->ring();
            }
        } else {
            Park::wake(m_seats[i].state); // by address only: the worker may be running already
        }
        return true;
    }
    [[nodiscard]] unsigned hint(unsigned i) const noexcept { return m_seats[i].hint.load(rlx); }
    /// Owner, after it published and saw `wanted`: wakes one sleeper, unless the worker that it woke last is
    /// still searching. Clears `wanted` when no worker sleeps any more. Returns true if it woke `last_woken`.
    bool publish(unsigned self, unsigned& last_woken, signal_word<Atom>& trip) noexcept {
        Atom::fence_sc(); // idle.S5: the push before the look at the searcher
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
            Atom::fence_sc(); // idle.S2: cleared before the map is read again
            if (!anyone_asleep()) {
                return false;
            }
            trip.set(signal_word<Atom>::wanted);
        }
    }

private:
    [[nodiscard]] map_word& word(unsigned i) const noexcept { return m_map[i / 64]; }
    [[nodiscard]] map_word& retired(unsigned i) const noexcept { return m_retired[i / 64]; }
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
    map_word* m_retired;
    unsigned m_count;
    typename Atom::template atomic<Notifier*> m_notifier{nullptr};
};

} // namespace detail
} // namespace v0
} // namespace pilfer
