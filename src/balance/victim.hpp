// Whom to rob. Plain values: no atomics, no clock, no allocation.
#pragma once

#include <cstdint>

namespace pilfer {
inline namespace v0 {
namespace balance {

/// xorshift64*: Marsaglia 2003, Vigna 2016. Good enough for victims, four instructions.
class random {
public:
    explicit random(std::uint64_t seed) noexcept : m_state(seed * 0x9e3779b97f4a7c15ULL + 1) {}

    [[nodiscard]] std::uint64_t next() noexcept {
        m_state ^= m_state >> 12;
        m_state ^= m_state << 25;
        m_state ^= m_state >> 27;
        return m_state * 0x2545f4914f6cdd1dULL;
    }
    /// Uniform in [0, n), by the high half of a product (Lemire 2019, without the rejection: the bias for
    /// n up to 4,096 is under 2^-20).
    [[nodiscard]] unsigned below(unsigned n) noexcept {
        return static_cast<unsigned>(((next() >> 32) * n) >> 32);
    }

private:
    std::uint64_t m_state;
};

/// A uniformly chosen worker other than `self`. `n` is at least 2.
[[nodiscard]] inline unsigned random_other(random& r, unsigned self, unsigned n) noexcept {
    const unsigned v = r.below(n - 1);
    return v < self ? v : v + 1;
}

} // namespace balance
} // namespace v0
} // namespace pilfer
