// A map whose last elements cost most, for one machine: see skewed_map.cpp.
#include <cstdio>
#include <functional>

#include <pilfer/pilfer.hpp>

double costly(int i) {
    double x = 1;
    for (int k = 0; k < i * i / 100; ++k) {
        x = x * 0.999 + 0.5 / (k + 1);
    }
    return x;
}

int main() {
    const double sum = pilfer::reduce(0, 1000, 0.0, costly, std::plus<>{});
    std::printf("sum: %.6f\n", sum);
}
