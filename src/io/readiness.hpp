// The descriptors of one pool, and how often busy workers poll them.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>

#include <pilfer/detail/base/park.hpp>
#include <pilfer/detail/base/platform.hpp>
#include <pilfer/detail/io/readiness.hpp>
#include <pilfer/detail/wait/wait.hpp>

#include "platform/poll.hpp"
#include "timer/alarm_watch.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {

class reaction;

/// One per pool. It exists from the pool's first wait for a descriptor until the pool's end.
class readiness final : public watched_kernel {
public:
    explicit readiness(team& t) noexcept : m_team(t) {}

    os::poller kernel;
    descriptor_waits<std_atom, futex_park, os::poller> waits{kernel};

    /// Counts a wait. Called before a task registers its descriptor with the kernel. io.N5: the fence is in
    /// the notification of the watch.
    void one_more() noexcept { m_waiting.fetch_add(1, rlx); }
    /// Uncounts a wait that has ended.
    void one_less() noexcept { m_waiting.fetch_sub(1, rlx); }

    // ---- watched_kernel
    [[nodiscard]] bool is_awaited() const noexcept override { return m_waiting.load(rlx) != 0; }
    [[nodiscard]] bool is_due() const noexcept override;
    bool look() noexcept override;
    void sleep(scheduler& w, std::uint64_t ns) noexcept override;

private:
    void looked() noexcept;
    bool dispatch(const os::poller::event* events, unsigned n) noexcept;

    team& m_team;
    alignas(line_bytes) std::atomic<std::uint64_t> m_waiting{0};
    alignas(line_bytes) std::atomic<std::uint64_t> m_looked{0}; // in ticks
};

/// The descriptors of one pool, and its functions that wait without a stack.
class descriptor_watch {
public:
    explicit descriptor_watch(pool_core& p) noexcept : m_pool(p) {}

    /// Null if no task of this pool has waited for a descriptor yet.
    [[nodiscard]] readiness* if_made() const noexcept { return m_io.load(acq); }
    /// Makes the readiness object if needed. Null: it is not available, and `error` is an errno.
    [[nodiscard]] readiness* get(int& error) noexcept;

    /// A function that waits without a stack begins or stops waiting. The end of the pool handles the
    /// reactions that are left.
    void add(reaction& r) noexcept;
    void remove(reaction& r) noexcept;
    /// The end of the pool, after the last worker and the last guest: nothing is queued any more, and no new
    /// reaction comes.
    void sweep() noexcept;
    /// Ends the reactions that sweep() has found. Called on a thread that may run user code.
    void end_swept() noexcept;

private:
    void unlink(reaction& r) noexcept;

    pool_core& m_pool;
    std::atomic<readiness*> m_io{nullptr};
    std::mutex m_mutex; // while it is made
    std::unique_ptr<readiness> m_owner;
    raw_lock<std_atom, futex_park> m_reactions_lock;
    reaction* m_reactions = nullptr;    // under that lock
    submission_queue<std_atom> m_swept; // the reactions that the end of the pool ends
};

} // namespace detail
} // namespace v0
} // namespace pilfer
