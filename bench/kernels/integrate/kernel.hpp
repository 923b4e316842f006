// Recursive adaptive integration by the trapezoid rule; every split is a fork, there is no cutoff.
#pragma once

#include <cmath>

#include "common/bench.hpp"
#include "kernels/integrate/config.hpp"

namespace bench {

template <class R>
class kernel : public kernel_base {
public:
    static constexpr const char* name = "integrate";
    explicit kernel(size s) : m_limit(integrate::config[s].limit), m_epsilon(integrate::config[s].epsilon) {}

    double run() const {
        const double left = function(0);
        const double right = function(m_limit);
        return area(0, left, m_limit, right, (left + right) / 2 * m_limit, m_epsilon);
    }

    bool check(double answer) const {
        const double square = m_limit * m_limit;
        const double exact = square * square / 4 + square / 2;
        return std::abs(answer - exact) < 0.1;
    }

private:
    static double function(double x) { return (x * x + 1) * x; }

    static double area(double x1, double y1, double x2, double y2, double coarse, double epsilon) {
        const double half = (x2 - x1) / 2;
        const double x = x1 + half;
        const double y = function(x);
        const double left = (y1 + y) / 2 * half;
        const double right = (y + y2) / 2 * half;
        if (std::abs(left + right - coarse) < epsilon)
            return left + right;
        const auto [a, b] = R::fork2([=] { return area(x1, y1, x, y, left, epsilon); },
                                     [=] { return area(x, y, x2, y2, right, epsilon); });
        return a + b;
    }

    double m_limit;
    double m_epsilon;
};

} // namespace bench
