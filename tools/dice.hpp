// Numbers that follow from a seed alone.
#pragma once

#include <cstdint>
#include <initializer_list>

namespace tools {

/// splitmix64 (Steele, Lea and Flood 2014). Also a hash of one number.
[[nodiscard]] inline std::uint64_t mixed(std::uint64_t x) noexcept {
    x += 0x9e3779b97f4a7c15U;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
    return x ^ (x >> 31);
}

class dice {
public:
    explicit dice(std::uint64_t seed) noexcept : m_state(mixed(seed)) {}

    [[nodiscard]] std::uint64_t next() noexcept { return mixed(m_state += 0x9e3779b97f4a7c15U); }
    /// Below `n`, which is at least 1.
    [[nodiscard]] std::uint64_t below(std::uint64_t n) noexcept { return next() % n; }
    /// From `first` to `last`, both included.
    [[nodiscard]] std::uint64_t between(std::uint64_t first, std::uint64_t last) noexcept {
        return first + below(last - first + 1);
    }
    [[nodiscard]] bool one_in(std::uint64_t n) noexcept { return below(n) == 0; }
    template <class T>
    [[nodiscard]] T pick(std::initializer_list<T> values) noexcept {
        return values.begin()[below(values.size())];
    }

private:
    std::uint64_t m_state;
};

} // namespace tools
