// Memory of the detector: tables that grow in place and never call malloc, because malloc is watched.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include <pilfer/detail/base/race.hpp>

#include "base/write.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail::race {

[[noreturn]] inline void out_of_memory() noexcept {
    os::write_error("pilfer race: out of memory\n");
    std::_Exit(70);
}

/// Zeroed address space; pages cost memory once they are written.
[[nodiscard]] inline void* reserve(std::size_t bytes) noexcept {
    void* const p =
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) {
        out_of_memory();
    }
    return p;
}

/// Records by number, from 1 on. 0 is no record. Zeroed at the beginning, and reused after give().
template <class T, std::uint32_t Most>
class table {
public:
    [[nodiscard]] T& operator[](std::uint32_t i) const noexcept { return m_all[i]; }
    [[nodiscard]] std::uint32_t take() noexcept {
        if (m_all == nullptr) {
            m_all = static_cast<T*>(reserve(sizeof(T) * std::size_t{Most}));
        }
        ++m_live;
        if (m_free != 0) {
            const std::uint32_t i = m_free;
            m_free = *reinterpret_cast<std::uint32_t*>(&m_all[i]);
            return i;
        }
        if (m_end == Most) {
            out_of_memory();
        }
        return m_end++;
    }
    /// The first word of a record is the list of free ones.
    void give(std::uint32_t i) noexcept {
        *reinterpret_cast<std::uint32_t*>(&m_all[i]) = m_free;
        m_free = i;
        --m_live;
    }
    /// Of records with the members `live` and `marked`; marks are gone afterwards.
    void free_unmarked() noexcept {
        for (std::uint32_t i = 1; i < m_end; ++i) {
            if (m_all[i].live && !m_all[i].marked) {
                m_all[i].live = false;
                give(i);
            }
            m_all[i].marked = false;
        }
    }
    /// One more than the last number ever taken.
    [[nodiscard]] std::uint32_t end() const noexcept { return m_end; }
    [[nodiscard]] std::uint32_t live() const noexcept { return m_live; }

private:
    T* m_all = nullptr;
    std::uint32_t m_end = 1;
    std::uint32_t m_free = 0;
    std::uint32_t m_live = 0;
};

/// From an address to a number, by linear probing; entries are never removed.
class address_map {
public:
    [[nodiscard]] std::uint32_t& operator[](std::uintptr_t key) noexcept {
        if (m_used * 2 >= m_size) {
            grow();
        }
        entry& e = place(key);
        if (e.key == 0) {
            e.key = key;
            ++m_used;
        }
        return e.value;
    }

private:
    struct entry {
        std::uintptr_t key;
        std::uint32_t value;
    };
    [[nodiscard]] entry& place(std::uintptr_t key) noexcept {
        std::size_t i = (key * 0x9E3779B97F4A7C15U) >> m_shift;
        while (m_all[i].key != 0 && m_all[i].key != key) {
            i = (i + 1) & (m_size - 1);
        }
        return m_all[i];
    }
    void grow() noexcept {
        entry* const old = m_all;
        const std::size_t n = m_size;
        m_size = n == 0 ? 4096 : n * 2;
        m_shift = 64;
        for (std::size_t s = m_size; s > 1; s /= 2) {
            --m_shift;
        }
        m_all = static_cast<entry*>(reserve(m_size * sizeof(entry)));
        for (std::size_t i = 0; i < n; ++i) {
            if (old[i].key != 0) {
                place(old[i].key) = old[i];
            }
        }
        if (n != 0) {
            munmap(old, n * sizeof(entry));
        }
    }

    entry* m_all = nullptr;
    std::size_t m_size = 0;
    std::size_t m_used = 0;
    unsigned m_shift = 0;
};

} // namespace detail::race
} // namespace v0
} // namespace pilfer
