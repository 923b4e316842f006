// Map into a vector
//
// `transform` writes each result to its place, so it needs no lock. `filter` returns the elements that a
// function chooses, in their order.
#include <cstdio>
#include <string>
#include <vector>

#include <pilfer/algorithm.hpp>
#include <pilfer/pilfer.hpp>

int main() {
    pilfer::pool pool;
    pool.run([] {
        std::vector<int> numbers;
        for (int i = 1; i <= 1000; ++i) {
            numbers.push_back(i);
        }
        std::vector<std::string> texts(numbers.size());
        pilfer::transform(numbers, texts.begin(), [](int n) { return std::to_string(n * n); });
        const auto big = pilfer::filter(numbers, [](int n) { return n % 250 == 0; });
        std::printf("%s %s\n", texts.front().c_str(), texts.back().c_str());
        for (const int n : big) {
            std::printf("%d\n", n);
        }
    });
}
