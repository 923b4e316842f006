// sort, stable_sort, integer_sort, merge, nth_element and is_sorted_until: the algorithms of std::ranges, in
// parallel.
#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include <pilfer/sort.hpp>

struct runner {
    std::string name;
    unsigned minutes;
};

int main() {
    std::vector<runner> runners{{"Ada", 241}, {"Bob", 199}, {"Cem", 241}, {"Dot", 187}, {"Eve", 199}};

    // By a member, as std::ranges has it. Runners with the same time keep their order.
    pilfer::stable_sort(runners, {}, &runner::minutes);
    for (const runner& r : runners) {
        std::printf("%s %u\n", r.name.c_str(), r.minutes);
    }

    // A million numbers, down from the largest; outside of a pool this runs in pool::common().
    std::vector<std::uint32_t> numbers(1'000'000);
    std::uint32_t state = 1;
    for (std::uint32_t& x : numbers) {
        state = state * 1664525U + 1013904223U;
        x = state;
    }
    std::vector<std::uint32_t> others = numbers;
    const auto middle = others.begin() + 500'000;
    pilfer::nth_element(others, middle, std::greater<>{});
    pilfer::sort(numbers, std::greater<>{});
    std::printf("sorted: %d, the median is right: %d\n", pilfer::is_sorted(numbers, std::greater<>{}),
                *middle == numbers[500'000]);

    // By a number that is computed for each element: here the last two digits.
    pilfer::integer_sort(numbers, [](std::uint32_t x) { return x % 100; });
    std::printf("first %02u, last %02u\n", numbers.front() % 100, numbers.back() % 100);

    const std::vector<int> odd{1, 3, 5, 9};
    const std::vector<int> even{2, 4, 8};
    std::vector<int> both(odd.size() + even.size());
    pilfer::merge(odd, even, both.begin());
    both.push_back(6);
    for (const int x : both) {
        std::printf("%d ", x);
    }
    std::printf("\nsorted up to the %d\n", *pilfer::is_sorted_until(both));
}
