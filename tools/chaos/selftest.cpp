// pilfer selftest: a short time of chaos on the machine at hand, with a verdict.
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <memory>

#include <pilfer/detail/base/atom.hpp>

#include "commands.hpp"
#include "driver.hpp"
#include "duration.hpp"
#include "machine.hpp"
#include "platform/os.hpp"
#include "torment.hpp"

namespace tools {
namespace {

struct selftest_settings {
    std::string time = "10s";
    std::string seed;
    unsigned patience = 10;
    bool quiet = false;
};

/// Each runs in a process of its own: one that takes system calls away, or crashes, harms no other.
struct stage {
    char const* name;
    unsigned per_cpu; // workers of the largest pool, as a multiple of the CPUs
    bool moves, stops, refuses;
};
constexpr std::array<stage, 4> stages = {{
    {"chaos, 4 workers per CPU", 4, false, false, false},
    {"chaos, 32 workers per CPU, changing CPU masks", 32, true, false, false},
    {"chaos, stopped and continued", 8, false, true, false},
    {"chaos, membarrier refused", 4, false, false, true},
}};
// The exit code of a stage that cannot be run here.
constexpr int exit_impossible = 77;

struct answer {
    totals counted;
    std::uint64_t signals = 0;
};

/// In the child: never returns.
[[noreturn]] void run_stage(stage const& s, drive d, int pipe) {
    answer a;
    int code = exit_good;
    if (s.refuses && (!refuse_membarrier() || pilfer::detail::heavy_fence_reaches_all())) {
        _exit(exit_impossible);
    }
    {
        frequent_signals const alarms;
        std::unique_ptr<changing_masks> masks;
        if (s.moves) {
            masks = std::make_unique<changing_masks>(d.seed);
        }
        verdict const v = run_drive(d);
        if (!v.failure.empty()) {
            fmt::print("{}\n", v.failure);
            code = exit_failed;
        } else if (v.interrupted) {
            code = 128 + SIGINT;
        }
        a.counted = v.counted;
    }
    a.signals = frequent_signals::count();
    std::fflush(nullptr);
    (void)!write(pipe, &a, sizeof a);
    _exit(code);
}

/// The failure in words; empty: none.
[[nodiscard]] std::string as_failure(int status) {
    if (WIFSIGNALED(status)) {
        return fmt::format("killed by signal {} ({})", WTERMSIG(status), strsignal(WTERMSIG(status)));
    }
    switch (WEXITSTATUS(status)) {
    case exit_good:
    case exit_impossible:
        return {};
    case exit_hangs:
        return "hangs";
    case 128 + SIGINT:
        return "interrupted";
    default:
        return "wrong results";
    }
}

/// In a process of its own: asking for membarrier registers, and the stage without it would inherit that.
void print_machine() {
    std::fflush(nullptr);
    pid_t const child = fork();
    if (child == 0) {
        fmt::print("{}", machine_report());
        std::fflush(nullptr);
        _exit(exit_good);
    }
    int status = 0;
    (void)waitpid(child, &status, 0);
}

int run_selftest(selftest_settings const& s) {
    auto const time = read_duration("--for", s.time);
    std::uint64_t const seed = s.seed.empty() ? fresh_seed() : read_seed(s.seed);
    print_machine();
    fmt::print("seed:        {:#x}\n", seed);
    unsigned const cpus = pilfer::os::affinity_cpus();
    totals all;
    std::string failures;
    for (stage const& st : stages) {
        drive d;
        d.time = std::chrono::milliseconds(1 + time.count() / static_cast<std::int64_t>(stages.size()));
        d.seed = seed;
        d.workers = std::min(st.per_cpu * cpus, 256U);
        d.chaos = 2;
        d.patience = std::chrono::seconds(s.patience);
        d.progress = !s.quiet;
        std::fflush(nullptr);
        int ends[2];
        pid_t child = -1;
        if (pipe(ends) != 0 || (child = fork()) < 0) {
            throw std::runtime_error("no process can be made");
        }
        if (child == 0) {
            close(ends[0]);
            run_stage(st, d, ends[1]);
        }
        close(ends[1]);
        int status = 0;
        std::uint64_t stops = 0;
        if (st.stops) {
            status = stop_and_continue(child, seed, stops);
        } else {
            while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
            }
        }
        answer a;
        bool const answered = ::read(ends[0], &a, sizeof a) == static_cast<ssize_t>(sizeof a);
        close(ends[0]);
        std::string const failure = as_failure(status);
        if (WIFEXITED(status) && WEXITSTATUS(status) == exit_impossible) {
            fmt::print("{}: not possible here\n", st.name);
            continue;
        }
        if (answered) {
            all += a.counted;
            fmt::print("{}: {} tasks, {} pools of up to {} workers, {} disturbances, {} signals{}{}\n",
                       st.name, grouped(a.counted.tasks), grouped(a.counted.pools), d.workers,
                       grouped(a.counted.disturbances), grouped(a.signals),
                       stops != 0 ? fmt::format(", stopped {} times", stops) : "",
                       failure.empty() ? "" : ": " + failure);
        } else {
            fmt::print("{}: {}\n", st.name, failure.empty() ? "gave no answer" : failure);
        }
        if (!failure.empty() || !answered) {
            failures += fmt::format("{}{}", failures.empty() ? "" : ", ", st.name);
            if (failure == "interrupted") {
                break;
            }
        }
    }
    fmt::print("{}: {} tasks, {} steals, {} suspensions, {} sleeps, {} wakes, {} disturbances, seed {:#x}\n",
               failures.empty() ? "PASS" : "FAIL", grouped(all.tasks), grouped(all.steals),
               grouped(all.suspensions), grouped(all.sleeps), grouped(all.wakes), grouped(all.disturbances),
               seed);
    if (!failures.empty()) {
        fmt::print("Failed: {}. Again: pilfer selftest --for {} --seed {:#x}\n", failures, s.time, seed);
    }
    return failures.empty() ? exit_good : exit_failed;
}

} // namespace

void add_selftest(CLI::App& app, int& code) {
    auto const s = std::make_shared<selftest_settings>();
    CLI::App* const c = app.add_subcommand(
        "selftest",
        "Prints the features of this machine that the library uses, then torments the library for a while.\n"
        "Threads are delayed at critical points, and pools have many times more workers than CPUs. Frames\n"
        "move at every join, and signals arrive at 10 kHz. The process is stopped and continued, CPU masks\n"
        "change, and membarrier is refused. Every result is compared.");
    c->add_option("--for", s->time, "how long: 10s, 5m (default 10s)");
    c->add_option("--seed", s->seed, "seed of all random choices (default: a fresh one)");
    c->add_option("--watchdog", s->patience, "seconds without progress that count as a hang (default 10)")
        ->check(CLI::Range(1, 86'400));
    c->add_flag("--quiet", s->quiet, "no progress");
    c->callback([s, &code] { code = run_selftest(*s); });
}

} // namespace tools
