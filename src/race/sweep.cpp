// Records that nothing refers to are freed, so that long programs fit.
#include <algorithm>

#include "race/detector.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail::race {

void detector::merge_ended() noexcept {
    struct merged {
        std::uint32_t strand, element, calls, locks, segment;
    };
    static merged known[1024]; // the latest ones: a segment may stay alone
    for (merged& k : known) {
        k = {};
    }
    std::uint32_t oldest = ended_element; // of the elements that run
    for (unsigned i = 0; i < fiber_count; ++i) {
        oldest = fibers[i]->element != 0 ? std::min(oldest, fibers[i]->element) : oldest;
    }
    for (std::uint32_t i = 1; i < segments.end(); ++i) {
        segment_record& s = segments[i];
        if (!s.live) {
            continue;
        }
        const std::uint32_t join = order.ended(s.strand);
        const bool in_loop = s.element != 0 && (s.element < oldest || s.element == ended_element);
        if (join == s.strand && s.element != ended_block && !in_loop) {
            continue;
        }
        s.element = join == s.strand && in_loop ? ended_element : ended_block;
        s.strand = join;
        s.next = 0;
        merged& k = known[(join * 31 + s.calls) % 1024];
        if (k.strand == join && k.element == s.element && k.calls == s.calls && k.locks == s.locks) {
            s.next = k.segment;
        } else {
            k = {join, s.element, s.calls, s.locks, i};
        }
    }
}

void detector::sweep() noexcept {
    if (!found.edges) {
        merge_ended();
    }
    const auto merged = [&](std::uint32_t s) {
        const segment_record& r = segments[s];
        return s != 0 && r.element >= ended_element && r.next != 0 ? r.next : s;
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
        for (std::uint32_t s = f.element != 0 ? f.made_segments : 0; s != 0; s = segments[s].next) {
            mark_segment(s);
        }
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
    m_next_sweep = kept + (m_sweep_after == usual_sweep_after ? more : m_sweep_after);
}

} // namespace detail::race
} // namespace v0
} // namespace pilfer
