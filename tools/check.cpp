// pilfer check: runs a program that is linked with pilfer::test under many schedules, a process for each.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "commands.hpp"
#include "program.hpp"

namespace tools {
namespace {

struct check_settings {
    std::uint64_t schedules = 1'000;
    std::string strategy = "mixed";
    std::uint64_t seed = 1;
    unsigned depth = 3;
    std::uint64_t steps = 100'000;
    std::uint64_t faults = 0;
    bool memory = false;
    bool io = false;
    unsigned patience = 60;
    bool no_minimise = false;
    std::string replay;
    std::vector<std::string> program;

    /// For PILFER_CHECK: src/check/settings.hpp.
    [[nodiscard]] std::string text() const {
        std::string all =
            fmt::format("schedules={} strategy={} seed={} depth={} steps={} faults={} memory={} "
                        "io={} patience={} minimise={}",
                        schedules, strategy, seed, depth, steps, faults, int{memory}, int{io}, patience,
                        int{!no_minimise});
        return replay.empty() || replays_file() ? all : all + " replay=" + replay;
    }
    [[nodiscard]] bool replays_file() const { return !replay.empty() && std::filesystem::exists(replay); }
};

[[nodiscard]] int check(check_settings const& s) {
    if (!may_have_test_library("check", s.program[0])) {
        return exit_bad_usage;
    }
    ::setenv("PILFER_CHECK", s.text().c_str(), 1);
    if (s.replays_file()) {
        ::setenv("PILFER_SCHEDULE", ("@" + s.replay).c_str(), 1);
    } else {
        ::unsetenv("PILFER_SCHEDULE");
    }
    ::unsetenv("PILFER_RECORD");
    ending const ended = run_program("check", s.program);
    if (ended.was_executed() && ended.code > exit_bad_usage) {
        fmt::print(stderr, "pilfer: check: the search itself has ended, with exit code {}\n", ended.code);
        return exit_bad_usage;
    }
    return ended.code;
}

} // namespace

void add_check(CLI::App& app, int& code) {
    auto const s = std::make_shared<check_settings>();
    CLI::App* const command = app.add_subcommand(
        "check",
        "Runs PROGRAM, which is linked with pilfer::test, under many schedules, and shows one that fails");
    command->add_option("--schedules", s->schedules, "at most so many")
        ->check(CLI::Range(std::uint64_t{1}, UINT64_MAX))
        ->capture_default_str();
    command->add_option("--strategy", s->strategy, "how they are chosen")
        ->check(CLI::IsMember({"mixed", "random", "pct", "exhaustive"}))
        ->capture_default_str();
    command->add_option("--seed", s->seed, "equal seeds choose equal schedules")->capture_default_str();
    command->add_option("--depth", s->depth, "for pct: orders that must be right")
        ->check(CLI::Range(1, 1'000))
        ->capture_default_str();
    command->add_option("--steps", s->steps, "a schedule with more steps fails: it does not end")
        ->check(CLI::Range(std::uint64_t{1}, UINT64_MAX))
        ->capture_default_str();
    command->add_option("--faults", s->faults, "at most so many operations of a schedule fail")
        ->capture_default_str();
    command->add_flag("--memory", s->memory, "allocations may fail, too: at least one fault");
    command->add_flag("--io", s->io, "calls of pilfer::io may fail, too: at least one fault");
    command
        ->add_option("--patience", s->patience, "seconds without a step until a schedule fails; 0: for ever")
        ->check(CLI::Range(0, 86'400))
        ->capture_default_str();
    command->add_flag("--no-minimise", s->no_minimise, "a failing schedule is not shortened");
    command->add_option("--replay", s->replay,
                        "only this schedule, of an earlier run, or that of a file by pilfer record");
    command->footer(
        "The exit code is 0 if no schedule fails, 1 if one does, 2 if nothing was tested; 126 and "
        "127: PROGRAM could not be executed.");
    takes_program(*command);
    command->callback([command, s, &code] {
        s->program = program_of(*command);
        if (!s->replays_file() && s->replay.find(' ') != std::string::npos) {
            throw CLI::ValidationError("--replay", "a schedule has no space in it");
        }
        if (s->memory || s->io) {
            s->faults = std::max<std::uint64_t>(s->faults, 1);
        }
        code = check(*s);
    });
}

} // namespace tools
