// One worker's deque in the simulation.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "balance/exposure.hpp"

namespace study {

constexpr std::uint32_t no_frame = UINT32_MAX;
constexpr std::uint32_t is_frame = UINT32_MAX - 1; ///< as the parent: `task` is a suspended frame

/// An announced task. The workload gives `task` its meaning.
struct entry {
    std::uint64_t task;
    std::uint32_t parent; ///< the frame that announced it, or no_frame
};

/// Oldest at the top: [top, split) is shared, [split, bottom) is private.
class task_queue {
public:
    void push(entry e) {
        if (m_bottom - m_top == m_ring.size()) {
            grow();
        }
        m_ring[m_bottom++ & (m_ring.size() - 1)] = e;
    }
    /// The newest; there is one.
    [[nodiscard]] const entry& newest() const noexcept {
        return m_ring[(m_bottom - 1) & (m_ring.size() - 1)];
    }
    /// Takes the newest; there is one. True: it was shared.
    bool pop() noexcept {
        --m_bottom;
        const bool shared = m_split > m_bottom;
        m_split = std::min(m_split, m_bottom);
        return shared;
    }
    /// The oldest; it is shared.
    [[nodiscard]] entry take_oldest() noexcept { return m_ring[m_top++ & (m_ring.size() - 1)]; }
    void expose(std::uint64_t n) noexcept { m_split += n; }

    [[nodiscard]] pilfer::balance::load load() const noexcept {
        return {m_split - m_top, m_bottom - m_split};
    }
    [[nodiscard]] std::uint64_t size() const noexcept { return m_bottom - m_top; }
    [[nodiscard]] bool empty() const noexcept { return m_bottom == m_top; }

private:
    void grow() {
        std::vector<entry> bigger(m_ring.size() * 2);
        for (std::uint64_t i = m_top; i < m_bottom; ++i) {
            bigger[i & (bigger.size() - 1)] = m_ring[i & (m_ring.size() - 1)];
        }
        m_ring.swap(bigger);
    }

    std::vector<entry> m_ring = std::vector<entry>(16);
    std::uint64_t m_top = 0;
    std::uint64_t m_split = 0;
    std::uint64_t m_bottom = 0;
};

} // namespace study
