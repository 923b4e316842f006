// A submission queue for each priority. Programs that use one level only pay a load of a word that is never
// written.
#pragma once

#include <array>
#include <cstdint>

#include <pilfer/detail/base/atom.hpp>
#include <pilfer/detail/deque/submissions.hpp>
#include <pilfer/task_options.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

/// The number of levels of a queue: priority::automatic is none.
inline constexpr unsigned priorities = 3;

/// Edge idle.Q3: src/pool/README.md. `Patience`: number of pauses for which a taker waits for another
/// taker. A pop takes a few instructions. If it takes longer, the other taker has lost its CPU, or is
/// reversing the list of a burst of pushes.
template <class Atom, unsigned Patience = 64>
class leveled_queue {
    using queue = submission_queue<Atom>;

public:
    using node = typename queue::node;
    struct taken {
        node* what = nullptr;
        priority level = priority::normal;
    };

    /// Anyone. True if workers have fetched everything that was pushed before at this level.
    bool push(node* n, priority level) noexcept {
        if (level != priority::normal && !leveled()) {
            m_leveled.store(1, rlx); // idle.Q3: before the pusher's fence and notification, as the push is
        }
        return at(level).push(n);
    }
    /// True if a level other than normal has ever been used.
    [[nodiscard]] bool leveled() const noexcept { return m_leveled.load(rlx) != 0; }
    /// True if all levels are empty. Workers, also before they sleep.
    [[nodiscard]] bool empty() const noexcept { return empty_from(priority::low); }
    /// True if `lowest` and all higher levels are empty.
    [[nodiscard]] bool empty_from(priority lowest) const noexcept {
        if (!leveled()) {
            return at(priority::normal).empty();
        }
        for (unsigned i = 0; i <= static_cast<unsigned>(lowest); ++i) {
            if (!m_levels[i].empty()) {
                return false;
            }
        }
        return true;
    }
    /// Workers: the next task. Nothing if there is none, or if another worker holds the queue of its level or
    /// of a higher one. In that case no task of a lower level is taken instead. `turn`: the caller's own
    /// count of what it has taken here while there were levels.
    [[nodiscard]] taken pop(std::uint32_t& turn) noexcept {
        if (!leveled()) [[likely]] {
            return {at(priority::normal).pop(), priority::normal};
        }
        using enum priority;
        static constexpr std::array<priority, priorities> usual{high, normal, low};
        static constexpr std::array<priority, priorities> lowest_first{low, normal, high};
        static constexpr std::array<priority, priorities> from_the_middle{normal, low, high};
        const std::uint32_t now = turn % fair;
        const auto& order = now == fair - 1 ? lowest_first : now == fair / 2 - 1 ? from_the_middle : usual;
        taken got;
        for (const priority level : order) {
            if (pop_at(level, false, got)) {
                break;
            }
        }
        turn += got.what != nullptr ? 1 : 0;
        return got;
    }
    /// As pop(), of `lowest` and all higher levels, and strictly by priority.
    [[nodiscard]] taken pop_from(priority lowest) noexcept { return first_from(lowest, false); }
    /// As pop_from(), but it waits for a worker that holds a queue. Returns nothing only if, level by level,
    /// there was none at a moment of the call.
    [[nodiscard]] taken insist_from(priority lowest) noexcept { return first_from(lowest, true); }
    /// For reports and tests.
    [[nodiscard]] queue& at(priority level) noexcept { return m_levels[static_cast<unsigned>(level)]; }
    [[nodiscard]] const queue& at(priority level) const noexcept {
        return m_levels[static_cast<unsigned>(level)];
    }

private:
    /// Of this many tasks, one is taken from the lowest level, and one from normal.
    static constexpr std::uint32_t fair = 64;

    [[nodiscard]] taken first_from(priority lowest, bool insists) noexcept {
        taken got;
        for (unsigned i = 0; i <= static_cast<unsigned>(lowest); ++i) {
            if (pop_at(static_cast<priority>(i), insists, got)) {
                break;
            }
        }
        return got;
    }
    /// True: the search ends, with a task, or without one because another worker holds the queue.
    [[nodiscard]] bool pop_at(priority level, bool insists, taken& got) noexcept {
        queue& q = at(level);
        for (unsigned round = 0; !q.empty(); ++round) {
            if (node* const n = q.pop()) {
                got = {n, level};
                return true;
            }
            if (!insists && round >= Patience) {
                return true;
            }
            Atom::relax(round);
        }
        return false;
    }

    std::array<queue, priorities> m_levels;
    alignas(line_bytes)
        typename Atom::template atomic<std::uint32_t> m_leveled{0}; // read by all, written once
};

} // namespace detail
} // namespace v0
} // namespace pilfer
