#include <fmt/format.h>

#include <algorithm>

#include "numbers.hpp"
#include "report.hpp"

namespace showcase {
namespace {

constexpr std::string_view style = R"(
:root { color-scheme: light dark; --bar: #8a94a6; --own: #d9822b; --soft: #8884; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.2rem; margin: 2.2rem 0 .3rem; }
p { margin: .3rem 0; } .small { font-size: .85rem; opacity: .8; overflow-wrap: anywhere; }
table { border-collapse: collapse; width: 100%; margin-top: .6rem; font-variant-numeric: tabular-nums; }
th, td { padding: .25rem .5rem; text-align: right; white-space: nowrap; border-bottom: 1px solid var(--soft); }
th:first-child, td:first-child { text-align: left; } td.bar { width: 45%; }
.bar div { background: var(--bar); height: 1.1rem; border-radius: 2px; min-width: 1px; }
.pilfer .bar div { background: var(--own); } .pilfer td:first-child { font-weight: 600; }
.failed { color: #c22; font-weight: 600; }
)";

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

std::string number(std::optional<double> value) { return value ? fmt::format("{:.2f}", *value) : "–"; }

std::string html_row(program_report const& program, row const& r, double longest) {
    if (!r.good())
        return fmt::format("<tr><td>{}</td><td class=\"failed\" colspan=\"5\">failed: {}</td></tr>\n",
                           escaped(shown_runtime(r.runtime)), escaped(r.failure));
    return fmt::format("<tr class=\"{}\"><td>{}</td><td class=\"bar\"><div "
                       "style=\"width:{:.1f}%\"></div></td><td>{}</td><td>{}</td>"
                       "<td>{}</td><td>{}</td></tr>\n",
                       escaped(r.runtime), escaped(shown_runtime(r.runtime)), 100 * r.median() / longest,
                       shown_seconds(r.median()), number(program.speed_up(r)),
                       number(program.ratio_to_pilfer(r)), shown_bytes(r.peak_bytes));
}

std::string html_problems(outcome const& facts) {
    if (facts.problems == 0)
        return {};
    std::string text = fmt::format("<details class=\"small\"><summary>{} could not be read</summary><ul>\n",
                                   grouped(facts.problems));
    for (problem const& p : facts.listed)
        text += fmt::format("<li>{}: {}</li>\n", escaped(p.path), escaped(p.reason));
    return text + "</ul></details>\n";
}

std::string html_program(program_report const& program) {
    double longest = 0;
    for (row const& r : program.rows)
        if (r.good())
            longest = std::max(longest, r.median());
    std::string text =
        fmt::format("<h2>{}</h2>\n<p>{}; {} {}</p>\n", escaped(program.name), escaped(program.input),
                    grouped(program.facts.items),
                    program.name == "uts" ? "nodes" : (program.name == "treehash" ? "files" : "lines"));
    if (!program.note.empty())
        text += fmt::format("<p class=\"small\">{}</p>\n", escaped(program.note));
    text += "<table><tr><th>runtime</th><th></th><th>time</th><th>speed-up</th><th>ratio to pilfer</th>"
            "<th>peak memory</th></tr>\n";
    for (row const& r : program.rows)
        text += html_row(program, r, longest);
    text += fmt::format("</table>\n<p class=\"small\">result {}</p>\n", escaped(program.result));
    return text + html_problems(program.facts);
}

} // namespace

std::string as_html(report const& all) {
    std::string text = fmt::format("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
                                   "<meta name=\"viewport\" content=\"width=device-width, "
                                   "initial-scale=1\">\n<title>pilfer showcase</title>\n"
                                   "<style>{}</style></head><body>\n<h1>pilfer showcase</h1>\n",
                                   style);
    text += fmt::format("<p>{}, {} cores, {} of memory; {}; {}; {} workers; {}.</p>\n",
                        escaped(all.where.processor), all.where.cores, shown_bytes(all.where.memory_bytes),
                        escaped(all.where.system), escaped(all.where.compiler), all.chosen.workers,
                        escaped(all.where.date));
    text += fmt::format("<p>Bars are times, shorter is better; median of {}. {}</p>\n",
                        all.chosen.repeat == 1 ? "one run" : fmt::format("{} runs", all.chosen.repeat),
                        all.good() ? "All results are equal."
                                   : "<span class=\"failed\">Not all results are equal and good.</span>");
    for (program_report const& program : all.programs)
        text += html_program(program);
    return text + "</body></html>\n";
}

} // namespace showcase
