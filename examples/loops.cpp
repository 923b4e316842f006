// for_each over indices and over a container; reduce in index order.
#include <cstdio>
#include <string>
#include <vector>

#include <pilfer/pilfer.hpp>

int main() {
    std::vector<long> squares(1'000);
    pilfer::for_each(0, 1'000, [&](int i) { squares[static_cast<std::size_t>(i)] = long{i} * i; });
    pilfer::for_each(squares.begin(), squares.end(), [](long& x) { x += 1; });

    const long sum = pilfer::reduce(
        squares.begin(), squares.end(), 0L, [](long x) { return x; }, [](long a, long b) { return a + b; });
    std::printf("sum of i * i + 1 for i below 1000: %ld\n", sum);

    // combine need not commute: the pieces stay in order.
    const std::string digits = pilfer::reduce(
        0, 10, std::string(), [](int i) { return std::to_string(i); },
        [](std::string a, const std::string& b) { return std::move(a) + b; });
    std::printf("digits: %s\n", digits.c_str());
}
