// pilfer profile: runs a program whose pools record, and prints its parallelism.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

#include <pilfer/profile.hpp>

#include "commands.hpp"
#include "program.hpp"
#include "report_file.hpp"
#include "study/costs.hpp"
#include "study/diagnosis.hpp"
#include "study/lines.hpp"

namespace tools {
namespace {

namespace files = std::filesystem;

struct profile_settings {
    bool json = false;
    std::string costs;
    std::string graph;
    std::string output;
};

/// Where the pools write; removed at the end.
class scratch {
public:
    scratch() {
        std::string name = (files::absolute(files::temp_directory_path()) / "pilfer-profile-XXXXXX").string();
        if (name.find("%p") != std::string::npos) {
            throw std::runtime_error(fmt::format("the folder of temporary files must not have '%p' in its "
                                                 "name, which stands for a process: '{}' (TMPDIR)",
                                                 files::temp_directory_path().string()));
        }
        if (::mkdtemp(name.data()) == nullptr) {
            throw std::system_error(errno, std::generic_category(), name);
        }
        m_path = name;
    }
    scratch(scratch const&) = delete;
    scratch& operator=(scratch const&) = delete;
    ~scratch() {
        std::error_code ignored;
        files::remove_all(m_path, ignored);
    }
    [[nodiscard]] files::path const& path() const { return m_path; }

private:
    files::path m_path;
};

/// PILFER_PROFILE_BURDEN of a machine.
[[nodiscard]] std::string burden_of(study::costs const& c) {
    return fmt::format("{},{}", study::theft_ns(c), study::resume_ns(c));
}

/// For PILFER_PROFILE_GRAPH. A program may change its folder. A %p in the present folder would be replaced.
[[nodiscard]] std::string graph_path(std::string const& graph) {
    bool const replaced = files::current_path().string().find("%p") != std::string::npos;
    return replaced ? graph : files::absolute(graph).string();
}

/// Runs the program with an environment that makes its pools record.
[[nodiscard]] ending run_recorded(std::vector<std::string> words, files::path const& folder,
                                  std::string const& graph) {
    ::setenv("PILFER_PROFILE", (folder / "%p").c_str(), 1);
    ::setenv("PILFER_WORKERS", "1", 1);
    if (!graph.empty()) {
        ::setenv("PILFER_PROFILE_GRAPH", graph_path(graph).c_str(), 1);
    } else {
        ::unsetenv("PILFER_PROFILE_GRAPH");
    }
    return run_program("profile", std::move(words));
}

/// A pool's file: `PROCESS`, `PROCESS.2` ...
struct pool_file {
    files::path path;
    long process = 0;
    long number = 1;
};

[[nodiscard]] std::vector<pool_file> written(files::path const& folder, pid_t first) {
    std::vector<pool_file> all;
    for (auto const& entry : files::directory_iterator(folder)) {
        pool_file f{entry.path(), 0, 1};
        std::string const name = entry.path().filename().string();
        char const* const end = name.data() + name.size();
        auto const read = std::from_chars(name.data(), end, f.process);
        if (read.ptr != end) {
            (void)std::from_chars(read.ptr + 1, end, f.number);
        }
        all.push_back(std::move(f));
    }
    // The program's own pools before those of its child processes.
    std::sort(all.begin(), all.end(), [first](pool_file const& a, pool_file const& b) {
        return std::tuple(a.process != first, a.process, a.number) <
               std::tuple(b.process != first, b.process, b.number);
    });
    return all;
}

/// What tasks do from a line on, to their next fork or wait.
struct line_profile {
    study::source_line line;
    std::uint64_t work_ns = 0, chain_ns = 0, burden_ns = 0, tasks = 0, strands = 0, waits = 0, waited_ns = 0;
    std::uint64_t tasks_ns = 0; ///< What the tasks that were forked there compute, from any line on.

