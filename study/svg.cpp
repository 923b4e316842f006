#include "svg.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "table.hpp"

namespace study {
namespace {

// Okabe and Ito's colours, which most people can distinguish, moved so that each has contrast on both
// grounds.
constexpr std::array<const char*, 8> on_light = {"#0072b2", "#c25400", "#00805c", "#a8427f",
                                                 "#5f5f9e", "#967100", "#2b8cbe", "#6b6b6b"};
constexpr std::array<const char*, 8> on_dark = {"#56b4e9", "#f0894a", "#3ecfa0", "#e08cc0",
                                                "#a6a6f0", "#e6c04a", "#8fd0f0", "#b4b4b4"};

[[nodiscard]] std::string opening(double width, double height, const std::string& title) {
    std::string light;
    std::string dark;
    for (std::size_t i = 0; i < on_light.size(); ++i) {
        light += fmt::format(".l{0}{{stroke:{1}}}.f{0}{{fill:{1}}}", i, on_light[i]);
        dark += fmt::format(".l{0}{{stroke:{1}}}.f{0}{{fill:{1}}}", i, on_dark[i]);
    }
    return fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" "
        "role=\"img\" aria-label=\"{2}\">\n<style>"
        ".g{{fill:#ffffff}}.t{{fill:#1c1f24;font:13px "
        "system-ui,sans-serif}}.h{{font-size:15px;font-weight:600}}"
        ".s{{fill:#5c6470;font-size:12px}}.r{{stroke:#e4e7eb;stroke-width:1}}.a{{stroke:#5c6470;stroke-width:"
        "1}}"
        ".l{{fill:none;stroke-width:2;stroke-linejoin:round}}"
        ".law{{stroke:#5c6470;stroke-width:1.5;stroke-dasharray:5 4;fill:none}}"
        ".area{{fill-opacity:.35}}.d{{fill:#fff}}.b{{fill:#1c1f24}}{3}"
        "@media (prefers-color-scheme:dark){{.g{{fill:#15181c}}.t{{fill:#e4e7eb}}.s{{fill:#9aa3af}}"
        ".r{{stroke:#2b3038}}.a{{stroke:#9aa3af}}.law{{stroke:#9aa3af}}{4}}}"
        "</style>\n<rect class=\"g\" width=\"{0}\" height=\"{1}\"/>\n"
        "<text class=\"t h\" x=\"16\" y=\"24\">{2}</text>\n",
        width, height, escaped(title), light, dark);
}

[[nodiscard]] std::string text(double x, double y, const char* anchor, const char* kind,
                               const std::string& words) {
    return fmt::format("<text class=\"t {}\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", kind,
                       x, y, anchor, escaped(words));
}

[[nodiscard]] std::string line(const char* kind, double x1, double y1, double x2, double y2) {
    return fmt::format("<line class=\"{}\" x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\"/>\n", kind,
                       x1, y1, x2, y2);
}

/// From values to pixels, with the ticks of the way.
class scale {
public:
    scale(const axis& a, double least, double most, double from, double to)
        : m_base(a.base), m_from(from), m_to(to) {
        if (m_base != 0) {
            m_least = std::floor(power(std::max(least, 1e-12)) + 1e-9);
            m_most = std::max(std::ceil(power(std::max(most, 1e-12)) - 1e-9), m_least + 1);
            const double every = std::ceil((m_most - m_least) / 12);
            for (double k = m_least; k <= m_most; k += every) {
                m_ticks.push_back(std::pow(m_base, k));
            }
            return;
        }
        m_least = std::min(a.least, least);
        const double range = std::max(most - m_least, 1e-9);
        const double rough = std::pow(10, std::floor(std::log10(range / 5)));
        double every = rough;
        for (const double factor : {2.0, 5.0, 10.0}) {
            if (range / every > 6) {
                every = rough * factor;
            }
        }
        m_most = m_least + std::ceil(range / every - 1e-9) * every;
        for (double k = 0; m_least + k * every <= m_most + every / 2; ++k) {
            m_ticks.push_back(m_least + k * every);
        }
    }
    [[nodiscard]] double operator()(double value) const {
        const double at = m_base != 0 ? power(value) : value;
        return m_from + (at - m_least) / (m_most - m_least) * (m_to - m_from);
    }
    [[nodiscard]] const std::vector<double>& ticks() const { return m_ticks; }
    [[nodiscard]] bool shows(double value) const {
        return std::isfinite(value) && (m_base == 0 || value > 0);
    }

private:
    [[nodiscard]] double power(double value) const { return std::log(value) / std::log(m_base); }
    int m_base;
    double m_from;
    double m_to;
    double m_least = 0;
    double m_most = 1;
    std::vector<double> m_ticks;
};

struct area {
    double left, top, right, bottom;
};

/// Powers of two below one as parts.
[[nodiscard]] std::string tick_name(double tick, const axis& a) {
    return a.base == 2 && tick > 0 && tick < 1 ? fmt::format("1/{}", number(1 / tick)) : number(tick);
}

[[nodiscard]] std::string draw_axes(const area& a, const scale& x, const axis& x_axis, const scale& y,
                                    const axis& y_axis) {
    std::string out;
    for (const double tick : y.ticks()) {
        out += line("r", a.left, y(tick), a.right, y(tick));
        out += text(a.left - 8, y(tick) + 4, "end", "s", tick_name(tick, y_axis));
    }
    for (const double tick : x.ticks()) {
        out += line("a", x(tick), a.bottom, x(tick), a.bottom + 4);
        out += text(x(tick), a.bottom + 19, "middle", "s", tick_name(tick, x_axis));
    }
    out += line("a", a.left, a.bottom, a.right, a.bottom);
    out += text((a.left + a.right) / 2, a.bottom + 40, "middle", "", x_axis.label);
    out += text(16, a.top - 12, "start", "", y_axis.label);
    return out;
}

/// Blue if `good` is high, orange if it is low; middle: neither.
[[nodiscard]] std::string heat_colour(double good) {
    struct rgb {
        double r, g, b;
    };
    constexpr std::array<rgb, 5> stops = {
        {{179, 70, 20}, {226, 150, 95}, {225, 222, 214}, {122, 178, 214}, {20, 98, 160}}};
    const double at = std::clamp(good, 0.0, 1.0) * (stops.size() - 1);
    const auto i = std::min(static_cast<std::size_t>(at), stops.size() - 2);
    const double part = at - static_cast<double>(i);
    const auto mix = [part](double from, double to) {
        return static_cast<int>(std::lround(from + (to - from) * part));
    };
    return fmt::format("#{:02x}{:02x}{:02x}", mix(stops[i].r, stops[i + 1].r),
                       mix(stops[i].g, stops[i + 1].g), mix(stops[i].b, stops[i + 1].b));
}

} // namespace

