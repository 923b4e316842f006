#include "report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

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

bool report::good() const {
    return std::all_of(programs.begin(), programs.end(), [](program_report const& p) {
        return std::all_of(p.rows.begin(), p.rows.end(), [](row const& r) { return r.good(); });
    });
}

std::string as_table(report const& all) {
    constexpr auto line = "{:<10} {:<8} {:>10} {:>9} {:>16} {:>12}\n";
    std::string text = fmt::format("{}, {} cores, {} workers, {}\n\n", all.where.processor, all.where.cores,
                                   all.chosen.workers, all.where.compiler);
    text += fmt::format(line, "program", "runtime", "time", "speed-up", "ratio to pilfer", "peak memory");
    for (program_report const& program : all.programs) {
        std::string name = program.name;
        for (row const& r : program.rows) {
            text += fmt::format(line, name, shown_runtime(r.runtime),
                                r.good() ? shown_seconds(r.median()) : "FAILED", cell(program.speed_up(r)),
                                cell(program.ratio_to_pilfer(r)),
                                r.peak_bytes > 0 ? shown_bytes(r.peak_bytes) : "-");
            name.clear();
        }
    }
    text += '\n';
    for (program_report const& program : all.programs)
        text += explanation(program);
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
    whole["programs"] = json::array();
    for (program_report const& program : all.programs)
        whole["programs"].push_back(json_of(program));
    return whole.dump(2, ' ', false, json::error_handler_t::replace) + '\n';
}

} // namespace showcase
