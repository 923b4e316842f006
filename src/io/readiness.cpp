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

bool readiness::is_due() const noexcept {
    // About 50 us: a poll costs 0.3 us, and a shorter interval brings no visible gain.
    return is_awaited() && cheap_ticks() - m_looked.load(rlx) > 12 * piece_ticks();
}

void readiness::looked() noexcept { m_looked.store(cheap_ticks(), rlx); }

bool dispatch(readiness& io, const os::poller::event* events, unsigned n) noexcept {
    bool anyone = false;
    for (unsigned i = 0; i < n; ++i) {
        auto* const chain = io.waits.happened(events[i].tag, events[i].what);
        anyone = anyone || chain != nullptr;
        go_on_all(chain);
    }
    return anyone;
}

bool look_at(readiness& io) noexcept {
    io.looked();
    os::poller::event events[64];
    return dispatch(io, events, io.kernel.wait(events, 0).events);
}

/// Called between two tasks, or before this worker sleeps. True: a waiting task resumes.
bool scheduler::look_at_descriptors(readiness& io) noexcept {
    if (!io.is_awaited()) {
        return false;
    }
    m_fires = true; // this worker looks for runnable tasks right afterwards
    const bool anyone = look_at(io);
    m_fires = false;
    m_owes_notice = m_owes_notice || anyone;
    return anyone;
}

/// Sleeps in the poll. This worker is in the map of sleepers and holds the watch. `ns`: longest sleep; 0: no
/// limit.
void scheduler::sleep_at_descriptors(readiness& io, std::uint64_t ns) noexcept {
    if (!m_pool.idle().start_polling(index, io.kernel)) {
        return;
    }
    os::poller::event events[64];
    const auto found = io.kernel.wait(events, ns == 0 ? os::no_limit : ns);
    io.looked();
    if (found.rung) {
        io.kernel.reset(); // io.N2: before this worker checks whether that notification was for it
    }
    m_pool.idle().stop_polling(index);
    m_fires = true;
    const bool anyone = dispatch(io, events, found.events);
    m_fires = false;
    if (anyone) {
        (void)m_pool.idle().wake(index, index); // as a token, as after an alarm
    }
}

readiness* pool_core::io(int& error) noexcept {
    if (is_forked_child()) {
        error = ENOTSUP; // the kernel's set of descriptors is shared with the parent
        return nullptr;
    }
    if (readiness* const made = io_if_made()) {
        return made;
    }
    if (!m_backend->watches_descriptors()) {
        error = ENOTSUP;
        return nullptr;
    }
    will_expect();
    const std::lock_guard lock(m_io_mutex);
    if (m_io_owner == nullptr) {
        std::unique_ptr<readiness> made(new (std::nothrow) readiness);
        error = made == nullptr ? ENOMEM : made->kernel.error();
        if (error != 0) {
            return nullptr;
        }
        m_io_owner = std::move(made);
        m_io.store(m_io_owner.get(), rel);
        // N5. The watching worker may sleep on its word, and no descriptor wakes it there.
        std_atom::fence_sc();
        wake_watch(any_time);
    }
    return m_io_owner.get();
}

} // namespace detail
} // namespace v0
} // namespace pilfer
