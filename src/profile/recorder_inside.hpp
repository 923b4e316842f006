// The ways of the recorder into its section, for the files of its functions.
#pragma once

#include <mutex>
#include <new>

#include "profile/recorder.hpp"

namespace pilfer {
inline namespace v0 {
namespace profile {

/// The worker's side of a section.
template <class Section>
class worker_inside {
public:
    explicit worker_inside(Section& s) noexcept : m_section(s) { m_section.enter(); }
    worker_inside(const worker_inside&) = delete;
    worker_inside& operator=(const worker_inside&) = delete;
    ~worker_inside() { m_section.leave(); }

private:
    Section& m_section;
};

/// Without memory for a record the rest of the program runs unrecorded: a profile is no reason to fail.
template <class F>
void recorder::guarded(F f) noexcept {
    if (m_broken || m_finished) {
        return;
    }
    try {
        f();
    } catch (const std::bad_alloc&) {
        m_broken = true;
    }
}

/// The clock is read first on the way in and last on the way out, and not at all on the way in if it stands:
/// a reading costs as much as the rest of a short event.
template <class F>
void recorder::on_worker(F f) noexcept {
    const std::uint64_t now = stopping();
    const worker_inside inside(m_section);
    stop_clock(now);
    guarded(f);
    start_clock();
}

/// An event of another thread.
template <class F>
void recorder::outside(F f) noexcept {
    if (has_lost_worker()) {
        return;
    }
    const std::lock_guard lock(m_section);
    m_changes = true;
    guarded(f);
    m_changes = false;
}

} // namespace profile
} // namespace v0
} // namespace pilfer
