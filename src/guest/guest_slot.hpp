// A scheduler without a thread, in which a thread outside runs tasks while it waits. Protocol:
// src/pool/README.md, "Guests".
#pragma once

#include <atomic>
#include <cstdint>

#include "task/service.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {

class pool_core;
class scheduler;
struct guest;

/// One slot for guests.
class guest_slot final : public occupant {
public:
    explicit guest_slot(pool_core& p) noexcept;

    /// The scheduler of this slot is `w`, which has no thread of its own.
    void open(scheduler& w) noexcept;
    /// Called by the guest thread, which has taken the slot. The other functions are called during that call.
    void work_until(guest& v) noexcept;
    [[nodiscard]] bool ask_outside(bool (*ask)(void*), void* self) noexcept;

    [[nodiscard]] bool is_stirred() noexcept override;
    void rest(std::atomic<std::uint32_t>& state, const rest_plan& plan) noexcept override;

private:
    void work_begins() noexcept;
    void leave() noexcept;

    pool_core& m_pool;
    scheduler* m_worker = nullptr;
    guest* m_guest = nullptr; // null: the slot is free
};

} // namespace detail
} // namespace v0
} // namespace pilfer
