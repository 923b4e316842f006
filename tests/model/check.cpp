// pilfer_check: the checker's command line.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include <CLI/CLI.hpp>

#include "budget.hpp"
#include "harness.hpp"
#include "mutate.hpp"

namespace {

using namespace model;

/// Harnesses of one protocol share the first part of their names.
[[nodiscard]] std::string protocol_of(const harness& h) {
    const std::string name = h.name;
    return name.substr(0, name.find('_'));
}

[[nodiscard]] std::vector<const harness*> chosen(const std::vector<std::string>& names) {
    std::vector<const harness*> list;
    for (const harness& h : harnesses()) {
        if (names.empty() || std::any_of(names.begin(), names.end(), [&](const std::string& n) {
                return n == h.name || n == protocol_of(h);
            })) {
            list.push_back(&h);
        }
    }
    std::sort(list.begin(), list.end(),
              [](const harness* a, const harness* b) { return std::string(a->name) < b->name; });
    return list;
}

[[nodiscard]] int list_all() {
    for (const harness* h : chosen({})) {
        std::printf("%-30s %u threads: %s\n", h->name, h->threads, h->text);
    }
    return 0;
}

/// A strategy's share of one harness: at most so many executions, so that all processes stay busy.
struct job {
    const harness* what;
    kind how;
    budget share;
};

constexpr std::uint64_t piece = 2'000'000; // of executions; a larger search is divided

/// By the first thread: these trees have nothing in common, and are of similar size.
void cut_tree(std::vector<job>& jobs, const harness* h, budget b) {
    if (b.exhaustive <= piece || h->threads == 1) {
        jobs.push_back({h, kind::exhaustive, b});
        return;
    }
    b.exhaustive /= h->threads;
    for (unsigned i = 0; i < h->threads; ++i) {
        b.first = i;
        jobs.push_back({h, kind::exhaustive, b});
    }
}

void cut(std::vector<job>& jobs, const harness* h, kind k, budget b, std::uint64_t budget::*count) {
    std::uint64_t left = b.*count;
    for (std::uint64_t number = 0; left > 0; ++number) {
        budget share = b;
        share.seed = b.seed * 1'000'003 + number;
        share.*count = std::min(left, piece);
        left -= share.*count;
        jobs.push_back({h, k, share});
    }
}

[[nodiscard]] int run(const std::vector<std::string>& names, const budget& b, std::uint64_t per_protocol,
                      unsigned processes, bool verbose) {
    const auto list = chosen(names);
    if (list.empty()) {
        std::fprintf(stderr, "no such harness; `pilfer_check list` names them\n");
        return 2;
    }
    std::vector<job> jobs;
    for (const harness* h : list) {
        if (b.exhaustive > 0) {
            cut_tree(jobs, h, b);
        }
    }
    std::map<std::string, unsigned> siblings;
    for (const harness* h : list) {
        ++siblings[protocol_of(*h)];
    }
    for (const harness* h : list) {
        budget own = b;
        if (per_protocol > 0) {
            own.random = own.priorities = per_protocol / 2 / siblings[protocol_of(*h)] + 1;
        }
        cut(jobs, h, kind::random, own, &budget::random);
        cut(jobs, h, kind::priorities, own, &budget::priorities);
    }
    const auto reports = run_jobs(static_cast<unsigned>(jobs.size()), processes, [&](unsigned i, report& r) {
        explore(*jobs[i].what, jobs[i].how, jobs[i].share, r);
    });

    struct sum {
        std::uint64_t random = 0;
        std::uint64_t exhaustive = 0;
        bool complete = true;
    };
    std::map<std::string, sum> by_protocol;
    std::map<std::string, sum> by_harness;
    std::uint64_t executions = 0;
    unsigned failures = 0;
    for (unsigned i = 0; i < jobs.size(); ++i) {
        const report& r = reports[i];
        executions += r.executions;
        for (sum* s : {&by_protocol[protocol_of(*jobs[i].what)], &by_harness[jobs[i].what->name]}) {
            if (jobs[i].how == kind::exhaustive) {
                s->exhaustive += r.executions;
                s->complete = s->complete && r.complete;
            } else {
                s->random += r.executions;
            }
        }
        if (!r.done) {
            ++failures;
            std::printf("%s (%s): the checker died\n", jobs[i].what->name, to_string(jobs[i].how));
        } else if (r.failed) {
            ++failures;
            std::printf("%s (%s, execution %llu): %s\n  pilfer_check replay %s %s\n", jobs[i].what->name,
                        to_string(jobs[i].how), static_cast<unsigned long long>(r.executions), r.message,
                        jobs[i].what->name, r.choices);
        }
    }
    for (const auto& [name, s] : verbose ? by_harness : by_protocol) {
        std::printf("%-30s %12llu random, %10llu with at most %u preemptions and %u odd choices%s\n",
                    name.c_str(), static_cast<unsigned long long>(s.random),
                    static_cast<unsigned long long>(s.exhaustive), b.preemptions, b.odd,
                    s.complete ? " (all)" : "");
    }
    std::printf("model: %zu harnesses of %zu protocols, %llu executions, %u failures\n", list.size(),
                by_protocol.size(), static_cast<unsigned long long>(executions), failures);
    return failures == 0 ? 0 : 1;
}

[[nodiscard]] int estimate(const std::vector<std::string>& names, const budget& b, std::uint64_t probes) {
    for (const harness* h : chosen(names)) {
        probe s(b.seed, b.preemptions, b.odd);
        for (std::uint64_t i = 0; i < probes && s.begin(); ++i) {
            if (here().run(*h, s).failed) {
                std::printf("%s fails; see run\n", h->name);
                return 1;
            }
        }
        std::printf("%-30s %.2g +- %.1g executions with at most %u preemptions and %u odd choices\n", h->name,
                    s.mean(), s.standard_error(), b.preemptions, b.odd);
    }
    return 0;
}

[[nodiscard]] int replay_one(const std::string& name, const std::string& choices) {
    for (const harness& h : harnesses()) {
        if (name == h.name) {
            const auto given = from_text(choices);
            if (given.empty() && !choices.empty()) {
                std::fprintf(stderr, "'%s' is not a list of choices\n", choices.c_str());
                return 2;
            }
            replay s(given);
            (void)s.begin();
            const bool failed = here().run(h, s, true).failed;
            std::printf("%s\n", failed ? "the failure is there" : "no failure");
            return failed ? 1 : 0;
        }
    }
    std::fprintf(stderr, "no such harness: %s\n", name.c_str());
    return 2;
}

} // namespace

