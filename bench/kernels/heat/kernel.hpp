// Heat in a square plate with cold edges: Jacobi's 5-point stencil, rows split recursively in every step.
//
// The plate starts as sin(3 pi x) sin(5 pi y), an eigenvector of the stencil. After s steps every point must
// therefore be its first value times ((cos(3 pi h) + cos(5 pi h)) / 2)^s.
#pragma once

#include <cmath>
#include <numbers>
#include <utility>
#include <vector>

#include "common/bench.hpp"
#include "kernels/heat/config.hpp"

namespace bench {

template <class R>
class kernel : public kernel_base {
public:
    static constexpr const char* name = "heat";
    explicit kernel(size s)
        : m_n(heat::config[s].n), m_steps(heat::config[s].steps), m_width(m_n + 2), m_x(m_width),
          m_y(m_width) {
        const double h = std::numbers::pi / static_cast<double>(m_n + 1);
        for (std::size_t i = 1; i <= m_n; ++i) {
            m_x[i] = std::sin(3 * h * static_cast<double>(i));
            m_y[i] = std::sin(5 * h * static_cast<double>(i));
        }
        m_factor = std::pow((std::cos(3 * h) + std::cos(5 * h)) / 2, m_steps);
    }

    void prepare() {
        m_next.assign(m_width * m_width, 0);
        m_now.assign(m_width * m_width, 0);
        for (std::size_t i = 0; i < m_width; ++i) {
            for (std::size_t j = 0; j < m_width; ++j)
                m_now[i * m_width + j] = m_x[i] * m_y[j];
        }
    }

    /// The temperature of one point; check() looks at all of them.
    double run() {
        for (unsigned step = 0; step < m_steps; ++step) {
            const double* now = m_now.data();
            double* next = m_next.data();
            if constexpr (requires {
                              R::parts(std::size_t{}, std::size_t{}, [](std::size_t, std::size_t) {});
                          }) {
                R::parts(std::size_t{1}, m_n + 1,
                         [=, this](std::size_t a, std::size_t b) { part(now, next, a, b); });
            } else {
                rows(now, next, 1, m_n + 1);
            }
            std::swap(m_now, m_next);
        }
        return m_now[(m_n / 2) * m_width + m_n / 4];
    }

    bool check(double answer) const {
        constexpr double tolerance = 1e-12;
        const double expected = m_x[m_n / 2] * m_y[m_n / 4] * m_factor;
        double deviation = std::abs(answer - expected);
        for (std::size_t i = 0; i < m_width; ++i) {
            for (std::size_t j = 0; j < m_width; ++j) {
                deviation =
                    std::fmax(deviation, std::abs(m_now[i * m_width + j] - m_x[i] * m_y[j] * m_factor));
            }
        }
        return deviation < tolerance;
    }

private:
    void rows(const double* now, double* next, std::size_t first, std::size_t last) const {
        if (last - first > heat::leaf_rows) {
            const std::size_t middle = first + (last - first) / 2;
            R::fork_all([=, this] { rows(now, next, first, middle); },
                        [=, this] { rows(now, next, middle, last); });
            return;
        }
        part(now, next, first, last);
    }

    void part(const double* now, double* next, std::size_t first, std::size_t last) const {
        for (std::size_t i = first; i < last; ++i) {
            const double* __restrict above = now + (i - 1) * m_width;
            const double* __restrict here = now + i * m_width;
            const double* __restrict below = now + (i + 1) * m_width;
            double* __restrict out = next + i * m_width;
            for (std::size_t j = 1; j <= m_n; ++j) {
                out[j] = 0.25 * (above[j] + below[j] + here[j - 1] + here[j + 1]);
            }
        }
    }

    std::size_t m_n;
    unsigned m_steps;
    std::size_t m_width;
    std::vector<double> m_x;
    std::vector<double> m_y;
    double m_factor = 0;
    std::vector<double> m_now;
    std::vector<double> m_next;
};

} // namespace bench
