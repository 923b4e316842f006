#include <fmt/format.h>

#include <initializer_list>

#include "numbers.hpp"
#include "report.hpp"
#include "svg.hpp"

namespace showcase {
namespace {

constexpr std::string_view style_sheet = R"(
:root { color-scheme: light dark; --text: #1c2330; --soft: #5a6475; --page: #fbfaf7; --card: #fff;
  --line: #d9d6cd; --pilfer: #c2410c; --serial: #7b8494; --tbb: #1d5fa8; --openmp: #2c7a4b; --sort: #7a4f9e;
  --rayon: #9b2c44; --asleep: #7b8fab; --searching: #b08500; --bad: #b91c1c; }
@media (prefers-color-scheme: dark) { :root { --text: #e8e6e1; --soft: #aab2c0; --page: #14171d; --card: #1d222b;
  --line: #39414e; --pilfer: #fb923c; --serial: #929cac; --tbb: #6cabf0; --openmp: #5fc487; --sort: #c09ae2;
  --rayon: #ee8199; --asleep: #61769a; --searching: #d9b84a; --bad: #f87171; } }
* { box-sizing: border-box; }
body { font: 16px/1.5 system-ui, sans-serif; color: var(--text); background: var(--page); margin: 0 auto;
  max-width: 76rem; padding: 1.5rem 1rem 3rem; }
h1 { font-size: 1.8rem; line-height: 1.2; margin: 0 0 .4rem; }
h2 { font-size: 1.3rem; margin: 2.4rem 0 .2rem; } h3 { font-size: 1.05rem; margin: 0; }
p { margin: .2rem 0 .6rem; max-width: 46rem; } .small { font-size: .85rem; color: var(--soft); overflow-wrap: anywhere; }
.cards { display: grid; gap: 1rem; grid-template-columns: repeat(auto-fit, minmax(min(20rem, 100%), 1fr)); }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: .9rem; min-width: 0; }
.facts { margin: 1.2rem 0 0; } .facts .card { padding: .7rem 1rem; }
.facts { grid-template-columns: repeat(auto-fit, minmax(min(10rem, 45%), 1fr)); }
.facts b { display: block; font-size: 1.7rem; line-height: 1.3; font-variant-numeric: tabular-nums; }
.chart { display: block; width: 100%; margin: .6rem 0; } .bars, .lines { max-width: 30rem; height: auto; margin: .6rem auto; }
.chart text { font: 13px system-ui, sans-serif; fill: var(--text); } .chart .tick { font-size: 12px; fill: var(--soft); }
.chart .grid { stroke: var(--line); } .chart .axis { stroke: var(--soft); }
.chart .ideal { stroke: var(--soft); stroke-dasharray: 5 4; } .chart .line { fill: none; stroke-width: 2.5; }
.serial { --colour: var(--serial); } .pilfer { --colour: var(--pilfer); } .tbb { --colour: var(--tbb); }
.openmp { --colour: var(--openmp); } .sort { --colour: var(--sort); } .rayon { --colour: var(--rayon); }
.bar, .mark { fill: var(--colour); } .line { stroke: var(--colour); }
.own { --colour: var(--pilfer); fill: var(--colour); } .stolen { --colour: var(--tbb); fill: var(--colour); }
.asleep { --colour: var(--asleep); fill: var(--colour); } .searching { --colour: var(--searching); fill: var(--colour); }
.legend { display: flex; flex-wrap: wrap; gap: .2rem 1.2rem; list-style: none; padding: 0; margin: .4rem 0; font-size: .9rem; }
.legend i { display: inline-block; width: .8rem; height: .8rem; background: var(--colour); margin-right: .4rem; }
.legend .pilfer i { border-radius: 50%; } .legend .openmp i { clip-path: polygon(50% 0, 100% 100%, 0 100%); }
.legend .ideal i { height: 0; width: 1.4rem; background: none; border-top: 2px dashed var(--soft); vertical-align: .25rem; }
.run { display: grid; grid-template-columns: auto 1fr; column-gap: .6rem; font-size: .85rem; }
.run .chart { margin: 0; height: calc(28px * var(--workers)); } .names div { height: 28px; line-height: 28px; white-space: nowrap; }
.scale { grid-column: 2; position: relative; height: 2.7rem; color: var(--soft); border-top: 1px solid var(--soft);
  text-align: center; padding-top: 1.3rem; }
.scale span { position: absolute; top: 0; padding-left: .25rem; border-left: 1px solid var(--soft); }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: .8rem; font-variant-numeric: tabular-nums; }
th, td { padding: .25rem .2rem; text-align: right; white-space: nowrap; border-bottom: 1px solid var(--line); }
th { font-weight: 600; color: var(--soft); } th:first-child, td:first-child { text-align: left; }
.pilfer td:first-child { font-weight: 600; } .failed { color: var(--bad); font-weight: 600; }
summary { cursor: pointer; }
)";

std::string number(std::optional<double> value, int digits = 2) {
    return value ? fmt::format("{:.{}f}", *value, digits) : "–";
}

// The class that gives a runtime its colour.
std::string style_of(std::string_view runtime) {
    if (runtime.starts_with("pilfer"))
        return "pilfer";
    if (runtime.starts_with("lib"))
        return "openmp";
    return std::string(runtime);
}

std::string failed_row(row const& r) {
    return fmt::format("<tr><td>{}</td><td class=\"failed\" colspan=\"9\">failed: {}</td></tr>\n",
                       escaped(shown_runtime(r.runtime)), escaped(r.failure));
}

struct legend_entry {
    std::string_view style;
    std::string_view name;
};

std::string legend(std::initializer_list<legend_entry> entries) {
    std::string text = "<ul class=\"legend\">";
    for (legend_entry const& e : entries)
        text += fmt::format("<li class=\"{}\"><i></i>{}</li>", e.style, e.name);
    return text + "</ul>\n";
}

std::string html_row(program_report const& program, row const& r) {
    if (!r.good())
        return failed_row(r);
    return fmt::format("<tr class=\"{}\"><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n",
                       escaped(r.runtime), escaped(shown_runtime(r.runtime)), shown_seconds(r.median()),
                       number(program.speed_up(r)), number(program.ratio_to_pilfer(r)),
                       number(static_cast<double>(r.peak_bytes) / 1048576, 1));
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
    std::vector<bar> bars;
    for (row const& r : program.rows)
        if (r.good())
            bars.push_back(
                {shown_runtime(r.runtime), style_of(r.runtime), r.median() * 1e3, shown_seconds(r.median())});
    std::string text =
        fmt::format("<div class=\"card\"><h3>{}</h3>\n<p class=\"small\">{}; {} {}</p>\n",
                    escaped(program.name), escaped(program.input), grouped(program.facts.items),
                    program.name == "uts" ? "nodes" : (program.name == "treehash" ? "files" : "lines"));
    text +=
        bar_chart("Time of " + program.name, "One bar for each runtime; the table below has the same times.",
                  "milliseconds, shorter is better", bars);
    text += "<div class=\"wide\"><table><tr><th>runtime</th><th>time</th><th>speed-up</th><th>vs pilfer</th>"
            "<th>MiB</th></tr>\n";
    for (row const& r : program.rows)
        text += html_row(program, r);
    text += fmt::format("</table></div>\n<p class=\"small\">result {}</p>\n", escaped(program.result));
    if (!program.note.empty())
        text += fmt::format("<p class=\"small\">{}</p>\n", escaped(program.note));
    return text + html_problems(program.facts) + "</div>\n";
}

std::string html_programs(report const& all) {
    if (all.programs.empty())
        return {};
    std::string text = fmt::format(
        "<h2 id=\"programs\">Real programs</h2>\n<p>The same source for each runtime, {} workers, {} of "
        "each. MiB is peak memory. "
        "Speed-up is the serial time divided by this time.</p>\n<div class=\"cards\">\n",
        all.chosen.workers, all.chosen.repeat == 1 ? "one run" : fmt::format("{} runs", all.chosen.repeat));
    for (program_report const& program : all.programs)
        text += html_program(program);
    return text + "</div>\n";
}

std::string html_forks(kernel_report const& fib) {
    if (fib.rows.empty())
        return {};
    std::vector<bar> bars;
    std::string rows;
    for (row const& r : fib.rows) {
        auto const time = nanoseconds_per_fork(fib, r);
        if (!time) {
            rows += failed_row(r);
            continue;
        }
        bars.push_back(
            {shown_way_to_fork(r.runtime), style_of(r.runtime), *time, fmt::format("{:.2f} ns", *time)});
        rows += fmt::format("<tr class=\"{}\"><td>{}</td><td>{:.2f} ns</td><td>{}</td><td>{}</td></tr>\n",
                            style_of(r.runtime), shown_way_to_fork(r.runtime), *time,
                            number(slow_down(fib, r), 1), r.seconds.size());
    }
    return "<h2 id=\"forks\">What a fork costs</h2>\n<p>Recursive Fibonacci without a cutoff, one worker: "
           "each call that is no leaf "
           "forks once and adds two numbers. Each time includes the call, which the first bar shows "
           "alone.</p>\n"
           "<div class=\"cards\"><div class=\"card\">" +
           bar_chart("Time for each fork", "One bar for each way to fork; the table has the same times.",
                     "nanoseconds for each fork, shorter is better", bars) +
           "</div>\n<div class=\"card wide\"><table><tr><th>way to fork</th><th>time</th><th>times a "
           "call</th>"
           "<th>runs</th></tr>\n" +
           rows + "</table></div></div>\n";
}

std::string html_speed_up(kernel_report const& kernel, unsigned cores) {
    std::vector<line> lines;
    std::string rows;
    for (row const& r : kernel.rows) {
        auto const value = kernel.speed_up(r);
        if (!value) {
            rows += failed_row(r);
            continue;
        }
        rows += fmt::format("<tr class=\"{}\"><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n",
                            style_of(r.runtime), escaped(shown_runtime(r.runtime)), r.workers,
                            shown_seconds(r.median()), number(value));
        if (r.runtime == "serial")
            continue;
        if (lines.empty() || lines.back().style != style_of(r.runtime))
            lines.push_back({style_of(r.runtime), {}});
        lines.back().points.push_back({r.workers, *value});
    }
    return fmt::format("<div class=\"card\"><h3>{}</h3>\n", escaped(kernel.name)) +
           line_chart("Speed-up of " + kernel.name,
                      "Serial time divided by the time with so many workers; the "
                      "table below has the same figures.",
                      lines, cores) +
           "<details class=\"small\"><summary>figures</summary><div "
           "class=\"wide\"><table><tr><th>runtime</th>"
           "<th>workers</th><th>time</th><th>speed-up</th></tr>\n" +
           rows + "</table></div></details></div>\n";
}

std::string html_speed_ups(std::vector<kernel_report> const& kernels, unsigned cores) {
    std::string cards;
    for (kernel_report const& kernel : kernels)
        if (!kernel.rows.empty())
            cards += html_speed_up(kernel, cores);
    if (cards.empty())
        return {};
    return "<h2 id=\"speedups\">Speed-up by number of workers</h2>\n<p>Serial time divided by parallel time: "
           "higher is better. Other "
           "programs on the machine lower it.</p>\n" +
           legend({{"pilfer", "pilfer"},
                   {"tbb", "oneTBB"},
                   {"openmp", "OpenMP (libgomp)"},
                   {"ideal", "ideal"}}) +
           "<div class=\"cards\">" + cards + "</div>\n";
}

std::string html_timeline(timeline const& run) {
    if (run.empty() && run.failure.empty())
        return {};
    std::string text = fmt::format(
        "<h2 id=\"timeline\">One run, worker by worker</h2>\n<p>{}, traced by pilfer itself: {} thefts, {} "
        "sleeps. Open <code>showcase-trace.json</code> in Perfetto for every event.</p>\n",
        escaped(run.input), grouped(run.thefts), grouped(run.sleeps));
    if (!run.failure.empty())
        return text + fmt::format("<p class=\"failed\">failed: {}</p>\n", escaped(run.failure));
    text += legend({{"own", "own work"},
                    {"stolen", "stolen work"},
                    {"searching", "looking for work"},
                    {"asleep", "asleep"}});
    std::string names;
    std::string shares;
    for (std::size_t worker = 0; worker < run.workers.size(); ++worker) {
        names += fmt::format("<div>worker {}</div>", worker);
        shares += fmt::format("{}worker {} worked {:.0f} % of the time", worker == 0 ? "" : ", ", worker,
                              100 * (run.share(worker, activity::own) + run.share(worker, activity::stolen)));
    }
    std::string scale;
    double const length = run.seconds * 1e3;
    for (double const mark : ticks(length, 6))
        if (mark < 0.93 * length) // room for its number
            scale += fmt::format("<span style=\"left: {:.2f}%\">{:.6g}</span>", 100 * mark / length, mark);
    return text +
           fmt::format(
               "<div class=\"card\"><div class=\"run\" style=\"--workers: {}\"><div class=\"names\">{}</div>",
               run.workers.size(), names) +
           timeline_chart("What each worker did", shares, run) +
           fmt::format("<div class=\"scale\">{}milliseconds since the first task</div></div></div>\n", scale);
}

// The figures that matter most to a reader.
std::string html_facts(report const& all) {
    std::string text;
    auto const fact = [&text](std::string const& figure, std::string const& meaning) {
        text += fmt::format("<div class=\"card\"><b>{}</b>{}</div>\n", figure, meaning);
    };
    if (row const* const join = all.forks.row_of("pilfer_join", 1))
        if (auto const time = nanoseconds_per_fork(all.forks, *join))
            fact(fmt::format("{:.1f} ns", *time), "for a fork by <code>pilfer::join</code>");
    for (program_report const& program : all.programs)
        if (row const* const own = program.row_of("pilfer"); own != nullptr && program.speed_up(*own))
            fact(fmt::format("{:.2f}×", *program.speed_up(*own)),
                 fmt::format("as fast as serial: {} with {} workers", escaped(program.name),
                             all.chosen.workers));
    return text.empty() ? text : "<div class=\"cards facts\">\n" + text + "</div>\n";
}

} // namespace

std::string as_html(report const& all) {
    std::string text = fmt::format("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
                                   "<meta name=\"viewport\" content=\"width=device-width, "
                                   "initial-scale=1\">\n<title>pilfer showcase</title>\n"
                                   "<style>{}</style></head><body>\n<h1>pilfer on this machine</h1>\n",
                                   style_sheet);
    text +=
        fmt::format("<p class=\"small\">{}, {} cores, {:.0f} GiB of memory; {}; {}; {} workers; {}.</p>\n",
                    escaped(all.where.processor), all.where.cores,
                    static_cast<double>(all.where.memory_bytes) / 1073741824.0, escaped(all.where.system),
                    escaped(all.where.compiler), all.chosen.workers, escaped(all.where.date));
    text += fmt::format("<p>{} Times are medians; the runtimes took turns.</p>\n",
                        all.good() ? "All results are equal."
                                   : "<span class=\"failed\">Not all results are equal and good.</span>");
    for (std::string const& note : all.notes)
        text += fmt::format("<p>{}</p>\n", escaped(note));
    text += html_facts(all) + html_programs(all) + html_forks(all.forks) +
            html_speed_ups(all.speed_ups, all.where.cores) + html_timeline(all.run);
    return text + "</body></html>\n";
}

} // namespace showcase
