// Strands, and the answer to "does this strand come before that one in every schedule?"
//
// Two lists hold all strands: the English one has a child before the rest of its parent, the Hebrew one after
// it. A strand precedes another one if it is in front of it in both (SP-order: Bender, Fineman, Gilbert and
// Leiserson, SPAA 2004). The lists keep tags, as in Bender, Cole, Demaine, Farach-Colton and Zito, ESA 2002.
// Edges that are not series-parallel are a graph beside it, which is searched only if the tags say
// "parallel".
#pragma once

#include <pilfer/detail/base/race.hpp>

#include "race_history/arena.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail::race {

struct place {
    std::uint64_t tag;
    std::uint32_t next;
    std::uint32_t previous;
};

struct strand_record {
    std::uint32_t parent; ///< in which it was forked; first: the list of free records
    std::uint32_t depth;
    place order[2];      ///< English, Hebrew
    std::uint32_t part;  ///< Strands of two parts are ordered by edges only.
    std::uint32_t edges; ///< at its beginning, or for a join what its children bring
    std::uint32_t born;  ///< the number of edges when it began
    std::uint32_t
        inner; ///< the join of the innermost block that its task has open; of a join: of the block around
    std::uint32_t block; ///< the join of the block in which it was forked, or a finished one further out
    std::uint32_t task;  ///< the innermost one of `ordered_tasks`
    std::uint32_t calls; ///< the calls around its fork
    std::uint64_t site;
    how kind;
    bool live;
    bool marked;
    bool joined;        ///< of a join: its block has ended
    bool has_edge;      ///< of a join: an edge begins in its block
    std::uint16_t pins; ///< of objects of the program that know it
};

/// The end of a strand from which an edge goes out, or (strand 0) two sets of edges together.
struct edge {
    std::uint32_t from;
    std::uint32_t one;
    std::uint32_t two;
    std::uint32_t seen;  ///< the last search that came here
    std::uint32_t level; ///< the highest one of the ordered tasks that it leads back to
};

/// One of `ordered_tasks`.
struct task_record {
    std::uint32_t outer;   ///< the task that runs the graph; 0: none
    std::uint32_t before;  ///< a task that it comes after; 0: none
    std::uint32_t level;   ///< more than that of any task that it comes after
    std::uint32_t reached; ///< the last mark
};

class strands {
public:
    [[nodiscard]] strand_record& operator[](std::uint32_t s) noexcept { return m_all[s]; }
    [[nodiscard]] std::uint32_t live() const noexcept { return m_all.live(); }
    [[nodiscard]] std::uint32_t end() const noexcept { return m_all.end(); }

    /// The first strand of a new part.
    [[nodiscard]] std::uint32_t start(std::uint32_t parent, std::uint32_t edges, how kind) noexcept;
    /// A strand right after `where` in both lists.
    [[nodiscard]] std::uint32_t after(std::uint32_t where, std::uint32_t edges, how kind) noexcept;
    /// Forks: a child and the rest of `parent`. Before the first fork of a block, `join` is 0 and made, too.
    void fork(std::uint32_t parent, std::uint32_t edges, how child_is, how rest_is, std::uint32_t& child,
              std::uint32_t& rest, std::uint32_t& join) noexcept;
    /// An element of a loop, whose strand all elements share, parallel to the others. If `oldest` is not 0,
    /// it comes after this strand and all elements since.
    [[nodiscard]] std::uint32_t element_of(std::uint32_t loop, std::uint32_t edges,
                                           std::uint32_t oldest) noexcept;
    /// A strand right after `last`, around which task_after() puts the tasks that come after it.
    [[nodiscard]] std::uint32_t next_of(std::uint32_t last, std::uint32_t all) noexcept;
    /// One of ordered tasks, after `next` and parallel to the others after it. The first tasks come after
    /// `all`.
    [[nodiscard]] std::uint32_t task_after(std::uint32_t next, std::uint32_t edges) noexcept;
    /// The strand to which an edge leads from all that was forked in the block of `join`, and from nothing
    /// that was forked in the block of `inside`, which is the next one within.
    [[nodiscard]] std::uint32_t end_of(std::uint32_t join, std::uint32_t inside) noexcept;
    /// The join of the outermost block around `s` that has ended and in which no edge begins; `s` if there is
    /// none. All later strands are ordered to both in the same way, because the block is one piece of both
    /// lists.
    [[nodiscard]] std::uint32_t ended(std::uint32_t s) noexcept {
        const auto is_piece = [this](std::uint32_t join) {
            return join != 0 && m_all[join].joined && !m_all[join].has_edge;
        };
        for (std::uint32_t b; m_all[s].pins == 0 && is_piece(b = m_all[s].block); s = b) {
            if (const std::uint32_t around = m_all[b].block; is_piece(around)) {
                m_all[s].block = around;
            }
        }
        return s;
    }
    /// Frees strands without a mark, and takes the marks away.
    void free_unmarked() noexcept;

