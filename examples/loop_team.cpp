// Heat in a rod, step by step. A loop_team keeps each part of the rod on one worker, and opens the steps
// itself.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <vector>

#include <pilfer/pilfer.hpp>

int main() {
    constexpr std::size_t points = 10'000;
    constexpr std::uint64_t steps = 1000;
    std::vector<double> rod[2] = {std::vector<double>(points, 0.0), std::vector<double>(points, 0.0)};
    rod[0].front() = rod[1].front() = 100.0; // one end stays hot

    pilfer::pool pool;
    pool.run([&] {
        pilfer::loop_team team;
        // No part of a step begins before the step before it has ended.
        team.phases(steps, std::size_t{1}, points - 1,
                    [&](std::uint64_t step, std::size_t begin, std::size_t end) {
                        const std::vector<double>& now = rod[step % 2];
                        std::vector<double>& next = rod[(step + 1) % 2];
                        for (std::size_t i = begin; i < end; ++i) {
                            next[i] = now[i] + 0.25 * (now[i - 1] - 2 * now[i] + now[i + 1]);
                        }
                    });
        // A single loop with the same parts.
        team.for_each(std::size_t{0}, points, [&](std::size_t i) { rod[0][i] = std::round(rod[0][i]); });
    });
    std::printf("near the hot end: %.0f %.0f %.0f, far away: %.0f\n", rod[0][1], rod[0][10], rod[0][20],
                rod[0][points / 2]);
}
