// Prefix sums
//
// Two passes over blocks: the first adds up each block, the second starts each block with the sum of those
// before it. The number of blocks is fixed, so the result does not depend on the number of workers.
#include <algorithm>
#include <cstdio>
#include <numeric>
#include <vector>

#include <pilfer/pilfer.hpp>

void prefix_sum(const std::vector<long>& in, std::vector<long>& out) {
    constexpr std::size_t blocks = 64;
    const std::size_t size = (in.size() + blocks - 1) / blocks;
    const auto at = [&](std::size_t block) {
        return static_cast<std::ptrdiff_t>(std::min(block * size, in.size()));
    };
    std::vector<long> before(blocks);
    pilfer::for_each(std::size_t{0}, blocks, [&](std::size_t b) {
        before[b] = std::accumulate(in.begin() + at(b), in.begin() + at(b + 1), 0L);
    });
    std::exclusive_scan(before.begin(), before.end(), before.begin(), 0L);
    pilfer::for_each(std::size_t{0}, blocks, [&](std::size_t b) {
        std::inclusive_scan(in.begin() + at(b), in.begin() + at(b + 1), out.begin() + at(b), std::plus<>{},
                            before[b]);
    });
}

int main() {
    std::vector<long> in(1'000'000);
    std::iota(in.begin(), in.end(), 1);
    std::vector<long> out(in.size());

    pilfer::pool pool;
    pool.run([&] { prefix_sum(in, out); });
    const long sum = pool.run([&] {
        return pilfer::reduce(
            in.begin(), in.end(), 0L, [](long v) { return v; }, std::plus<>{});
    });
    std::printf("last: %ld, sum by reduce: %ld\n", out.back(), sum);
}
