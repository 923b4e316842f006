// One flat loop of tiny bodies: each mixes its index (Steele et al., "Fast splittable pseudorandom number
// generators", 2014) and keeps one byte of the result.
#pragma once

#include <numeric>
#include <vector>

#include "common/bench.hpp"
#include "kernels/loop/config.hpp"

namespace bench {

template <class R>
class kernel : public kernel_base {
public:
    static constexpr const char* name = "loop";
    static constexpr bool flat = true;
    explicit kernel(size s) : m_bytes(loop::bodies[s]) {
        for (std::size_t i = 0; i < m_bytes.size(); ++i)
            m_expected += mix(i);
    }
    void prepare() { m_bytes.assign(m_bytes.size(), 0); }

    std::uint64_t run() {
        unsigned char* bytes = m_bytes.data();
        R::loop(m_bytes.size(), [bytes](std::size_t i) { bytes[i] = mix(i); });
        return 0;
    }
    std::uint64_t complete(std::uint64_t) const {
        return std::accumulate(m_bytes.begin(), m_bytes.end(), std::uint64_t{0});
    }
    bool check(std::uint64_t answer) const { return answer == m_expected; }

private:
    static unsigned char mix(std::uint64_t z) {
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        return static_cast<unsigned char>(z ^ (z >> 31));
    }

    std::vector<unsigned char> m_bytes;
    std::uint64_t m_expected = 0;
};

} // namespace bench
