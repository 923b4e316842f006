// The charts of the page: SVG without colours of its own, which are the classes of the page's style sheet.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "timeline.hpp"

namespace showcase {

/// Text for HTML and SVG: markup is escaped, control characters become '?'.
std::string escaped(std::string_view text);

struct bar {
    std::string label;
    std::string style; // class
    double value = 0;
    std::string text; // the value as people read it
};

/// Horizontal bars on an axis from 0. `axis` names quantity and unit.
std::string bar_chart(std::string_view title, std::string_view description, std::string_view axis,
                      std::vector<bar> const& bars);

struct point {
    unsigned workers = 0;
    double value = 0;
};

struct line {
    std::string style;         // class; also chooses the marker
    std::vector<point> points; // by growing number of workers
};

/// Speed-up by number of workers, with the ideal: as many times as there are workers, and at most `cores`.
std::string line_chart(std::string_view title, std::string_view description, std::vector<line> const& lines,
                       unsigned cores);

/// A lane for each worker. Stretches to any width, so it has no text: labels and axis are HTML around it.
std::string timeline_chart(std::string_view title, std::string_view description, timeline const& run);

/// Round values from 0 to at least `highest`, about `count` of them.
std::vector<double> ticks(double highest, unsigned count);

} // namespace showcase
