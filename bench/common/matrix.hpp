// Square blocks of row-major matrices, for matmul and strassen.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace bench::matrix {

/// A view of a block: `stride` numbers from one row to the next.
struct block {
    double* data;
    std::size_t stride;

    double* row(std::size_t i) const { return data + i * stride; }
    block quarter(std::size_t i, std::size_t j, std::size_t half) const {
        return {data + i * half * stride + j * half, stride};
    }
};

/// c += a * b for n by n blocks, by rows, so that the inner loop runs along memory.
inline void multiply_add(block c, block a, block b, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) {
        double* __restrict out = c.row(i);
        for (std::size_t k = 0; k < n; ++k) {
            const double factor = a.row(i)[k];
            const double* __restrict in = b.row(k);
            for (std::size_t j = 0; j < n; ++j)
                out[j] += factor * in[j];
        }
    }
}

/// Two factors of small whole numbers, so that every product is exact, and a place for the product.
class problem {
public:
    explicit problem(std::size_t n) : m_n(n), m_a(n * n), m_b(n * n), m_c(n * n) {
        std::uint32_t state = 12345;
        for (std::size_t i = 0; i < n * n; ++i) {
            m_a[i] = next(state);
            m_b[i] = next(state);
        }
    }
    std::size_t n() const { return m_n; }
    block a() { return {m_a.data(), m_n}; }
    block b() { return {m_b.data(), m_n}; }
    block c() { return {m_c.data(), m_n}; }
    void clear() { m_c.assign(m_n * m_n, 0); }

    double sum() const {
        double total = 0;
        for (double x : m_c)
            total += x;
        return total;
    }

    /// Freivalds' check: c * x == a * (b * x) for a vector x with x[j] != x[k], exactly.
    bool product_is_right() const {
        std::vector<double> x(m_n);
        std::uint32_t state = 99;
        for (double& value : x)
            value = next(state) + 20;
        return times(m_c, x) == times(m_a, times(m_b, x));
    }

    double expected_sum() const {
        const std::vector<double> ones(m_n, 1);
        double total = 0;
        for (double value : times(m_a, times(m_b, ones)))
            total += value;
        return total;
    }

private:
    static double next(std::uint32_t& state) {
        state = state * 1664525u + 1013904223u;
        return static_cast<double>(state >> 28) - 7;
    }

    std::vector<double> times(const std::vector<double>& matrix, const std::vector<double>& vector) const {
        std::vector<double> result(m_n);
        for (std::size_t i = 0; i < m_n; ++i) {
            for (std::size_t j = 0; j < m_n; ++j)
                result[i] += matrix[i * m_n + j] * vector[j];
        }
        return result;
    }

    std::size_t m_n;
    std::vector<double> m_a;
    std::vector<double> m_b;
    std::vector<double> m_c;
};

} // namespace bench::matrix
