// Shadow memory: for each eight bytes of the program the accesses that a later one may race with.
#pragma once

#include "race/arena.hpp"

namespace pilfer::detail::race {

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

/// Cells by address, in chunks that are made when the program first touches their memory.
class shadow_memory {
public:
    static constexpr unsigned chunk_bits = 18;
    static constexpr std::uintptr_t chunk_bytes = std::uintptr_t{1} << chunk_bits; // of the program's memory
    void begin() noexcept { m_chunks = static_cast<cell**>(reserve(chunks * sizeof(cell*))); }
    [[nodiscard]] bool has_begun() const noexcept { return m_chunks != nullptr; }
    [[nodiscard]] cell& at(std::uintptr_t address) noexcept {
        cell* chunk = m_chunks[(address >> chunk_bits) & (chunks - 1)];
        if (chunk == nullptr) [[unlikely]] {
            chunk = make_chunk(address);
        }
        return chunk[(address / 8) & (chunk_cells - 1)];
    }
    /// Null: nothing around this address has been touched.
    [[nodiscard]] const cell* if_there(std::uintptr_t address) const noexcept {
        const cell* const chunk = m_chunks[(address >> chunk_bits) & (chunks - 1)];
        return chunk != nullptr ? &chunk[(address / 8) & (chunk_cells - 1)] : nullptr;
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
    /// New memory: nothing has been done to it.
    void forget(std::uintptr_t at, std::size_t size) noexcept;
    /// Calls f(entry) for all entries.
    template <class F>
    void each(F f) noexcept {
        for (std::uint32_t i = 1; i < m_made.end(); ++i) {
            for (std::size_t k = 0; k < chunk_cells; ++k) {
                cell& c = m_made[i].cells[k];
                const entry* const from = entries(c);
                for (unsigned m = 0, n = count(c); m < n && from[m] != 0; ++m) {
                    f(from[m]);
                }
            }
        }
    }

private:
    static constexpr std::size_t chunk_cells = chunk_bytes / 8;
    static constexpr std::size_t chunks = std::size_t{1} << (47 - chunk_bits);
    struct chunk_record {
        std::uint32_t unused; // the list of free records
        cell* cells;
    };
    [[nodiscard]] cell* make_chunk(std::uintptr_t address) noexcept;

    cell** m_chunks = nullptr;
    table<chunk_record, (1U << 24)> m_made;
    table<long_list, (1U << 24)> m_lists;
};

} // namespace pilfer::detail::race
