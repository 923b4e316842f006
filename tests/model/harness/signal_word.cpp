// The signal word: setters against an owner that takes, clears and moves the limit.
#include <pilfer/detail/base/signal_word.hpp>

#include "../harness.hpp"

namespace {

using namespace model;
using pilfer::detail::acq_rel;
using pilfer::detail::rlx;
using trip = pilfer::detail::signal_word<atom>;

constexpr trip::word first_limit = 3;

/// One request of each setter: the number of its last one, and of the last answered one.
template <unsigned Setters>
class requests {
protected:
    void ask(unsigned s, trip::word bit) {
        m_request[s].store(++m_asked[s], rlx);
        m_signal.set(bit);
    }
    /// The skipping form, as notify_any and tell_all use it.
    void ask_unless_set(unsigned s, trip::word bit) {
        m_request[s].store(++m_asked[s], rlx);
        atom::fence_sc();
        if (!m_signal.has(bit)) {
            m_signal.set(bit);
        }
    }
    void answer(unsigned s) { m_answered[s] = m_request[s].load(rlx); }
    /// An unanswered request is still announced.
    void finish_request(unsigned s, trip::word bit) {
        check(m_answered[s] == m_asked[s] || m_signal.has(bit), "a bit was lost");
    }
    /// As the next push of the owner sees it.
    void finish_word(trip::word limit, bool pinned = false) {
        check(!m_signal.has(trip::asked | trip::pinned) || m_signal.pending(0),
              "a bit is set without the sign");
        check(m_signal.pending(limit), "the limit is too high");
        m_signal.clear_wanted();
        (void)m_signal.take();
        check(!m_signal.has(trip::asked), "a bit is set again");
        check(m_signal.pending(0) == pinned, pinned ? "no longer pinned" : "the sign stays without a bit");
        check(m_signal.pending(limit) && m_signal.pending(limit - 1) == pinned, "the limit is wrong");
    }
    /// Only the owner clears bits.
    void look() { check(!m_signal.has(trip::asked) || m_signal.pending(0), "a bit without the sign"); }

    trip m_signal{first_limit};
    atomic<unsigned> m_request[Setters];
    unsigned m_asked[Setters] = {}; // of the checker itself, as the next one
    unsigned m_answered[Setters] = {};
};

/// Two one-shot bits, one of them set twice, while the owner takes and moves the limit.
template <bool Pinned>
struct one_shot : requests<3> {
    static constexpr unsigned threads = 4;
    void thread(unsigned i) {
        if (i == 1) {
            ask(0, trip::expose);
            ask(0, trip::expose);
            return;
        }
        if (i != 0) {
            ask(i - 1, i == 2 ? trip::expose : trip::yield_request);
            return;
        }
        if (Pinned) {
            m_signal.pin();
        }
        for (unsigned k = 0; k < 3; ++k) {
            look();
            if (m_signal.pending(0)) {
                const auto bits = m_signal.take();
                check((bits & (trip::limit_mask | trip::signalled)) == 0, "take returns more than bits");
                if ((bits & trip::expose) != 0) {
                    answer(0);
                    answer(1);
                }
                if ((bits & trip::yield_request) != 0) {
                    answer(2);
                }
            }
            m_signal.move_limit(2);
        }
    }
    void finish() {
        for (unsigned s = 0; s < 3; ++s) {
            finish_request(s, s == 2 ? trip::yield_request : trip::expose);
        }
        finish_word(first_limit + 6, Pinned);
    }
};

/// Setters that skip a bit they see set: with a fence on both sides nothing is lost.
struct skipping : requests<3> {
    static constexpr unsigned threads = 4;
    void thread(unsigned i) {
        if (i != 0) {
            ask_unless_set(i - 1, trip::yield_request);
            if (i == 1) {
                ask_unless_set(0, trip::yield_request);
            }
            return;
        }
        for (unsigned k = 0; k < 3; ++k) {
            if (m_signal.pending(0) && (m_signal.take() & trip::yield_request) != 0) {
                atom::fence_sc();
                for (unsigned s = 0; s < 3; ++s) {
                    answer(s);
                }
            }
        }
    }
    void finish() {
        for (unsigned s = 0; s < 3; ++s) {
            finish_request(s, trip::yield_request);
        }
        finish_word(first_limit);
    }
};

/// The level: sleepers set it, the owner clears it and looks again; a thief's wish comes in between.
struct level : requests<1> {
    static constexpr unsigned threads = 4;
    void thread(unsigned i) {
        if (i == 3) {
            ask(0, trip::expose);
            return;
        }
        if (i != 0) {
            lie_down(i);
            if (i == 1) {
                m_map.fetch_and(~1U, acq_rel); // withdrawn, and down again
                lie_down(i);
            }
            return;
        }
        for (unsigned k = 0; k < 3; ++k) {
            look();
            if (m_signal.pending(0)) {
                const auto bits = m_signal.take();
                if ((bits & trip::expose) != 0) {
                    answer(0);
                }
                if ((bits & trip::wanted) != 0) {
                    attend();
                }
            }
        }
    }
    void finish() {
        check(m_map.load(rlx) == 0 || m_signal.has(trip::wanted), "somebody sleeps untold");
        finish_request(0, trip::expose);
        finish_word(first_limit);
    }

private:
    void lie_down(unsigned i) {
        m_map.fetch_or(1U << (i - 1), acq_rel);
        atom::fence_sc();
        if (!m_signal.has(trip::wanted)) {
            m_signal.set(trip::wanted);
        }
    }
    /// The end of sleepers::publish() if no sleeper was seen.
    void attend() {
        if (m_map.load(rlx) != 0) {
            return;
        }
        m_signal.clear_wanted();
        atom::fence_sc();
        if (m_map.load(rlx) != 0) {
            m_signal.set(trip::wanted);
        }
    }
    atomic<unsigned> m_map;
};

const registered<one_shot<false>> r1("tripwire_bits", "two one-shot bits, three setters, a limit that moves");
const registered<one_shot<true>> r2("tripwire_pinned", "the same where the owner has pinned its deque");
const registered<skipping> r3("tripwire_skip", "setters that skip what they see set, with fences");
const registered<level> r4("tripwire_level", "wanted: told by two, cleared by the owner, looked at again");

} // namespace
