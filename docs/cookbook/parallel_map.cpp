// Map into a vector
//
// Each element of the result has its place before the loop starts, so the loop needs no lock. The second part
// keeps only some of the results: `reduce` joins short vectors in the order of the elements.
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include <pilfer/pilfer.hpp>

template <class T, class F>
auto parallel_map(const std::vector<T>& in, F f) {
    std::vector<decltype(f(in.front()))> out(in.size());
    pilfer::for_each(std::size_t{0}, in.size(), [&](std::size_t i) { out[i] = f(in[i]); });
    return out;
}

template <class T, class F>
std::vector<T> parallel_filter(const std::vector<T>& in, F keep) {
    using some = std::vector<T>;
    const auto one = [&](const T& value) { return keep(value) ? some{value} : some{}; };
    const auto join = [](some a, some b) {
        a.insert(a.end(), b.begin(), b.end());
        return a;
    };
    return pilfer::reduce(in.begin(), in.end(), some{}, one, join);
}

int main() {
    pilfer::pool pool;
    pool.run([] {
        std::vector<int> numbers;
        for (int i = 1; i <= 1000; ++i) {
            numbers.push_back(i);
        }
        const auto texts = parallel_map(numbers, [](int n) { return std::to_string(n * n); });
        const auto big = parallel_filter(numbers, [](int n) { return n % 250 == 0; });
        std::printf("%s %s\n", texts.front().c_str(), texts.back().c_str());
        for (const int n : big) {
            std::printf("%d\n", n);
        }
    });
}
