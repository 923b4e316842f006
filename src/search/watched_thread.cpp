#include "search/watched_thread.hpp"

#if defined(PILFER_TEST)

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "base/write.hpp"
#include "platform/os.hpp"
#include "platform/stop_thread.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {
namespace {

/// A thread is stopped so often in search of a place at which it holds no lock.
constexpr unsigned most_tries = 2'000;

} // namespace

void watched_thread::begins_here() noexcept {
    os::may_be_stopped();
    m_thread.store(os::thread_id(), rel);
}

watched_thread::stopped watched_thread::watch(std::atomic<std::uint32_t>& answered, std::uintptr_t thread,
                                              std::uint64_t most) noexcept {
    const std::uint64_t pause = std::clamp<std::uint64_t>(most / 8, 1'000'000, 1'000'000'000);
    stopped at;
    std::uint64_t moves = 0;
    std::uint64_t asleep = 0;
    std::uint64_t busy = 0;
    std::uint64_t used = 0;
    for (;;) {
        os::futex_wait_for(answered, 0, pause);
        if (answered.load(acq) != 0) {
            return at;
        }
        const std::uint64_t number = m_thread.load(acq);
        const std::uint64_t before = std::exchange(used, os::cpu_ns_of(number));
        const std::uint64_t moved = m_moves.load(rlx);
        if (std::exchange(moves, moved) != moved || !m_runs.load(rlx)) {
            asleep = busy = 0;
            continue;
        }
        busy += used - std::min(before, used);
        asleep += number != 0 && os::is_blocked(number) ? pause : 0;
        if (asleep >= most || busy >= most) {
            at.blocked = asleep >= most;
            stop(at, answered, thread, moved);
            if (at.depth != 0) {
                return at;
            }
            asleep = busy = 0;
        }
    }
}

/// The thread is stopped for good, so that no task can go on as the caller of explore() goes on. It is not if
/// it has made a step meanwhile.
///
/// A computing thread may hold a lock of the allocator or the loader at any moment, and a thread that needs
/// that lock later would wait for ever. So it is stopped elsewhere, as far as it ever is elsewhere.
void watched_thread::stop(stopped& at, std::atomic<std::uint32_t>& answered, std::uintptr_t thread,
                          std::uint64_t moved) noexcept {
    const os::code_with_locks locks;
    for (unsigned tries = 0;; ++tries) {
        if (!os::stop_thread(thread, at.frames.data(), static_cast<unsigned>(at.frames.size()), at.depth)) {
            if (answered.load(acq) != 0) {
                at.depth = 0; // the thread has ended
                return;
            }
            os::write_error(
                "pilfer: a task holds its thread in a test of schedules, and cannot be stopped\n");
            std::abort();
        }
        if (m_moves.load(rlx) != moved || !m_runs.load(rlx)) {
            os::let_thread_go();
            at.depth = 0;
            return;
        }
        if (at.blocked || tries == most_tries || !locks.has(at.frames.data(), at.depth)) {
            at.depth = std::max(at.depth, 1U);
            return;
        }
        os::let_thread_go();
        os::futex_wait_for(answered, 0, 1'000'000);
    }
}

} // namespace detail
} // namespace v0
} // namespace pilfer

#endif
