// An average over time, for a picture: a sum of heights in equal stretches.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace study {

inline constexpr std::size_t bins = 600;

/// A sum over time, in equal stretches.
class curve {
public:
    curve(std::uint64_t begin, std::uint64_t end)
        : m_begin(begin), m_width(static_cast<double>(std::max<std::uint64_t>(end - begin, 1)) / bins),
          m_area(bins) {}
    /// `height` from `from` to `to`.
    void add(std::uint64_t from, std::uint64_t to, double height) {
        if (to <= from || height == 0) {
            return;
        }
        const double a = static_cast<double>(from - m_begin) / m_width;
        const double b = static_cast<double>(to - m_begin) / m_width;
        constexpr double most = bins - 1;
        const auto first = static_cast<std::size_t>(std::min(a, most));
        const auto last = static_cast<std::size_t>(std::min(b, most));
        if (first == last) {
            m_area[first] += (b - a) * height;
            return;
        }
        m_area[first] += (static_cast<double>(first + 1) - a) * height;
        m_area[last] += (b - static_cast<double>(last)) * height;
        // The bins between are raised by differences, so that a long stretch costs no more than a short one.
        if (m_steps.empty()) {
            m_steps.resize(bins + 1);
        }
        m_steps[first + 1] += height;
        m_steps[last] -= height;
    }
    [[nodiscard]] std::vector<double> finish() {
        double level = 0;
        for (std::size_t i = 0; i < bins && !m_steps.empty(); ++i) {
            level += m_steps[i];
            m_area[i] += level;
        }
        for (double& x : m_area) {
            x = std::max(x, 0.0); // sums of differences may end below zero
        }
        return std::move(m_area);
    }

private:
    std::uint64_t m_begin;
    double m_width;
    std::vector<double> m_area;
    std::vector<double> m_steps;
};

} // namespace study
