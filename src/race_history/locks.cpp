#include "race_history/locks.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail::race {

std::uint32_t lock_sets::number_of(const lock_set& s) noexcept {
    if (s.count == 0) {
        return 0;
    }
    for (std::uint32_t i = 1; i < m_all.end(); ++i) {
        if (std::equal(s.at, s.at + s.count, m_all[i].at, m_all[i].at + m_all[i].count)) {
            return i;
        }
    }
    const std::uint32_t i = m_all.take();
    m_all[i] = s;
    return i;
}

bool lock_sets::add(std::uint32_t& set, std::uintptr_t lock) noexcept {
    lock_set s = set != 0 ? m_all[set] : lock_set{};
    if (s.count == most) {
        return false;
    }
    std::uint32_t i = s.count++;
    for (; i != 0 && s.at[i - 1] > lock; --i) {
        s.at[i] = s.at[i - 1];
    }
    s.at[i] = lock;
    set = number_of(s);
    return true;
}

void lock_sets::remove(std::uint32_t& set, std::uintptr_t lock) noexcept {
    if (set == 0) {
        return;
    }
    lock_set s = m_all[set];
    std::uintptr_t* const end = s.at + s.count;
    if (std::uintptr_t* const found = std::find(s.at, end, lock); found != end) {
        std::copy(found + 1, end, found);
        --s.count;
        set = number_of(s);
    }
}

bool lock_sets::exclude(std::uint32_t a, std::uint32_t b) noexcept {
    if (a == 0 || b == 0) {
        return false;
    }
    for (std::uint32_t i = 0; i < m_all[a].count; ++i) {
        for (std::uint32_t k = 0; k < m_all[b].count; ++k) {
            const std::uintptr_t x = m_all[a].at[i];
            const std::uintptr_t y = m_all[b].at[k];
            if ((x | 1) == (y | 1) && (x & y & 1) == 0) {
                return true;
            }
        }
    }
    return false;
}

bool lock_sets::within(std::uint32_t a, std::uint32_t b) noexcept {
    if (a == 0 || a == b) {
        return true;
    }
    return std::all_of(m_all[a].at, m_all[a].at + m_all[a].count,
                       [&](std::uintptr_t lock) { return has(b, lock); });
}

} // namespace detail::race
} // namespace v0
} // namespace pilfer
