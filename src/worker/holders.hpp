// What tasks that hold a lock wait for, so that it is run first: row D10, rule W5 in README.md.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include <pilfer/detail/worker/worker.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

/// What suspended frames under a lock wait for, as words: the address of a scope's link stands for all
/// forked children of that scope, the address of a spark for that branch of a join.
///
/// The words are compared and never followed, so nobody has to keep alive what they name: who waits takes its
/// own out before it goes on, and whoever has read it by then takes a task that some other frame at that
/// address waits for, or finds none. All of it is relaxed: it says what is worth looking for, and the claim
/// in the deque decides. A row that is full takes no more; such a wait is found like any other.
class awaited_by_holders {
public:
    using word = std::uintptr_t;
    using place = std::atomic<word>;

private:
    static constexpr unsigned row_bits = 5;
    struct alignas(line_bytes) row {
        std::array<place, line_bytes / sizeof(place)> places{};
    };

public:
    static constexpr std::size_t room = (sizeof(row) / sizeof(place)) << row_bits;

    /// What waits for the task behind an entry is named by this; 0: for a continuation. May be asked of a
    /// stale entry: a record lives as long as the pool, and nothing else is looked at. Where it is stale the
    /// answer means nothing, and no edge leads to what stands there: ThreadSanitizer is not to see that look.
    [[nodiscard]] static word name_of(task_word entry) noexcept {
        const task_word at = entry & ~kind_mask;
        if (at == 0 || (entry & kind_mask) == kind_continuation) {
            return 0;
        }
        return (entry & kind_mask) == kind_forked ? reinterpret_cast<word>(scope_place::strip(
                                                        reinterpret_cast<spark*>(at)->within_to_start()))
                                                  : at;
    }

    /// One relaxed load: the only one where nobody waits under a lock.
    [[nodiscard]] bool any() const noexcept { return m_count.load(rlx) != 0; }
    [[nodiscard]] bool has(word name) const noexcept {
        for (const place& p : m_rows[row_of(name)].places) {
            if (p.load(rlx) == name) {
                return name != 0;
            }
        }
        return false;
    }

    /// Named here while it lives, in a frame that suspends.
    class entered {
    public:
        /// Null: nowhere.
        entered(awaited_by_holders* all, word name) noexcept
            : m_all(all), m_place(all != nullptr ? all->add(name) : nullptr) {}
        entered(const entered&) = delete;
        entered& operator=(const entered&) = delete;
        ~entered() {
            if (m_place != nullptr) {
                m_place->store(0, rlx);
                m_all->m_count.fetch_sub(1, rlx);
            }
        }

    private:
        awaited_by_holders* m_all;
        place* m_place;
    };

private:
    [[nodiscard]] static std::size_t row_of(word name) noexcept {
        // Frames of different stacks differ in high bits only: the product's upper ones depend on all.
        return static_cast<std::size_t>(std::uint64_t{name} * 0x9e37'79b9'7f4a'7c15U >> (64 - row_bits));
    }
    [[nodiscard]] place* add(word name) noexcept {
        for (place& p : m_rows[row_of(name)].places) {
            word none = 0;
            if (p.load(rlx) == none && p.compare_exchange_strong(none, name, rlx, rlx)) {
                m_count.fetch_add(1, rlx);
                return &p;
            }
        }
        return nullptr;
    }

    std::array<row, std::size_t{1} << row_bits> m_rows;
    alignas(line_bytes) std::atomic<std::uint32_t> m_count{0};
};

/// Does a task that waits hold a lock? `stands_in`: where what it waits for began, or was announced. Also
/// said of one that a holder waits for: a child of a scope that began under the lock, a branch of a join or
/// the function of a monitor call. Those further down are not asked after: that would be the whole way up for
/// each frame that suspends.
[[nodiscard]] inline bool waits_under_lock(const activation& task, scope_place* stands_in) noexcept {
    if (task.locks != 0) {
        return true;
    }
    scope_place* at = stands_in;
    for (bool is_further = false;;) {
        if (scope_place::holds(at)) {
            return true;
        }
        scope_place* const link = scope_place::strip(at);
        if (link == nullptr || is_further) {
            return false;
        }
        link->seen_here();
        is_further =
            (link->head().disturbed.load(rlx) & disturb::bare) == 0; // else a branch of what was given
        at = link->above();
    }
}

} // namespace detail
} // namespace v0
} // namespace pilfer
