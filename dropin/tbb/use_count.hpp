// Which arenas of threads are in use, for finalize().
#pragma once

#include <pilfer/detail/base/atom.hpp>

namespace tbb::detail::r1 {

/// How an arena is in use as the own one of a thread, and how many arenas are counted. tests/model runs this
/// text.
template <class Atom>
class use_count {
    static constexpr auto seq_cst = std::memory_order_seq_cst;

public:
    using total = typename Atom::template atomic<int>;

    // The total grows before and shrinks after m_use changes, so it is never less than the number of counted
    // arenas. A thread that finds its arena counted relies on that.

    /// The thread has made the arena, or is the only one of a child of fork().
    void begin(total& all) {
        all.fetch_add(1, seq_cst);
        if (m_use.exchange(use::counted, seq_cst) == use::counted) {
            all.fetch_sub(1, seq_cst);
        }
    }
    /// The arena asks for a worker: it counts again after pause().
    void ask(total& all) {
        if (m_use.load(seq_cst) == use::uncounted) [[unlikely]] {
            all.fetch_add(1, seq_cst);
            use expected = use::uncounted; // another thread may have left its arena
            if (!m_use.compare_exchange_strong(expected, use::counted, seq_cst, seq_cst)) {
                all.fetch_sub(1, seq_cst);
            }
        }
    }
    /// The arena does not count until it asks for a worker.
    void pause(total& all) { cease(all, use::uncounted); }
    /// The thread has left it.
    void end(total& all) { cease(all, use::by_no_thread); }
    [[nodiscard]] bool is_counted() const { return m_use.load(seq_cst) == use::counted; }
    /// In a child of fork().
    void forget() { m_use.store(use::by_no_thread, std::memory_order_relaxed); }

private:
    enum class use : unsigned char { by_no_thread, uncounted, counted };

    void cease(total& all, use later) {
        if (m_use.exchange(later, seq_cst) == use::counted) {
            all.fetch_sub(1, seq_cst);
        }
    }

    typename Atom::template atomic<use> m_use{use::by_no_thread};
};

} // namespace tbb::detail::r1
