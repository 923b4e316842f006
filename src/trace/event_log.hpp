// The events of one worker for the trace.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "trace/places.hpp"
#include "trace/ring.hpp"
#include "trace/tally.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {

/// Writes events if the pool traces. Otherwise each function is one branch. On the thread of its worker.
class event_log {
public:
    /// `events`: how many the ring keeps; 0: nothing is traced. Throws std::bad_alloc.
    event_log(tally& count, std::size_t events)
        : m_count(count), m_trace(events == 0 ? nullptr : std::make_unique<trace::ring>(events)),
          m_places(events == 0 ? nullptr : std::make_unique<known_places>()) {}

    PILFER_ALWAYS_INLINE void note(trace::what what, std::uint32_t who = 0, std::uint32_t n = 0) noexcept {
        if (m_trace != nullptr) [[unlikely]] {
            m_trace->add(what, trace::task::spark, who, n);
        }
    }
    /// A new slice begins on the worker's track.
    void note_slice(trace::what what, trace::task task = {}, std::uint32_t who = 0,
                    std::uint32_t n = 0) noexcept {
        if (m_trace != nullptr) [[unlikely]] {
            note_slice_cold(what, task, who, n);
        }
    }
    /// The slice of the task of a deque's entry.
    void note_run(trace::what what, std::uintptr_t entry, std::uint32_t who = 0,
                  std::uint32_t n = 0) noexcept {
        note_slice(what, static_cast<trace::task>(entry & 3), who, n); // the kinds of worker/scheduler.cpp
    }
    /// The context suspends, and its stack ends at `context`. `why`: a text that is never freed; null: it
    /// waits for its turn, which has no place in the source.
    void note_wait(const char* why, const void* object, const void* context) noexcept {
        if (m_trace != nullptr) [[unlikely]] {
            note_wait_cold(why, object, context);
        }
    }
    /// The slice of a resumed context.
    void note_resume(trace::what what, const void* context) noexcept {
        if (m_trace != nullptr) [[unlikely]] {
            note_slice_cold(what, {}, 0, trace::identity(context));
        }
    }
    /// The steals that failed since the last slice.
    void note_missed() noexcept;
    /// Any thread. Null: nothing is traced.
    [[nodiscard]] const trace::ring* traced() const noexcept { return m_trace.get(); }

    /// Any thread: where the worker's tasks have waited. Throws std::bad_alloc.
    [[nodiscard]] trace::places::stacks places() const;
    /// Any thread: the names of the objects for which they have waited, by number. Throws std::bad_alloc.
    [[nodiscard]] std::vector<std::string> object_names() const;

private:
    /// A worker that has recorded more names than this records no further ones, because they are never freed.
    static constexpr std::size_t most_names = 10'000;
    struct known_places {
        std::mutex mutex; // of the worker and who writes the trace
        trace::places all;
        std::map<std::string, std::uint32_t> names; // with their numbers
    };
    void note_object(const void* object);
    void note_wait_cold(const char* why, const void* object, const void* context) noexcept;
    void note_slice_cold(trace::what what, trace::task task, std::uint32_t who, std::uint32_t n) noexcept;

    tally& m_count;
    std::unique_ptr<trace::ring> m_trace; // null: off
    std::unique_ptr<known_places> m_places;
    // What of steals_failed and steals_lost is in the trace already.
    own_word<std::uint64_t> m_noted_failed{0};
    own_word<std::uint64_t> m_noted_lost{0};
};

} // namespace detail
} // namespace v0
} // namespace pilfer
