// pilfer whatif: a recorded task graph in the simulator, with other numbers of workers and with faster parts.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "commands.hpp"
#include "recorded.hpp"
#include "study/diagnosis.hpp"
#include "study/graph.hpp"

namespace tools {
namespace {

struct whatif_settings {
    std::string file;
    std::string costs;
    std::vector<unsigned> workers = {1, 2, 4, 8, 16, 32, 64};
    unsigned rank_on = 8;
    double faster = 2;
    std::string line;
    bool functions = false;
    bool json = false;
};

/// A line, or a function if the graph has no lines, and the time of the program if it were faster.
struct gain {
    std::string name;
    unsigned index = 0; ///< Of the graph's lines or functions.
    std::uint64_t tasks = 0;
    study::moment work = 0;
    study::moment on_chain = 0;
    study::moment time = 0;
};

[[nodiscard]] std::vector<gain> lines_or_functions(study::recorded_graph const& graph,
                                                   study::graph_figures const& figures, bool by_line) {
    std::vector<gain> all;
    if (by_line) {
        for (auto const& l : figures.lines) {
            all.push_back({graph.line_names()[l.line], l.line, l.tasks, l.work, l.on_chain});
        }
        return all;
    }
    for (auto const& p : study::parts_of(graph, figures)) {
        all.push_back({graph.parts()[p.part], p.part, p.tasks, p.work, p.on_chain});
    }
    return all;
}

/// The line that `text` names.
[[nodiscard]] gain line_of(std::string const& text, study::recorded_graph const& graph,
                           std::vector<gain> const& all) {
    if (!graph.has_lines()) {
        throw std::runtime_error(
            "it has no lines: the program was compiled without -g, addr2line is not installed, or "
            "an older version of pilfer has written it");
    }
    std::string known;
    gain const* found = nullptr;
    for (auto const& g : all) {
        if (study::is_line(graph.lines()[g.index], text)) {
            if (found != nullptr) {
                throw std::runtime_error(
                    fmt::format("'{}' names several files; write more of the path", text));
            }
            found = &g;
        }
        if (!graph.lines()[g.index].file.empty()) {
            known += (known.empty() ? "" : ", ") + g.name;
        }
    }
    if (found == nullptr) {
        throw std::runtime_error(
            fmt::format("no task forks or waits at '{}'; the lines are {}", text, known));
    }
    return *found;
}

/// Parts with less of the work and of the longest chain than this cannot matter.
constexpr double least_share = 0.01;
constexpr std::size_t most_parts = 20;

[[nodiscard]] double ratio(study::moment a, study::moment b) {
    return b == 0 ? 1 : static_cast<double>(a) / static_cast<double>(b);
}

[[nodiscard]] std::unique_ptr<study::recorded_graph> read_task_graph(std::string const& file) {
    std::ifstream in(file, std::ios::binary);
    if (is_trace(in, file)) {
        throw std::runtime_error(file +
                                 ": it is a trace, and this command reads a task graph (pilfer profile "
                                 "--graph)");
    }
    return study::read_graph(in, file);
}

[[nodiscard]] int whatif(whatif_settings const& s) {
    auto const graph = read_task_graph(s.file);
    study::costs const price = s.costs.empty() ? study::built_in_costs() : study::read_costs(s.costs);
    bool const by_line = !s.line.empty() || (graph->has_lines() && !s.functions);
    std::vector<double> factor(by_line ? graph->lines().size() : graph->parts().size(), 1.0);
    auto const predicted = [&](unsigned workers) {
        return by_line ? study::predicted_by_line(*graph, workers, price, factor)
                       : study::predicted(*graph, workers, price, factor);
    };
    study::graph_figures figures;
    std::vector<std::pair<unsigned, study::moment>> times;
    study::moment alone = 0;
    study::moment before = 0;
    std::vector<gain> gains;
    try {
        figures = study::figures_of(*graph);
        auto all = lines_or_functions(*graph, figures, by_line);
        if (!s.line.empty()) {
            all = {line_of(s.line, *graph, all)};
        } else {
            std::erase_if(all, [&](gain const& g) {
                return std::max(ratio(g.work, figures.work), ratio(g.on_chain, figures.span)) < least_share;
            });
            all.resize(std::min(all.size(), most_parts));
        }
        alone = predicted(1);
        for (unsigned const n : s.workers) {
            times.emplace_back(n, n == 1 ? alone : predicted(n));
        }
        before = predicted(s.rank_on);
        for (auto& g : all) {
            factor[g.index] = 1 / s.faster;
            g.time = predicted(s.rank_on);
            factor[g.index] = 1;
        }
        gains = std::move(all);
    } catch (std::runtime_error const& error) {
        throw std::runtime_error(s.file + ": " + error.what());
    }
    std::sort(gains.begin(), gains.end(), [](gain const& a, gain const& b) {
        return std::pair(a.time, a.index) < std::pair(b.time, b.index);
    });
    if (s.json) {
        nlohmann::json workers = nlohmann::json::array();
        for (auto const& [n, time] : times) {
            workers.push_back({{"workers", n}, {"ns", study::to_ns(time)}});
        }
        nlohmann::json parts = nlohmann::json::array();
        for (auto const& g : gains) {
            parts.push_back({{by_line ? "line" : "function", g.name},
                             {"tasks", g.tasks},
                             {"work_ns", study::to_ns(g.work)},
                             {"on_chain_ns", study::to_ns(g.on_chain)},
                             {"ns", study::to_ns(g.time)}});
        }
        nlohmann::json const all = {{"workers", std::move(workers)},
                                    {"ranked_on", s.rank_on},
                                    {"faster", s.faster},
                                    {"before_ns", study::to_ns(before)},
                                    {"parts", std::move(parts)}};
        fmt::print("{}\n", all.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
        return exit_good;
    }
    auto const text = [](study::moment t) { return study::time_text(study::to_ns(t)); };
    fmt::print("{}: {} tasks, work {}, longest chain {}\n\n  workers        time   speed-up\n", s.file,
               figures.tasks, text(figures.work), text(figures.span));
    for (auto const& [n, time] : times) {
        fmt::print("  {:>7}{:>12}{:>11.2f}\n", n, text(time), ratio(alone, time));
    }
    fmt::print("  {}\n", study::left_out);
    if (gains.empty()) {
        fmt::print("\nno task computes anything, so there is nothing to make faster\n");
        return exit_good;
    }
    char const* const unit = by_line ? "line" : "function";
    fmt::print(
        "\non {} workers, {} now, if one {} were {:g} times as fast:\n\n  program faster by        time   of "
        "the work   of the chain   {}\n",
        s.rank_on, text(before), unit, s.faster, unit);
    for (auto const& g : gains) {
        fmt::print("  {:>15.1f} %{:>12}{:>12.1f} %{:>13.1f} %   {}\n", 100 * (ratio(before, g.time) - 1),
                   text(g.time), 100 * ratio(g.work, figures.work), 100 * ratio(g.on_chain, figures.span),
                   g.name);
    }
    return exit_good;
}

} // namespace

void add_whatif(CLI::App& app, int& code) {
    auto const s = std::make_shared<whatif_settings>();
    CLI::App* const c =
        app.add_subcommand("whatif", "Simulates a task graph with more workers and with faster lines");
    c->add_option("FILE", s->file, "a task graph (pilfer profile --graph)")->required();
    c->add_option("--workers", s->workers, "numbers of simulated workers (default 1,2,4,...,64)")
        ->delimiter(',')
        ->check(CLI::Range(1, 4'096));
    c->add_option("--rank-on", s->rank_on, "workers on which the lines are ranked (default 8)")
        ->check(CLI::Range(1, 4'096));
    c->add_option("--faster", s->faster, "how many times as fast a line becomes (default 2)")
        ->check(real_range(1.0, 1e6));
    c->add_option("--line", s->line,
                  "FILE:LINE, this line only: what tasks do from there to their next fork or wait");
    c->add_flag("--functions", s->functions, "rank the functions of the tasks, also if the graph has lines")
        ->excludes("--line");
    c->add_option("--costs", s->costs,
                  "constants that `pilfer calibrate --output FILE` wrote (default: built in)");
    c->add_flag("--json", s->json, "the report as JSON");
    c->callback([s, &code] {
        try {
            code = whatif(*s);
        } catch (std::runtime_error const& error) {
            fmt::print(stderr, "pilfer: whatif: {}\n", error.what());
            code = exit_failed;
        }
    });
}

} // namespace tools
