#include "search/chooser.hpp"

#if defined(PILFER_TEST)

#include <algorithm>
#include <charconv>
#include <stdexcept>

#include "search/recorded.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {
namespace {

[[noreturn]] void malformed(std::string_view text, const char* why) {
    throw std::invalid_argument("pilfer: \"" + std::string(text.substr(0, 64)) +
                                (text.size() > 64 ? "..." : "") + "\" is no schedule: " + why);
}

/// Reads numbers and the characters between them.
class reader {
public:
    explicit reader(std::string_view all) noexcept : m_all(all), m_left(all) {}

    [[nodiscard]] bool at_end() const noexcept { return m_left.empty(); }
    [[nodiscard]] bool is_at(std::string_view what) const noexcept { return m_left.starts_with(what); }
    [[nodiscard]] bool skip(std::string_view what) noexcept {
        if (!is_at(what)) {
            return false;
        }
        m_left.remove_prefix(what.size());
        return true;
    }
    [[nodiscard]] std::uint64_t number(std::uint64_t most = UINT64_MAX) {
        std::uint64_t n = 0;
        const auto end = std::from_chars(m_left.data(), m_left.data() + m_left.size(), n);
        if (end.ec != std::errc() || n > most) {
            malformed(m_all, end.ec == std::errc::invalid_argument ? "a number is missing"
                                                                   : "a number is too large");
        }
        m_left.remove_prefix(static_cast<std::size_t>(end.ptr - m_left.data()));
        return n;
    }
    void expect(std::string_view what, const char* why) {
        if (!skip(what)) {
            malformed(m_all, why);
        }
    }
    /// The end, perhaps after faults and a fingerprint.
    void end(plan& p) {
        if (skip("!")) {
            p.faults.most = number();
            p.faults.memory = skip("m");
            p.faults.io = skip("i");
        }
        if (skip("@")) {
            fingerprint f;
            f.choices = number();
            expect(":", "its fingerprint has no end");
            f.steps = static_cast<std::uint32_t>(number(UINT32_MAX));
            p.found_in = f;
        }
        if (!at_end()) {
            malformed(m_all, "there is something after its end");
        }
    }

private:
    std::string_view m_all;
    std::string_view m_left;
};

constexpr std::uint64_t most_depth = 1'000;
/// pct: priorities of changes are above this one, and those of yields are not.
constexpr std::uint64_t changed = std::uint64_t{1} << 62;

/// The text after a seed.
[[nodiscard]] std::string bound_of(const plan& p) {
    std::string text;
    if (p.preemptions != UINT64_MAX) {
        text += ":";
        text += std::to_string(p.preemptions);
    }
    return text;
}

/// The end of a text.
[[nodiscard]] std::string end_of(const plan& p) {
    std::string text;
    if (p.faults.most != 0) {
        text += "!";
        text += std::to_string(p.faults.most);
        text += p.faults.memory ? "m" : "";
        text += p.faults.io ? "i" : "";
    }
    if (p.found_in) {
        text += "@";
        text += std::to_string(p.found_in->choices);
        text += ":";
        text += std::to_string(p.found_in->steps);
    }
    return text;
}

} // namespace

std::string text_of(const plan& p) {
    const std::string whose = p.of_main ? "main:" : "";
    switch (p.how) {
    case plan::kind::random:
        return whose + "r1:" + std::to_string(p.seed) + bound_of(p) + end_of(p);
    case plan::kind::pct:
        return whose + "c1:" + std::to_string(p.seed) + ":" + std::to_string(p.depth) + ":" +
               std::to_string(p.length) + bound_of(p) + end_of(p);
    case plan::kind::recorded:
        return p.recorded->text;
    case plan::kind::script:
    case plan::kind::prefix:
        break;
    }
    std::string text = whose + "d1:";
    std::uint64_t last = 0;
    for (const deviation& d : p.script) {
        text += d == p.script.front() ? "" : "-";
        text += std::to_string(d.at - last);
        if (d.index != 1) {
            text += ".";
            text += std::to_string(d.index);
        }
        last = d.at;
    }
    return text + end_of(p);
}

