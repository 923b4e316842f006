#include "worker/event_log.hpp"

#include <pilfer/detail/worker/worker.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

void event_log::note_slice(trace::what what, trace::task task, std::uint32_t who, std::uint32_t n) noexcept {
    if (m_trace != nullptr) [[unlikely]] {
        note_slice_cold(what, task, who, n);
    }
}

void event_log::note_run(trace::what what, task_word task, std::uint32_t who, std::uint32_t n) noexcept {
    static_assert(static_cast<task_word>(trace::task::spark) == kind_spark &&
                  static_cast<task_word>(trace::task::continuation) == kind_continuation &&
                  static_cast<task_word>(trace::task::forked) == kind_forked);
    note_slice(what, static_cast<trace::task>(task & kind_mask), who, n);
}

/// The steals that failed before a slice are one event in front of it: each by itself would fill the ring
/// with a search that found nothing.
PILFER_COLD void event_log::note_slice_cold(trace::what what, trace::task task, std::uint32_t who,
                                            std::uint32_t n) noexcept {
    note_missed();
    m_trace->add(what, task, who, n);
}

PILFER_COLD void event_log::note_missed() noexcept {
    const std::uint64_t failed = m_count.steals_failed.get() - m_noted_failed;
    const std::uint64_t lost = m_count.steals_lost.get() - m_noted_lost;
    if (m_trace == nullptr || failed + lost == 0) {
        return;
    }
    m_noted_failed = m_noted_failed + failed;
    m_noted_lost = m_noted_lost + lost;
    m_trace->add(trace::what::missed, {}, static_cast<std::uint32_t>(failed),
                 static_cast<std::uint32_t>(lost));
}

} // namespace detail
} // namespace v0
} // namespace pilfer
