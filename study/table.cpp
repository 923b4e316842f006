#include "table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace study {
namespace {

[[nodiscard]] std::string shown(const cell& c) {
    return std::holds_alternative<double>(c) ? number(std::get<double>(c)) : std::get<std::string>(c);
}

[[nodiscard]] std::string quoted(const std::string& text) {
    if (text.find_first_of(",\"\n") == std::string::npos) {
        return text;
    }
    std::string out = "\"";
    for (const char c : text) {
        out += c == '"' ? std::string("\"\"") : std::string(1, c);
    }
    return out + '"';
}

constexpr const char* style = R"(
:root { color-scheme: light dark; --ground: #ffffff; --ink: #1c1f24; --faint: #5c6470; --rule: #d8dce2; }
@media (prefers-color-scheme: dark) {
  :root { --ground: #15181c; --ink: #e4e7eb; --faint: #9aa3af; --rule: #343a43; }
}
body { background: var(--ground); color: var(--ink); font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto;
       max-width: 60rem; padding: 0 1rem; }
h1, h2 { line-height: 1.2; } h2 { margin-top: 3rem; }
p { max-width: 46rem; }
figure { margin: 1rem 0; overflow-x: auto; } svg { max-width: 100%; height: auto; }
details { margin: 1rem 0; } summary { cursor: pointer; color: var(--faint); }
.wide { overflow-x: auto; max-height: 32rem; overflow-y: auto; }
table { border-collapse: collapse; font-size: 0.85rem; font-variant-numeric: tabular-nums; }
th, td { padding: 0.2rem 0.7rem; border-bottom: 1px solid var(--rule); text-align: right; white-space: nowrap; }
th { position: sticky; top: 0; background: var(--ground); }
th:first-child, td:first-child { text-align: left; }
)";

} // namespace

std::string number(double x) {
    if (!std::isfinite(x)) {
        return "-";
    }
    if (x == 0) {
        return "0";
    }
    const int digits = 3 - static_cast<int>(std::floor(std::log10(std::fabs(x))));
    std::string text = fmt::format("{:.{}f}", x, std::clamp(digits, 0, 12));
    if (text.find('.') != std::string::npos) {
        text.erase(text.find_last_not_of('0') + 1);
        if (text.back() == '.') {
            text.pop_back();
        }
    }
    return text;
}

std::string one_line(std::string text) {
    for (char& c : text) {
        if (static_cast<unsigned char>(c) < ' ' || c == '\x7f') {
            c = ' ';
        }
    }
    return text;
}

std::string escaped(const std::string& text) {
    std::string out;
    for (const char c : text) {
        switch (c) {
        case '&':
            out += "&amp;";
            break;
        case '<':
            out += "&lt;";
            break;
        case '>':
            out += "&gt;";
            break;
        case '"':
            out += "&quot;";
            break;
        default:
            out += c;
        }
    }
    return out;
}

std::string to_csv(const table& t) {
    std::string out;
    const auto line = [&out](const auto& cells, const auto& text) {
        for (std::size_t i = 0; i < cells.size(); ++i) {
            out += (i == 0 ? "" : ",");
            out += quoted(text(cells[i]));
        }
        out += '\n';
    };
    line(t.columns, [](const std::string& name) { return name; });
    for (const auto& row : t.rows) {
        line(row, [](const cell& c) {
            return std::holds_alternative<std::string>(c) ? std::get<std::string>(c)
                   : std::isfinite(std::get<double>(c))   ? fmt::format("{:.9g}", std::get<double>(c))
                                                          : std::string();
        });
    }
    return out;
}

std::string to_text(const table& t) {
    std::vector<std::size_t> width;
    for (const std::string& name : t.columns) {
        width.push_back(name.size());
    }
    for (const auto& row : t.rows) {
        for (std::size_t i = 0; i < row.size(); ++i) {
            width[i] = std::max(width[i], shown(row[i]).size());
        }
    }
    std::string out;
    const auto put = [&](std::size_t i, const std::string& text, bool left) {
        out += i == 0 ? "" : "  ";
        out += left ? fmt::format("{:<{}}", text, width[i]) : fmt::format("{:>{}}", text, width[i]);
    };
    for (std::size_t i = 0; i < t.columns.size(); ++i) {
        put(i, t.columns[i], !t.rows.empty() && std::holds_alternative<std::string>(t.rows[0][i]));
    }
    out += '\n';
    for (const auto& row : t.rows) {
        for (std::size_t i = 0; i < row.size(); ++i) {
            put(i, shown(row[i]), std::holds_alternative<std::string>(row[i]));
        }
        out += '\n';
    }
    return out;
}

std::string to_html(const table& t) {
    std::string out = "<table><thead><tr>";
    for (const std::string& name : t.columns) {
        out += "<th>" + escaped(name) + "</th>";
    }
    out += "</tr></thead><tbody>\n";
    for (const auto& row : t.rows) {
        out += "<tr>";
        for (const cell& c : row) {
            out += "<td>" + escaped(shown(c)) + "</td>";
        }
        out += "</tr>\n";
    }
    return out + "</tbody></table>\n";
}

std::string to_page(const std::vector<section>& sections, const std::string& heading) {
    std::string out = fmt::format("<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
                                  "<meta name=\"viewport\" content=\"width=device-width\">\n"
                                  "<title>{0}</title><style>{1}</style></head><body>\n<h1>{0}</h1>\n",
                                  escaped(heading), style);
    for (const section& s : sections) {
        out += fmt::format("<h2 id=\"{}\">{}</h2>\n", escaped(s.name), escaped(s.title));
        for (std::size_t at = 0; at < s.text.size();) {
            const std::size_t end = std::min(s.text.find("\n\n", at), s.text.size());
            out += "<p>" + escaped(s.text.substr(at, end - at)) + "</p>\n";
            at = end + 2;
        }
        for (const std::string& picture : s.pictures) {
            out += "<figure>" + picture + "</figure>\n";
        }
        if (!s.results.rows.empty()) {
            const bool small = s.results.rows.size() <= 16;
            out +=
                fmt::format("<details{}><summary>{} rows</summary><div class=\"wide\">\n{}</div></details>\n",
                            small ? " open" : "", s.results.rows.size(), to_html(s.results));
        }
    }
    return out + "</body></html>\n";
}

std::string to_json(const std::vector<section>& sections, const std::string& costs_json) {
    nlohmann::ordered_json all = nlohmann::ordered_json::parse(costs_json);
    all["sections"] = nlohmann::ordered_json::array();
    for (const section& s : sections) {
        nlohmann::ordered_json one;
        one["name"] = s.name;
        one["title"] = s.title;
        one["columns"] = s.results.columns;
        one["rows"] = nlohmann::ordered_json::array();
        for (const auto& row : s.results.rows) {
            auto cells = nlohmann::ordered_json::array();
            for (const cell& c : row) {
                if (std::holds_alternative<std::string>(c)) {
                    cells.push_back(std::get<std::string>(c));
                } else if (std::isfinite(std::get<double>(c))) {
                    cells.push_back(std::get<double>(c));
                } else {
                    cells.push_back(nullptr);
                }
            }
            one["rows"].push_back(std::move(cells));
        }
        all["sections"].push_back(std::move(one));
    }
    return all.dump(1) + "\n";
}

} // namespace study
