// The choice of a victim. Plain values: no atomics, no clock, no allocation.
#pragma once

#include <cstdint>
#include <span>

#include <pilfer/balance.hpp>

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

/// Workers [first, last) that share something: a cache, a socket, the machine.
struct group {
    unsigned first;
    unsigned last;
};

/// Chooses the worker that one thief tries next. One per worker.
class chooser {
public:
    /// `near`: the groups that `self` belongs to, the smallest first, the last one contains all workers.
    /// Empty: all workers are one group. The groups outlive this object. `n`, the number of workers, is at
    /// least 2.
    chooser(victim rule, unsigned self, unsigned n, std::span<const group> near = {}) noexcept
        : m_rule(rule), m_self(self), m_count(n), m_last(before()), m_near(near) {}

    /// Returns the next victim. `length(v)`: the load of worker v; called for victim::longest only, for which
    /// a look at all workers is one attempt.
    template <class Length>
    [[nodiscard]] unsigned next(random& r, Length length) noexcept {
        switch (m_rule) {
        case victim::sticky:
            return m_last;
        case victim::ring:
            return before();
        case victim::nearest:
            return near(r);
        case victim::longest:
            return longest(r, length);
        case victim::automatic:
        case victim::random:
            break;
        }
        return random_other(r, m_self, m_count);
    }
    void succeeded(unsigned v) noexcept {
        m_last = v;
        m_tries = 0;
    }
    void failed(unsigned v) noexcept {
        m_last = (v + 1) % m_count;
        if (m_last == m_self) {
            m_last = (m_last + 1) % m_count;
        }
        ++m_tries;
    }

private:
    [[nodiscard]] unsigned before() const noexcept { return (m_self + m_count - 1) % m_count; }
    /// Tries each group as often as it has other members, at most 8 times. After the widest group it starts
    /// again.
    [[nodiscard]] unsigned near(random& r) noexcept {
        for (;;) {
            unsigned tries = m_tries;
            for (const group& g : m_near) {
                const unsigned others = g.last - g.first - 1;
                const unsigned here = others < 8 ? others : 8;
                if (tries < here) {
                    return g.first + random_other(r, m_self - g.first, g.last - g.first);
                }
                tries -= here;
            }
            if (m_tries == 0) {
                return random_other(r, m_self, m_count); // there are no groups
            }
            m_tries = 0;
        }
    }
    /// Of equally loaded workers it takes the first after a random one.
    template <class Length>
    [[nodiscard]] unsigned longest(random& r, Length length) noexcept {
        const unsigned start = random_other(r, m_self, m_count);
        unsigned best = start;
        auto most = length(start);
        for (unsigned k = 1; k < m_count; ++k) {
            const unsigned v = (start + k) % m_count;
            if (v != m_self) {
                if (const auto there = length(v); there > most) {
                    most = there;
                    best = v;
                }
            }
        }
        return best;
    }

    victim m_rule;
    unsigned m_self;
    unsigned m_count;
    unsigned m_last;      // sticky: the next victim
    unsigned m_tries = 0; // tries since the last success, which decide how far to look
    std::span<const group> m_near;
};

} // namespace balance
} // namespace v0
} // namespace pilfer
