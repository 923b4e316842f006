// Shared by the programs that measure cancelled scopes.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <vector>

namespace bench::masters {

using clock = std::chrono::steady_clock;

struct setting {
    unsigned workers = 2;
    unsigned repeat = 9;
    bool rotated = false;  ///< first: the order in which columns are tried
    unsigned alone = 2000; ///< first: nodes before the search divides itself
    bool tiny = false;     ///< for tests: few tasks, the answers only
};

[[nodiscard]] inline double us_between(clock::time_point begin, clock::time_point end) {
    return std::chrono::duration<double, std::micro>(end - begin).count();
}
[[nodiscard]] inline double us_since(clock::time_point begin) { return us_between(begin, clock::now()); }

/// Of a row that is not empty: 0.5 is the median.
[[nodiscard]] inline double quantile(std::vector<double> row, double part) {
    const auto at =
        row.begin() + static_cast<std::ptrdiff_t>(part * static_cast<double>(row.size() - 1) + 0.5);
    std::nth_element(row.begin(), at, row.end());
    return *at;
}
[[nodiscard]] inline double median(const std::vector<double>& row) { return quantile(row, 0.5); }

/// Each prints its figure. False: an answer was wrong.
[[nodiscard]] bool tree(const setting& s);
[[nodiscard]] bool tail(const setting& s);
[[nodiscard]] bool first_solution(const setting& s);
[[nodiscard]] bool waits(const setting& s);
[[nodiscard]] bool late(const setting& s);
[[nodiscard]] bool strangers(const setting& s);

} // namespace bench::masters
