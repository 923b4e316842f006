// Quick sort
//
// After the partition both sides are independent: `fork` offers one side to idle workers, and the loop goes
// on with the other. One `scope` at the top waits for all of them, so that no level of the recursion waits
// for its own children.
#include <algorithm>
#include <cstdio>
#include <random>
#include <span>
#include <vector>

#include <pilfer/pilfer.hpp>

void quick_sort(pilfer::scope& all, std::span<int> values) {
    while (values.size() > 2048) {
        const int pivot =
            std::max(std::min(values.front(), values.back()),
                     std::min(std::max(values.front(), values.back()), values[values.size() / 2]));
        const auto middle = std::ranges::partition(values, [=](int v) { return v < pivot; }).begin();
        const auto above = std::partition(middle, values.end(), [=](int v) { return v == pivot; });
        const std::span<int> high(above, values.end());
        all.fork([&all, high] { quick_sort(all, high); });
        values = std::span<int>(values.begin(), middle);
    }
    std::ranges::sort(values);
}

int main() {
    std::vector<int> values(1'000'000);
    std::mt19937 random(2);
    std::ranges::generate(values, [&] { return static_cast<int>(random() % 100'000); });

    pilfer::pool pool;
    pool.run([&] {
        pilfer::scope all;
        quick_sort(all, values);
        all.sync();
    });
    std::printf("%zu values, sorted: %s\n", values.size(), std::ranges::is_sorted(values) ? "yes" : "no");
}
