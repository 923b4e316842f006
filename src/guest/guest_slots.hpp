// The guest slots of one pool; the guests of a pool without slots. Protocol: src/pool/README.md, "Guests".
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "guest/guest.hpp"
#include "guest/guest_slot.hpp"
#include "task/service.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {

class guest_slots final : public service {
public:
    explicit guest_slots(pool_core& p);

    /// From now on the slots may be taken.
    void threads_are_made() noexcept override;
    /// The guests leave.
    void pool_stops() noexcept override;
    /// The calling thread, which is no worker of this pool, works here until `v` is over or the pool stops.
    /// False: no guest slot is free.
    [[nodiscard]] bool admit(guest& v) noexcept;
    /// True if the pool has fewer guest slots than its options ask for. Its guests then block as any other
    /// thread outside does.
    [[nodiscard]] bool are_lacking() const noexcept;
    /// run_until() in a pool that lacks guest slots: calls `ask` at once and after each notify(), until it
    /// returns true. False: the pool stops, or `ask` has called fork() and this is the child.
    [[nodiscard]] bool ask_when_notified(bool (*ask)(void*), void* self) noexcept;
    /// Something that a guest asks for may have changed.
    void notify() noexcept;
    /// Counts the calls of notify().
    [[nodiscard]] std::atomic<std::uint32_t>& notices() noexcept { return m_notices; }

private:
    pool_core& m_pool;
    std::vector<std::unique_ptr<guest_slot>> m_slots;
    std::atomic<std::uint64_t> m_free{0}; // one bit for each slot
    std::atomic<std::uint32_t> m_notices{0};
};

} // namespace detail
} // namespace v0
} // namespace pilfer
