// The measured runs and their three shapes: a table for people, JSON for programs, a page with bars.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "machine.hpp"
#include "outcome.hpp"
#include "settings.hpp"
#include "timeline.hpp"

namespace showcase {

struct row {
    std::string runtime;
    std::vector<double> seconds;  // of every run that ended well, in order
    std::uint64_t peak_bytes = 0; // largest of the runs
    std::string failure;          // the first error, or empty
    unsigned workers = 0;         // 0: as many as were chosen

    bool good() const { return failure.empty() && !seconds.empty(); }
    double median() const;
};

/// One kernel of the benchmarks, on several runtimes and numbers of workers.
struct kernel_report {
    std::string name;
    std::string answer; // the one all rows have to agree on
    std::vector<row> rows;

    row const* row_of(std::string const& runtime, unsigned workers) const;
    /// serial time / this time; nothing without both.
    std::optional<double> speed_up(row const& of) const;
};

/// Of the kernel fib: nanoseconds for each call that forks.
std::optional<double> nanoseconds_per_fork(kernel_report const& fib, row const& of);
/// This time / serial time; nothing without both.
std::optional<double> slow_down(kernel_report const& kernel, row const& of);

struct program_report {
    std::string name;
    std::string input; // for people
    std::string note;  // special settings, or empty
    std::size_t stack_size = 0;
    std::string result; // the one all runtimes have to agree on
    outcome facts;      // counts and problems, from the run that gave `result`
    std::vector<row> rows;

    row const* row_of(std::string const& runtime) const;
    /// serial time / this time; nothing without both.
    std::optional<double> speed_up(row const& of) const;
    /// this time / pilfer's time; nothing without both.
    std::optional<double> ratio_to_pilfer(row const& of) const;
};

struct report {
    settings chosen;
    machine where;
    std::vector<program_report> programs;
    kernel_report forks; // fib, with one worker
    std::vector<kernel_report> speed_ups;
    timeline run;
    std::vector<std::string> notes; // omitted parts with their reasons

    bool good() const;
};

std::string as_table(report const& all);
std::string as_json(report const& all);
std::string as_html(report const& all);

} // namespace showcase