std::string draw_lines(const std::string& title, const axis& x_axis, const axis& y_axis,
                       const std::vector<series>& lines) {
    double x_least = std::numeric_limits<double>::infinity();
    double y_least = x_least;
    double x_most = -x_least;
    double y_most = -x_least;
    for (const series& s : lines) {
        for (const auto& [x, y] : s.points) {
            if (std::isfinite(x) && std::isfinite(y) && (y_axis.base == 0 || y > 0)) {
                x_least = std::min(x_least, x);
                x_most = std::max(x_most, x);
                y_least = std::min(y_least, y);
                y_most = std::max(y_most, y);
            }
        }
    }
    if (!(x_least <= x_most)) {
        throw std::runtime_error(fmt::format("the chart '{}' has no point to draw", title));
    }
    const area a{72, 76, 560, 380};
    const scale x(x_axis, x_least, x_most, a.left, a.right);
    const scale y(y_axis, y_least, y_most, a.bottom, a.top);
    std::string out = opening(760, 440, title) + draw_axes(a, x, x_axis, y, y_axis);
    std::size_t colour = 0;
    double legend = a.top + 8;
    for (const series& s : lines) {
        const std::size_t own = s.law ? 0 : colour++ % on_light.size();
        const std::string kind = s.law ? "law" : fmt::format("l l{}", own);
        std::string path;
        std::string marker;
        for (const auto& [vx, vy] : s.points) {
            if (!x.shows(vx) || !y.shows(vy)) {
                continue;
            }
            marker = !path.empty()
                         ? ""
                         : fmt::format("<circle class=\"{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4\"/>\n",
                                       s.law ? "law" : fmt::format("f{}", own), x(vx), y(vy));
            if (path.empty()) {
                path = fmt::format("M{:.1f} {:.1f}", x(vx), y(vy));
            } else if (s.steps) {
                path += fmt::format("H{:.1f}V{:.1f}", x(vx), y(vy));
            } else {
                path += fmt::format("L{:.1f} {:.1f}", x(vx), y(vy));
            }
        }
        out += fmt::format("<path class=\"{}\" d=\"{}\"/>\n", kind, path);
        out += marker; // of a single point, whose path has no length
        out += fmt::format("<path class=\"{}\" d=\"M{} {:.1f}h22\"/>\n", kind, a.right + 16, legend - 4);
        out += text(a.right + 44, legend, "start", "s", s.name);
        legend += 20;
    }
    return out + "</svg>\n";
}

