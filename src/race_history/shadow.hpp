// Shadow memory: for each eight bytes of the program the accesses that a later one may race with.
#pragma once

#include "race_history/arena.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail::race {

/// An access to some bytes of a cell: segment, bytes, whether it writes, and the number of its instruction.
using entry = std::uint64_t;
inline constexpr unsigned site_bits = 23;

[[nodiscard]] inline entry make_entry(std::uint32_t segment, std::uint8_t bytes, bool writes,
                                      std::uint32_t site) {
    return std::uint64_t{segment} << 32 | std::uint64_t{bytes} << 24 | std::uint64_t{writes} << 23 | site;
}
[[nodiscard]] inline std::uint32_t segment_of(entry e) { return static_cast<std::uint32_t>(e >> 32); }
[[nodiscard]] inline std::uint8_t bytes_of(entry e) { return static_cast<std::uint8_t>(e >> 24); }
[[nodiscard]] inline bool writes(entry e) { return (e >> 23 & 1) != 0; }
[[nodiscard]] inline std::uint32_t site_of(entry e) { return e & ((1U << site_bits) - 1); }
[[nodiscard]] inline entry without(entry e, std::uint8_t bytes) { return e & ~(std::uint64_t{bytes} << 24); }
[[nodiscard]] inline entry with_segment(entry e, std::uint32_t segment) {
    return std::uint64_t{segment} << 32 | static_cast<std::uint32_t>(e);
}

inline constexpr unsigned in_cell = 4;
/// The accesses to eight bytes, the latest first. An entry without bytes, but with a segment, is the number
/// of a longer list.
struct cell {
    entry e[in_cell];
    [[nodiscard]] bool is_long() const noexcept { return e[0] != 0 && bytes_of(e[0]) == 0; }
};
inline constexpr unsigned in_list = 24;
struct long_list {
    std::uint32_t count; // first: the list of free records
    entry e[in_list];
};

/// Cells by address, in chunks that are made when the program first touches their memory. A chunk has a bit
/// for each cell that has been used, so that clearing and sweeping look at used cells only.
class shadow_memory {
public:
    static constexpr unsigned chunk_bits = 18;
    static constexpr std::uintptr_t chunk_bytes = std::uintptr_t{1} << chunk_bits; // of the program's memory
    void begin() noexcept { m_chunks = static_cast<chunk**>(reserve(chunks * sizeof(chunk*))); }
    [[nodiscard]] bool has_begun() const noexcept { return m_chunks != nullptr; }
    [[nodiscard]] cell& at(std::uintptr_t address) noexcept {
        chunk* c = chunk_of(address);
        if (c == nullptr) [[unlikely]] {
            c = make_chunk(address);
        }
        return c->cells[index_of(address)];
    }
    /// An empty cell gets an entry.
    void note_used(std::uintptr_t address) noexcept {
        const std::size_t i = index_of(address);
        chunk_of(address)->used[i / 64] |= std::uint64_t{1} << (i % 64);
    }
    /// The entries of a cell.
    [[nodiscard]] entry* entries(cell& c) noexcept {
        return c.is_long() ? m_lists[segment_of(c.e[0])].e : c.e;
    }
    [[nodiscard]] unsigned count(const cell& c) noexcept {
        return c.is_long() ? m_lists[segment_of(c.e[0])].count : in_cell;
    }
    /// Writes n entries: a list takes up to in_list.
    void assign(cell& c, bool was_long, const entry* from, unsigned n) noexcept;
    /// New memory: nothing has been done to it. False: nothing was known of it.
    bool forget(std::uintptr_t at, std::size_t size) noexcept;
    /// Calls f(address) for each used cell of this memory. f may use other cells.
    template <class F>
    void each_used(std::uintptr_t at, std::size_t size, F f) noexcept {
        each_word(at, size, [&](chunk&, std::size_t, std::uint64_t bits, std::uintptr_t address) {
            for (; bits != 0; bits &= bits - 1) {
                f(address + 8 * static_cast<unsigned>(__builtin_ctzll(bits)));
            }
        });
    }
    /// Calls f(entry&) for all entries. The result is the number of used cells.
    template <class F>
    std::size_t each(F f) noexcept {
        std::size_t cells = 0;
        for (std::uint32_t i = 1; i < m_made.end(); ++i) {
            for (std::size_t w = 0; w < words; ++w) {
                for (std::uint64_t bits = m_made[i].made->used[w]; bits != 0; bits &= bits - 1, ++cells) {
                    cell& c = m_made[i].made->cells[w * 64 + static_cast<unsigned>(__builtin_ctzll(bits))];
                    entry* const from = entries(c);
                    for (unsigned m = 0, n = count(c); m < n && from[m] != 0; ++m) {
                        f(from[m]);
                    }
                }
            }
        }
        return cells;
    }

private:
    static constexpr std::size_t chunk_cells = chunk_bytes / 8;
    static constexpr std::size_t words = chunk_cells / 64;
    static constexpr std::size_t chunks = std::size_t{1} << (47 - chunk_bits);
    struct chunk {
        cell cells[chunk_cells];
        std::uint64_t used[words];
    };
    struct chunk_record {
        std::uint32_t unused; // the list of free records
        chunk* made;
    };
    [[nodiscard]] chunk* chunk_of(std::uintptr_t address) const noexcept {
        return m_chunks[(address >> chunk_bits) & (chunks - 1)];
    }
    [[nodiscard]] static std::size_t index_of(std::uintptr_t address) noexcept {
        return (address / 8) & (chunk_cells - 1);
    }
    [[nodiscard]] chunk* make_chunk(std::uintptr_t address) noexcept;
    /// Calls f(chunk, word, used bits of this memory, address of the word's first cell), if there are any.
    template <class F>
    void each_word(std::uintptr_t at, std::size_t size, F f) noexcept {
        const std::uintptr_t end = (at + size + 7) & ~std::uintptr_t{7};
        for (at &= ~std::uintptr_t{7}; at < end;) {
            chunk* const c = chunk_of(at);
            const std::uintptr_t chunk_end = (at | (chunk_bytes - 1)) + 1;
            const std::uintptr_t upto = c != nullptr && end < chunk_end ? end : chunk_end;
            for (; c != nullptr && at < upto; at = (at | 511) + 1) {
                const std::size_t i = index_of(at);
                std::uint64_t bits = c->used[i / 64] & (~std::uint64_t{0} << (i % 64));
                if (upto - (at & ~std::uintptr_t{511}) < 512) {
                    bits &= ~(~std::uint64_t{0} << (upto % 512 / 8));
                }
                if (bits != 0) {
                    f(*c, i / 64, bits, at & ~std::uintptr_t{511});
                }
            }
            at = upto;
        }
    }

    chunk** m_chunks = nullptr;
    table<chunk_record, (1U << 24)> m_made;
    table<long_list, (1U << 24)> m_lists;
};

} // namespace detail::race
} // namespace v0
} // namespace pilfer
