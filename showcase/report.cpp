#include "report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <utility>

#include "numbers.hpp"

namespace showcase {
namespace {

// The terminal shows the first ones only, the JSON file all that were kept.
constexpr std::size_t problems_shown = 10;

std::string cell(std::optional<double> value) { return value ? fmt::format("{:.2f}", *value) : "-"; }

std::string explanation(program_report const& program) {
    std::string text = fmt::format("{}: {}", program.name, printable(program.input));
    if (program.name == "treehash")
        text += fmt::format("; {} files, {}", grouped(program.facts.items), shown_bytes(program.facts.bytes));
    if (program.name == "sortlines")
        text += fmt::format("; {} lines", grouped(program.facts.items));
    if (program.name == "wordcount")
        text += fmt::format("; {} different words", grouped(program.facts.items));
    text += fmt::format("\n  result {}\n", program.result.empty() ? "none" : program.result);
    if (!program.note.empty())
        text += fmt::format("  {}\n", program.note);
    if (program.facts.problems > 0) {
        text += fmt::format("  {} could not be read:\n", grouped(program.facts.problems));
        std::size_t const shown = std::min(problems_shown, program.facts.listed.size());
        for (std::size_t i = 0; i < shown; ++i)
            text += fmt::format("    {}: {}\n", printable(program.facts.listed[i].path),
                                program.facts.listed[i].reason);
        if (program.facts.problems > shown)
            text += "    ...\n";
    }
    for (row const& r : program.rows)
        if (!r.good())
            text += fmt::format("  FAILED with {}: {}\n", shown_runtime(r.runtime),
                                r.failure.empty() ? "did not run" : printable(r.failure));
    return text;
}

nlohmann::ordered_json optional_number(std::optional<double> value) {
    return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json(nullptr);
}

nlohmann::ordered_json json_of(program_report const& program) {
    using json = nlohmann::ordered_json;
    json listed = json::array();
    for (problem const& p : program.facts.listed)
        listed.push_back({{"path", p.path}, {"reason", p.reason}});
    json rows = json::array();
    for (row const& r : program.rows) {
        json one;
        one["runtime"] = r.runtime;
        one["seconds"] = r.good() ? json(r.median()) : json(nullptr);
        one["all_seconds"] = r.seconds;
        one["speed_up"] = optional_number(program.speed_up(r));
        one["ratio_to_pilfer"] = optional_number(program.ratio_to_pilfer(r));
        one["peak_bytes"] = r.peak_bytes;
        one["failure"] = r.good() ? json(nullptr) : json(r.failure);
        rows.push_back(std::move(one));
    }
    json whole;
    whole["name"] = program.name;
    whole["input"] = program.input;
    whole["items"] = program.facts.items;
    whole["bytes"] = program.facts.bytes;
    whole["stack_size"] = program.stack_size;
    whole["note"] = program.note;
    whole["result"] = program.result;
    whole["unreadable"] = {{"count", program.facts.problems}, {"listed", std::move(listed)}};
    whole["rows"] = std::move(rows);
    return whole;
}

std::optional<double> speed_up(kernel_report const& kernel, row const& of) { return kernel.speed_up(of); }

nlohmann::ordered_json json_of(kernel_report const& kernel,
                               std::optional<double> (*figure)(kernel_report const&, row const&),
                               char const* name) {
    using json = nlohmann::ordered_json;
    json rows = json::array();
    for (row const& r : kernel.rows)
        rows.push_back({{"runtime", r.runtime},
                        {"workers", r.workers},
                        {"seconds", r.good() ? json(r.median()) : json(nullptr)},
                        {"all_seconds", r.seconds},
                        {name, optional_number(figure(kernel, r))},
                        {"failure", r.good() ? json(nullptr) : json(r.failure)}});
    return {{"kernel", kernel.name}, {"answer", kernel.answer}, {"rows", std::move(rows)}};
}

// One line of the terminal's tables: the subject, its runtime, and the columns after them.
std::string table_line(std::string const& what, std::string_view runtime, std::string_view columns) {
    return fmt::format("{:<10} {:<16}{}\n", what, runtime, columns);
}

std::string table_of_programs(std::vector<program_report> const& programs) {
    constexpr auto columns = " {:>9} {:>9} {:>10} {:>12}";
    if (programs.empty())
        return {};
    std::string text = table_line("program", "runtime",
                                  fmt::format(columns, "time", "speed-up", "vs pilfer", "peak memory"));
    for (program_report const& program : programs) {
        std::string name = program.name;
        for (row const& r : program.rows) {
            text += table_line(name, shown_runtime(r.runtime),
                               fmt::format(columns, r.good() ? shown_seconds(r.median()) : "FAILED",
                                           cell(program.speed_up(r)), cell(program.ratio_to_pilfer(r)),
                                           r.peak_bytes > 0 ? shown_bytes(r.peak_bytes) : "-"));
            name.clear();
        }
    }
    return text + '\n';
}

std::string table_of_forks(kernel_report const& fib) {
    if (fib.rows.empty())
        return {};
    std::string text = table_line("fork", "runtime", fmt::format(" {:>9} {:>9}", "time", "vs call"));
    std::string name = "fib";
    for (row const& r : fib.rows) {
        auto const time = nanoseconds_per_fork(fib, r);
        text += table_line(name, shown_way_to_fork(r.runtime),
                           fmt::format(" {:>9} {:>9}", time ? fmt::format("{:.2f} ns", *time) : "FAILED",
                                       cell(slow_down(fib, r))));
        name.clear();
    }
    return text + '\n';
}

std::string table_of_speed_ups(std::vector<kernel_report> const& kernels) {
    std::string text;
    for (kernel_report const& kernel : kernels) {
        std::string columns;
        for (row const& r : kernel.rows)
            if (text.empty() && r.runtime == "pilfer_join")
                columns += fmt::format(" {:>6}", r.workers);
        if (text.empty() && !columns.empty())
            text = table_line("speed-up", "workers", columns);
        std::string name = kernel.name;
        columns.clear();
        for (std::size_t i = 0; i < kernel.rows.size(); ++i) {
            row const& r = kernel.rows[i];
            if (r.runtime == "serial")
                continue;
            columns += fmt::format(" {:>6}", r.good() ? cell(kernel.speed_up(r)) : "FAILED");
            if (i + 1 < kernel.rows.size() && kernel.rows[i + 1].runtime == r.runtime)
                continue;
            text += table_line(std::exchange(name, {}), shown_runtime(r.runtime), std::exchange(columns, {}));
        }
    }
    return text.empty() ? text : text + '\n';
}

std::string line_of_timeline(timeline const& run) {
    if (run.empty())
        return {};
    double working = 0;
    for (std::size_t worker = 0; worker < run.workers.size(); ++worker)
        working += run.share(worker, activity::own) + run.share(worker, activity::stolen);
    return fmt::format("timeline: {} in {}; the workers worked {:.0f} % of the time; {} thefts\n", run.input,
                       shown_seconds(run.seconds), 100 * working / static_cast<double>(run.workers.size()),
                       grouped(run.thefts));
}

std::string failures(kernel_report const& kernel) {
    std::string text;
    for (row const& r : kernel.rows)
        if (!r.good())
            text += fmt::format("  FAILED: {} with {}, {} workers: {}\n", kernel.name,
                                shown_runtime(r.runtime), r.workers, printable(r.failure));
    return text;
}

} // namespace

double row::median() const {
    std::vector<double> sorted = seconds;
    std::sort(sorted.begin(), sorted.end());
    std::size_t const half = sorted.size() / 2;
    return sorted.size() % 2 == 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
}

row const* program_report::row_of(std::string const& runtime) const {
    auto const found =
        std::find_if(rows.begin(), rows.end(), [&](row const& r) { return r.runtime == runtime; });
    return found == rows.end() || !found->good() ? nullptr : &*found;
}

std::optional<double> program_report::speed_up(row const& of) const {
    row const* const serial = row_of("serial");
    if (serial == nullptr || !of.good())
        return std::nullopt;
    return serial->median() / of.median();
}

std::optional<double> program_report::ratio_to_pilfer(row const& of) const {
    row const* const pilfer = row_of("pilfer");
    if (pilfer == nullptr || !of.good())
        return std::nullopt;
    return of.median() / pilfer->median();
}

row const* kernel_report::row_of(std::string const& runtime, unsigned workers) const {
    auto const found = std::find_if(
        rows.begin(), rows.end(), [&](row const& r) { return r.runtime == runtime && r.workers == workers; });
    return found == rows.end() || !found->good() ? nullptr : &*found;
}

std::optional<double> kernel_report::speed_up(row const& of) const {
    row const* const serial = row_of("serial", 1);
    if (serial == nullptr || !of.good())
        return std::nullopt;
    return serial->median() / of.median();
}

std::optional<double> slow_down(kernel_report const& kernel, row const& of) {
    std::optional<double> const faster = kernel.speed_up(of);
    return faster ? std::optional(1 / *faster) : std::nullopt;
}

std::optional<double> nanoseconds_per_fork(kernel_report const& fib, row const& of) {
    // A call forks unless it is a leaf, so fib(n) has fib(n + 1) - 1 forks; the answer determines n.
    std::uint64_t const answer = std::strtoull(fib.answer.c_str(), nullptr, 10);
    std::uint64_t last = 1;
    std::uint64_t next = 2; // fib(2), fib(3)
    while (last < answer)
        last = std::exchange(next, last + next);
    if (last != answer || !of.good())
        return std::nullopt;
    return of.median() * 1e9 / static_cast<double>(next - 1);
}

bool report::good() const {
    auto const all_good = [](std::vector<row> const& rows) {
        return std::all_of(rows.begin(), rows.end(), [](row const& r) { return r.good(); });
    };
    if (!all_good(forks.rows) || !run.failure.empty())
        return false;
    for (kernel_report const& kernel : speed_ups)
        if (!all_good(kernel.rows))
            return false;
    return std::all_of(programs.begin(), programs.end(),
                       [&](program_report const& p) { return all_good(p.rows); });
}

std::string as_table(report const& all) {
    std::string text = fmt::format("{}, {} cores, {} workers, {}\n\n", all.where.processor, all.where.cores,
                                   all.chosen.workers, all.where.compiler);
    text += table_of_programs(all.programs) + table_of_forks(all.forks) + table_of_speed_ups(all.speed_ups);
    for (program_report const& program : all.programs)
        text += explanation(program);
    text += line_of_timeline(all.run) + failures(all.forks);
    for (kernel_report const& kernel : all.speed_ups)
        text += failures(kernel);
    if (!all.run.failure.empty())
        text += fmt::format("  FAILED: timeline: {}\n", printable(all.run.failure));
    for (std::string const& note : all.notes)
        text += note + '\n';
    text += all.good() ? "All results are equal.\n" : "NOT all results are equal and good.\n";
    return text;
}

std::string as_json(report const& all) {
    using json = nlohmann::ordered_json;
    json whole;
    whole["machine"] = {{"processor", all.where.processor},
                        {"cores", all.where.cores},
                        {"memory_bytes", all.where.memory_bytes},
                        {"system", all.where.system},
                        {"compiler", all.where.compiler}};
    whole["date"] = all.where.date;
    whole["folder"] = all.chosen.folder;
    whole["workers"] = all.chosen.workers;
    whole["repeat"] = all.chosen.repeat;
    whole["quick"] = all.chosen.quick;
    whole["good"] = all.good();
    whole["forks"] = json_of(all.forks, &nanoseconds_per_fork, "nanoseconds_per_fork");
    whole["speed_ups"] = json::array();
    for (kernel_report const& kernel : all.speed_ups)
        whole["speed_ups"].push_back(json_of(kernel, &speed_up, "speed_up"));
    whole["timeline"] = {
        {"input", all.run.input},   {"seconds", all.run.seconds}, {"workers", all.run.workers.size()},
        {"thefts", all.run.thefts}, {"sleeps", all.run.sleeps},   {"failure", all.run.failure}};
    whole["notes"] = all.notes;
    whole["programs"] = json::array();
    for (program_report const& program : all.programs)
        whole["programs"].push_back(json_of(program));
    return whole.dump(2, ' ', false, json::error_handler_t::replace) + '\n';
}

} // namespace showcase