plan plan_of(std::string_view text) {
    if (text.starts_with("recorded")) {
        plan p;
        p.how = plan::kind::recorded;
        p.recorded = std::make_shared<const recorded_order>(recorded_order_of(text));
        p.of_main = p.recorded->of_main;
        return p;
    }
    if (text.size() > longest_text) {
        malformed(text, "it has more than 4,096 characters");
    }
    reader r(text);
    plan p;
    p.of_main = r.skip("main:");
    if (r.skip("r1:")) {
        p.how = plan::kind::random;
        p.seed = r.number();
        if (r.skip(":")) {
            p.preemptions = r.number();
        }
        r.end(p);
        return p;
    }
    if (r.skip("c1:")) {
        p.how = plan::kind::pct;
        p.seed = r.number();
        r.expect(":", "its depth is missing");
        p.depth = static_cast<unsigned>(r.number(most_depth));
        r.expect(":", "its length is missing");
        p.length = r.number();
        if (r.skip(":")) {
            p.preemptions = r.number();
        }
        r.end(p);
        return p;
    }
    r.expect("d1:", "it begins with none of d1:, r1: and c1:");
    std::uint64_t at = 0;
    while (!r.at_end() && !r.is_at("!") && !r.is_at("@")) {
        if (!p.script.empty()) {
            r.expect("-", "its numbers are not separated by -");
        }
        const std::uint64_t step = r.number(std::uint64_t{1} << 40);
        if (step == 0 && !p.script.empty()) {
            malformed(text, "it has two choices at one place");
        }
        at += step;
        deviation d{at, 1};
        if (r.skip(".")) {
            d.index = static_cast<std::uint32_t>(r.number(UINT32_MAX));
            if (d.index == 0) {
                malformed(text, "a choice is 0");
            }
        }
        p.script.push_back(d);
    }
    r.end(p);
    return p;
}

// ---- choices ----------------------------------------------------------------------------------

void chooser::begin(const plan& p) {
    m_plan = p;
    m_taken.clear();
    m_state = mixed(p.seed);
    // Early faults in some schedules, late ones in others. A program allocates more often than it fails.
    m_odds = std::uint64_t{2} << (m_state % (p.faults.memory || p.faults.io ? 10 : 5));
    m_preempted = 0;
    m_next = 0;
    m_lowered.clear();
    m_yielded = 0;
    m_changes.clear();
    if (p.how == plan::kind::pct) {
        for (unsigned i = 1; i < p.depth; ++i) {
            m_changes.push_back({draw() % std::max<std::uint64_t>(p.length, 1), changed + i});
        }
        std::sort(m_changes.begin(), m_changes.end(), [](const change& a, const change& b) {
            return a.at != b.at ? a.at > b.at : a.priority > b.priority;
        });
    }
}

std::uint32_t chooser::choose(std::span<const std::uint32_t> tasks, bool runs) {
    if (tasks.size() == 1) {
        return 0;
    }
    if (runs && m_preempted >= m_plan.preemptions) {
        m_taken.push_back({0, 1}); // counted, so that a script has the same numbers without the bound
        return 0;
    }
    const std::uint32_t index = decide(tasks);
    m_taken.push_back({index, static_cast<std::uint32_t>(tasks.size())});
    m_preempted += runs && index != 0 ? 1 : 0;
    return index;
}

std::uint32_t chooser::decide(std::span<const std::uint32_t> tasks) {
    const std::uint64_t now = m_taken.size();
    switch (m_plan.how) {
    case plan::kind::random:
        return static_cast<std::uint32_t>((draw() >> 32) % tasks.size());
    case plan::kind::prefix:
    case plan::kind::script:
    case plan::kind::recorded:
        return planned(tasks.size());
    case plan::kind::pct:
        break;
    }
    for (; !m_changes.empty() && m_changes.back().at <= now; m_changes.pop_back()) {
        lower(tasks[highest(tasks)], m_changes.back().priority);
    }
    return highest(tasks);
}

bool chooser::is_by_chance() const noexcept {
    return m_plan.how == plan::kind::random || m_plan.how == plan::kind::pct;
}

