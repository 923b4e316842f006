// The next event of each worker: a worker has at most one.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "costs.hpp"

namespace study {

/// A tournament tree (Knuth, volume 3, section 5.4.1). The root is the worker that acts next; of equal ones,
/// the one with the lowest number. A change costs log2(n) comparisons, no allocation.
class event_queue {
public:
    explicit event_queue(unsigned n)
        : m_leaves(std::bit_ceil(n)), m_when(m_leaves, never), m_tree(2 * m_leaves) {
        for (unsigned i = 0; i < m_leaves; ++i) {
            m_tree[m_leaves + i] = i;
        }
        for (unsigned at = m_leaves - 1; at > 0; --at) {
            m_tree[at] = m_tree[2 * at];
        }
    }
    void set(unsigned i, moment when) noexcept {
        m_when[i] = when;
        for (unsigned at = (m_leaves + i) / 2; at > 0; at /= 2) {
            const unsigned left = m_tree[2 * at];
            const unsigned right = m_tree[2 * at + 1];
            m_tree[at] = m_when[right] < m_when[left] ? right : left;
        }
    }
    [[nodiscard]] unsigned first() const noexcept { return m_tree[1]; }
    [[nodiscard]] moment when(unsigned i) const noexcept { return m_when[i]; }

private:
    unsigned m_leaves;
    std::vector<moment> m_when;
    std::vector<unsigned> m_tree; // [1] is the root; the winners so far
};

} // namespace study
