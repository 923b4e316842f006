// A submission queue for each priority. Programs that use one only pay a load of a word that nobody writes.
#pragma once

#include <array>
#include <cstdint>

#include <pilfer/detail/atom.hpp>
#include <pilfer/detail/submissions.hpp>
#include <pilfer/priority.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

/// Edge Q3: src/worker/README.md.
template <class Atom>
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
    /// Workers: the next one, or nothing if there is none or another worker is at it. `turn`: the caller's
    /// own count of what it has taken here while there were levels.
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
        for (const priority level : order) {
            if (const taken got = pop_at(level); got.what != nullptr) {
                ++turn;
                return got;
            }
        }
        return {};
    }
    /// The same of `lowest` and what goes before it, and never out of turn.
    [[nodiscard]] taken pop_from(priority lowest) noexcept {
        for (unsigned i = 0; i <= static_cast<unsigned>(lowest); ++i) {
            if (const taken got = pop_at(static_cast<priority>(i)); got.what != nullptr) {
                return got;
            }
        }
        return {};
    }
    /// For reports and tests.
    [[nodiscard]] queue& at(priority level) noexcept { return m_levels[static_cast<unsigned>(level)]; }
    [[nodiscard]] const queue& at(priority level) const noexcept {
        return m_levels[static_cast<unsigned>(level)];
    }

private:
    /// Of so many one is taken from the lowest level, and one from normal.
    static constexpr std::uint32_t fair = 64;

    /// Where another worker is at it, that has it for a few instructions: a lower level must not go first
    /// because of it.
    [[nodiscard]] taken pop_at(priority level) noexcept {
        queue& q = at(level);
        for (unsigned round = 0; !q.empty(); ++round) {
            if (node* const n = q.pop()) {
                return {n, level};
            }
            Atom::relax(round);
        }
        return {};
    }

    std::array<queue, priorities> m_levels;
    alignas(line_bytes)
        typename Atom::template atomic<std::uint32_t> m_leveled{0}; // read by all, written once
};

} // namespace detail
} // namespace v0
} // namespace pilfer
