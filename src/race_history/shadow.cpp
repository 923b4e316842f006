#include "race_history/shadow.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail::race {

shadow_memory::chunk* shadow_memory::make_chunk(std::uintptr_t address) noexcept {
    auto* const made = static_cast<chunk*>(reserve(sizeof(chunk)));
    m_made[m_made.take()].made = made;
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

bool shadow_memory::forget(std::uintptr_t at, std::size_t size) noexcept {
    bool any = false;
    each_word(at, size, [&](chunk& in, std::size_t word, std::uint64_t bits, std::uintptr_t) {
        in.used[word] &= ~bits;
        any = true;
        for (; bits != 0; bits &= bits - 1) {
            cell& c = in.cells[word * 64 + static_cast<unsigned>(__builtin_ctzll(bits))];
            if (c.is_long()) {
                m_lists.give(segment_of(c.e[0]));
            }
            c = {};
        }
    });
    return any;
}

} // namespace detail::race
} // namespace v0
} // namespace pilfer
