// What tests of reductions and scans combine.
#pragma once

#include <cmath>
#include <vector>

namespace algorithm_tests {

/// A product of matrices modulo 2^32: associative, and it does not commute.
struct matrix {
    unsigned a = 1;
    unsigned b = 0;
    unsigned c = 0;
    unsigned d = 1;
    friend bool operator==(const matrix&, const matrix&) = default;
};
inline matrix operator*(const matrix& x, const matrix& y) {
    return {x.a * y.a + x.b * y.c, x.a * y.b + x.b * y.d, x.c * y.a + x.d * y.c, x.c * y.b + x.d * y.d};
}
inline std::vector<matrix> matrices(const std::vector<int>& values) {
    std::vector<matrix> all;
    for (const int v : values) {
        all.push_back({static_cast<unsigned>(v), 1, 1, static_cast<unsigned>(v) + 2});
    }
    return all;
}
inline std::vector<double> fractions(std::size_t n) {
    std::vector<double> all(n);
    for (std::size_t i = 0; i < n; ++i) {
        all[i] = std::sin(static_cast<double>(i)) * std::pow(10.0, static_cast<double>(i % 17));
    }
    return all;
}

} // namespace algorithm_tests