int main(int argc, char** argv) try {
    CLI::App app(
        "Runs pilfer's protocol headers under every schedule and stale value that a strategy chooses");
    app.require_subcommand(1);
    budget b;
    unsigned processes = std::max(1U, std::thread::hardware_concurrency());
    std::vector<std::string> names;
    std::string name;
    std::string choices;
    std::string explanations = PILFER_MODEL_EXPLAINED;
    std::string only;
    std::uint64_t per_protocol = 0;
    bool verbose = false;
    bool believe = false;

    const auto budgets = [&](CLI::App* c) {
        c->add_option("--random", b.random, "executions of the random walk per harness")
            ->capture_default_str();
        c->add_option("--priorities", b.priorities, "executions by random priorities per harness")
            ->capture_default_str();
        c->add_option("--depth", b.depth, "orderings that a bug needs, for the priorities; 0: 2 to 6")
            ->check(CLI::Range(0, 8))
            ->capture_default_str();
        c->add_option("--exhaustive", b.exhaustive, "most executions of the exhaustive search per harness")
            ->capture_default_str();
        c->add_option("--preemptions", b.preemptions, "its bound on preemptions")->capture_default_str();
        c->add_option("--odd", b.odd, "its bound on stale reads, spurious wake-ups and failures")
            ->capture_default_str();
        c->add_option("--seed", b.seed)->capture_default_str();
        c->add_option("--jobs", processes, "processes")->check(CLI::Range(1, 1024))->capture_default_str();
        c->add_flag("--verbose", verbose, "a line per harness or mutant");
    };
    CLI::App* list = app.add_subcommand("list", "names the harnesses");
    CLI::App* check = app.add_subcommand("run", "checks harnesses, all by default");
    check->add_option("harness", names, "names of harnesses or protocols");
    check->add_option("--per-protocol", per_protocol,
                      "random executions and by priorities of all harnesses of one protocol together");
    budgets(check);
    std::uint64_t probes = 100'000;
    CLI::App* sizes = app.add_subcommand("estimate", "how many executions an exhaustive search would make");
    sizes->add_option("harness", names, "names of harnesses or protocols");
    sizes->add_option("--probes", probes, "random executions per harness")->capture_default_str();
    sizes->add_option("--preemptions", b.preemptions, "the bound on preemptions")->capture_default_str();
    sizes->add_option("--odd", b.odd, "the bound on odd choices")->capture_default_str();
    sizes->add_option("--seed", b.seed)->capture_default_str();
    CLI::App* again = app.add_subcommand("replay", "prints one execution");
    again->add_option("harness", name)->required();
    again->add_option("choices", choices, "as a failure printed them")->required();
    CLI::App* mutate = app.add_subcommand("mutate", "weakens every order, one at a time");
    mutate->add_option("--explained", explanations, "why survivors are harmless")->capture_default_str();
    mutate->add_option("--only", only, "mutants whose names contain this");
    mutate->add_flag(
        "--believe", believe,
        "a 64th of the budgets for mutants that are explained: they take nearly all of the time");
    budgets(mutate);
    CLI11_PARSE(app, argc, argv);

    if (list->parsed()) {
        return list_all();
    }
    if (check->parsed()) {
        return run(names, b, per_protocol, processes, verbose);
    }
    if (sizes->parsed()) {
        return estimate(names, b, probes);
    }
    if (again->parsed()) {
        return replay_one(name, choices);
    }
    return mutate_all(b, processes, explanations, only, believe, verbose) ? 0 : 1;
} catch (const std::exception& e) {
    std::fprintf(stderr, "pilfer_check: %s\n", e.what());
    return 2;
}
