// pilfer view: one page of what a trace and a task graph show, and what holds the program back.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "commands.hpp"
#include "page.hpp"
#include "recorded.hpp"
#include "study/diagnosis.hpp"
#include "study/graph.hpp"
#include "study/trace.hpp"

namespace tools {
namespace {

using nlohmann::json;

struct view_settings {
    std::vector<std::string> files;
    std::string output;
    std::string costs;
    unsigned workers = 8;
    bool text = false;
};

struct recordings {
    std::string trace_file, graph_file;
    std::optional<study::recorded_trace> trace;
    std::unique_ptr<study::recorded_graph> graph;
};

[[nodiscard]] recordings read_all(std::vector<std::string> const& files) {
    recordings r;
    for (auto const& file : files) {
        std::ifstream in(file, std::ios::binary);
        if (!is_trace(in, file)) {
            if (r.graph != nullptr) {
                throw std::invalid_argument(
                    file + ": one task graph is enough; each pool writes one, and each needs its own page");
            }
            r.graph = study::read_graph(in, file);
            r.graph_file = file;
        } else {
            if (r.trace) {
                throw std::invalid_argument(
                    file + ": one trace is enough; each pool writes one, and each needs its own page");
            }
            r.trace = study::read_trace(in, file);
            r.trace_file = file;
        }
    }
    return r;
}

/// The content of both forms of the report.
struct report {
    std::optional<study::trace_figures> trace;
    std::optional<study::graph_figures> graph;
    std::optional<study::simulated_run> run;
    study::costs price;
    study::diagnosis said;
};

[[nodiscard]] report report_of(recordings const& r, view_settings const& s) {
    report all;
    if (r.trace) {
        all.trace = study::figures_of(*r.trace);
        all.said = study::diagnose(*r.trace, *all.trace);
    }
    if (r.graph != nullptr) {
        study::costs const price = s.costs.empty() ? study::built_in_costs() : study::read_costs(s.costs);
        all.price = price;
        try {
            all.graph = study::figures_of(*r.graph);
            all.run = study::simulate_run(*r.graph, s.workers, price);
        } catch (std::runtime_error const& error) {
            throw std::runtime_error(r.graph_file + ": " + error.what());
        }
        auto of_graph = study::diagnose(*r.graph, *all.graph, *all.run, price);
        // A real run shows locks and waits, which a graph lacks. A graph shows what more workers would meet.
        if (!r.trace || all.said.what == study::cause::nothing ||
            (all.said.what != study::cause::lock && all.said.what != study::cause::outside &&
             of_graph.what != study::cause::nothing)) {
            all.said = std::move(of_graph);
        }
    }
    return all;
}

[[nodiscard]] std::string ns_text(std::uint64_t ns) { return study::time_text(static_cast<double>(ns)); }
[[nodiscard]] std::string ps_text(study::moment ps) { return study::time_text(study::to_ns(ps)); }
[[nodiscard]] std::string percent(double part, double all) {
    return fmt::format("{:.1f} %", all > 0 ? 100 * part / all : 0);
}
/// 1,234,567
[[nodiscard]] std::string grouped(std::uint64_t n) {
    std::string text = std::to_string(n);
    for (std::size_t at = text.size(); at > 3;) {
        at -= 3;
        text.insert(at, 1, ',');
    }
    return text;
}
[[nodiscard]] std::string object_text(study::waits_of const& w) {
    return !w.name.empty() ? "\"" + w.name + "\"" : w.object == 0 ? "" : fmt::format("{:x}", w.object);
}

/// Slices as numbers: after each gap, the length times 8 plus the kind. More than two millions of them are
/// joined to stretches that no screen resolves.
[[nodiscard]] json packed(std::vector<std::vector<study::slice>> const& workers, std::uint64_t begin,
                          std::uint64_t end, std::string& note) {
    constexpr std::size_t most = std::size_t{1} << 21;
    std::size_t all = 0;
    for (auto const& w : workers) {
        all += w.size();
    }
    std::uint64_t const cell = all <= most ? 0 : (end - begin) / (most / workers.size() / 2 + 1) + 1;
    if (cell != 0) {
        note = fmt::format(" Of {} slices, those shorter than {} are joined.", grouped(all), ns_text(cell));
    }
    json tracks = json::array();
    for (auto const& w : workers) {
        json::array_t track;
        std::uint64_t at = 0;
        auto const put = [&](study::slice const& s) {
            track.emplace_back(s.begin - at);
            track.emplace_back((s.end - s.begin) * 8 + static_cast<unsigned>(s.what));
            at = s.end;
        };
        std::optional<study::slice> open;
        std::uint64_t longest = 0;
        for (auto const& s : w) {
            if (open && s.end - open->begin <= cell) {
                if (s.end - s.begin > longest) {
                    longest = s.end - s.begin;
                    open->what = s.what;
                }
                open->end = s.end;
                continue;
            }
            if (open) {
                put(*open);
            }
            open = s;
            longest = s.end - s.begin;
        }
        if (open) {
            put(*open);
        }
        tracks.push_back(std::move(track));
    }
    return tracks;
}

/// Few digits are enough for a curve.
[[nodiscard]] json rounded(std::vector<double> const& values) {
    json::array_t all;
    for (double const v : values) {
        all.emplace_back(std::round(v * 1000) / 1000);
    }
    return all;
}

void add_trace(json& data, study::recorded_trace const& t, study::trace_figures const& f) {
    std::uint64_t const duration = f.end - f.begin;
    double const all = static_cast<double>(duration) * static_cast<double>(t.workers.size());
    data["tiles"].push_back({"from the first task to the last", ns_text(duration)});
    data["tiles"].push_back({"workers", std::to_string(t.workers.size())});
    data["tiles"].push_back({"of their time in tasks", percent(static_cast<double>(f.busy), all)});
    data["tiles"].push_back({"tasks that workers began", grouped(t.tasks)});
    data["tiles"].push_back({"waits", grouped(t.waits.size())});
    if (t.overwritten != 0) {
        data["notes"].push_back(
            fmt::format("The rings of the trace were too small: {} events were overwritten. "
                        "options.debug.trace_events makes them larger.",
                        grouped(t.overwritten)));
    }
    if (f.slices == 0) {
        data["notes"].push_back("No worker ran a task, so the trace has no timeline.");
        return;
    }
    std::string note;
    json tracks = packed(t.workers, f.begin, f.end, note);
    data["timeline"] = {{"title", "Timeline of each worker"},
                        {"text", "Recorded. Empty: the worker looks for work." + note},
                        {"simulated", false},
                        {"begin", f.begin},
                        {"end", f.end},
                        {"workers", std::move(tracks)}};
    data["curves"].push_back(
        {{"title", "Busy workers"},
         {"text", "Workers in a task. Averages of short stretches of the recorded run."},
         {"y", "workers"},
         {"most", t.workers.size()},
         {"duration", duration},
         {"series", {{{"name", "workers"}, {"color", "own"}, {"values", rounded(f.busy_curve)}}}}});
    if (!f.waits.empty()) {
        data["curves"].push_back(
            {{"title", "Waiting tasks"},
             {"text", "Averages of short stretches of the recorded run."},
             {"y", "tasks"},
             {"most", 1},
             {"duration", duration},
             {"series",
              {{{"name", "tasks that wait for a lock"}, {"color", "lock"}, {"values", rounded(f.lock_curve)}},
               {{"name", "tasks that wait for something else"},
                {"color", "resumed"},
                {"values", rounded(f.wait_curve)}}}}});
    }
    json rows = json::array();
    for (auto const& w : f.waits) {
        rows.push_back({w.reason, object_text(w), grouped(w.waits), ns_text(w.total), ns_text(w.longest),
                        grouped(w.at_once), w.lock ? ns_text(w.idle) : ""});
    }
    data["tables"].push_back(
        {{"title", "Waits and locks"},
         {"text", rows.empty()
                      ? "No task waited."
                      : "A wait lasts until the task runs again, so it includes the time until a worker was "
                        "free. Locks and objects with a name are listed by object, other waits together."},
         {"columns",
          {"waits for", "object", "waits", "in total", "the longest", "most at once",
           "workers idle meanwhile"}},
         {"texts", {0}},
         {"rows", std::move(rows)}});
    auto const names = study::line_names(t.places);
    json lines = json::array();
    for (auto const& w : f.lines) {
        lines.push_back({names[w.place], study::with_name(w.reason, w.name), grouped(w.waits),
                         ns_text(w.total), ns_text(w.longest), w.lock ? ns_text(w.held) : ""});
    }
    if (!lines.empty()) {
        data["tables"].push_back(
            {{"title", "Waits and locks by line"},
             {"text", "Where tasks waited. Held: how long tasks that had waited for a lock at this line held "
                      "it while "
                      "others waited for it."},
             {"columns", {"line", "waits for", "waits", "in total", "the longest", "held"}},
             {"texts", {0, 1}},
             {"rows", std::move(lines)}});
    }
    json use = json::array();
    for (std::size_t i = 0; i < f.use.size(); ++i) {
        use.push_back({i, f.use[i].busy, f.use[i].searching, f.use[i].asleep, f.use[i].slices});
    }
    data["use"] = {{"title", "Use of each worker"},
                   {"text", "From the first task to the end of the last. A slice is a task, or a part of one "
                            "between two waits. A task that another one runs itself, because no worker took "
                            "it, has no slice."},
                   {"rows", std::move(use)}};
}

[[nodiscard]] std::string parallelism(study::line_figures const& l, study::costs const& price) {
    auto const chain = l.burdened(price);
    return chain == 0 ? "-" : fmt::format("{:.2f}", static_cast<double>(l.work) / static_cast<double>(chain));
}

[[nodiscard]] json table_of_lines(study::recorded_graph const& g, study::graph_figures const& f,
                                  study::costs const& price) {
    json rows = json::array();
    for (auto const& l : f.lines) {
        if (rows.size() == 40) {
            break;
        }
        if (l.line == 0 && l.work == 0) {
            continue; // threads outside, which fork the first task
        }
        rows.push_back({g.line_names()[l.line], ps_text(l.on_chain),
                        percent(static_cast<double>(l.on_chain), static_cast<double>(f.span)),
                        ps_text(l.work), percent(static_cast<double>(l.work), static_cast<double>(f.work)),
                        parallelism(l, price), grouped(l.tasks),
                        l.tasks == 0 ? "-" : ps_text(l.tasks_work / l.tasks), grouped(l.waits),
                        l.waits == 0 ? "-" : ps_text(l.waited)});
    }
    return {
        {"title", "Lines"},
        {"text",
         "What tasks do from a line on, to their next fork or wait. A task begins at the line that forks it. "
         "Waited: if there were a worker for each task."},
        {"columns",
         {"line", "on the chain", "of the chain", "work", "of the work", "burdened parallelism", "tasks",
          "a task", "waits", "waited"}},
        {"texts", {0}},
        {"rows", std::move(rows)}};
}

void add_graph(json& data, study::recorded_graph const& g, study::graph_figures const& f,
               study::simulated_run const& run, study::costs const& price) {
    data["tiles"].push_back({"work", ps_text(f.work)});
    data["tiles"].push_back({"longest chain (span)", ps_text(f.span)});
    data["tiles"].push_back({"parallelism: work / span", fmt::format("{:.1f}", f.parallelism())});
    data["tiles"].push_back({"tasks in the graph", grouped(f.tasks)});
    data["tiles"].push_back({fmt::format("speed-up of {} workers, simulated", run.workers),
                             fmt::format("{:.2f}", run.speedup())});
    if (f.work == 0) {
        data["notes"].push_back(
            "The tasks of the graph compute nothing, so it has no timeline and no chain.");
        return;
    }
    data["notes"].push_back(study::left_out(g));
    if (!data.contains("timeline")) {
        std::string note;
        std::uint64_t const end = run.time / 1000;
        json tracks = packed(run.timeline, 0, end, note);
        data["timeline"] = {
            {"title", fmt::format("Timeline of {} workers, simulated", run.workers)},
            {"text", "The recorded graph under the runtime's policies. Empty: the worker looks for work or "
                     "sleeps." +
                         note},
            {"simulated", true},
            {"begin", 0},
            {"end", std::max<std::uint64_t>(end, 1)},
            {"workers", std::move(tracks)}};
    }
    data["curves"].push_back(
        {{"title", "Ready parallelism"},
         {"text", "Tasks that could run at each moment, if there were a worker for each of them."},
         {"y", "tasks"},
         {"most", 1},
         {"duration", study::to_ns(f.span)},
         {"series", {{{"name", "ready tasks"}, {"color", "chain"}, {"values", rounded(f.ready_curve)}}}}});
    // A chain may have a million links, and a screen some thousand columns.
    json links = json::array();
    study::moment const cell = f.span / 2'000;
    study::link open{};
    for (auto const& l : f.chain) {
        if (open.time != 0 && l.begin + l.time - open.begin <= cell) {
            open.time = l.begin + l.time - open.begin;
            continue;
        }
        if (open.time != 0) {
            links.push_back({study::to_ns(open.begin), study::to_ns(open.time)});
        }
        open = l;
    }
    links.push_back({study::to_ns(open.begin), study::to_ns(open.time)});
    std::vector<study::link> longest(f.chain);
    std::size_t const shown = std::min<std::size_t>(longest.size(), 12);
    std::partial_sort(longest.begin(), longest.begin() + static_cast<std::ptrdiff_t>(shown), longest.end(),
                      [](auto const& a, auto const& b) { return a.time > b.time; });
    json rows = json::array();
    for (std::size_t i = 0; i < shown && (i == 0 || longest[i].time >= f.span / 1'000); ++i) {
        rows.push_back({std::to_string(longest[i].task), g.parts()[g.part_of(longest[i].task)],
                        g.line_names()[longest[i].line], ps_text(longest[i].begin), ps_text(longest[i].time),
                        percent(static_cast<double>(longest[i].time), static_cast<double>(f.span))});
    }
    data["chain"] = {
        {"title", "Longest chain"},
        {"text",
         "Stretches of tasks that had to wait for each other. No number of workers is faster than all of "
         "them together."},
        {"duration", study::to_ns(f.span)},
        {"links", std::move(links)},
        {"rowsText", fmt::format("The longest of {} stretches:", grouped(f.chain.size()))},
        {"columns", {"task", "function", "from line", "begins at", "computes", "of the chain"}},
        {"texts", {1, 2}},
        {"rows", std::move(rows)}};
    if (g.has_lines()) {
        data["tables"].push_back(table_of_lines(g, f, price));
    }
    json parts = json::array();
    for (auto const& p : study::parts_of(g, f)) {
        if (parts.size() == 20) {
            break;
        }
        parts.push_back({g.parts()[p.part], grouped(p.tasks), ps_text(p.work),
                         percent(static_cast<double>(p.work), static_cast<double>(f.work)),
                         ps_text(p.tasks == 0 ? 0 : p.work / p.tasks), ps_text(p.on_chain),
                         percent(static_cast<double>(p.on_chain), static_cast<double>(f.span))});
    }
    data["tables"].push_back(
        {{"title", "Functions"},
         {"text", "All tasks that run one function. Children of spawn count as not known. The command whatif "
                  "says what each of them would give."},
         {"columns", {"function", "tasks", "work", "of the work", "a task", "on the chain", "of the chain"}},
         {"texts", {0}},
         {"rows", std::move(parts)}});
}

[[nodiscard]] std::string as_text(recordings const& r, report const& all) {
    std::string text = all.said.sentence + "\n";
    if (all.trace) {
        auto const& f = *all.trace;
        double const time = static_cast<double>(f.end - f.begin) * static_cast<double>(f.use.size());
        text += fmt::format("\ntrace {}: {} workers, {} from the first task to the last\n", r.trace_file,
                            f.use.size(), ns_text(f.end - f.begin));
        for (std::size_t i = 0; i < f.use.size(); ++i) {
            double const one = static_cast<double>(f.end - f.begin);
            text += fmt::format("  worker {:<3} runs tasks {:>7}, looks for work {:>7}, asleep {:>7}\n", i,
                                percent(static_cast<double>(f.use[i].busy), one),
                                percent(static_cast<double>(f.use[i].searching), one),
                                percent(static_cast<double>(f.use[i].asleep), one));
        }
        constexpr char const* reasons[] = {"tasks waited for a lock", "one worker ran alone",
                                           "fewer tasks than workers", "tasks waited for something outside",
                                           "the pool had no task"};
        for (unsigned i = 0; i < study::kinds_of_lack; ++i) {
            if (f.idle[i] != 0) {
                text += fmt::format("  idle because {:<36}{:>8}\n", reasons[i],
                                    percent(static_cast<double>(f.idle[i]), time));
            }
        }
        if (!f.waits.empty()) {
            text += "\n  waits for                           object    waits     in total  the longest\n";
            for (auto const& w : f.waits) {
                text += fmt::format("  {:<34}{:>8}{:>9}{:>13}{:>13}\n", w.reason, object_text(w), w.waits,
                                    ns_text(w.total), ns_text(w.longest));
            }
        }
        if (!f.lines.empty()) {
            auto const names = study::line_names(r.trace->places);
            text += "\n     waits     in total  the longest         held   waits for, line\n";
            for (auto const& w : f.lines) {
                text += fmt::format("  {:>8}{:>13}{:>13}{:>13}   {}, {}\n", w.waits, ns_text(w.total),
                                    ns_text(w.longest), w.lock ? ns_text(w.held) : "",
                                    study::with_name(w.reason, w.name), names[w.place]);
            }
        }
        if (r.trace->overwritten != 0) {
            text += fmt::format("  {} events were overwritten\n", r.trace->overwritten);
        }
    }
    if (all.graph) {
        auto const& f = *all.graph;
        text += fmt::format("\ngraph {}: {} tasks, work {}, longest chain {}, parallelism {:.1f}\n",
                            r.graph_file, f.tasks, ps_text(f.work), ps_text(f.span), f.parallelism());
        text += fmt::format("  {} workers, simulated: {:.2f} times as fast as one\n", all.run->workers,
                            all.run->speedup());
        text += fmt::format("  {}\n", study::left_out(*r.graph));
        if (r.graph->has_lines()) {
            text +=
                "\n  of chain   of work   burdened par.     tasks      a task     waits      waited   line\n";
            std::size_t shown = 0;
            for (auto const& l : f.lines) {
                if (l.line == 0 && l.work == 0) {
                    continue; // threads outside, which fork the first task
                }
                if (++shown > 20) {
                    break;
                }
                text += fmt::format("{:>10}{:>10}{:>16}{:>10}{:>12}{:>10}{:>12}   {}\n",
                                    percent(static_cast<double>(l.on_chain), static_cast<double>(f.span)),
                                    percent(static_cast<double>(l.work), static_cast<double>(f.work)),
                                    parallelism(l, all.price), l.tasks,
                                    l.tasks == 0 ? "-" : ps_text(l.tasks_work / l.tasks), l.waits,
                                    l.waits == 0 ? "-" : ps_text(l.waited), r.graph->line_names()[l.line]);
            }
        }
    }
    return text;
}

[[nodiscard]] std::string as_page(recordings const& r, report const& all) {
    json data = {{"good", all.said.what == study::cause::nothing},
                 {"tiles", json::array()},
                 {"notes", json::array()},
                 {"curves", json::array()},
                 {"tables", json::array()}};
    std::string names;
    for (auto const& file : {r.trace_file, r.graph_file}) {
        names += (names.empty() || file.empty() ? "" : ", ") + file;
    }
    data["notes"].push_back("From " + names + ".");
    if (all.trace) {
        add_trace(data, *r.trace, *all.trace);
    }
    if (all.graph) {
        add_graph(data, *r.graph, *all.graph, *all.run, all.price);
    }
    return view_page(all.said.sentence, data);
}

[[nodiscard]] int view(view_settings const& s) {
    recordings const r = read_all(s.files);
    report const all = report_of(r, s);
    std::string const text = s.text ? as_text(r, all) : as_page(r, all);
    std::string const output = s.output.empty() && !s.text ? "pilfer-view.html" : s.output;
    if (output.empty()) {
        fmt::print("{}", text);
        return exit_good;
    }
    std::ofstream out(output, std::ios::binary | std::ios::trunc);
    out << text;
    out.close();
    if (!out) {
        throw std::runtime_error(output + ": cannot be written");
    }
    fmt::print("{}\n{}: {} bytes\n", all.said.sentence, output, text.size());
    return exit_good;
}

} // namespace

void add_view(CLI::App& app, int& code) {
    auto const s = std::make_shared<view_settings>();
    CLI::App* const c = app.add_subcommand(
        "view", "Makes a page of a trace or a task graph, and says what holds the program back");
    c->add_option("FILE", s->files,
                  "a trace (PILFER_TRACE), a task graph (pilfer profile --graph), or one of each")
        ->required()
        ->expected(1, 2);
    c->add_option("-o,--output", s->output, "file for the page (default pilfer-view.html)");
    c->add_flag("--text", s->text, "the report as text, to standard output");
    c->add_option("--workers", s->workers, "simulated workers for a task graph (default 8)")
        ->check(CLI::Range(1, 4'096));
    c->add_option("--costs", s->costs,
                  "constants that `pilfer calibrate --output FILE` wrote (default: built in)");
    c->callback([s, &code] {
        try {
            code = view(*s);
        } catch (std::invalid_argument const& error) {
            fmt::print(stderr, "pilfer: view: {}\n", error.what());
            code = exit_bad_usage;
        } catch (std::runtime_error const& error) {
            fmt::print(stderr, "pilfer: view: {}\n", error.what());
            code = exit_failed;
        }
    });
}

} // namespace tools
