// Tasks of pilfer call a function that its author has parallelised for oneTBB. With libpilfer-tbb both have
// one set of threads. The shared libpilfer is needed: pilfer-run-with-tbb ./one_pool
#include <algorithm>
#include <cstdio>
#include <execution>
#include <filesystem>
#include <iterator>
#include <numeric>
#include <vector>

#include <pilfer/pilfer.hpp>

namespace {

/// Knows nothing of pilfer: libstdc++ has oneTBB run it.
long brighten(std::vector<int>& image) {
    std::for_each(std::execution::par, image.begin(), image.end(), [](int& pixel) { pixel += 10; });
    return std::reduce(std::execution::par, image.begin(), image.end(), 0L);
}

long threads_of_process() {
    return std::distance(std::filesystem::directory_iterator("/proc/self/task"), {});
}

} // namespace

int main() {
    pilfer::options o;
    o.workers = 4;
    pilfer::pool pool(o);

    std::vector<int> left(500'000, 1);
    std::vector<int> right(500'000, 2);
    const auto [a, b] = pool.run(
        [&] { return pilfer::join([&] { return brighten(left); }, [&] { return brighten(right); }); });
    std::printf("sums: %ld and %ld\n", a, b);
    std::printf("workers: %u\n", pool.workers());
    std::printf("threads beside main: %ld\n", threads_of_process() - 1);
}
