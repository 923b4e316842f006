// Merge sort
//
// `join` sorts both halves, perhaps in parallel, and returns when both are sorted. Short ranges are sorted by
// `std::sort`: below some thousand elements the sorting itself costs more than the fork saves.
#include <algorithm>
#include <cstdio>
#include <random>
#include <span>
#include <vector>

#include <pilfer/pilfer.hpp>

void merge_sort(std::span<int> values, std::span<int> scratch) {
    if (values.size() <= 2048) {
        std::ranges::sort(values);
        return;
    }
    const std::size_t half = values.size() / 2;
    const auto low = values.first(half);
    const auto high = values.subspan(half);
    pilfer::join([&] { merge_sort(low, scratch.first(half)); },
                 [&] { merge_sort(high, scratch.subspan(half)); });
    std::ranges::merge(low, high, scratch.begin());
    std::ranges::copy(scratch, values.begin());
}

int main() {
    std::vector<int> values(1'000'000);
    std::mt19937 random(1);
    std::ranges::generate(values, [&] { return static_cast<int>(random() >> 1); });
    std::vector<int> scratch(values.size());

    pilfer::pool pool;
    pool.run([&] { merge_sort(values, scratch); });
    std::printf("%zu values, sorted: %s\n", values.size(), std::ranges::is_sorted(values) ? "yes" : "no");
}
