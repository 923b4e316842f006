#include "trace/event_log.hpp"

#include <new>
#include <utility>

#include "names/object_names.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {

/// Writes the steals that failed before a slice as one event in front of it. One event for each would fill
/// the ring with a search that found nothing.
PILFER_COLD void event_log::note_slice_cold(trace::what what, trace::task task, std::uint32_t who,
                                            std::uint32_t n) noexcept {
    note_missed();
    m_trace->add(what, task, who, n);
}

PILFER_COLD void event_log::note_wait_cold(const char* why, const void* object,
                                           const void* context) noexcept {
    if (why != nullptr) {
        try {
            const std::lock_guard lock(m_places->mutex);
            const auto place = m_places->all.at(PILFER_CALLER, reinterpret_cast<std::uintptr_t>(context), 0);
            m_trace->add(trace::what::place, {}, place, 0);
            note_object(object);
        } catch (const std::bad_alloc&) {
            // a wait without a place or a name
        }
    }
    m_trace->add(trace::what::suspended, static_cast<trace::task>(trace::number_of_reason(why)),
                 trace::identity(object), trace::identity(context));
}

/// The name is read now, because the object may be gone when the trace is written.
void event_log::note_object(const void* object) {
    std::string name = detail::object_names::of(object);
    auto& known = m_places->names;
    if (name.empty() || (known.size() == most_names && !known.contains(name))) {
        return;
    }
    const auto next = static_cast<std::uint32_t>(known.size());
    const auto number = known.try_emplace(std::move(name), next).first->second;
    m_trace->add(trace::what::object_name, {}, number, 0);
}

std::vector<std::string> event_log::object_names() const {
    if (m_places == nullptr) {
        return {};
    }
    const std::lock_guard lock(m_places->mutex);
    std::vector<std::string> all(m_places->names.size());
    for (const auto& [name, number] : m_places->names) {
        all[number] = name;
    }
    return all;
}

trace::places::stacks event_log::places() const {
    if (m_places == nullptr) {
        return {};
    }
    const std::lock_guard lock(m_places->mutex);
    return m_places->all.known();
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
