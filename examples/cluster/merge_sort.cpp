// Merge sort: the data travel with the descriptions and come back with the results. merge_sort_plain.cpp is
// the same program for one machine.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <utility>
#include <vector>

#include <pilfer/cluster.hpp>

struct merge_sort {
    std::vector<std::uint32_t> values;

    std::vector<std::uint32_t> operator()() const {
        std::vector<std::uint32_t> sorted = values;
        if (values.size() <= 10'000) {
            std::sort(sorted.begin(), sorted.end());
            return sorted;
        }
        const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
        auto [a, b] =
            pilfer::cluster::join(merge_sort{{values.begin(), middle}}, merge_sort{{middle, values.end()}});
        std::merge(a.begin(), a.end(), b.begin(), b.end(), sorted.begin());
        return sorted;
    }
};
void serialize(pilfer::cluster::archive& a, merge_sort& m) { a(m.values); }
PILFER_CLUSTER_TASK(merge_sort);

int main(int argc, char** argv) {
    pilfer::cluster::session s(argc, argv);
    std::vector<std::uint32_t> values(200'000);
    std::uint32_t x = 1;
    for (std::uint32_t& v : values) {
        v = x = x * 1664525 + 1013904223;
    }
    const auto sorted = s.run(merge_sort{std::move(values)});
    if (s.rank() == 0) {
        std::printf("sorted: %s, the smallest is %u\n",
                    std::is_sorted(sorted.begin(), sorted.end()) ? "yes" : "no", sorted.front());
    }
}
