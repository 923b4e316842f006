// Victims are chosen uniformly, and no worker robs itself.
#include "balance/victim.hpp"

#include <cmath>
#include <cstdint>
#include <vector>

#include "support/harness.hpp"

namespace {

using namespace support;
using pilfer::balance::random;
using pilfer::balance::random_other;

class random_victims : public guarded {};

/// Draws `per_victim` victims for each other worker and returns how often each was chosen.
[[nodiscard]] std::vector<std::uint64_t> histogram(random& r, unsigned self, unsigned n,
                                                   unsigned per_victim) {
    std::vector<std::uint64_t> chosen(n);
    for (std::uint64_t i = 0; i < std::uint64_t{per_victim} * (n - 1); ++i) {
        const unsigned victim = random_other(r, self, n);
        if (victim >= n) {
            ADD_FAILURE() << "there is no worker " << victim << " of " << n;
            break;
        }
        ++chosen[victim];
    }
    return chosen;
}

TEST_F(random_victims, are_uniform_and_never_the_thief) {
    constexpr unsigned per_victim = 1000;
    for (const unsigned n : {2U, 3U, 8U, 64U}) {
        for (const unsigned self : {0U, n / 2, n - 1}) {
            for (const std::uint64_t seed : {1U, 2U, 64U, 4096U}) {
                random r(seed);
                const auto chosen = histogram(r, self, n, per_victim);
                EXPECT_EQ(chosen[self], 0U) << "worker " << self << " of " << n;
                double chi_square = 0;
                for (unsigned v = 0; v < n; ++v) {
                    if (v != self) {
                        const double off = static_cast<double>(chosen[v]) - per_victim;
                        chi_square += off * off / per_victim;
                    }
                }
                // The seeds are fixed, so this passes always or never: mean and five deviations.
                const double freedom = n - 2;
                EXPECT_LE(chi_square, freedom + 5 * std::sqrt(2 * freedom))
                    << "worker " << self << " of " << n << ", seed " << seed;
            }
        }
    }
}

TEST_F(random_victims, of_two_thieves_differ) {
    // Workers seed with their number: equal sequences would send all thieves to the same victim.
    for (unsigned a = 1; a < 64; ++a) {
        random one(a);
        random two(a + 1);
        unsigned same = 0;
        for (int i = 0; i < 1000; ++i) {
            same += one.below(64) == two.below(64) ? 1 : 0;
        }
        EXPECT_LT(same, 100U) << "seeds " << a << " and " << a + 1;
    }
}

} // namespace
