// What a recording says at its end: the rest of its graph, and tables by line.
#include <algorithm>
#include <mutex>
#include <ostream>
#include <string>
#include <tuple>
#include <utility>

#include "platform/symbols.hpp"
#include "profile/recorder_inside.hpp"

namespace pilfer {
inline namespace v0 {
namespace profile {

/// The functions have names only while the program is loaded.
void recorder::write_functions() {
    os::symbols names;
    for (const auto& [runs, number] : m_functions) {
        write_function(*m_graph, number, names.name(runs, false));
    }
}

const std::vector<trace::source_place>& recorder::sources() const {
    if (m_sources.empty() && !m_places.empty()) {
        os::source_lines lines;
        m_sources = m_places.known().sources(lines);
    }
    return m_sources;
}

void recorder::write_places() {
    const auto& all = sources();
    for (std::size_t i = 1; i < all.size(); ++i) {
        write_line(*m_graph, i, all[i].line, all[i].file.empty() ? all[i].function : all[i].file);
    }
}

/// Of several places on one line the names are equal.
recorder::line_name recorder::name_of(std::size_t place) const {
    const auto& names = sources();
    if (place >= names.size()) {
        return {};
    }
    const trace::source_place& p = names[place];
    return {p.file, p.line, p.file.empty() ? p.function : ""};
}

namespace {

/// An object of an array in JSON, which `separator` precedes: the line's name, and then numbers.
class row_writer {
public:
    explicit row_writer(std::ostream& out) noexcept : m_out(out) {}
    void begin(const std::tuple<std::string, unsigned, std::string>& name) {
        const auto& [file, line, function] = name;
        m_out << m_separator << "\n    {\"file\": " << trace::quoted(file)
              << ", \"line\": " << std::to_string(line) << ", \"function\": " << trace::quoted(function);
        m_separator = ",";
    }
    void add(const char* what, std::uint64_t n) {
        m_out << ", \"" << what << "\": " << std::to_string(n); // no locale
    }
    void add(const char* what, const char* text) { m_out << ", \"" << what << "\": " << trace::quoted(text); }
    void end() { m_out << '}'; }
    void end_array() { m_out << (*m_separator == '[' ? "[]" : "\n  ]"); }

private:
    std::ostream& m_out;
    const char* m_separator = "[";
};

} // namespace

void recorder::write_waits(std::ostream& out) const {
    const std::lock_guard lock(m_section);
    std::map<std::tuple<line_name, std::string, std::string>, wait_figures> rows;
    for (const auto& [at, figures] : m_waits) {
        const auto& [place, why, object] = at;
        rows[{name_of(place), why, object}].add(figures);
    }
    row_writer writer(out);
    for (const auto& [at, figures] : rows) {
        const auto& [line, why, object] = at;
        writer.begin(line);
        writer.add("for", why.c_str());
        if (!object.empty()) {
            writer.add("object_name", object.c_str());
        }
        writer.add("waits", figures.waits);
        writer.add("total_ns", figures.total_ns);
        writer.add("longest_ns", figures.longest_ns);
        writer.end();
    }
    writer.end_array();
}

void recorder::write_lines(std::ostream& out) const {
    const std::lock_guard lock(m_section);
    struct row : place_figures {
        std::uint64_t chain_ns = 0;
        std::uint64_t burden_ns = 0;
    };
    std::map<line_name, row> rows;
    for (std::size_t i = 0; i < m_at.size(); ++i) {
        row& r = rows[name_of(i)];
        r.work_ns += m_at[i].work_ns;
        r.strands += m_at[i].strands;
        r.tasks += m_at[i].tasks;
        r.tasks_ns += m_at[i].tasks_ns;
        r.waits += m_at[i].waits;
        r.waited_ns += m_at[i].waited_ns;
    }
    (m_longest.ns >= m_outside->longest.ns ? m_longest : m_outside->longest)
        .places.each([&](const at_place& e) {
            row& r = rows[name_of(e.place)];
            r.chain_ns += e.ns;
            r.burden_ns += e.burden_ns;
        });
    row_writer writer(out);
    for (const auto& [name, r] : rows) {
        if (r.strands + r.tasks + r.waits == 0) {
            continue;
        }
        writer.begin(name);
        const std::pair<const char*, std::uint64_t> numbers[] = {
            {"work_ns", r.work_ns}, {"chain_ns", r.chain_ns},  {"burden_ns", r.burden_ns},
            {"tasks", r.tasks},     {"tasks_ns", r.tasks_ns},  {"strands", r.strands},
            {"waits", r.waits},     {"waited_ns", r.waited_ns}};
        for (const auto& [what, n] : numbers) {
            writer.add(what, n);
        }
        writer.end();
    }
    writer.end_array();
}

void recorder::finish() noexcept {
    outside([&] {
        m_finished = true;
        if (m_graph != nullptr) {
            write_task(*m_graph, m_outside->number, m_outside->words);
            write_functions();
            write_places();
            write_locks();
            write_end(*m_graph, m_made);
        }
    });
}

} // namespace profile
} // namespace v0
} // namespace pilfer
