// The first solution of n queens: a search that is left by the first task with one, against the serial one.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <numeric>
#include <optional>
#include <random>
#include <vector>

#include <pilfer/pilfer.hpp>

#include "masters/masters.hpp"

namespace bench::masters {
namespace {

constexpr unsigned most = 22;
using board = std::array<std::uint8_t, most>; ///< the queen's column for each row

/// The order of the columns, equal in each row.
struct order {
    static constexpr unsigned n = most;
    std::array<std::uint8_t, most> columns{};

    order(unsigned seed, bool rotated) {
        std::mt19937 random(seed);
        std::iota(columns.begin(), columns.end(), std::uint8_t{0});
        if (rotated) {
            std::rotate(columns.begin(), columns.begin() + seed % n, columns.end());
            return;
        }
        // Not std::shuffle, which every library does in its own way.
        for (unsigned i = n; i > 1; --i)
            std::swap(columns[i - 1], columns[random() % i]);
    }
};

/// Which columns and diagonals are taken.
struct taken {
    std::uint32_t columns = 0;
    std::uint64_t up = 0;
    std::uint64_t down = 0;

    [[nodiscard]] bool free(unsigned row, unsigned column) const {
        return ((columns >> column) & 1U) == 0 && ((up >> (row + column)) & 1U) == 0 &&
               ((down >> (row + most - column)) & 1U) == 0;
    }
    [[nodiscard]] taken with(unsigned row, unsigned column) const {
        return {columns | 1U << column, up | std::uint64_t{1} << (row + column),
                down | std::uint64_t{1} << (row + most - column)};
    }
};

/// A serial search of a row's remaining columns and of all rows after it. It can be interrupted. The serial
/// program and the tasks run this very code.
class walk {
public:
    enum class ending { found, nothing, unfinished };

    walk(const order& o, const board& b, unsigned row, const taken& t, unsigned from = 0)
        : m_order(o), m_board(b), m_top(row), m_row(row) {
        m_taken[row] = t;
        m_next[row] = from;
    }
    /// Unfinished after `limit` more nodes.
    [[gnu::noinline]] ending run(unsigned limit) {
        for (unsigned seen = 0; seen != limit;) {
            unsigned& i = m_next[m_row];
            while (i < order::n && !m_taken[m_row].free(m_row, m_order.columns[i]))
                ++i;
            if (i == order::n) {
                if (m_row == m_top)
                    return ending::nothing;
                --m_row;
                continue;
            }
            const unsigned column = m_order.columns[i++];
            m_board[m_row] = static_cast<std::uint8_t>(column);
            ++m_nodes;
            ++seen;
            if (m_row + 1 == order::n)
                return ending::found;
            m_taken[m_row + 1] = m_taken[m_row].with(m_row, column);
            m_next[++m_row] = 0;
        }
        return ending::unfinished;
    }
    [[nodiscard]] const board& queens() const { return m_board; }
    [[nodiscard]] unsigned nodes() const { return m_nodes; }
    /// The state of an unfinished search: the rows that have columns left, and these columns.
    [[nodiscard]] unsigned row() const { return m_row; }
    [[nodiscard]] const taken& above(unsigned row) const { return m_taken[row]; }
    [[nodiscard]] unsigned next(unsigned row) const { return m_next[row]; }

private:
    const order& m_order;
    board m_board;
    std::array<taken, most> m_taken{};
    std::array<unsigned, most> m_next{};
    unsigned m_top;
    unsigned m_row;
    unsigned m_nodes = 0;
};

/// Queens in these first rows are tasks. All later rows of one such queen are searched by one task.
constexpr unsigned parallel_rows = 8;
/// Nodes between two looks whether the search is over: some 4 us.
constexpr unsigned look_each = 32;

/// A search by tasks. It begins alone: a short search is over before another worker is awake. Then the rest
/// of each row becomes a task: other workers take the upper rows, and this worker continues in serial order.
/// A thief begins at the other end of its row, because the neighbours of a long search are long, too.
struct search {
    const order& o;
    unsigned alone;
    pilfer::first_result_scope<board> first{};
    enum class begins { first, last };

