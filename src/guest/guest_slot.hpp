// A scheduler without a thread, in which a thread outside runs tasks while it waits. Protocol:
// src/pool/README.md, "Guests".
#pragma once

#include <atomic>
#include <cstdint>

#include <pilfer/detail/worker/worker.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

class pool_core;
class readiness;
class scheduler;
struct guest;

/// The guest of one scheduler. A scheduler with a worker thread never has a guest, and always counts as
/// present.
class guest_slot {
public:
    guest_slot(scheduler& w, pool_core& p) noexcept;

    /// Marks the scheduler as one without a thread, for guests.
    void has_no_thread() noexcept;
    /// True if a worker or a guest reads the inbox. Any thread.
    [[nodiscard]] bool is_there() const noexcept { return m_there.load(rlx); }
    /// Called by the guest thread, which has taken the slot.
    void work_until(guest& v) noexcept;
    /// Moves the inbox of a slot without a guest to the runnable queue. Any thread.
    void forward_inbox() noexcept;
    [[nodiscard]] bool ask_outside(bool (*ask)(void*), void* self) noexcept;

    [[nodiscard]] bool is_taken() const noexcept { return m_guest != nullptr; }
    /// True if the guest has to check again whether its wait is over.
    [[nodiscard]] bool is_stirred() noexcept;
    /// Called when a guest sleeps.
    void rest_as_guest(std::atomic<std::uint32_t>& state, std::uint64_t ns, readiness* io) noexcept;

private:
    void leave_slot() noexcept;
    [[nodiscard]] bool hands_watch_on() noexcept;

    scheduler& m_worker;
    pool_core& m_pool;
    guest* m_guest = nullptr;        // null: a worker of the pool, or a free slot
    std::atomic<bool> m_there{true}; // pool.V2
};

} // namespace detail
} // namespace v0
} // namespace pilfer
