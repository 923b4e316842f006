// Records that nothing refers to are freed, so that long programs fit.
#include <algorithm>

#include "race/detector.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail::race {

std::uint32_t detector::ended_number(const loop& l, std::uint32_t element) noexcept {
    if (element == l.m_last) {
        return element; // it may run
    }
    if (l.m_innermost == nullptr) {
        return ended_element;
    }
    // What runs from here on comes after all elements of a finished half, or after none of them.
    std::uint32_t end = l.m_last;
    for (const subtree* t = l.m_innermost; t != nullptr && element < t->m_first; t = t->m_outer) {
        end = t->m_first;
    }
    return end - 1;
}

void detector::keep_segments(loop& l) noexcept {
    std::uint32_t* last = &l.m_segments;
    for (std::uint32_t s = l.m_segments; s != 0; s = segments[s].next) {
        if (segments[s].marked) {
            *last = s;
            last = &segments[s].next;
        }
    }
    *last = 0;
}

void detector::merge_ended() noexcept {
    struct merged {
        std::uint32_t strand, element, calls, locks, segment;
    };
    static merged known[1024]; // the latest ones: a segment may stay alone
    for (merged& k : known) {
        k = {};
    }
    constexpr unsigned most_loops = 256;
    const loop* loops[most_loops]; // that run
    unsigned count = 0;
    for (unsigned i = 0; i < fiber_count; ++i) {
        for (const loop* l = fibers[i]->of_loop; l != nullptr; l = l->m_outer) {
            if (count == most_loops) {
                return;
            }
            loops[count++] = l;
        }
    }
    struct {
        std::uint32_t loop, first, last; // elements with the last answer
    } half{};
    const auto ended_as = [&](const segment_record& s) {
        if (s.strand == half.loop && s.element >= half.first && s.element <= half.last) {
            return half.last;
        }
        const loop* const* const l = std::find_if(
            loops, loops + count, [&](const loop* each) { return each->m_elements == s.strand; });
        if (l == loops + count) {
            return ended_element;
        }
        const std::uint32_t ended = ended_number(**l, s.element);
        if (ended != ended_element) {
            half = {s.strand, s.element, ended};
        }
        return ended;
    };
    for (std::uint32_t i = 1; i < segments.end(); ++i) {
        segment_record& s = segments[i];
        if (!s.live) {
            continue;
        }
        const std::uint32_t join = order.ended(s.strand);
        const std::uint32_t element = join != s.strand || s.element == ended_block ? ended_block
                                      : s.element != 0                             ? ended_as(s)
                                                                                   : 0;
        if (element == 0) {
            continue;
        }
        s.element = element;
        s.strand = join;
        s.merged = 0;
        merged& k = known[(join * 31 + s.calls) % 1024];
        if (k.strand == join && k.element == s.element && k.calls == s.calls && k.locks == s.locks) {
            s.merged = k.segment;
        } else {
            k = {join, s.element, s.calls, s.locks, i};
        }
    }
}

void detector::sweep() noexcept {
    if (!found.edges && m_merges) {
        merge_ended();
    }
    const auto merged = [&](std::uint32_t s) {
        return s != 0 && segments[s].merged != 0 ? segments[s].merged : s;
    };
    const auto mark_strand = [&](std::uint32_t s) {
        for (; s != 0 && !order[s].marked; s = order[s].parent) {
            order[s].marked = true;
            calls.mark(order[s].calls);
            if (const std::uint32_t b = order[s].block; b != 0 && !order[b].marked) {
                order[b].marked = true; // its parent is one of s, too
                calls.mark(order[b].calls);
            }
        }
    };
    const auto mark_segment = [&](std::uint32_t s) {
        if (s != 0 && !segments[s].marked) {
            segments[s].marked = true;
            calls.mark(segments[s].calls);
            mark_strand(segments[s].strand);
        }
    };
    const std::size_t cells = shadow.each([&](entry& e) {
        e = with_segment(e, merged(segment_of(e)));
        mark_segment(segment_of(e));
    });
    for (unsigned i = 0; i < fiber_count; ++i) {
        fiber& f = *fibers[i];
        mark_strand(f.strand);
        f.segment = merged(f.segment);
        mark_segment(f.segment);
        for (frame* at = f.frames; at <= f.top; ++at) {
            at->segment = merged(at->segment);
            calls.mark(at->calls);
            mark_segment(at->segment);
        }
    }
    order.each_edge(mark_strand);
    for (std::uint32_t i = 1; i < order.end(); ++i) {
        if (order[i].live && order[i].pins != 0) {
            mark_strand(i);
        }
    }
    for (unsigned i = 0; i < fiber_count; ++i) {
        for (loop* l = fibers[i]->of_loop; l != nullptr; l = l->m_outer) {
            keep_segments(*l);
        }
    }
    segments.free_unmarked();
    calls.free_unmarked();
    order.free_unmarked();
    for (relation_known& k : m_relations) {
        k = {};
    }
    forget_outcomes();
    // The work of a sweep is paid by the records that are made before the next one.
    const std::uint32_t kept = segments.live() + calls.live() + order.live();
    const std::uint32_t more = kept + static_cast<std::uint32_t>(cells / 2) + usual_sweep_after;
    m_merges = m_sweep_after != usual_sweep_after || cells > usual_sweep_after / 16;
    m_next_sweep = kept + (m_sweep_after == usual_sweep_after ? more : m_sweep_after);
}

} // namespace detail::race
} // namespace v0
} // namespace pilfer
