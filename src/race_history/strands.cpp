#include "race_history/strands.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail::race {
namespace {

constexpr std::uint64_t end_of_tags = std::uint64_t{1} << 63;
constexpr std::uint32_t most_searched = 20'000;

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
    m_edges[e] = {s, one, two, 0};
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
        if (++visited > most_searched) {
            ++m_given_up;
            yes = true;
            break;
        }
        yes = e.from != 0 && in_series(a, e.from);
        for (const std::uint32_t next : {e.one, e.two}) {
            if (next >= m_all[a].born) {
                stack[depth++] = next;
            }
        }
    }
    known = {a, edges, yes};
    return yes;
}

} // namespace detail::race
} // namespace v0
} // namespace pilfer
