// pilfer study: the simulator of the balancing policies, its tables and its pictures.
#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "commands.hpp"
#include "duration.hpp"
#include "measure.hpp"
#include "study/experiments.hpp"

namespace tools {
namespace {

struct study_settings {
    std::vector<unsigned> workers;
    std::string workload;
    std::vector<std::string> policies;
    std::string seed = "1";
    std::string costs;
    std::string output = "pilfer-study";
    bool speed = false;
    bool validate = false;
    unsigned rounds = 15;
};

void write_file(std::filesystem::path const& path, std::string const& text) {
    std::ofstream out(path, std::ios::binary);
    out << text;
    out.close();
    if (!out) {
        throw std::runtime_error(path.string() + ": cannot be written");
    }
}

void write_all(std::string const& folder, std::vector<study::section> const& sections,
               study::costs const& price) {
    std::filesystem::path const to = folder;
    std::error_code error;
    std::filesystem::create_directories(to, error);
    if (error) {
        throw std::runtime_error(folder + ": " + error.message());
    }
    for (auto const& s : sections) {
        write_file(to / (s.name + ".csv"), study::to_csv(s.results));
        for (std::size_t k = 0; k < s.pictures.size(); ++k) {
            write_file(to / (k == 0 ? s.name + ".svg" : fmt::format("{}-{}.svg", s.name, k + 1)),
                       s.pictures[k]);
        }
    }
    write_file(to / "study.json", study::to_json(sections, study::to_json(price)));
    write_file(to / "study.html", study::to_page(sections, "How much should a thief take?"));
}

int run_study(study_settings const& s) {
    study::frame_of_study frame;
    frame.price = s.costs.empty() ? study::built_in_costs() : study::read_costs(s.costs);
    frame.seed = read_seed(s.seed);
    frame.workers = s.workers.empty() ? study::usual_workers() : s.workers;
    if (s.validate) {
        return measure("validate", s.workers, s.costs, s.rounds, "");
    }
    if (s.speed) {
        fmt::print("{}", study::to_text(study::speed_of_simulation(frame).results));
        return exit_good;
    }
    using experiment = study::section (*)(study::frame_of_study const&);
    std::vector<study::section> sections;
    if (!s.workload.empty() || !s.policies.empty()) {
        sections.push_back(study::one_workload(frame, s.workload.empty() ? "loop" : s.workload, s.policies));
        fmt::print("{}", study::to_text(sections[0].results));
        write_all(s.output, sections, frame.price);
        return exit_good;
    }
    auto const begin = std::chrono::steady_clock::now();
    std::vector<std::future<study::section>> pending;
    for (experiment const e : {study::example_of_eight, study::law_of_parts, study::time_to_all_busy,
                               study::makespan_by_fraction, study::fraction_and_imbalance,
                               study::wave_of_wakes, study::variants_of_the_wave, study::all_policies}) {
        pending.push_back(std::async(std::launch::async, e, std::cref(frame)));
    }
    for (auto& one : pending) {
        sections.push_back(one.get());
    }
    write_all(s.output, sections, frame.price);
    fmt::print(
        "constants of: {}\nseed: {}\n{}: study.html, study.json, and a CSV and pictures for each of {} "
        "sections, in {:.1f} s\n",
        frame.price.machine, frame.seed, s.output, sections.size(),
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    return exit_good;
}

} // namespace

void add_study(CLI::App& app, int& code) {
    auto* const c =
        app.add_subcommand("study", "Simulates how work spreads under each policy; writes tables and plots");
    auto const s = std::make_shared<study_settings>();
    c->footer(
        "Without --workload and --balance: the whole study, every table and picture, into --output. With\n"
        "them: one table. Equal arguments give equal files.\n\nWorkloads, lengths and gaps in ns:\n" +
        study::workload_help() +
        "\nPolicies are written as in PILFER_BALANCE: an amount, a victim and an exposure, separated by\n"
        "commas: \"half,random,on-demand\". An omitted part is the runtime's default.");
    c->add_option("--workers", s->workers, "numbers of simulated workers (default 2,4,8,...,4096)")
        ->delimiter(',')
        ->check(CLI::Range(1, 4'096));
    c->add_option("--workload", s->workload, "NAME or NAME:KEY=VALUE,...: see below");
    c->add_option("--balance", s->policies,
                  "a policy; may be given several times (default: all amounts and victims)");
    c->add_option("--seed", s->seed, "seed of all random choices (default 1)");
    c->add_option("--costs", s->costs,
                  "constants that `pilfer calibrate --output FILE` wrote (default: built in)");
    c->add_option("--output", s->output, "folder for the files (default pilfer-study)");
    c->add_flag("--speed", s->speed, "only print the time of 10^7 simulated tasks");
    c->add_flag("--validate", s->validate,
                "run each workload on the real runtime too, interleaved, and print the error\n"
                "(--workers: default 1,2,... up to the number of CPUs)");
    c->add_option("--rounds", s->rounds, "rounds of --validate; the fastest counts (default 15)")
        ->check(CLI::Range(1, 1'000));
    c->callback([s, &code] {
        try {
            code = run_study(*s);
        } catch (CLI::Error const&) {
            throw; // they are runtime_errors too
        } catch (std::invalid_argument const& error) {
            fmt::print(stderr, "pilfer study: {}\n", error.what());
            code = exit_bad_usage;
        } catch (std::runtime_error const& error) {
            fmt::print(stderr, "pilfer study: {}\n", error.what());
            code = exit_failed;
        }
    });
}

} // namespace tools
