#include "race_history/strands.hpp"

#include <algorithm>

namespace pilfer {
inline namespace v0 {
namespace detail::race {
namespace {

constexpr std::uint64_t end_of_tags = std::uint64_t{1} << 63;
constexpr std::uint32_t most_searched = 20'000;
constexpr std::uint32_t most_before_marking = 256;

} // namespace

std::uint32_t strands::make(std::uint32_t parent, std::uint32_t edges, how kind) noexcept {
    const std::uint32_t s = m_all.take();
    strand_record& r = m_all[s];
    r = {};
    r.parent = parent;
    r.inner = parent != 0 ? m_all[parent].inner : 0;
    r.block = parent != 0 ? m_all[parent].block : 0;
    r.depth = parent != 0 ? m_all[parent].depth + 1 : 0;
    r.part = parent != 0 ? m_all[parent].part : 0;
    r.task = parent != 0 ? m_all[parent].task : 0;
    r.edges = edges;
    r.born = m_edges.end();
    r.kind = kind;
    r.live = true;
    return s;
}

std::uint32_t strands::start(std::uint32_t parent, std::uint32_t edges, how kind) noexcept {
    const std::uint32_t s = make(parent, edges, kind);
    m_all[s].part = ++m_parts;
    m_all[s].inner = m_all[s].block = 0;
    insert(0, m_last[0], s);
    insert(1, m_last[1], s);
    return s;
}

std::uint32_t strands::after(std::uint32_t where, std::uint32_t edges, how kind) noexcept {
    const std::uint32_t s = make(where, edges, kind);
    insert(0, where, s);
    insert(1, where, s);
    return s;
}

void strands::fork(std::uint32_t parent, std::uint32_t edges, how child_is, how rest_is, std::uint32_t& child,
                   std::uint32_t& rest, std::uint32_t& join) noexcept {
    if (join == 0) {
        join = after(parent, edges, how::joined);
    }
    child = make(parent, edges, child_is);
    rest = make(parent, edges, rest_is);
    m_all[child].inner = 0;
    m_all[rest].inner = join;
    m_all[child].block = m_all[rest].block = join;
    insert(0, parent, rest);
    insert(0, parent, child);
    insert(1, parent, child);
    insert(1, parent, rest);
}

std::uint32_t strands::element_of(std::uint32_t loop, std::uint32_t edges, std::uint32_t oldest) noexcept {
    const std::uint32_t s = make(m_all[loop].parent, edges, how::element);
    m_all[s].inner = 0;
    m_all[s].block = m_all[loop].block;
    m_all[s].calls = m_all[loop].calls;
    m_all[s].site = m_all[loop].site;
    insert(0, oldest != 0 ? oldest : loop, s);
    insert(1, m_all[loop].order[1].previous, s);
    return s;
}

std::uint32_t strands::next_of(std::uint32_t last, std::uint32_t all) noexcept {
    const std::uint32_t s = make(m_all[all].parent, 0, m_all[all].kind);
    m_all[s].block = m_all[all].block;
    m_all[s].calls = m_all[all].calls;
    m_all[s].site = m_all[all].site;
    m_all[s].task = m_all[last].task;
    insert(0, last, s);
    insert(1, last, s);
    return s;
}

std::uint32_t strands::task_after(std::uint32_t next, std::uint32_t edges) noexcept {
    const std::uint32_t s = element_of(next, edges, 0);
    m_all[s].kind = m_all[next].kind;
    const std::uint32_t outer = m_all[s].task;
    const std::uint32_t before = m_all[next].task;
    const std::uint32_t level =
        1 + std::max(before != outer ? m_tasks[before].level : 0, edges != 0 ? m_edges[edges].level : 0);
    const std::uint32_t made = m_tasks.take();
    m_tasks[made] = {outer, before != outer ? before : 0, level, 0};
    m_all[s].task = made;
    return s;
}

std::uint32_t strands::end_of(std::uint32_t join, std::uint32_t inside) noexcept {
    const std::uint32_t s = make(join, 0, how::call);
    insert(0, m_all[m_all[inside].parent].order[0].previous, s);
    insert(1, m_all[join].order[1].previous, s);
    return s;
}

void strands::unlink(std::uint32_t s) noexcept {
    for (unsigned list = 0; list < 2; ++list) {
        const place p = m_all[s].order[list];
        if (p.previous != 0) {
            m_all[p.previous].order[list].next = p.next;
        }
        if (p.next != 0) {
            m_all[p.next].order[list].previous = p.previous;
        } else {
            m_last[list] = p.previous;
        }
    }
}

void strands::free_unmarked() noexcept {
    for (std::uint32_t i = 1; i < m_all.end(); ++i) {
        if (m_all[i].live && !m_all[i].marked) {
            unlink(i);
        }
    }
    m_all.free_unmarked();
    for (answer& a : m_known) {
        a = {};
    }
}

void strands::insert(unsigned list, std::uint32_t where, std::uint32_t s) noexcept {
    place& mine = m_all[s].order[list];
    if (where == 0) {
        mine = {end_of_tags / 2, 0, 0};
        m_last[list] = s;
        return;
    }
    for (;;) {
        place& before = m_all[where].order[list];
        const std::uint64_t upper = before.next != 0 ? m_all[before.next].order[list].tag : end_of_tags;
        if (upper - before.tag >= 2) {
            mine = {before.tag + (upper - before.tag) / 2, before.next, where};
            if (before.next != 0) {
                m_all[before.next].order[list].previous = s;
            } else {
                m_last[list] = s;
            }
            before.next = s;
            return;
        }
        make_room(list, where);
    }
}

/// Spreads the tags of the smallest range around `where` that is not too full.
void strands::make_room(unsigned list, std::uint32_t where) noexcept {
    const std::uint64_t tag = m_all[where].order[list].tag;
    std::uint32_t first = where;
    std::uint32_t last = where;
    std::uint64_t count = 1;
    double most = 1; // (2 / 1.4)^i for a range of 2^i tags
    for (unsigned i = 1; i < 63; ++i) {
        most *= 2 / 1.4;
        const std::uint64_t low = tag & ~((std::uint64_t{1} << i) - 1);
        const std::uint64_t high = low + (std::uint64_t{1} << i);
        for (std::uint32_t p;
             (p = m_all[first].order[list].previous) != 0 && m_all[p].order[list].tag >= low;) {
            first = p;
            ++count;
        }
        for (std::uint32_t n; (n = m_all[last].order[list].next) != 0 && m_all[n].order[list].tag < high;) {
            last = n;
            ++count;
        }
        const std::uint64_t step = (std::uint64_t{1} << i) / (count + 1);
        if (static_cast<double>(count) < most && step >= 4) {
            std::uint64_t at = low;
            for (std::uint32_t s = first;; s = m_all[s].order[list].next) {
                at += step;
                m_all[s].order[list].tag = at;
                if (s == last) {
                    return;
                }
            }
        }
    }
    out_of_memory();
}

std::uint32_t strands::edge_from(std::uint32_t s, std::uint32_t one, std::uint32_t two) noexcept {
    const std::uint32_t e = m_edges.take();
    const std::uint32_t task = s != 0 ? m_all[s].task : 0;
    const std::uint32_t level =
        std::max(one != 0 ? m_edges[one].level : 0, two != 0 ? m_edges[two].level : 0);
    m_edges[e] = {s, one, two, 0, std::max(level, task != 0 ? m_tasks[task].level : 0)};
    return e;
}

std::uint32_t strands::both(std::uint32_t one, std::uint32_t two) noexcept {
    if (one == two || two == 0) {
        return one;
    }
    if (one == 0) {
        return two;
    }
    return edge_from(0, one, two);
}

/// Newer edges only lead to older ones, so a search ends at those that are older than `a`.
bool strands::reached(std::uint32_t a, std::uint32_t edges) noexcept {
    answer& known = m_known[(a * 0x9E3779B1U ^ edges * 0x85EBCA77U) >> 20];
    if (known.from == a && known.edges == edges) {
        return known.yes;
    }
    if (!m_others && !is_low(a, m_edges[edges].level)) {
        return false;
    }
    known = {a, edges, m_marked == edges && !m_others ? is_reached(a) : search(a, edges)};
    return known.yes;
}

/// If only ordered tasks have edges, a long search is done once for all tasks.
bool strands::search(std::uint32_t a, std::uint32_t edges) noexcept {
    static std::uint32_t stack[most_searched * 2 + 2];
    std::uint32_t depth = 0;
    std::uint32_t visited = 0;
    bool yes = false;
    ++m_search;
    stack[depth++] = edges;
    while (depth != 0 && !yes) {
        edge& e = m_edges[stack[--depth]];
        if (e.seen == m_search) {
            continue;
        }
        e.seen = m_search;
        if (++visited > most_before_marking && !m_others) {
            mark_reached(edges);
            return is_reached(a);
        }
        if (visited > most_searched) {
            ++m_given_up;
            return true;
        }
        yes = e.from != 0 && in_series(a, e.from);
        for (const std::uint32_t next : {e.one, e.two}) {
            if (next >= m_all[a].born) {
                stack[depth++] = next;
            }
        }
    }
    return yes;
}

/// Marks the tasks that come before what has these edges, but those that come before it by forks alone.
void strands::mark_reached(std::uint32_t edges) noexcept {
    if (m_stack == nullptr) {
        m_stack = static_cast<std::uint32_t*>(reserve(sizeof(std::uint32_t) * (std::size_t{1} << 29)));
    }
    std::size_t depth = 0;
    m_mark = ++m_search;
    m_marked = edges;
    m_stack[depth++] = edges;
    while (depth != 0) {
        edge& e = m_edges[m_stack[--depth]];
        if (e.seen == m_search) {
            continue;
        }
        e.seen = m_search;
        for (std::uint32_t t = e.from != 0 ? m_all[e.from].task : 0; t != 0 && m_tasks[t].reached != m_mark;
             t = m_tasks[t].before) {
            m_tasks[t].reached = m_mark;
        }
        for (const std::uint32_t next : {e.one, e.two}) {
            if (next != 0) {
                m_stack[depth++] = next;
            }
        }
    }
}

/// False: no edge of this level leads back to the task of `a`, or to one that has run its graph.
bool strands::is_low(std::uint32_t a, std::uint32_t level) const noexcept {
    std::uint32_t t = m_all[a].task;
    while (t != 0 && m_tasks[t].level > level) {
        t = m_tasks[t].outer;
    }
    return t != 0;
}

/// All of a task comes before what its end comes before, with the tasks of graphs that it has run.
bool strands::is_reached(std::uint32_t a) const noexcept {
    std::uint32_t t = m_all[a].task;
    while (t != 0 && m_tasks[t].reached != m_mark) {
        t = m_tasks[t].outer;
    }
    return t != 0;
}

} // namespace detail::race
} // namespace v0
} // namespace pilfer
