// A histogram with a race, and without one: build it with pilfer::race (docs/guides/races.md).
//
//   example_races          the right one: "no race of this input in any schedule"
//   example_races wrong    the report names both accesses and the loop
#include <array>
#include <cstdio>
#include <vector>

#include <pilfer/pilfer.hpp>

namespace {

using bins = std::array<int, 4>;

bins wrong(const std::vector<unsigned>& values) {
    bins count{};
    pilfer::for_each(values.begin(), values.end(), [&](unsigned v) { ++count[v % 4]; });
    return count;
}

bins right(const std::vector<unsigned>& values) {
    const auto one = [](unsigned v) {
        bins b{};
        b[v % 4] = 1;
        return b;
    };
    const auto add = [](bins a, const bins& b) {
        for (std::size_t i = 0; i < a.size(); ++i) {
            a[i] += b[i];
        }
        return a;
    };
    return pilfer::reduce(values.begin(), values.end(), bins{}, one, add);
}

} // namespace

int main(int count, char**) {
    std::vector<unsigned> values(1000);
    for (unsigned i = 0; i < values.size(); ++i) {
        values[i] = i;
    }
    const bins b = count > 1 ? wrong(values) : right(values);
    std::printf("%d %d %d %d\n", b[0], b[1], b[2], b[3]);
}
