// Multiply matrices
//
// The rows of the product are independent, so one `for_each` over the rows is enough. The runtime splits the
// range when a worker is idle; no chunk size has to be chosen.
#include <cstdio>
#include <vector>

#include <pilfer/pilfer.hpp>

struct matrix {
    explicit matrix(std::size_t size) : n(size), values(size * size) {}
    [[nodiscard]] double* row(std::size_t i) { return values.data() + i * n; }
    [[nodiscard]] const double* row(std::size_t i) const { return values.data() + i * n; }
    std::size_t n;
    std::vector<double> values;
};

void multiply(const matrix& a, const matrix& b, matrix& product) {
    pilfer::for_each(std::size_t{0}, a.n, [&](std::size_t i) {
        double* const to = product.row(i);
        for (std::size_t k = 0; k < a.n; ++k) {
            const double factor = a.row(i)[k];
            const double* const from = b.row(k);
            for (std::size_t j = 0; j < a.n; ++j) {
                to[j] += factor * from[j];
            }
        }
    });
}

int main() {
    matrix a(200);
    matrix b(200);
    matrix product(200);
    for (std::size_t i = 0; i < 200; ++i) {
        a.row(i)[i] = 2; // twice the identity
        b.row(i)[199 - i] = static_cast<double>(i);
    }
    pilfer::pool pool;
    pool.run([&] { multiply(a, b, product); });
    std::printf("%.0f %.0f\n", product.row(10)[189], product.row(10)[188]);
}
