// Strassen's multiplication ("Gaussian elimination is not optimal", 1969): seven products in parallel.
#pragma once

#include <vector>

#include "common/bench.hpp"
#include "common/matrix.hpp"
#include "kernels/strassen/config.hpp"

namespace bench {

template <class R>
class kernel : public kernel_base {
public:
    static constexpr const char* name = "strassen";
    explicit kernel(size s) : m_problem(strassen::rows[s]) {}
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

    /// A square matrix of its own.
    class buffer {
    public:
        explicit buffer(std::size_t n) : m_n(n), m_numbers(n * n) {}
        block view() { return {m_numbers.data(), m_n}; }

    private:
        std::size_t m_n;
        std::vector<double> m_numbers;
    };

    /// to += sign * from.
    static void add(block to, block from, double sign, std::size_t n) {
        for (std::size_t i = 0; i < n; ++i) {
            double* __restrict out = to.row(i);
            const double* __restrict in = from.row(i);
            for (std::size_t j = 0; j < n; ++j)
                out[j] += sign * in[j];
        }
    }

    /// One factor of a product: x + sign * y, or x alone if the sign is 0.
    struct factor {
        block x;
        block y;
        double sign;
    };

    static void product(block c, factor a, factor b, std::size_t n) {
        buffer left(n);
        buffer right(n);
        const auto combine = [n](factor f, buffer& space) {
            if (f.sign == 0)
                return f.x;
            add(space.view(), f.x, 1, n);
            add(space.view(), f.y, f.sign, n);
            return space.view();
        };
        const block first = combine(a, left);
        multiply(c, first, combine(b, right), n);
    }

    /// c = a * b; c must be zero before.
    static void multiply(block c, block a, block b, std::size_t n) {
        if (n <= strassen::leaf)
            return matrix::multiply_add(c, a, b, n);
        const std::size_t h = n / 2;
        const block a11 = a.quarter(0, 0, h), a12 = a.quarter(0, 1, h);
        const block a21 = a.quarter(1, 0, h), a22 = a.quarter(1, 1, h);
        const block b11 = b.quarter(0, 0, h), b12 = b.quarter(0, 1, h);
        const block b21 = b.quarter(1, 0, h), b22 = b.quarter(1, 1, h);
        buffer m1(h), m2(h), m3(h), m4(h), m5(h), m6(h), m7(h);
        R::fork_all(
            [&] {
                product(m1.view(), {a11, a22, 1}, {b11, b22, 1}, h);
            },
            [&] {
                product(m2.view(), {a21, a22, 1}, {b11, b11, 0}, h);
            },
            [&] {
                product(m3.view(), {a11, a11, 0}, {b12, b22, -1}, h);
            },
            [&] {
                product(m4.view(), {a22, a22, 0}, {b21, b11, -1}, h);
            },
            [&] {
                product(m5.view(), {a11, a12, 1}, {b22, b22, 0}, h);
            },
            [&] {
                product(m6.view(), {a21, a11, -1}, {b11, b12, 1}, h);
            },
            [&] {
                product(m7.view(), {a12, a22, -1}, {b21, b22, 1}, h);
            });
        const block c11 = c.quarter(0, 0, h), c12 = c.quarter(0, 1, h);
        const block c21 = c.quarter(1, 0, h), c22 = c.quarter(1, 1, h);
        for (buffer* m : {&m1, &m4, &m7})
            add(c11, m->view(), 1, h);
        add(c11, m5.view(), -1, h);
        for (buffer* m : {&m3, &m5})
            add(c12, m->view(), 1, h);
        for (buffer* m : {&m2, &m4})
            add(c21, m->view(), 1, h);
        for (buffer* m : {&m1, &m3, &m6})
            add(c22, m->view(), 1, h);
        add(c22, m2.view(), -1, h);
    }

    matrix::problem m_problem;
};

} // namespace bench