std::string draw_heat(const heat_map& map) {
    constexpr double cell_width = 66;
    constexpr double cell_height = 34;
    const area a{130, 70, 130 + cell_width * static_cast<double>(map.columns.size()),
                 70 + cell_height * static_cast<double>(map.rows.size())};
    double least = std::numeric_limits<double>::infinity();
    double most = -least;
    for (const auto& row : map.values) {
        for (const double v : row) {
            if (std::isfinite(v)) {
                least = std::min(least, v);
                most = std::max(most, v);
            }
        }
    }
    std::string out = opening(std::max(a.right + 24, 560.0), a.bottom + 60, map.title);
    out += text(16, a.top - 12, "start", "", map.y_label);
    for (std::size_t r = 0; r < map.rows.size(); ++r) {
        const double top = a.top + cell_height * static_cast<double>(r);
        out += text(a.left - 8, top + cell_height / 2 + 4, "end", "s", map.rows[r]);
        for (std::size_t c = 0; c < map.columns.size(); ++c) {
            const double v = map.values[r][c];
            const double left = a.left + cell_width * static_cast<double>(c);
            double good = most > least && std::isfinite(v) ? (v - least) / (most - least) : 0.5;
            good = map.low_is_good ? 1 - good : good;
            out += fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{}\" height=\"{}\" fill=\"{}\"/>\n",
                               left + 1, top + 1, cell_width - 2, cell_height - 2, heat_colour(good));
            // Fill and text are equal on both grounds.
            out += fmt::format("<text class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\" "
                               "style=\"font:13px system-ui,sans-serif\">{}</text>\n",
                               good < 0.15 || good > 0.85 ? "d" : "b", left + cell_width / 2,
                               top + cell_height / 2 + 5, std::isfinite(v) ? fmt::format("{:.2f}", v) : "-");
        }
    }
    for (std::size_t c = 0; c < map.columns.size(); ++c) {
        out += text(a.left + cell_width * (static_cast<double>(c) + 0.5), a.bottom + 18, "middle", "s",
                    map.columns[c]);
    }
    out += text((a.left + a.right) / 2, a.bottom + 42, "middle", "", map.x_label);
    return out + "</svg>\n";
}

std::string draw_panels(const std::string& title, const std::string& x_label, double x_most,
                        const std::vector<panel>& panels) {
    constexpr double width = 330;
    constexpr double band = 62;
    const std::size_t bands = panels.empty() ? 0 : panels[0].workers.size();
    std::uint64_t most = 1;
    for (const panel& p : panels) {
        for (const auto& w : p.workers) {
            for (const auto& [when, tasks] : w) {
                most = std::max(most, tasks);
            }
        }
    }
    const double bottom = 64 + band * static_cast<double>(bands);
    std::string out = opening(40 + (width + 60) * static_cast<double>(panels.size()), bottom + 56, title);
    for (std::size_t k = 0; k < panels.size(); ++k) {
        const double left = 84 + (width + 50) * static_cast<double>(k);
        const scale x({"", 0, 0}, 0, x_most, left, left + width - 30);
        const double right = x(x.ticks().back());
        out += text(left, 50, "start", "", panels[k].title);
        for (std::size_t i = 0; i < bands; ++i) {
            const double base = 64 + band * static_cast<double>(i + 1) - 6;
            const double high = (band - 22) / static_cast<double>(most);
            out += line("r", left, base, right, base);
            if (k == 0) {
                out += text(left - 10, base - 4, "end", "s", fmt::format("worker {}", i + 1));
            }
            std::string path = fmt::format("M{:.1f} {:.1f}", left, base);
            std::string numbers;
            std::uint64_t before = 0;
            double last_number = -100;
            for (const auto& [when, tasks] : panels[k].workers[i]) {
                const double at = x(std::min(when, x_most));
                const double up = base - high * static_cast<double>(tasks);
                path += fmt::format("H{:.1f}V{:.1f}", at, up);
                if (tasks != before && tasks > 0 && at > last_number + 14) {
                    numbers += text(at + 3, up - 3, "start", "s", std::to_string(tasks));
                    last_number = at;
                }
                before = tasks;
            }
            path += fmt::format("H{:.1f}V{:.1f}Z", right, base);
            const std::size_t colour = i % on_light.size();
            out += fmt::format("<path class=\"area f{}\" d=\"{}\"/>\n<path class=\"l l{}\" d=\"{}\"/>\n",
                               colour, path, colour, path);
            out += numbers;
            if (before == 0 && panels[k].workers[i].size() <= 1) {
                out += text(left + 6, base - 6, "start", "s", "never has a task");
            }
        }
        for (const double tick : x.ticks()) {
            out += line("a", x(tick), bottom, x(tick), bottom + 4);
            out += text(x(tick), bottom + 18, "middle", "s", number(tick));
        }
        out += line("a", left, bottom, right, bottom);
        out += text((left + right) / 2, bottom + 40, "middle", "", x_label);
    }
    return out + "</svg>\n";
}

} // namespace study
