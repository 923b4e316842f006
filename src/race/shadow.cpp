#include "race/shadow.hpp"

namespace pilfer::detail::race {

cell* shadow_memory::make_chunk(std::uintptr_t address) noexcept {
    auto* const made = static_cast<cell*>(reserve(chunk_cells * sizeof(cell)));
    m_made[m_made.take()].cells = made;
    return m_chunks[(address >> chunk_bits) & (chunks - 1)] = made;
}

void shadow_memory::assign(cell& c, bool was_long, const entry* from, unsigned n) noexcept {
    if (n <= in_cell) {
        if (was_long) {
            m_lists.give(segment_of(c.e[0]));
        }
        for (unsigned i = 0; i < in_cell; ++i) {
            c.e[i] = i < n ? from[i] : 0;
        }
        return;
    }
    const std::uint32_t l = was_long ? segment_of(c.e[0]) : m_lists.take();
    m_lists[l].count = n;
    for (unsigned i = 0; i < in_list; ++i) {
        m_lists[l].e[i] = i < n ? from[i] : 0;
    }
    c = {{std::uint64_t{l} << 32, 0, 0, 0}};
}

void shadow_memory::forget(std::uintptr_t at, std::size_t size) noexcept {
    const std::uintptr_t end = (at + size + 7) & ~std::uintptr_t{7};
    at &= ~std::uintptr_t{7};
    while (at < end) {
        const std::uintptr_t chunk_end = ((at >> chunk_bits) + 1) << chunk_bits;
        const std::uintptr_t upto = end < chunk_end ? end : chunk_end;
        if (cell* const chunk = m_chunks[(at >> chunk_bits) & (chunks - 1)]) {
            for (cell* c = &chunk[(at / 8) & (chunk_cells - 1)]; at < upto; at += 8, ++c) {
                if (c->e[0] != 0) {
                    if (c->is_long()) {
                        m_lists.give(segment_of(c->e[0]));
                    }
                    *c = {};
                }
            }
        }
        at = upto;
    }
}

} // namespace pilfer::detail::race
