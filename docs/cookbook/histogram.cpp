// A histogram
//
// `worker_local` leases a table to each running piece of the loop. A table is leased once for each row of
// pixels, not for each pixel, so the lease costs nothing that matters.
#include <array>
#include <cstdint>
#include <cstdio>
#include <numeric>
#include <vector>

#include <pilfer/pilfer.hpp>

using histogram = std::array<long, 256>;

int main() {
    constexpr std::size_t width = 640;
    constexpr std::size_t height = 480;
    std::vector<std::uint8_t> pixels(width * height);
    for (std::size_t i = 0; i < pixels.size(); ++i) {
        pixels[i] = static_cast<std::uint8_t>(i % 100);
    }

    pilfer::pool pool;
    pilfer::worker_local<histogram> parts;
    pool.run([&] {
        pilfer::for_each(std::size_t{0}, height, [&](std::size_t y) {
            const auto mine = parts.lease();
            for (std::size_t x = 0; x < width; ++x) {
                ++(*mine)[pixels[y * width + x]];
            }
        });
    });
    const histogram all = parts.combine([](histogram sum, const histogram& more) {
        for (std::size_t i = 0; i < sum.size(); ++i) {
            sum[i] += more[i];
        }
        return sum;
    });
    std::printf("level 7: %ld, level 200: %ld, all: %ld\n", all[7], all[200],
                std::accumulate(all.begin(), all.end(), 0L));
}
