#include "graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <fstream>
#include <ios>
#include <map>
#include <stdexcept>
#include <streambuf>
#include <string_view>
#include <utility>
#include <vector>

#include "table.hpp"

namespace study {
namespace {

constexpr std::uint64_t most_tasks = std::uint64_t{1} << 31;
constexpr std::uint64_t most_functions = 1'000'000;
constexpr std::uint64_t most_places = std::uint64_t{1} << 24;
// All tasks together: a hundred days. More picoseconds than a moment holds are less than twice as many.
constexpr std::uint64_t most_ns = 10'000'000'000'000'000;

class graph final : public recorded_graph {
public:
    explicit graph(graph_parts&& p)
        : recorded_graph(std::move(p)), m_steps(std::move(p.steps)), m_begins(std::move(p.begins)),
          m_line_of(std::move(p.line_of)) {
        for (const step& s : m_steps) {
            m_work += s.what == step::kind::compute ? s.value : 0;
        }
    }

    step next(std::uint64_t task, std::uint64_t& place) const override {
        return m_steps[m_begins[task] + place++];
    }
    void begin(unsigned, const std::function<void(unsigned, std::uint64_t)>& put) const override {
        put(0, 0);
    }
    [[nodiscard]] std::uint64_t awaitable() const override { return m_begins.size(); }
    [[nodiscard]] moment work() const override { return m_work; }
    [[nodiscard]] unsigned line_at(std::uint64_t task, std::uint64_t place) const override {
        return m_line_of.empty() ? 0 : m_line_of[m_begins[task] + place];
    }

private:
    std::vector<step> m_steps;
    std::vector<std::uint64_t> m_begins;
    std::vector<unsigned> m_line_of;
    moment m_work = 0;
};

/// The user's function in the name of one of the library's templates, as in
/// `pilfer::detail::task_of<fib(long)::{lambda()#1}>::run(...)`: the first function that is not the library's
/// and has a closure, else the name as it is. clang++ names closures `$_0`.
[[nodiscard]] std::string short_name(std::string_view whole) {
    constexpr std::size_t most_examined = 8192; // the time grows with the square
    const std::string_view name = whole.substr(0, most_examined);
    for (const std::string_view closure : {"::{lambda(", "::'lambda", "::$_"}) {
        for (std::size_t at = name.find(closure); at != std::string_view::npos;
             at = name.find(closure, at + 1)) {
            // Backwards to the bracket or comma that begins this template argument.
            std::size_t from = at;
            for (int depth = 0; from > 0; --from) {
                const char c = name[from - 1];
                depth += c == '>' || c == ')' ? 1 : c == '<' || c == '(' ? -1 : 0;
                if (depth < 0 || (depth == 0 && c == ',')) {
                    break;
                }
            }
            std::string_view own = name.substr(from);
            while (own.starts_with(' ')) {
                own.remove_prefix(1);
            }
            if (own.starts_with("pilfer::")) {
                continue;
            }
            // Forwards to the end of the argument.
            std::size_t to = 0;
            for (int depth = 0; to < own.size(); ++to) {
                const char c = own[to];
                if (depth == 0 && (c == '>' || c == ',')) {
                    break;
                }
                depth += c == '<' || c == '(' || c == '{' ? 1 : c == '>' || c == ')' || c == '}' ? -1 : 0;
            }
            own = own.substr(0, to);
            while (own.ends_with('&') || own.ends_with(' ')) {
                own.remove_suffix(1);
            }
            return std::string(own);
        }
    }
    return std::string(whole);
}

/// The bytes that a stream still has; -1: it is a pipe.
[[nodiscard]] std::streamoff size_of(std::istream& in) {
    std::streambuf& all = *in.rdbuf();
    const std::streamoff here = all.pubseekoff(0, std::ios::cur, std::ios::in);
    if (here < 0) {
        return -1;
    }
    const std::streamoff end = all.pubseekoff(0, std::ios::end, std::ios::in);
    (void)all.pubseekpos(here, std::ios::in);
    return end < here ? -1 : end - here;
}

class reader {
public:
    reader(std::istream& in, const std::string& name) : m_in(in), m_name(name), m_size(size_of(in)) {}

