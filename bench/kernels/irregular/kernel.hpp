// A random tree with an exact number of nodes. Each node works for a random time, then splits the remaining
// nodes into up to 5 parts of random, very unequal sizes.
#pragma once

#include <array>

#include "common/bench.hpp"
#include "kernels/irregular/config.hpp"

namespace bench {

template <class R>
class kernel : public kernel_base {
public:
    static constexpr const char* name = "irregular";
    explicit kernel(size s) : m_setting(irregular::config[s]) {}
    std::uint64_t run() const { return visit(m_setting.nodes, 1); }
    bool check(std::uint64_t answer) const { return answer == m_setting.answer; }

private:
    static std::uint64_t next(std::uint64_t state) {
        return state * 6364136223846793005u + 1442695040888963407u;
    }

    static std::uint64_t work(std::uint64_t state) {
        // A product of two uniform numbers: short times are frequent, long ones happen.
        const std::uint64_t a = (state >> 20) % 64 + 1;
        const std::uint64_t b = (state >> 40) % (irregular::most_rounds / 64) + 1;
        for (std::uint64_t i = 0; i < a * b; ++i)
            state = next(state);
        return state >> 33;
    }

    static std::uint64_t visit(std::uint64_t nodes, std::uint64_t state) {
        const std::uint64_t value = work(state);
        std::array<std::uint64_t, 5> parts{};
        unsigned children = 0;
        for (std::uint64_t left = nodes - 1; left > 0;) {
            state = next(state);
            const bool last = children + 1 == parts.size();
            const std::uint64_t part = last ? left : (state >> 32) % left + 1;
            parts[children++] = part;
            left -= part;
        }
        return value + R::fork_sum(children,
                                   [&parts, state](unsigned i) { return visit(parts[i], next(state ^ i)); });
    }

    irregular::setting m_setting;
};

} // namespace bench
