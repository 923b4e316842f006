// The thread of the worker that explores, as the thread sees it that waits for its schedules.
#pragma once

#if defined(PILFER_TEST)

#include <array>
#include <atomic>
#include <cstdint>

#include <pilfer/detail/base/atom.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

class watched_thread {
public:
    /// The thread has been stopped for good at this place; `depth` is 0: it was not, and goes on.
    struct stopped {
        bool blocked = false; ///< It slept; otherwise it computed.
        std::array<const void*, 64> frames{};
        unsigned depth = 0;
    };

    // ---- by the thread itself
    void begins_here() noexcept;
    void moves(const char* step) noexcept {
        m_moves.store(m_moves.load(rlx) + 1, rlx);
        m_last_step.store(step, rlx);
    }
    void runs_schedule(bool does) noexcept { m_runs.store(does, rlx); }

    // ---- by the other one
    /// Returns once `answered` is not 0, or the thread has run a schedule for `most` nanoseconds without a
    /// step. Only time counts in which it sleeps, or uses its processor. `thread`: its handle.
    [[nodiscard]] stopped watch(std::atomic<std::uint32_t>& answered, std::uintptr_t thread,
                                std::uint64_t most) noexcept;
    [[nodiscard]] const char* last_step() const noexcept { return m_last_step.load(rlx); }

private:
    void stop(stopped& at, std::atomic<std::uint32_t>& answered, std::uintptr_t thread,
              std::uint64_t moved) noexcept;

    std::atomic<std::uint64_t> m_moves{0};  // steps, of all schedules
    std::atomic<std::uint64_t> m_thread{0}; // its number in the system
    std::atomic<bool> m_runs{false};        // a schedule does
    std::atomic<const char*> m_last_step{""};
};

} // namespace detail
} // namespace v0
} // namespace pilfer

#endif