    [[nodiscard]] std::unique_ptr<recorded_graph> read() {
        constexpr std::string_view head = "pilfer-graph ";
        if (!next_line() || !m_line.starts_with(head)) {
            fail("the first line must be 'pilfer-graph 3', 2 or 1");
        }
        m_version = number(std::string_view(m_line).substr(head.size()), UINT32_MAX);
        if (m_version < 1 || m_version > 3) {
            fail(fmt::format("version {} of the format is not known: this command reads 1, 2 and 3",
                             m_version));
        }
        while (next_line()) {
            if (m_line.empty() || m_line[0] == '#') {
                continue;
            }
            std::string_view rest = m_line;
            const std::string_view first = word(rest);
            if (first == "end") {
                auto all = finish(number(word(rest), most_tasks));
                if (!rest.empty()) {
                    fail("'end N' has more words");
                }
                while (next_line()) {
                    if (!m_line.empty() && m_line[0] != '#') {
                        fail("'end N' is not the last line");
                    }
                }
                return all;
            }
            if (first == "function") {
                const std::uint64_t n = number(word(rest), most_functions);
                if (n == 0 || !m_names.try_emplace(n, one_line(short_name(rest))).second) {
                    fail(n == 0 ? "functions are counted from 1"
                                : fmt::format("a second name for function {}", n));
                }
                continue;
            }
            if (first == "line" && m_version >= 2) {
                const std::uint64_t place = number(word(rest), most_places);
                const auto line = static_cast<unsigned>(number(word(rest), UINT32_MAX));
                source_line l = line == 0 ? source_line{"", 0, one_line(short_name(rest))}
                                          : source_line{one_line(std::string(rest)), line, ""};
                if (line != 0 && rest.empty()) {
                    fail("a line of the source needs a file");
                }
                if (place == 0 || !m_places.try_emplace(place, std::move(l)).second) {
                    fail(place == 0 ? "places are counted from 1"
                                    : fmt::format("a second line for place {}", place));
                }
                continue;
            }
            if (first == "lock" && m_version >= 3) {
                lock(rest);
                continue;
            }
            task(number(first, most_tasks - 1), rest);
        }
        fail("the file ends without 'end N': it is not complete");
    }

private:
    /// The place of the steps before the first fork or wait of a task.
    static constexpr std::uint32_t place_of_fork = UINT32_MAX;
    struct seen {
        std::uint64_t begin = UINT64_MAX; // The line of its begin; UINT64_MAX: none yet.
        std::uint64_t line = 0;           // The line of its first mention.
        std::uint64_t function = 0;
        std::uint64_t place = 0; // of its fork
        bool forked = false;
    };