    /// True if `a` is `b` or comes before it by forks and joins alone.
    [[nodiscard]] bool in_series(std::uint32_t a, std::uint32_t b) noexcept {
        const strand_record& x = m_all[a];
        const strand_record& y = m_all[b];
        return x.part == y.part && x.order[0].tag <= y.order[0].tag && x.order[1].tag <= y.order[1].tag;
    }
    /// True if `a` comes before what strand `b` does when it has these edges.
    [[nodiscard]] bool before(std::uint32_t a, std::uint32_t b, std::uint32_t edges) noexcept {
        return in_series(a, b) || (edges != 0 && reached(a, edges));
    }

    /// An edge begins in `s`, and so in all blocks around it.
    void note_edge(std::uint32_t s) noexcept {
        for (std::uint32_t b = m_all[s].block; b != 0 && !m_all[b].has_edge; b = m_all[b].block) {
            m_all[b].has_edge = true;
        }
    }
    [[nodiscard]] std::uint32_t edge_from(std::uint32_t s, std::uint32_t one, std::uint32_t two) noexcept;
    [[nodiscard]] std::uint32_t both(std::uint32_t one, std::uint32_t two) noexcept;
    /// The strand that an edge starts from; 0: several.
    [[nodiscard]] std::uint32_t from(std::uint32_t e) noexcept {
        return m_edges[e].one == 0 && m_edges[e].two == 0 ? m_edges[e].from : 0;
    }
    /// Searches that were given up, and taken for an order.
    [[nodiscard]] std::uint64_t given_up() const noexcept { return m_given_up; }
    /// There are edges beside those of ordered tasks.
    void note_other_edges() noexcept { m_others = true; }
    [[nodiscard]] bool has_other_edges() const noexcept { return m_others; }
    /// No edge made so far is ever looked at again.
    void forget_edges() noexcept { m_first_edge = m_edges.end(); }
    /// f(strand) for the strands that edges start from.
    template <class F>
    void each_edge(F f) noexcept {
        for (std::uint32_t i = m_first_edge; i < m_edges.end(); ++i) {
            if (m_edges[i].from != 0) {
                f(m_edges[i].from);
            }
        }
    }

private:
    [[nodiscard]] std::uint32_t make(std::uint32_t parent, std::uint32_t edges, how kind) noexcept;
    void unlink(std::uint32_t s) noexcept;
    void insert(unsigned list, std::uint32_t where, std::uint32_t s) noexcept;
    void make_room(unsigned list, std::uint32_t where) noexcept;
    [[nodiscard]] bool reached(std::uint32_t a, std::uint32_t edges) noexcept;
    [[nodiscard]] bool search(std::uint32_t a, std::uint32_t edges) noexcept;
    void mark_reached(std::uint32_t edges) noexcept;
    [[nodiscard]] bool is_reached(std::uint32_t a) const noexcept;
    [[nodiscard]] bool is_low(std::uint32_t a, std::uint32_t level) const noexcept;

    table<strand_record, (1U << 28)> m_all;
    table<edge, (1U << 28)> m_edges;
    std::uint32_t m_last[2] = {0, 0};
    std::uint32_t m_parts = 0;
    table<task_record, (1U << 28)> m_tasks;
    std::uint32_t m_marked = 0; ///< the set of edges of the last mark
    std::uint32_t m_mark = 0;
    std::uint32_t* m_stack = nullptr; ///< of a mark
    bool m_others = false;
    std::uint32_t m_first_edge = 1;
    std::uint32_t m_search = 0;
    std::uint64_t m_given_up = 0;
    struct answer {
        std::uint32_t from, edges;
        bool yes;
    };
    answer m_known[4096] = {};
};

} // namespace detail::race
} // namespace v0
} // namespace pilfer
