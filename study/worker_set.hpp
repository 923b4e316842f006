// A set of workers that can be asked for the next one in the ring.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

namespace study {

class worker_set {
public:
    static constexpr unsigned nobody = UINT32_MAX;

    explicit worker_set(unsigned n) : m_count(n), m_words((n + 63) / 64) {}

    void put(unsigned i, bool in) noexcept {
        std::uint64_t& word = m_words[i / 64];
        const std::uint64_t bit = std::uint64_t{1} << (i % 64);
        if (((word & bit) != 0) == in) {
            return;
        }
        word ^= bit;
        m_size += in ? 1 : -1;
    }
    [[nodiscard]] bool has(unsigned i) const noexcept { return (m_words[i / 64] >> (i % 64) & 1) != 0; }
    [[nodiscard]] bool empty() const noexcept { return m_size == 0; }
    /// The first member in the ring at `from` or after it; `nobody` if the set is empty.
    [[nodiscard]] unsigned next(unsigned from) const noexcept {
        if (m_size == 0) {
            return nobody;
        }
        std::uint64_t word = m_words[from / 64] & (~std::uint64_t{0} << (from % 64));
        for (unsigned k = from / 64;; word = m_words[k]) {
            if (word != 0) {
                return k * 64 + static_cast<unsigned>(std::countr_zero(word));
            }
            k = k + 1 == m_words.size() ? 0 : k + 1;
        }
    }
    /// The first member at `from` or before it.
    [[nodiscard]] unsigned previous(unsigned from) const noexcept {
        if (m_size == 0) {
            return nobody;
        }
        std::uint64_t word = m_words[from / 64] & (~std::uint64_t{0} >> (63 - from % 64));
        for (std::size_t k = from / 64;; word = m_words[k]) {
            if (word != 0) {
                return static_cast<unsigned>(k * 64) + 63 - static_cast<unsigned>(std::countl_zero(word));
            }
            k = k == 0 ? m_words.size() - 1 : k - 1;
        }
    }
    /// How many steps lead from `from` to `to` in the ring.
    [[nodiscard]] unsigned steps(unsigned from, unsigned to) const noexcept {
        return to >= from ? to - from : to + m_count - from;
    }

private:
    unsigned m_count;
    int m_size = 0;
    std::vector<std::uint64_t> m_words;
};

} // namespace study