    [[noreturn]] void fail(const std::string& why) const { fail(m_number, why); }
    [[noreturn]] void fail(std::uint64_t line, const std::string& why) const {
        throw std::runtime_error(fmt::format("{}:{}: {}", m_name, line, one_line(why)));
    }
    bool next_line() {
        ++m_number;
        if (!std::getline(m_in, m_line)) {
            return false;
        }
        m_read += m_line.size() + 1;
        if (!m_line.empty() && m_line.back() == '\r') {
            m_line.pop_back();
        }
        return true;
    }
    [[nodiscard]] static std::string_view word(std::string_view& rest) {
        const auto blank = rest.find(' ');
        const std::string_view first = rest.substr(0, blank);
        rest.remove_prefix(blank == std::string_view::npos ? rest.size() : blank + 1);
        return first;
    }
    [[nodiscard]] std::uint64_t number(std::string_view text, std::uint64_t most) const {
        std::uint64_t n = 0;
        const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), n);
        if (text.empty() || error != std::errc{} || stop != text.data() + text.size() || n > most) {
            fail(fmt::format("'{}' is no number from 0 to {}", text.substr(0, 40), most));
        }
        return n;
    }
    /// The greatest number that a task can have: each needs a fork (" +1") and a line ("1\n").
    [[nodiscard]] std::uint64_t most_mentioned() const noexcept {
        constexpr std::uint64_t bytes_of_task = 5;
        constexpr std::uint64_t ahead_in_pipe = 10'000'000;
        return m_size >= 0 ? static_cast<std::uint64_t>(m_size) / bytes_of_task : m_read + ahead_in_pipe;
    }
    /// Of task `t`, which the line before us mentions.
    [[nodiscard]] seen& of(std::uint64_t t) {
        // Numbers are dense, but a broken file may name any.
        if (t >= m_seen.size()) {
            if (t > most_mentioned()) {
                fail(fmt::format("task {} is more than a file of this size can have", t));
            }
            m_seen.resize(t + 1);
        }
        if (m_seen[t].line == 0) {
            m_seen[t].line = m_number;
        }
        return m_seen[t];
    }
    void task(std::uint64_t t, std::string_view rest) {
        if (of(t).begin != UINT64_MAX) {
            fail(fmt::format("a second line for task {}", t));
        }
        of(t).begin = m_steps.size();
        std::uint64_t place = place_of_fork;
        const auto put = [&](const step& s) {
            m_steps.push_back(s);
            if (m_version >= 2) {
                m_place_of.push_back(static_cast<std::uint32_t>(place));
            }
        };
        while (!rest.empty()) {
            const std::string_view w = word(rest);
            if (w.empty()) {
                fail("two blanks in a row");
            }
            const char sign = w[0];
            if (sign == '@') {
                if (m_steps.size() != m_seen[t].begin) {
                    fail("a function must be the first word of its task");
                }
                m_seen[t].function = number(w.substr(1), most_functions);
            } else if ((sign == '(' || sign == ')') && m_version >= 3) {
                put(lock_step(t, sign == '(', number(w.substr(1), most_places)));
            } else if (sign == ':' && m_version >= 2) {
                place = number(w.substr(1), most_places);
            } else if (sign == '+' || sign == '>') {
                const std::uint64_t child = number(w.substr(1), most_tasks - 1);
                if (child == 0 || std::exchange(of(child).forked, true)) {
                    fail(child == 0 ? "task 0 is the root and cannot be forked"
                                    : fmt::format("task {} is forked twice", child));
                }
                of(child).place = place == place_of_fork ? 0 : place;
                put({sign == '+' ? step::kind::fork : step::kind::spawn, child});
            } else if (sign == '-') {
                const std::uint64_t child = number(w.substr(1), most_tasks - 1);
                (void)of(child);
                put({step::kind::await, child});
            } else {
                const moment time = number(w, most_ns) * 1000;
                if (time > most_ns * 1000 - m_work) {
                    fail(fmt::format("all tasks together compute for more than {} ns", most_ns));
                }
                m_work += time;
                put({step::kind::compute, time});
            }
        }
        if (!m_held.empty()) {
            fail(fmt::format("task {} ends with lock {}", t, m_held.back()));
        }
        put({step::kind::end});
    }
    /// `lock L P`
    void lock(std::string_view rest) {
        const std::uint64_t lock = number(word(rest), most_places);
        const std::uint64_t place = number(rest, most_places);
        if (lock == 0 || !m_lock_places.try_emplace(lock, place).second) {
            fail(lock == 0 ? "locks are counted from 1" : fmt::format("a second place for lock {}", lock));
        }
    }
    /// Locks are in the order of their first mention, so that a few large numbers take little memory.
    [[nodiscard]] step lock_step(std::uint64_t t, bool takes, std::uint64_t lock) {
        const auto at = std::find(m_held.begin(), m_held.end(), lock);
        if (takes == (at != m_held.end())) {
            fail(fmt::format("task {} {} lock {}", t, takes ? "locks twice" : "unlocks, but does not have,",
                             lock));
        }
        if (takes) {
            m_held.push_back(lock);
        } else {
            m_held.erase(at);
        }
        const std::uint64_t own = m_locks.try_emplace(lock, m_locks.size() + 1).first->second;
        return {takes ? step::kind::lock : step::kind::unlock, own};
    }
    [[nodiscard]] std::unique_ptr<recorded_graph> finish(std::uint64_t tasks) {
        if (tasks != m_seen.size()) {
            fail(fmt::format("'end {}', but the tasks above are {}", tasks, m_seen.size()));
        }
        std::vector<std::uint64_t> begins;
        for (std::uint64_t t = 0; t < tasks; ++t) {
            if (m_seen[t].begin == UINT64_MAX) {
                fail(m_seen[t].line == 0 ? m_number : m_seen[t].line, fmt::format("task {} has no line", t));
            }
            if (t != 0 && !m_seen[t].forked) {
                fail(m_seen[t].line, fmt::format("no task forks task {}", t));
            }
            begins.push_back(m_seen[t].begin);
        }
        if (tasks == 0) {
            fail("there is no task");
        }
        // Functions with one name are one part: a template has several of them.
        std::vector<std::string> parts = {"(function not known)"};
        std::map<std::string, unsigned> part_of_name;
        std::map<std::uint64_t, unsigned> part_of_function = {{0, 0}};
        std::vector<unsigned> part_of;
        for (const seen& s : m_seen) {
            auto [at, is_new] = part_of_function.try_emplace(s.function, 0);
            if (is_new) {
                const auto name = m_names.find(s.function);
                if (name == m_names.end()) {
                    fail(s.line, fmt::format("function {} has no name", s.function));
                }
                const auto [part, first] =
                    part_of_name.try_emplace(name->second, static_cast<unsigned>(parts.size()));
                if (first) {
                    parts.push_back(name->second);
                }
                at->second = part->second;
            }
            part_of.push_back(at->second);
        }
        std::map<std::uint64_t, unsigned> line_of_place = {{0, 0}};
        graph_parts all{{}, {}, std::move(parts), std::move(part_of), {{}}, {}, {}};
        all.line_of = lines_of_steps(begins, all.lines, line_of_place);
        all.lock_lines.resize(m_locks.size() + 1);
        for (const auto& [lock, own] : m_locks) {
            const auto place = m_lock_places.find(lock);
            all.lock_lines[own] = place == m_lock_places.end() ? 0 : line(line_of_place, place->second);
        }
        all.steps = std::move(m_steps);
        all.begins = std::move(begins);
        return make_graph(std::move(all));
    }
    /// Several places may be on one line, and a task begins at the place of its fork.
    [[nodiscard]] std::vector<unsigned>
    lines_of_steps(const std::vector<std::uint64_t>& begins, std::vector<source_line>& lines,
                   std::map<std::uint64_t, unsigned>& line_of_place) const {
        if (m_version < 2) {
            return {};
        }
        std::map<source_line, unsigned> numbers = {{{}, 0}};
        for (const auto& [place, line] : m_places) {
            const auto [at, is_new] = numbers.try_emplace(line, static_cast<unsigned>(lines.size()));
            if (is_new) {
                lines.push_back(line);
            }
            line_of_place.emplace(place, at->second);
        }
        std::vector<unsigned> all;
        all.reserve(m_place_of.size());
        for (const std::uint32_t place : m_place_of) {
            all.push_back(place == place_of_fork ? 0 : line(line_of_place, place));
        }
        for (std::uint64_t t = 0; t < begins.size(); ++t) {
            const unsigned forked_at = line(line_of_place, m_seen[t].place);
            for (std::uint64_t i = begins[t]; m_place_of[i] == place_of_fork; ++i) {
                all[i] = forked_at;
                if (m_steps[i].what == step::kind::end) {
                    break;
                }
            }
        }
        return all;
    }
    [[nodiscard]] unsigned line(const std::map<std::uint64_t, unsigned>& lines, std::uint64_t place) const {
        const auto at = lines.find(place);
        if (at == lines.end()) {
            fail(fmt::format("place {} has no line", place));
        }
        return at->second;
    }

