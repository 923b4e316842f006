// pilfer whatif: a recorded task graph in the simulator, with other numbers of workers and with faster parts.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "commands.hpp"
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
    bool json = false;
};

struct gain {
    study::part_figures part;
    study::moment time = 0;
};

/// Parts with less of the work and of the longest chain than this cannot matter.
constexpr double least_share = 0.01;
constexpr std::size_t most_parts = 20;

[[nodiscard]] double ratio(study::moment a, study::moment b) {
    return b == 0 ? 1 : static_cast<double>(a) / static_cast<double>(b);
}

[[nodiscard]] int whatif(whatif_settings const& s) {
    auto const graph = study::read_graph(s.file);
    study::costs const price = s.costs.empty() ? study::built_in_costs() : study::read_costs(s.costs);
    std::vector<double> factor(graph->parts().size(), 1.0);
    study::graph_figures figures;
    std::vector<std::pair<unsigned, study::moment>> times;
    study::moment alone = 0;
    study::moment before = 0;
    std::vector<gain> gains;
    try {
        figures = study::figures_of(*graph);
        alone = study::predicted(*graph, 1, price, factor);
        for (unsigned const n : s.workers) {
            times.emplace_back(n, n == 1 ? alone : study::predicted(*graph, n, price, factor));
        }
        before = study::predicted(*graph, s.rank_on, price, factor);
        for (auto const& p : study::parts_of(*graph, figures)) {
            if (std::max(ratio(p.work, figures.work), ratio(p.on_chain, figures.span)) < least_share) {
                continue;
            }
            if (gains.size() == most_parts) {
                break;
            }
            factor[p.part] = 1 / s.faster;
            gains.push_back({p, study::predicted(*graph, s.rank_on, price, factor)});
            factor[p.part] = 1;
        }
    } catch (std::runtime_error const& error) {
        throw std::runtime_error(s.file + ": " + error.what());
    }
    std::sort(gains.begin(), gains.end(), [](gain const& a, gain const& b) {
        return std::pair(a.time, a.part.part) < std::pair(b.time, b.part.part);
    });
    if (s.json) {
        nlohmann::json workers = nlohmann::json::array();
        for (auto const& [n, time] : times) {
            workers.push_back({{"workers", n}, {"ns", study::to_ns(time)}});
        }
        nlohmann::json parts = nlohmann::json::array();
        for (auto const& g : gains) {
            parts.push_back({{"function", graph->parts()[g.part.part]},
                             {"tasks", g.part.tasks},
                             {"work_ns", study::to_ns(g.part.work)},
                             {"on_chain_ns", study::to_ns(g.part.on_chain)},
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
    if (gains.empty()) {
        fmt::print("\nno task computes anything, so there is no function to make faster\n");
        return exit_good;
    }
    fmt::print("\non {} workers, if one function were {:g} times as fast:\n\n  program faster by        time "
               "  of the work   of the "
               "chain   function\n",
               s.rank_on, s.faster);
    for (auto const& g : gains) {
        fmt::print("  {:>15.1f} %{:>12}{:>12.1f} %{:>13.1f} %   {}\n", 100 * (ratio(before, g.time) - 1),
                   text(g.time), 100 * ratio(g.part.work, figures.work),
                   100 * ratio(g.part.on_chain, figures.span), graph->parts()[g.part.part]);
    }
    return exit_good;
}

} // namespace

void add_whatif(CLI::App& app, int& code) {
    auto const s = std::make_shared<whatif_settings>();
    CLI::App* const c =
        app.add_subcommand("whatif", "Simulates a task graph with more workers and with faster functions");
    c->add_option("FILE", s->file, "a task graph (pilfer profile --graph)")->required();
    c->add_option("--workers", s->workers, "numbers of simulated workers (default 1,2,4,...,64)")
        ->delimiter(',')
        ->check(CLI::Range(1, 4'096));
    c->add_option("--rank-on", s->rank_on, "workers on which the functions are ranked (default 8)")
        ->check(CLI::Range(1, 4'096));
    c->add_option("--faster", s->faster, "how many times as fast a function becomes (default 2)")
        ->check(CLI::Range(1.0, 1e6));
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
