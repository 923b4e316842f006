// What was measured, and its three shapes: a table for people, JSON for programs, a page with bars.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "machine.hpp"
#include "outcome.hpp"
#include "settings.hpp"

namespace showcase {

struct row {
    std::string runtime;
    std::vector<double> seconds;  // of every run that ended well, in order
    std::uint64_t peak_bytes = 0; // largest of the runs
    std::string failure;          // empty, or what went wrong first

    bool good() const { return failure.empty() && !seconds.empty(); }
    double median() const;
};

struct program_report {
    std::string name;
    std::string input; // for people
    std::string note;  // what was set specially, or empty
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

    bool good() const;
};

std::string as_table(report const& all);
std::string as_json(report const& all);
std::string as_html(report const& all);

} // namespace showcase
