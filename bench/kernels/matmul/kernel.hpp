// Matrix multiplication by recursive quartering: four products in parallel, then the other four.
#pragma once

#include "common/bench.hpp"
#include "common/matrix.hpp"
#include "kernels/matmul/config.hpp"

namespace bench {

template <class R>
class kernel : public kernel_base {
public:
    static constexpr const char* name = "matmul";
    explicit kernel(size s) : m_problem(matmul::rows[s]) {}
    void prepare() { m_problem.clear(); }

    double run() {
        multiply(m_problem.c(), m_problem.a(), m_problem.b(), m_problem.n());
        return 0;
    }
    double complete(double) const { return m_problem.sum(); }
    bool check(double answer) const {
        return answer == m_problem.expected_sum() && m_problem.product_is_right();
    }

private:
    using block = matrix::block;

    static void multiply(block c, block a, block b, std::size_t n) {
        if (n <= matmul::leaf)
            return matrix::multiply_add(c, a, b, n);
        const std::size_t half = n / 2;
        for (std::size_t k = 0; k < 2; ++k) {
            const auto part = [=](std::size_t i, std::size_t j) {
                multiply(c.quarter(i, j, half), a.quarter(i, k, half), b.quarter(k, j, half), half);
            };
            R::fork_all([&] { part(0, 0); }, [&] { part(0, 1); }, [&] { part(1, 0); }, [&] { part(1, 1); });
        }
    }

    matrix::problem m_problem;
};

} // namespace bench
