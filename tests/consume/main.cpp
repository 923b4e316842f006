// One half of a stranger's program: two translation units that both include the umbrella header.
#include <pilfer/pilfer.hpp>

#include <cstdio>
#include <tuple>

int sum_below(int n);

int main() {
    pilfer::options options;
    options.workers = 2;
    pilfer::pool pool(options);
    const int product = pool.run([] {
        auto [six, seven] = pilfer::join([] { return 6; }, [] { return 7; });
        return six * seven;
    });
    std::printf("consumed %d and %d\n", product, pool.run([] { return sum_below(11); }));
}
