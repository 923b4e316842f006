#include "svg.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "numbers.hpp"

namespace showcase {
namespace {

std::string head(std::string_view style, double width, double height, std::string_view title,
                 std::string_view description, std::string_view more = {}) {
    return fmt::format(
        "<svg class=\"{}\" role=\"img\" viewBox=\"0 0 {} {}\"{}><title>{}</title><desc>{}</desc>\n", style,
        width, height, more, escaped(title), escaped(description));
}

std::string text(double x, double y, std::string_view anchor, std::string_view content,
                 std::string_view style = "label") {
    return fmt::format("<text class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", style,
                       x, y, anchor, escaped(content));
}

std::string rule(std::string_view style, double x1, double y1, double x2, double y2) {
    return fmt::format("<line class=\"{}\" x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\"/>\n",
                       style, x1, y1, x2, y2);
}

// Shape and colour both say which runtime it is.
std::string marker(std::string_view style, double x, double y) {
    if (style == "tbb")
        return fmt::format("<rect class=\"{} mark\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"8\" height=\"8\"/>\n",
                           style, x - 4, y - 4);
    if (style == "openmp")
        return fmt::format("<path class=\"{} mark\" d=\"M{:.1f} {:.1f}l5 9h-10z\"/>\n", style, x, y - 6);
    return fmt::format("<circle class=\"{} mark\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4.5\"/>\n", style, x, y);
}

constexpr std::array<std::string_view, 4> activity_styles{"searching", "own", "stolen", "asleep"};

} // namespace

std::string escaped(std::string_view text) {
    std::string safe;
    for (char const c : printable(text)) {
        switch (c) {
        case '&':
            safe += "&amp;";
            break;
        case '<':
            safe += "&lt;";
            break;
        case '>':
            safe += "&gt;";
            break;
        case '"':
            safe += "&quot;";
            break;
        default:
            safe += c;
        }
    }
    return safe;
}

std::vector<double> ticks(double highest, unsigned count) {
    double const rough = std::max(highest, 1e-12) / count;
    double const decade = std::pow(10.0, std::floor(std::log10(rough)));
    double step = 10 * decade;
    for (double const factor : {5.0, 2.0, 1.0})
        if (factor * decade >= rough * 0.999)
            step = factor * decade;
    std::vector<double> values{0};
    while (values.back() < highest * 0.999)
        values.push_back(step * static_cast<double>(values.size()));
    return values;
}

std::string bar_chart(std::string_view title, std::string_view description, std::string_view axis,
                      std::vector<bar> const& bars) {
    constexpr double width = 360;
    constexpr double row = 28;
    constexpr double letter = 8; // wide enough for the fonts that browsers choose
    double highest = 0;
    double left = 16;  // of the bars; their labels are left of it
    double right = 16; // of the bars: the longest one's value
    for (bar const& b : bars) {
        highest = std::max(highest, b.value);
        left = std::max(left, 16 + letter * static_cast<double>(b.label.size()));
        right = std::max(right, 12 + letter * static_cast<double>(b.text.size()));
    }
    std::vector<double> const marks = ticks(highest, 4);
    double const bottom = row * static_cast<double>(bars.size()) + 4;
    auto const at = [&](double value) { return left + (width - left - right) * value / marks.back(); };

    std::string svg = head("chart bars", width, bottom + 42, title, description);
    for (double const mark : marks) {
        svg += rule("grid", at(mark), 0, at(mark), bottom);
        svg += text(at(mark), bottom + 16, "middle", fmt::format("{:.6g}", mark), "tick");
    }
    svg += text(at(marks.back() / 2), bottom + 36, "middle", axis, "tick");
    double y = 4;
    for (bar const& b : bars) {
        svg += text(left - 8, y + 16, "end", b.label);
        svg += fmt::format("<rect class=\"bar {}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.2f}\" height=\"20\" "
                           "rx=\"2\"/>\n",
                           escaped(b.style), left, y + 1, std::max(at(b.value) - left, 1.0));
        svg += text(at(b.value) + 6, y + 16, "start", b.text);
        y += row;
    }
    return svg + rule("axis", left, 0, left, bottom) + "</svg>\n";
}

std::string line_chart(std::string_view title, std::string_view description, std::vector<line> const& lines,
                       unsigned cores) {
    constexpr double width = 360;
    constexpr double height = 270;
    constexpr double left = 44;
    constexpr double right = 14;
    constexpr double top = 10;
    constexpr double bottom = 48;
    std::vector<unsigned> counts;
    double highest = 1;
    for (line const& l : lines)
        for (point const& p : l.points) {
            counts.push_back(p.workers);
            highest = std::max({highest, p.value, static_cast<double>(std::min(p.workers, cores))});
        }
    std::sort(counts.begin(), counts.end());
    counts.erase(std::unique(counts.begin(), counts.end()), counts.end());
    unsigned const most = counts.empty() ? 1 : counts.back();
    std::vector<double> const marks = ticks(highest, 4);
    double const foot = height - bottom;
    auto const across = [&](double workers) {
        return left + (width - left - right) * workers / (most + 0.25);
    };
    auto const up = [&](double value) { return foot - (foot - top) * value / marks.back(); };

    std::string svg = head("chart lines", width, height, title, description);
    for (double const mark : marks) {
        svg += rule("grid", left, up(mark), width - right, up(mark));
        svg += text(left - 7, up(mark) + 4, "end", fmt::format("{:.6g}", mark), "tick");
    }
    double labelled = 0;
    for (unsigned const count : counts) {
        svg += rule("axis", across(count), foot, across(count), foot + 4);
        if (across(count) - labelled < 20 && count != most)
            continue; // no room for its number
        labelled = across(count);
        svg += text(labelled, foot + 18, "middle", std::to_string(count), "tick");
    }
    svg += text((left + width - right) / 2, height - 8, "middle", "workers", "tick");
    svg += fmt::format("<text class=\"tick\" text-anchor=\"middle\" transform=\"translate(13 {:.1f}) "
                       "rotate(-90)\">speed-up</text>\n",
                       (top + foot) / 2);
    unsigned const full = std::min(most, cores);
    svg += rule("ideal", across(0), up(0), across(full), up(full));
    svg += rule("ideal", across(full), up(full), across(most), up(full));
    svg += rule("axis", left, foot, width - right, foot) + rule("axis", left, top, left, foot);
    for (line const& l : lines) {
        std::string path;
        for (point const& p : l.points)
            path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? 'M' : 'L', across(p.workers), up(p.value));
        svg += fmt::format("<path class=\"line {}\" d=\"{}\"/>\n", l.style, path);
        for (point const& p : l.points)
            svg += marker(l.style, across(p.workers), up(p.value));
    }
    return svg + "</svg>\n";
}

std::string timeline_chart(std::string_view title, std::string_view description, timeline const& run) {
    constexpr double lane = 28;
    std::string svg = head("chart lanes", timeline_parts, lane * static_cast<double>(run.workers.size()),
                           title, description, " preserveAspectRatio=\"none\"");
    for (std::size_t worker = 0; worker < run.workers.size(); ++worker) {
        auto const& parts = run.workers[worker];
        for (std::size_t first = 0; first < parts.size();) {
            std::size_t last = first;
            while (last < parts.size() && parts[last] == parts[first])
                ++last;
            svg += fmt::format("<rect class=\"{}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>\n",
                               activity_styles.at(static_cast<std::size_t>(parts[first])), first,
                               lane * static_cast<double>(worker) + 3, last - first, lane - 6);
            first = last;
        }
    }
    return svg + "</svg>\n";
}

} // namespace showcase
