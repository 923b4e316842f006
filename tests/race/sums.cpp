// Sums of numbers through an iterator, and of blocks: without optimization, results and additions are in
// memory.
#include <cstdio>
#include <deque>
#include <functional>
#include <vector>

#include <pilfer/pilfer.hpp>

int main() {
    const std::deque<int> numbers(50, 1);
    const std::vector<int> more(50, 1);
    const long one = pilfer::reduce(
        numbers.begin(), numbers.end(), 0L, [](int x) { return long(x); }, std::plus<>{});
    const double other = pilfer::reduce(
        more.begin(), more.end(), 0.0, [](int x) { return double(x); }, std::plus<>{}, pilfer::grain{4});
    std::printf("%ld %f\n", one, other);
    return one == 50 && other == 50 ? 0 : 1;
}
