// Pictures: a line chart, a heat map, and each worker's tasks over time. Each is one SVG element with its own
// style, readable in light and dark.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace study {

struct series {
    std::string name;
    std::vector<std::pair<double, double>>
        points;         ///< in the order of x; points that are not finite are left out
    bool law = false;   ///< dashed and grey: a theoretical law
    bool steps = false; ///< the value holds until the next point
};

struct axis {
    std::string label;
    int base = 0;     ///< 0: linear; 2 or 10: logarithmic, with a tick at each (or every second, ...) power
    double least = 0; ///< linear axes begin here at the latest
};

/// At most 8 lines that are no laws: there are 8 colours.
[[nodiscard]] std::string draw_lines(const std::string& title, const axis& x, const axis& y,
                                     const std::vector<series>& lines);

struct heat_map {
    std::string title, x_label, y_label;
    std::vector<std::string> columns, rows;
    std::vector<std::vector<double>> values; ///< a row of values per row
    bool low_is_good = false;
};
[[nodiscard]] std::string draw_heat(const heat_map& map);

/// One panel per policy, in it a band per worker: how many tasks it has over time.
struct panel {
    std::string title;
    std::vector<std::vector<std::pair<double, std::uint64_t>>> workers; ///< steps: (time, tasks)
};
[[nodiscard]] std::string draw_panels(const std::string& title, const std::string& x_label, double x_most,
                                      const std::vector<panel>& panels);

} // namespace study
