#include "graph.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cstdint>
#include <fstream>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

namespace study {
namespace {

constexpr std::uint64_t most_tasks = std::uint64_t{1} << 31;
constexpr std::uint64_t most_ns = 1'000'000'000'000; // a strand of a quarter of an hour

/// All lines in one row of steps; a task begins at its line.
class graph final : public workload {
public:
    graph(std::vector<step> steps, std::vector<std::uint64_t> begins, moment work)
        : m_steps(std::move(steps)), m_begins(std::move(begins)), m_work(work) {}

    step next(std::uint64_t task, std::uint64_t& place) const override {
        return m_steps[m_begins[task] + place++];
    }
    void begin(unsigned, const std::function<void(unsigned, std::uint64_t)>& put) const override {
        put(0, 0);
    }
    [[nodiscard]] std::uint64_t awaitable() const override { return m_begins.size(); }
    [[nodiscard]] moment work() const override { return m_work; }

private:
    std::vector<step> m_steps;
    std::vector<std::uint64_t> m_begins;
    moment m_work;
};

class reader {
public:
    reader(std::istream& in, const std::string& name) : m_in(in), m_name(name) {}

    [[nodiscard]] std::unique_ptr<workload> read() {
        if (!next_line() || m_line != "pilfer-graph 1") {
            fail("the first line must be 'pilfer-graph 1'");
        }
        while (next_line()) {
            if (m_line.empty() || m_line[0] == '#') {
                continue;
            }
            std::string_view rest = m_line;
            const std::string_view first = word(rest);
            if (first == "end") {
                return finish(number(word(rest), most_tasks));
            }
            task(number(first, most_tasks - 1), rest);
        }
        fail("the file ends without 'end N': it is not complete");
    }

private:
    struct seen {
        std::uint64_t begin = UINT64_MAX; // The line of its begin; UINT64_MAX: none yet.
        std::uint64_t line = 0;           // The line of its first mention.
        bool forked = false;
    };

    [[noreturn]] void fail(const std::string& why) const { fail(m_number, why); }
    [[noreturn]] void fail(std::uint64_t line, const std::string& why) const {
        throw std::runtime_error(fmt::format("{}:{}: {}", m_name, line, why));
    }
    bool next_line() {
        ++m_number;
        if (!std::getline(m_in, m_line)) {
            return false;
        }
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
            fail(fmt::format("'{}' is no number from 0 to {}", text, most));
        }
        return n;
    }
    /// Of task `t`, which the line before us mentions.
    [[nodiscard]] seen& of(std::uint64_t t) {
        // Numbers are dense and each takes some bytes of the file, but a broken one may name any.
        if (t >= m_seen.size()) {
            if (t > m_seen.size() + 10'000'000) {
                fail(fmt::format("task {} is far beyond the others", t));
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
        while (!rest.empty()) {
            const std::string_view w = word(rest);
            if (w.empty()) {
                fail("two blanks in a row");
            }
            const char sign = w[0];
            if (sign == '+' || sign == '>') {
                const std::uint64_t child = number(w.substr(1), most_tasks - 1);
                if (child == 0 || std::exchange(of(child).forked, true)) {
                    fail(child == 0 ? "task 0 is the root and cannot be forked"
                                    : fmt::format("task {} is forked twice", child));
                }
                m_steps.push_back({sign == '+' ? step::kind::fork : step::kind::spawn, child});
            } else if (sign == '-') {
                const std::uint64_t child = number(w.substr(1), most_tasks - 1);
                (void)of(child);
                m_steps.push_back({step::kind::await, child});
            } else {
                const moment time = number(w, most_ns) * 1000;
                m_work += time;
                m_steps.push_back({step::kind::compute, time});
            }
        }
        m_steps.push_back({step::kind::end});
    }
    [[nodiscard]] std::unique_ptr<workload> finish(std::uint64_t tasks) {
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
        return std::make_unique<graph>(std::move(m_steps), std::move(begins), m_work);
    }

    std::istream& m_in;
    const std::string& m_name;
    std::string m_line;
    std::uint64_t m_number = 0;
    std::vector<seen> m_seen;
    std::vector<step> m_steps;
    moment m_work = 0;
};

} // namespace

std::unique_ptr<workload> read_graph(std::istream& in, const std::string& name) {
    return reader(in, name).read();
}

std::unique_ptr<workload> read_graph(const std::string& file) {
    std::ifstream in(file);
    if (!in) {
        throw std::runtime_error(file + ": cannot be read");
    }
    return read_graph(in, file);
}

} // namespace study