bool chooser::fault() {
    if (!is_by_chance()) {
        m_taken.push_back({planned(2), 2});
    } else if ((draw() >> 32) % m_odds == 0) {
        m_taken.push_back({1, 2, static_cast<double>(m_odds)});
    } else {
        m_taken.push_back({0, 2, static_cast<double>(m_odds) / static_cast<double>(m_odds - 1)});
    }
    return m_taken.back().index != 0;
}

/// The choice of a script or a prefix.
std::uint32_t chooser::planned(std::size_t among) {
    const std::size_t now = m_taken.size();
    std::uint32_t index = 0;
    if (m_plan.how == plan::kind::prefix) {
        index = now < m_plan.prefix.size() ? m_plan.prefix[now] : 0;
    } else if (m_next < m_plan.script.size() && m_plan.script[m_next].at == now) {
        index = m_plan.script[m_next++].index;
    }
    return index < among ? index : 0; // misfit() sees it
}

std::string misfit(const plan& p, const std::vector<choice>& taken) {
    const auto number = [](std::uint64_t n) { return std::to_string(n); };
    const auto impossible = [&](std::uint64_t at, std::uint32_t index) -> std::string {
        if (at < taken.size() && index < taken[at].among) {
            return {};
        }
        return at >= taken.size()
                   ? "it has a choice " + number(at) + ", and there were only " + number(taken.size()) +
                         " choices"
                   : "its choice " + number(at) + " is candidate " + number(index) +
                         ", and there were only the candidates 0 to " + number(taken[at].among - 1);
    };
    std::string why;
    if (p.how == plan::kind::script) {
        for (std::size_t i = 0; i < p.script.size() && why.empty(); ++i) {
            why = impossible(p.script[i].at, p.script[i].index);
        }
    } else if (p.how == plan::kind::prefix) {
        for (std::size_t i = 0; i < p.prefix.size() && why.empty(); ++i) {
            why = impossible(i, p.prefix[i]);
        }
    }
    return why;
}

std::uint32_t chooser::highest(std::span<const std::uint32_t> tasks) const noexcept {
    std::size_t best = 0;
    for (std::size_t i = 1; i < tasks.size(); ++i) {
        if (priority_of(tasks[i]) > priority_of(tasks[best])) {
            best = i;
        }
    }
    return static_cast<std::uint32_t>(best);
}

/// Those that a task begins with are above all that are lowered.
std::uint64_t chooser::priority_of(std::uint32_t task) const noexcept {
    if (task < m_lowered.size() && m_lowered[task] != 0) {
        return m_lowered[task];
    }
    return mixed(m_plan.seed + mixed(task)) | std::uint64_t{1} << 63;
}

void chooser::lower(std::uint32_t task, std::uint64_t priority) {
    if (task >= m_lowered.size()) {
        m_lowered.resize(task + std::size_t{16}, 0);
    }
    m_lowered[task] = priority;
}

void chooser::yields(std::uint32_t task) {
    if (m_plan.how == plan::kind::pct) {
        lower(task, changed - m_yielded++);
    }
}

std::vector<deviation> deviations(const std::vector<choice>& taken) {
    std::vector<deviation> all;
    for (std::size_t i = 0; i < taken.size(); ++i) {
        if (taken[i].index != 0) {
            all.push_back({i, taken[i].index});
        }
    }
    return all;
}

// ---- all schedules ----------------------------------------------------------------------------

bool search_tree::advance(const std::vector<choice>& taken) {
    std::size_t depth = taken.size();
    while (depth > 0 && taken[depth - 1].index + 1 == taken[depth - 1].among) {
        --depth;
    }
    if (depth == 0) {
        return false;
    }
    m_next.prefix.resize(depth);
    for (std::size_t i = 0; i < depth; ++i) {
        m_next.prefix[i] = taken[i].index;
    }
    ++m_next.prefix.back();
    return true;
}

void search_tree::probe(const std::vector<choice>& taken) noexcept {
    double leaves = 1;
    for (const choice& c : taken) {
        leaves *= c.rarity != 0 ? c.rarity : c.among;
    }
    m_sum += leaves;
    ++m_probes;
}

double search_tree::estimate() const noexcept {
    return m_probes == 0 ? 0 : m_sum / static_cast<double>(m_probes);
}

} // namespace detail
} // namespace v0
} // namespace pilfer

#endif