    [[nodiscard]] double average_task() const {
        return tasks == 0 ? 0 : static_cast<double>(tasks_ns) / static_cast<double>(tasks);
    }
    /// 0: the line is not on the longest chain.
    [[nodiscard]] double burdened_parallelism() const {
        std::uint64_t const all = chain_ns + burden_ns;
        return all == 0 ? 0 : static_cast<double>(work_ns) / static_cast<double>(all);
    }
};

/// Waits at a line for something else than tasks.
struct line_waits {
    study::source_line line;
    std::string reason;
    std::string object_name; ///< empty: none
    std::uint64_t waits = 0, total_ns = 0, longest_ns = 0;
};

struct pool_profile {
    long process = 0;
    std::string name; ///< empty: none
    bool ended = false;
    std::uint64_t workers_asked = 0;
    pilfer::work_span figures;
    std::vector<line_profile> lines; ///< The longest on the burdened chain first.
    std::vector<line_waits> waits;   ///< The longest in total first.
};

[[nodiscard]] study::source_line line_of(nlohmann::json const& row) {
    return {row.at("file").get<std::string>(), row.at("line").get<unsigned>(),
            row.at("function").get<std::string>()};
}

/// Absent in files of older versions.
[[nodiscard]] std::vector<line_waits> waits_of(nlohmann::json const& rows) {
    std::vector<line_waits> all;
    for (auto const& row : rows) {
        auto const n = [&row](char const* name) { return row.at(name).get<std::uint64_t>(); };
        all.push_back({line_of(row), row.at("for").get<std::string>(),
                       row.value("object_name", std::string()), n("waits"), n("total_ns"), n("longest_ns")});
    }
    std::sort(all.begin(), all.end(), [](line_waits const& a, line_waits const& b) {
        return std::tie(b.total_ns, b.waits, a.line, a.reason, a.object_name) <
               std::tie(a.total_ns, a.waits, b.line, b.reason, b.object_name);
    });
    return all;
}

[[nodiscard]] pool_profile read(pool_file const& file) {
    pool_profile p;
    p.process = file.process;
    std::ifstream in(file.path);
    std::string const text{std::istreambuf_iterator<char>(in), {}};
    if (text.empty()) {
        return p; // opened when the pool began; written at its end
    }
    auto const json = nlohmann::json::parse(text, nullptr, false);
    if (json.is_discarded()) {
        return p; // it ended in the middle of the writing
    }
    std::string const format = json.at("format").get<std::string>();
    if (format != "pilfer-profile 2" && format != "pilfer-profile 1") {
        throw std::runtime_error(
            fmt::format("the program is linked with another version of pilfer: it has written "
                        "'{}', and this command reads 'pilfer-profile 1' and 2",
                        format));
    }
    auto const number = [&json](char const* name) { return json.at(name).get<std::uint64_t>(); };
    p.ended = true;
    p.name = json.value("name", std::string()); // absent in files of older versions
    p.workers_asked = number("workers_asked");
    p.figures.work_ns = number("work_ns");
    p.figures.span_ns = number("span_ns");
    p.figures.burdened_span_ns = number("burdened_span_ns");
    p.figures.theft_ns = number("theft_ns");
    p.figures.resume_ns = number("resume_ns");
    p.figures.tasks = number("tasks");
    p.figures.span_tasks = number("span_tasks");
    p.figures.strands = number("strands");
    p.figures.span_strands = number("span_strands");
    p.figures.complete = json.at("complete").get<bool>();
    if (format == "pilfer-profile 1") {
        return p;
    }
    for (auto const& row : json.at("lines")) {
        auto const n = [&row](char const* name) { return row.at(name).get<std::uint64_t>(); };
        p.lines.push_back({line_of(row), n("work_ns"), n("chain_ns"), n("burden_ns"), n("tasks"),
                           n("strands"), n("waits"), n("waited_ns"),
                           row.value("tasks_ns", n("work_ns"))}); // absent in files of older versions
    }
    std::sort(p.lines.begin(), p.lines.end(), [](line_profile const& a, line_profile const& b) {
        return std::tuple(b.chain_ns + b.burden_ns, b.work_ns, a.line) <
               std::tuple(a.chain_ns + a.burden_ns, a.work_ns, b.line);
    });
    p.waits = waits_of(json.value("waits", nlohmann::json::array()));
    return p;
}

[[nodiscard]] double average_strand(pilfer::work_span const& f) {
    return f.strands != 0 ? static_cast<double>(f.work_ns) / static_cast<double>(f.strands) : 0;
}

constexpr std::array<unsigned, 7> curve = {1, 2, 4, 8, 16, 32, 64};

[[nodiscard]] nlohmann::json lines_as_json(pool_profile const& p) {
    nlohmann::json all = nlohmann::json::array();
    for (auto const& l : p.lines) {
        all.push_back({{"file", l.line.file},
                       {"line", l.line.line},
                       {"function", l.line.function},
                       {"work_ns", l.work_ns},
                       {"chain_ns", l.chain_ns},
                       {"burden_ns", l.burden_ns},
                       {"burdened_parallelism", l.burdened_parallelism()},
                       {"tasks", l.tasks},
                       {"tasks_ns", l.tasks_ns},
                       {"strands", l.strands},
                       {"waits", l.waits},
                       {"waited_ns", l.waited_ns}});
    }
    return all;
}

[[nodiscard]] nlohmann::json waits_as_json(pool_profile const& p) {
    nlohmann::json all = nlohmann::json::array();
    for (auto const& w : p.waits) {
        all.push_back(
            {{"file", w.line.file},
             {"line", w.line.line},
             {"function", w.line.function},
             {"for", w.reason},
             {"object_name", w.object_name.empty() ? nlohmann::json() : nlohmann::json(w.object_name)},
             {"waits", w.waits},
             {"total_ns", w.total_ns},
             {"longest_ns", w.longest_ns}});
    }
    return all;
}

[[nodiscard]] nlohmann::json as_json(pool_profile const& p) {
    auto const& f = p.figures;
    nlohmann::json speedup = nlohmann::json::array();
    for (unsigned const workers : curve) {
        speedup.push_back(
            {{"workers", workers}, {"least", f.least_speedup(workers)}, {"most", f.most_speedup(workers)}});
    }
    return {{"process", p.process},
            {"name", p.name},
            {"ended", p.ended},
            {"complete", f.complete},
            {"workers_asked", p.workers_asked},
            {"work_ns", f.work_ns},
            {"span_ns", f.span_ns},
            {"burdened_span_ns", f.burdened_span_ns},
            {"theft_ns", f.theft_ns},
            {"resume_ns", f.resume_ns},
            {"parallelism", f.parallelism()},
            {"burdened_parallelism", f.burdened_parallelism()},
            {"tasks", f.tasks},
            {"span_tasks", f.span_tasks},
            {"strands", f.strands},
            {"span_strands", f.span_strands},
            {"average_strand_ns", average_strand(f)},
            {"speedup", std::move(speedup)},
            {"lines", lines_as_json(p)},
            {"waits", waits_as_json(p)}};
}

/// Three digits and more, in the unit that needs the fewest zeros.
[[nodiscard]] std::string time(double ns) {
    constexpr std::array<std::pair<double, char const*>, 3> units = {{{1e9, "s"}, {1e6, "ms"}, {1e3, "us"}}};
    for (auto const& [size, name] : units) {
        if (ns >= size) {
            return fmt::format("{:.3f} {}", ns / size, name);
        }
    }
    return fmt::format("{:.0f} ns", ns);
}
[[nodiscard]] std::string time(std::uint64_t ns) { return time(static_cast<double>(ns)); }

/// Lines with less of everything than this are left out.
constexpr double least_share_of_line = 0.001;
constexpr std::size_t most_lines = 20;

[[nodiscard]] std::string lines_as_text(pool_profile const& p) {
    double const work = static_cast<double>(std::max<std::uint64_t>(p.figures.work_ns, 1));
    double const span = static_cast<double>(std::max<std::uint64_t>(p.figures.span_ns, 1));
    std::vector<study::source_line> lines;
    std::transform(p.lines.begin(), p.lines.end(), std::back_inserter(lines),
                   [](auto const& l) { return l.line; });
    auto const names = study::line_names(lines);
    std::string text =
        "\n  of chain   of work   burdened par.     tasks     average     waits      waited   line\n";
    line_profile const* tiny = nullptr;
    std::string tiny_name;
    std::size_t shown = 0;
    std::size_t left = 0;
    for (std::size_t i = 0; i < p.lines.size(); ++i) {
        auto const& l = p.lines[i];
        if (l.tasks > 100 && l.average_task() < static_cast<double>(p.figures.theft_ns) &&
            (tiny == nullptr || l.tasks > tiny->tasks)) {
            tiny = &l;
            tiny_name = names[i];
        }
        double const of_work = static_cast<double>(l.work_ns) / work;
        double const of_chain = static_cast<double>(l.chain_ns) / span;
        bool const matters = std::max(of_work, of_chain) >= least_share_of_line ||
                             static_cast<double>(l.waited_ns) / span >= least_share_of_line;
        if (!matters || shown == most_lines) {
            ++left;
            continue;
        }
        ++shown;
        text += fmt::format(
            "  {:>6.1f} %  {:>6.1f} %   {:>13}{:>10}{:>12}{:>10}{:>12}   {}\n", 100 * of_chain, 100 * of_work,
            l.chain_ns + l.burden_ns == 0 ? "-" : fmt::format("{:.2f}", l.burdened_parallelism()), l.tasks,
            l.tasks == 0 ? "-" : study::time_text(l.average_task()), l.waits,
            l.waits == 0 ? "-" : study::time_text(static_cast<double>(l.waited_ns)), names[i]);
    }
    if (left != 0) {
        text += fmt::format("  and {} further lines\n", left);
    }
    if (tiny != nullptr) {
        text += fmt::format("\n  Tiny tasks: {} forks {} tasks of {} on average, and a theft costs {}.\n",
                            tiny_name, tiny->tasks, study::time_text(tiny->average_task()),
                            time(p.figures.theft_ns));
    }
    bool const known = std::any_of(lines.begin(), lines.end(), [](auto const& l) { return !l.file.empty(); });
    if (!known) {
        text += "\n  Functions, because no line is known: the program has no debug information (-g), or "
                "addr2line is "
                "missing.\n";
    }
    return text;
}

[[nodiscard]] std::string waits_as_text(pool_profile const& p) {
    std::vector<study::source_line> lines;
    std::transform(p.waits.begin(), p.waits.end(), std::back_inserter(lines),
                   [](auto const& w) { return w.line; });
    auto const names = study::line_names(lines);
    std::string text = "\n     waits     in total  the longest   waits for, line\n";
    auto const ns_text = [](std::uint64_t ns) { return study::time_text(static_cast<double>(ns)); };
    for (std::size_t i = 0; i < std::min(names.size(), most_lines); ++i) {
        auto const& w = p.waits[i];
        text += fmt::format("  {:>8}{:>13}{:>13}   {}, {}\n", w.waits, ns_text(w.total_ns),
                            ns_text(w.longest_ns), study::with_name(w.reason, w.object_name), names[i]);
    }
    if (names.size() > most_lines) {
        text += fmt::format("  and {} further lines\n", names.size() - most_lines);
    }
    return text;
}

[[nodiscard]] std::string as_text(pool_profile const& p) {
    if (!p.ended) {
        return "  The pool did not end: the program did not destroy it, or was killed. It has no figures.\n";
    }
    auto const& f = p.figures;
    std::string text;
    auto const row = [&text](char const* name, std::string const& value, std::string const& more = {}) {
        text += fmt::format("  {:<22}{:>12}{}{}\n", name, value, more.empty() ? "" : "   ", more);
    };
    row("work", time(f.work_ns), fmt::format("{} tasks, {} strands", f.tasks, f.strands));
    row("span", time(f.span_ns), fmt::format("{} tasks, {} strands", f.span_tasks, f.span_strands));
    row("burdened span", time(f.burdened_span_ns),
        fmt::format("a theft costs {}, a resumption {}", time(f.theft_ns), time(f.resume_ns)));
    row("parallelism", fmt::format("{:.2f}", f.parallelism()));
    row("burdened parallelism", fmt::format("{:.2f}", f.burdened_parallelism()));
    row("average strand", time(average_strand(f)));
    text += "\n  workers   speed-up at least   at most\n";
    for (unsigned const workers : curve) {
        text += fmt::format("  {:>7}   {:>17.2f}   {:>7.2f}\n", workers, f.least_speedup(workers),
                            f.most_speedup(workers));
    }
    text += "  Locks, caches and memory are not part of this: tasks wait for tasks alone.\n";
    if (!p.lines.empty()) {
        text += lines_as_text(p);
    }
    if (!p.waits.empty()) {
        text += waits_as_text(p);
    }
    if (p.workers_asked > 1) {
        text += fmt::format(
            "\n  The program asked for {} workers. It was recorded with one, as every profile is.\n",
            p.workers_asked);
    }
    if (!f.complete) {
        text += "\n  There was not enough memory to record all tasks: the figures are for a part of them.\n";
    }
    return text;
}

[[nodiscard]] std::string joined(std::vector<std::string> const& words) {
    std::string all;
    for (auto const& w : words) {
        all += (all.empty() ? "" : " ") + w;
    }
    return all;
}

[[nodiscard]] int profile(profile_settings const& s, std::vector<std::string> const& words) {
    if (!s.costs.empty()) {
        ::setenv("PILFER_PROFILE_BURDEN", burden_of(study::read_costs(s.costs)).c_str(), 1);
    }
    report_file out(s.output, stdout);
    if (!s.graph.empty()) {
        require_writable(s.graph);
    }
    scratch const folder;
    ending const end = run_recorded(words, folder.path(), s.graph);
    std::string const signal =
        end.signal == 0 ? "" : fmt::format("signal {} ({})", end.signal, ::strsignal(end.signal));
    if (end.signal != 0) {
        fmt::print(stderr, "pilfer: profile: '{}' was ended by {}\n", words[0], signal);
    }
    auto const found = written(folder.path(), end.process);
    if (found.empty()) {
        if (end.was_executed() && end.signal == 0) {
            fmt::print(
                stderr,
                "pilfer: profile: '{}' made no pool: it is not linked with pilfer, or it ended before its "
                "first pool\n",
                words[0]);
        }
        return end.code != 0 ? end.code : exit_failed;
    }
    std::vector<pool_profile> pools;
    std::transform(found.begin(), found.end(), std::back_inserter(pools), read);
    if (s.json) {
        nlohmann::json all = nlohmann::json::array();
        std::transform(pools.begin(), pools.end(), std::back_inserter(all), as_json);
        nlohmann::json const report = {
            {"program", words}, {"exit", end.code}, {"signal", end.signal}, {"pools", std::move(all)}};
        out.write(report.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
        return end.code;
    }
    std::string text = fmt::format("\nprofile of {}{}\n", joined(words),
                                   signal.empty() ? "" : ", which was ended by " + signal);
    for (std::size_t i = 0; i < pools.size(); ++i) {
        if (pools.size() > 1) {
            std::string const& name = pools[i].name;
            text += fmt::format("\npool {} of {}{}, process {}\n", i + 1, pools.size(),
                                name.empty() ? "" : " \"" + name + "\"", pools[i].process);
        }
        text += as_text(pools[i]);
    }
    out.write(text);
    return end.code;
}

} // namespace

void add_profile(CLI::App& app, int& code) {
    auto const s = std::make_shared<profile_settings>();
    CLI::App* const command =
        app.add_subcommand("profile", "Runs PROGRAM and prints its work, span and parallelism");
    command->add_flag("--json", s->json, "the report as JSON");
    command->add_option("-o,--output", s->output, "file for the report (default: standard output)");
    command->add_option("--graph", s->graph,
                        "write the task graph of the run to this file, for `pilfer study`; further pools: "
                        ".2, .3 ...");
    command->add_option("--costs", s->costs,
                        "costs of a theft and a resumption: constants that `pilfer calibrate --output FILE` "
                        "wrote (default: built in)");
    command->footer(
        "Every pool of PROGRAM has one worker meanwhile. The exit code is PROGRAM's; 126 and 127: it "
        "could not be executed; 1: it made no pool.");
    takes_program(*command);
    command->callback([command, s, &code] { code = profile(*s, program_of(*command)); });
}

} // namespace tools
