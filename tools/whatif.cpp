// pilfer whatif: a recorded task graph in the simulator, with other numbers of workers, with faster parts,
// with another grain size and with locks that are split.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

#include "commands.hpp"
#include "recorded.hpp"
#include "study/diagnosis.hpp"
#include "study/edits.hpp"
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
    std::vector<std::string> grain; ///< "LINE=K"
    std::vector<std::string> split; ///< "LINE=K" or "NUMBER=K"
    bool functions = false;
    bool json = false;
};

/// A line, or a function if the graph has no lines, and the time of the program if it were faster. Or another
/// edit, and the time after it.
struct gain {
    std::string name;
    bool is_edit = false;
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
            all.push_back({graph.line_names()[l.line], false, l.line, l.tasks, l.work, l.on_chain});
        }
        return all;
    }
    for (auto const& p : study::parts_of(graph, figures)) {
        all.push_back({graph.parts()[p.part], false, p.part, p.tasks, p.work, p.on_chain});
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

/// "WHERE=K"
struct edit {
    std::string where;
    std::uint64_t k = 0;
};
[[nodiscard]] edit edit_of(std::string const& text) {
    auto const sign = text.rfind('=');
    edit e{text.substr(0, sign)};
    if (sign != std::string::npos) {
        (void)std::from_chars(text.data() + sign + 1, text.data() + text.size(), e.k);
    }
    return e;
}
[[nodiscard]] CLI::Validator is_edit(std::uint64_t most) {
    auto const check = [most](std::string& text) {
        edit const e = edit_of(text);
        bool const good =
            !e.where.empty() && e.k >= 2 && e.k <= most && text.ends_with("=" + std::to_string(e.k));
        return good ? std::string()
                    : fmt::format("'{}' has no '=K' at its end, with K from 2 to {}", text, most);
    };
    return {check, fmt::format("WHERE=2..{}", most)};
}

/// The locks that `where` names: a number, or the line that locked them first.
[[nodiscard]] std::vector<unsigned> locks_at(std::string const& where, study::recorded_graph const& graph) {
    constexpr std::size_t most_named = 20;
    std::string known;
    std::vector<unsigned> all;
    auto const locks = study::locks_of(graph);
    for (std::size_t i = 0; i < locks.size(); ++i) {
        auto const& l = locks[i];
        if (where == std::to_string(l.lock) ||
            study::is_line(graph.lines()[graph.line_of_lock(l.lock)], where)) {
            all.push_back(l.lock);
        }
        if (i < most_named) {
            known += (known.empty() ? "" : "; ") + study::lock_name(graph, l.lock);
        }
    }
    if (locks.size() > most_named) {
        known += fmt::format(" and {} others", locks.size() - most_named);
    }
    if (all.empty()) {
        throw std::runtime_error(known.empty() ? "it has no locks: tasks took no lock of pilfer, or an older "
                                                 "version of pilfer has written it"
                                               : fmt::format("no lock is '{}'; there are {}", where, known));
    }
    return all;
}

/// The graph after the edits of --grain and --split-lock; null: there are none.
[[nodiscard]] std::unique_ptr<study::recorded_graph> edited(whatif_settings const& s,
                                                            study::recorded_graph const& graph) {
    std::unique_ptr<study::recorded_graph> changed;
    auto const present = [&]() -> study::recorded_graph const& {
        return changed == nullptr ? graph : *changed;
    };
    for (auto const& text : s.split) {
        edit const e = edit_of(text);
        changed = study::split_locks(present(), locks_at(e.where, present()), static_cast<unsigned>(e.k));
    }
    for (auto const& text : s.grain) {
        edit const e = edit_of(text);
        auto const all = lines_or_functions(present(), study::figures_of(present()), true);
        changed = study::with_grain(present(), line_of(e.where, present(), all).index, e.k);
    }
    return changed;
}

/// What else could be done: a lock in four parts, and tasks that are eight times as large. Edits that give
/// next to nothing are left out.
constexpr unsigned usual_parts = 4;
constexpr std::uint64_t usual_grain = 8;
constexpr std::size_t most_locks = 3;

void add_edits(std::vector<gain>& gains, study::recorded_graph const& graph, study::graph_figures const& f,
               whatif_settings const& s, study::costs const& price, study::moment before) {
    auto const add = [&](gain edit, study::recorded_graph const& after) {
        edit.is_edit = true;
        try {
            edit.time = study::predicted(after, s.rank_on, price);
        } catch (std::runtime_error const&) {
            return; // the edit lets tasks wait for each other
        }
        if (ratio(before, edit.time) >= 1 + least_share) {
            gains.push_back(std::move(edit));
        }
    };
    auto locks = study::locks_of(graph);
    locks.resize(std::min(locks.size(), most_locks));
    for (auto const& l : locks) {
        if (ratio(l.held, f.work) >= least_share) {
            add({fmt::format("{}, split in {}", study::lock_name(graph, l.lock), usual_parts), true, l.lock,
                 l.sections, l.held},
                *study::split_locks(graph, {l.lock}, usual_parts));
        }
    }
    if (auto const* const tiny = study::tiny_tasks(f, price); tiny != nullptr) {
        add({fmt::format("{}, {} tasks in one", graph.line_names()[tiny->line], usual_grain), true,
             tiny->line, tiny->tasks, tiny->tasks_work},
            *study::with_grain(graph, tiny->line, usual_grain));
    }
}

/// The prediction for a number of workers.
struct prediction {
    unsigned workers = 0;
    study::moment time = 0;
    study::moment edited = 0; ///< 0: there is no edit.
};

/// The content of both forms of the report. The ranking is that of the edited graph.
struct predictions {
    study::graph_figures figures;
    std::vector<prediction> times;
    study::moment alone = 0;
    study::moment before = 0; ///< Of the ranking.
    std::vector<gain> gains;
    std::string left_out;
    bool is_edited = false;
    bool by_line = false;
};

[[nodiscard]] std::vector<gain> ranked(study::recorded_graph const& graph, whatif_settings const& s,
                                       study::costs const& price, predictions& p) {
    auto all = lines_or_functions(graph, p.figures, p.by_line);
    if (!s.line.empty()) {
        all = {line_of(s.line, graph, all)};
    } else {
        std::erase_if(all, [&](gain const& g) {
            return std::max(ratio(g.work, p.figures.work), ratio(g.on_chain, p.figures.span)) < least_share;
        });
        all.resize(std::min(all.size(), most_parts));
    }
    std::vector<double> factor(p.by_line ? graph.lines().size() : graph.parts().size(), 1.0);
    for (auto& g : all) {
        factor[g.index] = 1 / s.faster;
        g.time = p.by_line ? study::predicted_by_line(graph, s.rank_on, price, factor)
                           : study::predicted(graph, s.rank_on, price, factor);
        factor[g.index] = 1;
    }
    if (s.line.empty()) {
        add_edits(all, graph, p.figures, s, price, p.before);
    }
    std::sort(all.begin(), all.end(), [](gain const& a, gain const& b) {
        return std::tuple(a.time, a.is_edit, a.index) < std::tuple(b.time, b.is_edit, b.index);
    });
    return all;
}

[[nodiscard]] predictions predictions_of(whatif_settings const& s) {
    auto const graph = read_task_graph(s.file);
    study::costs const price = s.costs.empty() ? study::built_in_costs() : study::read_costs(s.costs);
    predictions p;
    try {
        auto const changed = edited(s, *graph);
        auto const& present = changed == nullptr ? *graph : *changed;
        p.is_edited = changed != nullptr;
        p.by_line = !s.line.empty() || (graph->has_lines() && !s.functions);
        p.left_out = study::left_out(*graph);
        p.figures = study::figures_of(present);
        p.alone = study::predicted(*graph, 1, price);
        for (unsigned const n : s.workers) {
            p.times.push_back({n, n == 1 ? p.alone : study::predicted(*graph, n, price),
                               p.is_edited ? study::predicted(present, n, price) : 0});
        }
        p.before = study::predicted(present, s.rank_on, price);
        p.gains = ranked(present, s, price, p);
    } catch (std::runtime_error const& error) {
        throw std::runtime_error(s.file + ": " + error.what());
    }
    return p;
}

[[nodiscard]] std::string as_json(predictions const& p, whatif_settings const& s) {
    nlohmann::json workers = nlohmann::json::array();
    for (auto const& t : p.times) {
        workers.push_back({{"workers", t.workers}, {"ns", study::to_ns(t.time)}});
        if (p.is_edited) {
            workers.back()["edited_ns"] = study::to_ns(t.edited);
        }
    }
    nlohmann::json parts = nlohmann::json::array();
    for (auto const& g : p.gains) {
        parts.push_back({{g.is_edit   ? "edit"
                          : p.by_line ? "line"
                                      : "function",
                          g.name},
                         {"tasks", g.tasks},
                         {"work_ns", study::to_ns(g.work)},
                         {"on_chain_ns", study::to_ns(g.on_chain)},
                         {"ns", study::to_ns(g.time)}});
    }
    nlohmann::json const all = {{"workers", std::move(workers)},
                                {"ranked_on", s.rank_on},
                                {"faster", s.faster},
                                {"before_ns", study::to_ns(p.before)},
                                {"parts", std::move(parts)}};
    return all.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

[[nodiscard]] std::string as_text(predictions const& p, whatif_settings const& s) {
    auto const text = [](study::moment t) { return study::time_text(study::to_ns(t)); };
    std::string all =
        fmt::format("{}: {}{} tasks, work {}, longest chain {}\n\n  workers        time   speed-up{}\n",
                    s.file, p.is_edited ? "after the edit " : "", p.figures.tasks, text(p.figures.work),
                    text(p.figures.span), p.is_edited ? "      edited   program faster by" : "");
    for (auto const& t : p.times) {
        all += fmt::format("  {:>7}{:>12}{:>11.2f}", t.workers, text(t.time), ratio(p.alone, t.time));
        all += p.is_edited
                   ? fmt::format("{:>12}{:>18.1f} %\n", text(t.edited), 100 * (ratio(t.time, t.edited) - 1))
                   : "\n";
    }
    all += fmt::format("  {}\n", p.left_out);
    if (p.gains.empty()) {
        return all + "\nno task computes anything, so there is nothing to make faster\n";
    }
    char const* const unit = p.by_line ? "line" : "function";
    bool const has_edits =
        std::any_of(p.gains.begin(), p.gains.end(), [](gain const& g) { return g.is_edit; });
    all += fmt::format(
        "\non {} workers, {} {}, if one {} were {:g} times as fast{}:\n\n  program faster by        "
        "time   of the work   of the chain   {}\n",
        s.rank_on, text(p.before), p.is_edited ? "after the edit" : "now", unit, s.faster,
        has_edits ? ", or after another edit" : "", unit);
    for (auto const& g : p.gains) {
        all += fmt::format("  {:>15.1f} %{:>12}{:>12.1f} %{:>15}   {}\n", 100 * (ratio(p.before, g.time) - 1),
                           text(g.time), 100 * ratio(g.work, p.figures.work),
                           g.is_edit ? "-" : fmt::format("{:.1f} %", 100 * ratio(g.on_chain, p.figures.span)),
                           g.name);
    }
    return all;
}

[[nodiscard]] int whatif(whatif_settings const& s) {
    auto const p = predictions_of(s);
    fmt::print("{}", s.json ? as_json(p, s) : as_text(p, s));
    return exit_good;
}

} // namespace

void add_whatif(CLI::App& app, int& code) {
    auto const s = std::make_shared<whatif_settings>();
    CLI::App* const c = app.add_subcommand(
        "whatif", "Simulates a task graph with more workers, faster lines and other edits");
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
    c->add_option("--grain", s->grain,
                  "FILE:LINE=K: tasks forked there become one task for each K neighbours, and a recursion "
                  "stops forking at K tasks")
        ->allow_extra_args(false)
        ->check(is_edit(1'000'000));
    c->add_option(
         "--split-lock", s->split,
         "LOCK=K: the pilfer::mutex of this number, or those locked first at FILE:LINE, become K each, "
         "which critical sections take in turn")
        ->allow_extra_args(false)
        ->check(is_edit(4'096));
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
