// pilfer race: runs a program that is linked with pilfer::race, and says what was found and what was
// promised.
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include "commands.hpp"
#include "program.hpp"
#include "report_file.hpp"

namespace tools {
namespace {

struct race_settings {
    std::string report;
    std::vector<std::string> program;
};

[[nodiscard]] int race(race_settings const& s) {
    report_file report(s.report, stderr);
    auto const folder = std::filesystem::absolute(std::filesystem::temp_directory_path());
    std::string path = (folder / "pilfer-race-XXXXXX").string();
    int const file = ::mkstemp(path.data());
    if (file < 0) {
        throw std::system_error(errno, std::generic_category(), path);
    }
    (void)::close(file);
    ::setenv("PILFER_RACE_REPORT", path.c_str(), 1);
    ending const ended = run_program("race", s.program);
    std::ifstream in(path);
    std::string const text{std::istreambuf_iterator<char>(in), {}};
    std::error_code ignored;
    std::filesystem::remove(path, ignored);
    if (!ended.was_executed()) {
        return ended.code;
    }
    if (text.empty()) {
        fmt::print(
            stderr,
            "pilfer: race: there is no report. Either the program is not compiled with -fsanitize=thread "
            "and linked with pilfer::race (docs/guides/races.md), or it did not return from main().\n");
        return ended.code != 0 ? ended.code : exit_failed;
    }
    report.write(text);
    return ended.code;
}

} // namespace

void add_race(CLI::App& app, int& code) {
    auto const s = std::make_shared<race_settings>();
    CLI::App* const command = app.add_subcommand(
        "race",
        "Runs PROGRAM, which is linked with pilfer::race, and prints races that other schedules may show");
    command->add_option("-o,--output", s->report, "file for the report (default: standard error)");
    command->footer(
        "The exit code is PROGRAM's, or 66 if there is a race; 126 and 127: it could not be executed; "
        "1: it left no report; 70: it waited for a second worker, or was linked with the sanitizer.");
    takes_program(*command);
    command->callback([command, s, &code] {
        s->program = program_of(*command);
        code = race(*s);
    });
}

} // namespace tools
