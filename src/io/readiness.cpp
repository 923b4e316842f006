// Descriptors on workers: the busy worker that polls them, and the idle worker that sleeps in the poll.
// Argument: src/io/README.md.
#include "io/readiness.hpp"

#include <cerrno>
#include <memory>
#include <new>
#include <utility>

#include <pilfer/detail/base/ticks.hpp>

#include "pool/pool_core.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {

/// Called by a busy worker.
bool readiness::is_due() const noexcept {
    // About 50 us: a poll costs 0.3 us, and a shorter interval brings no visible gain.
    return is_awaited() && cheap_ticks() - m_looked.load(rlx) > 12 * piece_ticks();
}

/// The calling thread polls now.
void readiness::looked() noexcept { m_looked.store(cheap_ticks(), rlx); }

/// Resumes the tasks that wait for these events. True: at least one resumes.
bool readiness::dispatch(const os::poller::event* events, unsigned n) noexcept {
    bool anyone = false;
    for (unsigned i = 0; i < n; ++i) {
        auto* const chain = waits.happened(events[i].tag, events[i].what);
        anyone = anyone || chain != nullptr;
        go_on_all(chain);
    }
    return anyone;
}

/// Polls once without waiting. Any thread.
bool readiness::look() noexcept {
    looked();
    os::poller::event events[64];
    return dispatch(events, kernel.wait(events, 0).events);
}

/// Sleeps in the poll. `w` is in the map of sleepers and holds the watch.
void readiness::sleep(scheduler& w, std::uint64_t ns) noexcept {
    if (!m_team.idle().start_polling(w.index, kernel)) {
        return;
    }
    os::poller::event events[64];
    const auto found = kernel.wait(events, ns == 0 ? os::no_limit : ns);
    looked();
    if (found.rung) {
        kernel.reset(); // io.N2: before this worker checks whether that notification was for it
    }
    m_team.idle().stop_polling(w.index);
    if (w.deferring_notices([&] { return dispatch(events, found.events); })) {
        (void)m_team.idle().wake(w.index, w.index); // as a token, as after an alarm
    }
}

readiness* descriptor_watch::get(int& error) noexcept {
    if (m_pool.is_forked_child()) {
        error = ENOTSUP; // the kernel's set of descriptors is shared with the parent
        return nullptr;
    }
    if (readiness* const made = if_made()) {
        return made;
    }
    if (!m_pool.backend().watches_descriptors()) {
        error = ENOTSUP;
        return nullptr;
    }
    m_pool.will_expect();
    const std::lock_guard lock(m_mutex);
    if (m_owner == nullptr) {
        std::unique_ptr<readiness> made(new (std::nothrow) readiness(m_pool));
        error = made == nullptr ? ENOMEM : made->kernel.error();
        if (error != 0) {
            return nullptr;
        }
        m_owner = std::move(made);
        m_pool.alarms->watch_over(*m_owner); // before any task can wait at it
        m_io.store(m_owner.get(), rel);
    }
    return m_owner.get();
}

} // namespace detail
} // namespace v0
} // namespace pilfer
