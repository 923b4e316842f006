// The place of a scheduler without a thread, which threads outside take while they wait: README.md,
// "Guests".
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

/// The guest of one scheduler. A worker of the pool has none, and is there all the time.
class guest_slot {
public:
    guest_slot(scheduler& w, pool_core& p) noexcept;

    /// The scheduler has no thread, and waits for guests.
    void has_no_thread() noexcept;
    /// Any thread: a thread looks into the inbox.
    [[nodiscard]] bool is_there() const noexcept { return m_there.load(rlx); }
    /// On the visiting thread, which has taken the seat.
    void work_until(guest& v) noexcept;
    /// Any thread: what came to a seat without a guest goes on anywhere.
    void forward_inbox() noexcept;
    [[nodiscard]] bool ask_outside(bool (*ask)(void*), void* self) noexcept;

    [[nodiscard]] bool is_taken() const noexcept { return m_guest != nullptr; }
    /// The guest has to ask again whether its wait is over.
    [[nodiscard]] bool is_stirred() noexcept;
    /// In the sleep of a guest.
    void rest_as_guest(std::atomic<std::uint32_t>& state, std::uint64_t ns, readiness* io) noexcept;

private:
    void leave_slot() noexcept;
    [[nodiscard]] bool hands_watch_on() noexcept;

    scheduler& m_worker;
    pool_core& m_pool;
    guest* m_guest = nullptr;        // null: a worker of the pool, or a free seat
    std::atomic<bool> m_there{true}; // pool.V2
};

} // namespace detail
} // namespace v0
} // namespace pilfer
