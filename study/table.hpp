// A table of results, as CSV, as JSON and as HTML.
#pragma once

#include <string>
#include <variant>
#include <vector>

namespace study {

using cell = std::variant<std::string, double>;

struct table {
    std::vector<std::string> columns;
    std::vector<std::vector<cell>> rows;
};

/// RFC 4180, with a line of names.
[[nodiscard]] std::string to_csv(const table& t);
/// Columns aligned by blanks, for a terminal.
[[nodiscard]] std::string to_text(const table& t);
[[nodiscard]] std::string to_html(const table& t);
/// A number for people: four significant digits, no exponent below 10^15. Infinity and NaN: "-".
[[nodiscard]] std::string number(double x);
/// A text of a file for a line of the report: control characters become blanks.
[[nodiscard]] std::string one_line(std::string text);
/// For text and attributes of HTML and SVG.
[[nodiscard]] std::string escaped(const std::string& text);

/// One experiment: the question and its results.
struct section {
    std::string name; ///< of its files
    std::string title;
    std::string text; ///< paragraphs, separated by empty lines
    table results;
    std::vector<std::string> pictures; ///< SVG
};

/// All sections in one page that needs nothing else: no script, no network.
[[nodiscard]] std::string to_page(const std::vector<section>& sections, const std::string& heading);
/// {"machine", "constants", "sections": [{"name", "columns", "rows"}]}
[[nodiscard]] std::string to_json(const std::vector<section>& sections, const std::string& costs_json);

} // namespace study
