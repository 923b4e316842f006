// Sets of locks by number (Cheng, Feng, Leiserson, Randall and Stark, SPAA 1998).
#pragma once

#include <algorithm>

#include "race_history/arena.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail::race {

/// Held during an atomic operation, which races with no other one.
inline constexpr std::uintptr_t atomic_lock = 2;

/// 0 is the empty set. An odd address is a lock that is shared with other readers, who exclude no reader.
class lock_sets {
public:
    /// False: the set is full.
    [[nodiscard]] bool add(std::uint32_t& set, std::uintptr_t lock) noexcept;
    /// Takes the lock out once: others of a recursive lock stay.
    void remove(std::uint32_t& set, std::uintptr_t lock) noexcept;
    /// True if a lock of `a` excludes one of `b`.
    [[nodiscard]] bool exclude(std::uint32_t a, std::uint32_t b) noexcept;
    /// True if `b` has all locks of `a`.
    [[nodiscard]] bool within(std::uint32_t a, std::uint32_t b) noexcept;
    [[nodiscard]] bool has(std::uint32_t set, std::uintptr_t lock) const noexcept {
        const lock_set* const s = set != 0 ? &m_all[set] : nullptr;
        return s != nullptr && std::find(s->at, s->at + s->count, lock) != s->at + s->count;
    }
    /// Calls f(address) for the locks of `a` that are not in `b`, until it returns true.
    template <class F>
    void find_without(std::uint32_t a, std::uint32_t b, F f) const noexcept {
        for (std::uint32_t i = 0; a != 0 && i < m_all[a].count; ++i) {
            const std::uintptr_t lock = m_all[a].at[i];
            if (!has(b, lock) && f(lock & ~std::uintptr_t{1})) {
                return;
            }
        }
    }

    static constexpr std::uint32_t most = 7;

private:
    struct lock_set {
        std::uint32_t count;
        std::uintptr_t at[most]; // sorted
    };
    [[nodiscard]] std::uint32_t number_of(const lock_set& s) noexcept;
    table<lock_set, (1U << 16)> m_all;
};

} // namespace detail::race
} // namespace v0
} // namespace pilfer