    std::istream& m_in;
    const std::string& m_name;
    std::streamoff m_size; // in bytes, from where the stream was; -1: a pipe, whose end is not known
    std::uint64_t m_read = 0;
    std::string m_line;
    std::uint64_t m_number = 0;
    std::vector<seen> m_seen;
    std::map<std::uint64_t, std::string> m_names;
    std::vector<step> m_steps;
    std::uint64_t m_version = 1;
    std::map<std::uint64_t, source_line> m_places;
    std::vector<std::uint32_t> m_place_of; // of each step
    moment m_work = 0;
    std::vector<std::uint64_t> m_held;                    // by the present task
    std::map<std::uint64_t, std::uint64_t> m_locks;       // own numbers, from 1
    std::map<std::uint64_t, std::uint64_t> m_lock_places; // where each was locked first
};

} // namespace

std::unique_ptr<recorded_graph> make_graph(graph_parts p) { return std::make_unique<graph>(std::move(p)); }

bool recorded_graph::has_lines() const noexcept {
    return std::any_of(m_lines.begin(), m_lines.end(), [](const source_line& l) { return !l.file.empty(); });
}

std::unique_ptr<recorded_graph> read_graph(std::istream& in, const std::string& name) {
    return reader(in, name).read();
}

std::unique_ptr<recorded_graph> read_graph(const std::string& file) {
    std::ifstream in(file);
    if (!in) {
        throw std::runtime_error(file + ": cannot be read");
    }
    return read_graph(in, file);
}

} // namespace study
