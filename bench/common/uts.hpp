// The trees of the Unbalanced Tree Search benchmark (S. Olivier et al., "UTS: An Unbalanced Tree Search
// Benchmark", LCPC 2006). A node is a SHA-1 digest. The root hashes 16 zero bytes and the seed; a child
// hashes its parent's digest and its own number. The digest's last word decides how many children there are.
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>

namespace bench::uts {

using digest = std::array<std::uint32_t, 5>;

/// SHA-1 (FIPS 180-4, section 6.1) of a message of `Words` big-endian words, which fits into one block.
template <std::size_t Words>
inline digest sha1(const std::array<std::uint32_t, Words>& message) {
    static_assert(Words <= 13, "the padding and the length need three words");
    std::array<std::uint32_t, 16> w{};
    for (std::size_t t = 0; t < Words; ++t)
        w[t] = message[t];
    w[Words] = 0x80000000u;
    w[15] = static_cast<std::uint32_t>(Words * 32);

    constexpr digest initial{0x67452301u, 0xefcdab89u, 0x98badcfeu, 0x10325476u, 0xc3d2e1f0u};
    auto [a, b, c, d, e] = initial;
    for (unsigned t = 0; t < 80; ++t) {
        const unsigned s = t & 15;
        if (t >= 16)
            w[s] = std::rotl(w[(s + 13) & 15] ^ w[(s + 8) & 15] ^ w[(s + 2) & 15] ^ w[s], 1);
        std::uint32_t f = 0;
        std::uint32_t k = 0;
        if (t < 20) {
            f = (b & c) ^ (~b & d);
            k = 0x5a827999u;
        } else if (t < 40) {
            f = b ^ c ^ d;
            k = 0x6ed9eba1u;
        } else if (t < 60) {
            f = (b & c) ^ (b & d) ^ (c & d);
            k = 0x8f1bbcdcu;
        } else {
            f = b ^ c ^ d;
            k = 0xca62c1d6u;
        }
        const std::uint32_t next = std::rotl(a, 5) + f + e + k + w[s];
        e = d;
        d = c;
        c = std::rotl(b, 30);
        b = a;
        a = next;
    }
    return {initial[0] + a, initial[1] + b, initial[2] + c, initial[3] + d, initial[4] + e};
}

struct tree {
    enum class shape { geometric, binomial };
    shape kind;
    double branching;   // Geometric: b0, the mean number of children. Binomial: the root's children.
    unsigned depth;     // Geometric: nodes from this depth on are leaves.
    double probability; // Binomial: q, that a node other than the root has children.
    unsigned children;  // Binomial: m, the number of these children.
    std::uint32_t seed;
    std::uint64_t nodes; // The expected result.
};

inline constexpr tree t1{tree::shape::geometric, 4, 10, 0, 0, 19, 4'130'071};
inline constexpr tree t3{tree::shape::binomial, 2'000, 0, 0.124875, 8, 42, 4'112'897};
inline constexpr tree t1l{tree::shape::geometric, 4, 13, 0, 0, 29, 102'181'082};
inline constexpr tree t3l{tree::shape::binomial, 2'000, 0, 0.200014, 5, 7, 111'345'631};

struct node {
    digest state;
    std::uint32_t depth;
};

inline node root_of(const tree& t) { return {sha1<5>({0, 0, 0, 0, t.seed}), 0}; }

inline node child_of(const node& parent, unsigned number) {
    const digest& s = parent.state;
    return {sha1<6>({s[0], s[1], s[2], s[3], s[4], number}), parent.depth + 1};
}

inline unsigned children_of(const node& n, const tree& t) {
    constexpr unsigned most = 100;
    const double uniform = (n.state[4] & 0x7fffffffu) / 2147483648.0;
    if (t.kind == tree::shape::binomial) {
        if (n.depth == 0)
            return static_cast<unsigned>(t.branching);
        return uniform < t.probability ? t.children : 0;
    }
    if (n.depth >= t.depth)
        return 0;
    const double log_failure = std::log(1 - 1 / (1 + t.branching));
    const auto number = static_cast<unsigned>(std::log(1 - uniform) / log_failure);
    return number < most ? number : most;
}

} // namespace bench::uts
