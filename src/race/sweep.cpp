// Records that nothing refers to are freed, so that long programs fit.
#include "race/detector.hpp"

namespace pilfer::detail::race {

void detector::sweep() noexcept {
    const auto mark_strand = [&](std::uint32_t s) {
        for (; s != 0 && !order[s].marked; s = order[s].parent) {
            order[s].marked = true;
            calls.mark(order[s].calls);
        }
    };
    const auto mark_segment = [&](std::uint32_t s) {
        if (s != 0 && !segments[s].marked) {
            segments[s].marked = true;
            calls.mark(segments[s].calls);
            mark_strand(segments[s].strand);
        }
    };
    shadow.each([&](entry e) { mark_segment(segment_of(e)); });
    for (unsigned i = 0; i < fiber_count; ++i) {
        const fiber& f = *fibers[i];
        mark_strand(f.strand);
        mark_segment(f.segment);
        for (std::uint32_t s = f.element != 0 ? f.made_segments : 0; s != 0; s = segments[s].next) {
            mark_segment(s);
        }
        for (const frame* at = f.frames; at <= f.top; ++at) {
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
    m_next_sweep = 2 * (segments.live() + calls.live() + order.live()) + 2'000'000;
}

} // namespace pilfer::detail::race
