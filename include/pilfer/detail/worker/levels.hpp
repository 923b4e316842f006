// A submission queue for each priority. Programs that use one only pay a load of a word that nobody writes.
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

/// Edge Q3: src/worker/README.md. `Patience`: pauses for which a taker waits for another one. A pop is a few
/// instructions, so that one has lost its CPU then, or turns round what a burst of pushes has left.
template <class Atom, unsigned Patience = 64>
class leveled_queue {
    using queue = submission_queue<Atom>;

public:
    using node = typename queue::node;
    struct taken {
        node* what = nullptr;
        priority level = priority::normal;
    };

    /// Anyone. True: what was pushed before at this level has been fetched, to be taken.
    bool push(node* n, priority level) noexcept {
        if (level != priority::normal && !leveled()) {
            m_leveled.store(1, rlx); // Q3: before the fence of who tells others, as the push
        }
        return at(level).push(n);
    }
    /// Somebody has used a level other than normal, ever.
    [[nodiscard]] bool leveled() const noexcept { return m_leveled.load(rlx) != 0; }
    /// Workers, also before they sleep.
    [[nodiscard]] bool empty() const noexcept { return empty_from(priority::low); }
    /// The same of `lowest` and what goes before it.
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
    /// Workers: the next one, or nothing if there is none or another worker is at it, at its level or one
    /// that goes before: none of a lower level goes first because of that. `turn`: the caller's own count of
    /// what it has taken here while there were levels.
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
    /// The same of `lowest` and what goes before it, and never out of turn.
    [[nodiscard]] taken pop_from(priority lowest) noexcept { return first_from(lowest, false); }
    /// The same, and nothing only if there was none at a moment of the call, level by level: it waits for
    /// whoever is at it.
    [[nodiscard]] taken insist_from(priority lowest) noexcept { return first_from(lowest, true); }
    /// For reports and tests.
    [[nodiscard]] queue& at(priority level) noexcept { return m_levels[static_cast<unsigned>(level)]; }
    [[nodiscard]] const queue& at(priority level) const noexcept {
        return m_levels[static_cast<unsigned>(level)];
    }

private:
    /// Of so many one is taken from the lowest level, and one from normal.
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
    /// True: look no further, with something, or with nothing because another one is at it.
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
