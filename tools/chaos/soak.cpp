// pilfer soak: everything at once for as long as one likes, every result checked.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>

#include "commands.hpp"
#include "driver.hpp"
#include "duration.hpp"
#include "platform/os.hpp"

namespace tools {
namespace {

struct soak_settings {
    std::string time = "10m";
    std::string seed;
    unsigned workers = 0;
    unsigned lanes = 2;
    unsigned chaos = 0;
    unsigned patience = 10;
    double most_drift = 0;
    bool json = false;
    bool quiet = false;
};

void print_json(drive const& d, verdict const& v) {
    totals const& t = v.counted;
    nlohmann::ordered_json out;
    out["good"] = v.failure.empty();
    out["failure"] = v.failure;
    out["interrupted"] = v.interrupted;
    out["seed"] = d.seed;
    out["seconds"] = v.seconds;
    out["workers"] = d.workers;
    out["chaos"] = d.chaos;
    out["tasks"] = t.tasks;
    out["works"] = t.works;
    out["pools"] = t.pools;
    out["steals"] = t.steals;
    out["reaches"] = t.reaches;
    out["exposures"] = t.exposures;
    out["suspensions"] = t.suspensions;
    out["sleeps"] = t.sleeps;
    out["wakes"] = t.wakes;
    out["submissions"] = t.submissions;
    out["suppressed_exceptions"] = t.suppressed;
    out["dropped"] = t.dropped;
    out["without_stack"] = t.without_stack;
    out["disturbances"] = t.disturbances;
    out["looks_for_hidden_tasks"] = t.looks;
    out["longest_hidden_us"] = t.longest_hidden;
    out["resident_early_bytes"] = v.resident_early;
    out["resident_late_bytes"] = v.resident_late;
    out["drift_percent"] = v.drift();
    fmt::print("{}\n", out.dump(2));
}

void print_text(drive const& d, verdict const& v) {
    totals const& t = v.counted;
    fmt::print("{} tasks in {} works, {} pools, {:.1f} s{}\n", grouped(t.tasks), grouped(t.works),
               grouped(t.pools), v.seconds, v.interrupted ? " (interrupted)" : "");
    fmt::print("{} steals, {} reaches, {} exposures, {} suspensions, {} sleeps, {} wakes\n",
               grouped(t.steals), grouped(t.reaches), grouped(t.exposures), grouped(t.suspensions),
               grouped(t.sleeps), grouped(t.wakes));
    fmt::print("{} submissions, {} suppressed exceptions, {} dropped, {} without a stack of their own\n",
               grouped(t.submissions), grouped(t.suppressed), grouped(t.dropped), grouped(t.without_stack));
    fmt::print("{} looks for ready tasks beside sleepers: none for longer than {} us\n", grouped(t.looks),
               grouped(t.longest_hidden));
    if (d.chaos != 0) {
        fmt::print("{} disturbances of level {}\n", grouped(t.disturbances), d.chaos);
    }
    fmt::print("resident memory {:.1f} MiB in the second tenth, {:.1f} MiB in the last: {:+.1f} %\n",
               v.resident_early / (1 << 20), v.resident_late / (1 << 20), v.drift());
    if (!v.failure.empty()) {
        fmt::print("{}\n", v.failure);
    }
    fmt::print("{}: seed {:#x}\n", v.failure.empty() ? "PASS" : "FAIL", d.seed);
}

int run_soak(soak_settings const& s) {
    drive d;
    d.time = read_duration("--for", s.time);
    d.seed = s.seed.empty() ? fresh_seed() : read_seed(s.seed);
    d.workers = s.workers != 0 ? s.workers : std::max(4U, 2 * pilfer::os::affinity_cpus());
    d.lanes = s.lanes;
    d.chaos = s.chaos;
    d.patience = std::chrono::seconds(s.patience);
    d.most_drift = s.most_drift;
    d.progress = !s.quiet;
    verdict const v = run_drive(d);
    s.json ? print_json(d, v) : print_text(d, v);
    return v.failure.empty() ? exit_good : exit_failed;
}

} // namespace

void add_soak(CLI::App& app, int& code) {
    auto const s = std::make_shared<soak_settings>();
    CLI::App* const c = app.add_subcommand(
        "soak",
        "Runs a random mix of fork-join, exceptions, futures, loops, nested pools, shutdowns and sleep.\n"
        "Compares every result, and watches progress and memory.");
    c->add_option("--for", s->time, "how long: 30s, 10m, 1h (default 10m)");
    c->add_option("--workers", s->workers,
                  "most workers of a pool; 0: twice the CPUs, at least 4 (default 0)")
        ->check(CLI::Range(0, 4096));
    c->add_option("--threads", s->lanes, "threads that make pools and give them work (default 2)")
        ->check(CLI::Range(1, 64));
    c->add_option("--seed", s->seed, "seed of all random choices (default: a fresh one)");
    c->add_option("--chaos", s->chaos,
                  "0: undisturbed, 1 to 3: threads are delayed at critical points (default 0)")
        ->check(CLI::Range(0, 3));
    c->add_option("--watchdog", s->patience, "seconds without progress that count as a hang (default 10)")
        ->check(CLI::Range(1, 86'400));
    c->add_option("--max-drift", s->most_drift,
                  "percent by which memory may grow; 0: growth is only printed (default 0)")
        ->check(real_range(0.0, 1000.0));
    c->add_flag("--json", s->json, "the summary as JSON");
    c->add_flag("--quiet", s->quiet, "no progress");
    c->callback([s, &code] { code = run_soak(*s); });
}

} // namespace tools
