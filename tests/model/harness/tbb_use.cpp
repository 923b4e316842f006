// How libpilfer-tbb counts arenas for finalize(): dropin/tbb/use_count.hpp.
#include "tbb/use_count.hpp"

#include "../harness.hpp"

namespace {

using namespace model;
using tbb::detail::r1::use_count;

/// Two threads of an arena that does not count ask for workers, and one of them then looks at the total, as a
/// finalize() after it would.
struct asks_again {
    static constexpr unsigned threads = 2;
    void thread(unsigned) {
        m_arena.ask(m_total);
        check(m_total.load(std::memory_order_seq_cst) > 0, "an arena counts, and the total does not say so");
    }
    void finish() { check(m_total.load(std::memory_order_seq_cst) == 1, "an arena is counted twice"); }
    asks_again() {
        m_arena.begin(m_total);
        m_arena.pause(m_total);
    }

private:
    use_count<atom>::total m_total;
    use_count<atom> m_arena;
};

/// Another thread looks while an arena ceases to count.
struct ceases {
    static constexpr unsigned threads = 2;
    ceases() { m_arena.begin(m_total); }
    void thread(unsigned i) {
        if (i == 0) {
            m_arena.pause(m_total);
        } else if (const int total = m_total.load(std::memory_order_seq_cst); m_arena.is_counted()) {
            check(total > 0, "an arena counts, and the total does not say so");
        }
    }
    void finish() { check(m_total.load(std::memory_order_seq_cst) == 0, "an arena is counted for ever"); }

private:
    use_count<atom>::total m_total;
    use_count<atom> m_arena;
};

/// finalize() of two threads with an arena each, beside a task of one of them that asks for a worker.
template <bool Asks>
struct finalizes {
    static constexpr unsigned threads = Asks ? 3 : 2;
    finalizes() {
        for (auto& a : m_arena) {
            a.begin(m_total);
        }
    }
    void thread(unsigned i) {
        if (i == 2) {
            m_arena[0].ask(m_total);
            return;
        }
        m_arena[i].pause(m_total);
        if (m_total.load(std::memory_order_seq_cst) == 0) {
            m_arena[i].end(m_total);
            m_ended[i] = true;
        }
    }
    void finish() {
        check(Asks || m_ended[0] || m_ended[1], "each of two threads took the other one for a user");
        const int counted = (m_arena[0].is_counted() ? 1 : 0) + (m_arena[1].is_counted() ? 1 : 0);
        check(m_total.load(std::memory_order_seq_cst) == counted, "the total is not the number of arenas");
    }

private:
    typename use_count<atom>::total m_total;
    use_count<atom> m_arena[2];
    bool m_ended[2] = {}; // of the checker itself
};

const registered<asks_again> r1("tbb_use_asks",
                                "two threads of an arena that does not count ask for workers");
const registered<ceases> r2("tbb_use_ceases", "an arena ceases to count beside a thread that looks");
const registered<finalizes<false>> r3("tbb_use_finalizes", "two threads finalize");
const registered<finalizes<true>> r4("tbb_use_finalizes_asks", "two threads finalize, a task asks");

} // namespace