    /// Searches the columns of a row from number `from` on, with all rows after it.
    void rest(const board& b, unsigned row, const taken& t, unsigned from, begins at) {
        if (row < parallel_rows) {
            fork(b, row, t, from, at);
            return;
        }
        walk w(o, b, row, t, from);
        walk::ending e{};
        do {
            e = w.run(look_each);
        } while (e == walk::ending::unfinished && !pilfer::cancelled());
        if (e == walk::ending::found)
            (void)first.exit_value(w.queens()); // false: another one was first
    }
    void fork(const board& b, unsigned row, const taken& t, unsigned from, begins at) {
        pilfer::scope s;
        for (unsigned i = from; i < order::n; ++i) {
            const unsigned column = o.columns[at == begins::first ? i : order::n - 1 - (i - from)];
            if (t.free(row, column)) {
                s.spawn([this, &b, row, &t, column] {
                    board next = b;
                    next[row] = static_cast<std::uint8_t>(column);
                    rest(next, row + 1, t.with(row, column), 0, begins::first);
                });
            }
        }
        s.sync();
    }
    [[nodiscard]] std::optional<board> run() {
        walk w(o, {}, 0, {});
        if (w.run(alone) == walk::ending::found)
            return w.queens();
        for (unsigned row = 0; row <= w.row(); ++row)
            first.fork([this, &w, row] { rest(w.queens(), row, w.above(row), w.next(row), begins::last); });
        return first.sync(); // newest first: in the serial order
    }
};

/// Processor time of the process, for machines that run other programs, too.
[[nodiscard]] double used_us() {
    timespec t{};
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return 1e6 * static_cast<double>(t.tv_sec) + 1e-3 * static_cast<double>(t.tv_nsec);
}

/// By the definition, independently of the search.
bool right(const board& b, unsigned n) {
    for (unsigned low = 0; low < n; ++low) {
        for (unsigned high = low + 1; high < n; ++high) {
            const int distance = int{b[high]} - int{b[low]};
            if (b[high] >= n || distance == 0 || std::abs(distance) == static_cast<int>(high - low))
                return false;
        }
    }
    return true;
}

/// Wall clock and processor time of f(), which returns whether its answer was right.
struct timed {
    double wall;
    double used;
};
template <class F>
[[nodiscard]] timed time_of(bool& all_right, const F& f) {
    const double used = used_us();
    const auto begin = clock::now();
    const std::optional<board> found = f();
    const timed t{us_since(begin), used_us() - used};
    all_right = found && right(*found, most) && all_right;
    return t;
}

struct compared {
    std::vector<double> serial_us;
    std::vector<double> parallel_us;
    std::vector<double> used; ///< processor time, parallel over serial
    unsigned nodes = 0;
    bool right = true;
};

[[nodiscard]] compared compare(pilfer::pool& pool, const setting& s, const order& o) {
    compared c;
    const auto by_one = [&]() -> std::optional<board> {
        walk w(o, {}, 0, {});
        const bool found = w.run(~0U) == walk::ending::found;
        c.nodes = w.nodes();
        return found ? std::optional(w.queens()) : std::nullopt;
    };
    const auto by_several = [&] { return search{o, s.alone}.run(); };
    for (unsigned round = 0; round <= s.repeat; ++round) {
        pool.run([&] { // both on a worker, neither pays for the way into the pool; in turn the first
            timed one{};
            timed several{};
            if (round % 2 == 0) {
                one = time_of(c.right, by_one);
                several = time_of(c.right, by_several);
            } else {
                several = time_of(c.right, by_several);
                one = time_of(c.right, by_one);
            }
            if (round > 0) {
                c.serial_us.push_back(one.wall);
                c.parallel_us.push_back(several.wall);
                c.used.push_back(several.used / one.used);
            }
        });
    }
    return c;
}

} // namespace

bool first_solution(const setting& s) {
    const unsigned seeds = s.tiny ? 3 : 20;
    pilfer::pool pool({.workers = s.workers});
    bool all_right = true;
    std::vector<double> ratios;
    double sum_serial = 0;
    double sum_parallel = 0;
    std::printf(
        "%u queens, the first solution; columns in %s order, %u workers, alone for %u nodes; medians of "
        "%u rounds\n",
        most, s.rotated ? "rotated" : "random", s.workers, s.alone, s.repeat);
    std::printf("  seed     nodes   serial, us  parallel, us  ratio  of processor time\n");
    for (unsigned seed = 1; seed <= seeds; ++seed) {
        const compared c = compare(pool, s, order(seed, s.rotated));
        const double one = median(c.serial_us);
        const double several = median(c.parallel_us);
        ratios.push_back(several / one);
        sum_serial += one;
        sum_parallel += several;
        all_right = all_right && c.right;
        std::printf("%6u %9u %12.1f %13.1f %6.2f %18.2f\n", seed, c.nodes, one, several, ratios.back(),
                    median(c.used));
    }
    const auto slower = std::count_if(ratios.begin(), ratios.end(), [](double r) { return r > 1.1; });
    std::printf(
        "worst ratio %.2f, more than 1.1 for %d of %u seeds; median ratio %.2f; all seeds together %.2f\n",
        quantile(ratios, 1), static_cast<int>(slower), seeds, median(ratios), sum_parallel / sum_serial);
    return all_right;
}

} // namespace bench::masters
