// The workloads. A task's number is all there is of it: trees are made up from hashes on the way.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <stdexcept>
#include <utility>
#include <vector>

#include "graph.hpp"
#include "workload.hpp"

namespace study {
namespace {

using kind = step::kind;
using putter = std::function<void(unsigned, std::uint64_t)>;

// The top bit distinguishes a task that announces the others from these.
constexpr std::uint64_t root = std::uint64_t{1} << 63;

/// Computes once and ends.
[[nodiscard]] step leaf(moment length, std::uint64_t& place) {
    return place++ == 0 ? step{kind::compute, length} : step{kind::end};
}

// ---- independent tasks ------------------------------------------------------------------------

/// Bounded Pareto (Harchol-Balter, Crovella and Murta 1999): between 1 and `most`, with `mean`.
class pareto {
public:
    pareto(double mean, double alpha, double most) : m_alpha(alpha), m_most(most) {
        m_scale = 1;
        m_scale = mean / mean_of_unscaled();
    }
    [[nodiscard]] double of(std::uint64_t hash) const {
        const double u = unit(hash);
        return m_scale * std::pow(1 - u * (1 - std::pow(m_most, -m_alpha)), -1 / m_alpha);
    }

private:
    [[nodiscard]] double mean_of_unscaled() const {
        const double tail = 1 - std::pow(m_most, -m_alpha);
        return m_alpha == 1 ? std::log(m_most) / tail
                            : m_alpha / (m_alpha - 1) * (1 - std::pow(m_most, 1 - m_alpha)) / tail;
    }
    double m_alpha;
    double m_most;
    double m_scale;
};

/// n tasks, announced by one (`loop`), or there at the start (`ready`, `pareto`).
class flat : public workload {
public:
    flat(std::uint64_t n, moment length, bool announced, double on_one) noexcept
        : m_tasks(n), m_length(length), m_announced(announced), m_on_one(on_one) {}

    step next(std::uint64_t task, std::uint64_t& place) const override {
        if (task != root) {
            return leaf(length(task), place);
        }
        if (place < m_tasks) {
            return {kind::announce, place++};
        }
        return place++ == m_tasks ? step{kind::sync} : step{kind::end};
    }
    void begin(unsigned workers, const putter& put) const override {
        if (m_announced) {
            put(0, root);
            return;
        }
        // The first worker has its part of the tasks; the others have equal shares of the rest.
        const auto here = workers == 1 ? m_tasks
                                       : std::min(m_tasks, static_cast<std::uint64_t>(std::ceil(
                                                               m_on_one * static_cast<double>(m_tasks))));
        for (std::uint64_t k = 0; k < m_tasks; ++k) {
            put(k < here ? 0 : 1 + static_cast<unsigned>((k - here) % (workers - 1)), k);
        }
    }
    [[nodiscard]] moment work() const override {
        moment sum = 0;
        for (std::uint64_t k = 0; k < m_tasks; ++k) {
            sum += length(k);
        }
        return sum;
    }

protected:
    [[nodiscard]] virtual moment length(std::uint64_t) const { return m_length; }

private:
    std::uint64_t m_tasks;
    moment m_length;
    bool m_announced;
    double m_on_one;
};

class heavy_tailed final : public flat {
public:
    heavy_tailed(std::uint64_t n, double ns, double alpha, double most, bool announced, std::uint64_t seed)
        : flat(n, 0, announced, 1), m_pareto(ns, alpha, most), m_seed(seed) {}

protected:
    [[nodiscard]] moment length(std::uint64_t task) const override {
        return from_ns(m_pareto.of(mixed(m_seed ^ mixed(task))));
    }

private:
    pareto m_pareto;
    std::uint64_t m_seed;
};

/// A Poisson process. Its moments are made once: an arrival may be asked for in any order.
class arrivals final : public workload {
public:
    arrivals(std::uint64_t n, double ns, double gap, bool anywhere, std::uint64_t seed)
        : m_length(from_ns(ns)), m_anywhere(anywhere), m_seed(seed) {
        double now = 0;
        for (std::uint64_t k = 0; k < n; ++k) {
            now += -gap * std::log(unit(mixed(seed ^ mixed(k))));
            m_when.push_back(from_ns(now));
        }
    }
    step next(std::uint64_t, std::uint64_t& place) const override { return leaf(m_length, place); }
    void begin(unsigned, const putter&) const override {}
    [[nodiscard]] arrival arrives(std::uint64_t k, unsigned workers) const override {
        if (k >= m_when.size()) {
            return {};
        }
        return {m_when[k], m_anywhere ? static_cast<unsigned>(mixed(m_seed + k) % workers) : 0};
    }
    [[nodiscard]] moment work() const override { return m_when.size() * m_length; }

private:
    moment m_length;
    bool m_anywhere;
    std::uint64_t m_seed;
    std::vector<moment> m_when;
};

// ---- trees ------------------------------------------------------------------------------------

/// fib: a node of n > 1 announces the smaller branch, calls the larger one, waits. Every node computes.
class fork_tree final : public workload {
public:
    fork_tree(std::uint64_t n, moment length) noexcept : m_height(n), m_length(length) {}

    step next(std::uint64_t task, std::uint64_t& place) const override {
        if (task < 2) {
            return leaf(m_length, place);
        }
        switch (place++) {
        case 0:
            return {kind::announce, task - 2};
        case 1:
            return {kind::call, task - 1};
        case 2:
            return {kind::compute, m_length};
        case 3:
            return {kind::sync};
        default:
            return {kind::end};
        }
    }
    void begin(unsigned, const putter& put) const override { put(0, m_height); }
    [[nodiscard]] moment work() const override {
        std::uint64_t nodes = 1;
        std::uint64_t before = 1;
        for (std::uint64_t n = 2; n <= m_height; ++n) {
            before = std::exchange(nodes, nodes + before + 1);
        }
        return nodes * m_length;
    }

private:
    std::uint64_t m_height;
    moment m_length;
};

/// As in Olivier et al., "UTS: An Unbalanced Tree Search Benchmark" (LCPC 2006), with another hash: a node is
/// its hash, its depth in the low byte.
class search_tree final : public workload {
public:
    search_tree(bool geometric, double branching, unsigned depth, double probability, unsigned children,
                moment length, std::uint64_t seed)
        : m_geometric(geometric), m_branching(branching), m_depth(depth), m_probability(probability),
          m_children(children), m_length(length), m_root(mixed(seed) & ~depth_mask) {}

    step next(std::uint64_t task, std::uint64_t& place) const override {
        const std::uint64_t at = place++;
        if (at == 0) {
            return {kind::compute, m_length};
        }
        const std::uint64_t children = children_of(task);
        if (at <= children) {
            return {kind::announce, child(task, at)};
        }
        return at == children + 1 && children > 0 ? step{kind::sync} : step{kind::end};
    }
    void begin(unsigned, const putter& put) const override { put(0, m_root); }
    [[nodiscard]] moment work() const override {
        std::uint64_t nodes = 0;
        std::vector<std::uint64_t> open{m_root};
        while (!open.empty()) {
            const std::uint64_t task = open.back();
            open.pop_back();
            ++nodes;
            for (std::uint64_t k = children_of(task); k > 0; --k) {
                open.push_back(child(task, k));
            }
        }
        return nodes * m_length;
    }

private:
    static constexpr std::uint64_t depth_mask = 0xff;

    [[nodiscard]] static std::uint64_t child(std::uint64_t task, std::uint64_t k) noexcept {
        const std::uint64_t depth = std::min((task & depth_mask) + 1, depth_mask);
        return (mixed((task & ~depth_mask) ^ mixed(k)) & ~depth_mask) | depth;
    }
    [[nodiscard]] std::uint64_t children_of(std::uint64_t task) const {
        const std::uint64_t depth = task & depth_mask;
        const double u = unit(mixed(task));
        if (!m_geometric) {
            return depth == 0 ? static_cast<std::uint64_t>(m_branching)
                              : (u < m_probability ? m_children : 0);
        }
        if (depth >= m_depth) {
            return 0;
        }
        return std::min<std::uint64_t>(
            static_cast<std::uint64_t>(std::log(u) / std::log(1 - 1 / (1 + m_branching))), 100);
    }

    bool m_geometric;
    double m_branching;
    unsigned m_depth;
    double m_probability;
    unsigned m_children;
    moment m_length;
    std::uint64_t m_root;
};

// ---- by name ----------------------------------------------------------------------------------

struct key {
    const char* name;
    double otherwise;
    double least;
    double most;
};
struct known {
    const char* name;
    std::vector<key> keys;
    const char* what;
};

// Lengths in ns. A second is the most that anything may take.
constexpr key length_key = {"length", 1'000, 0, 1e9};
constexpr key tasks_key = {"tasks", 100'000, 1, 1e8};

const std::vector<known>& all_known() {
    static const std::vector<known> all = {
        {"loop",
         {tasks_key, length_key},
         "one task announces `tasks` tasks of `length` ns and waits for them"},
        {"ready",
         {tasks_key, length_key, {"imbalance", 1, 0, 1}},
         "`tasks` tasks at the start: the part `imbalance` on one worker, the rest spread evenly"},
        {"tree",
         {{"height", 25, 0, 45}, {"length", 100, 0, 1e9}},
         "fib(height) by join: every call takes `length` ns"},
        {"arrivals",
         {tasks_key, length_key, {"gap", 100, 0.001, 1e9}, {"anywhere", 0, 0, 1}},
         "`tasks` tasks come `gap` ns apart on average (Poisson), to one worker or to random ones "
         "(anywhere=1)"},
        {"geometric",
         {{"branching", 4, 0.01, 50}, {"depth", 8, 1, 200}, {"length", 500, 0, 1e9}},
         "tree search: a geometric number of children, `branching` on average, down to `depth`"},
        {"binomial",
         {{"root", 2'000, 1, 1e6},
          {"children", 8, 1, 100},
          {"probability", 0.12, 0, 1},
          {"length", 500, 0, 1e9}},
         "tree search: `root` children, then `children` with `probability` (their product below 1)"},
        {"pareto",
         {tasks_key, length_key, {"alpha", 1.1, 0.1, 10}, {"most", 10'000, 2, 1e6}, {"announced", 0, 0, 1}},
         "like ready or (announced=1) loop, but lengths are heavy-tailed: the longest is `most` times the "
         "shortest"},
    };
    return all;
}

[[noreturn]] void refuse(std::string_view text, const std::string& why) {
    throw std::invalid_argument(fmt::format("workload '{}': {}", text, why));
}

[[nodiscard]] std::string names_of_all() {
    std::string names;
    for (const known& k : all_known()) {
        names += fmt::format("{}, ", k.name);
    }
    return names + "graph:FILE";
}

/// The values of k.keys, in their order.
[[nodiscard]] std::vector<double> read_keys(std::string_view text, const known& k, std::string_view rest) {
    std::vector<double> values;
    std::string names;
    for (const key& one : k.keys) {
        values.push_back(one.otherwise);
        names += fmt::format("{}{}", names.empty() ? "" : ", ", one.name);
    }
    while (!rest.empty()) {
        const std::string_view word = rest.substr(0, rest.find(','));
        rest.remove_prefix(std::min(rest.size(), word.size() + 1));
        const auto equals = word.find('=');
        const auto at = std::find_if(k.keys.begin(), k.keys.end(),
                                     [&](const key& one) { return word.substr(0, equals) == one.name; });
        if (equals == std::string_view::npos || at == k.keys.end()) {
            refuse(text, fmt::format("'{}' is no KEY=VALUE; the keys of {} are {}", word, k.name, names));
        }
        const std::string_view digits = word.substr(equals + 1);
        double value = 0;
        const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
        if (digits.empty() || error != std::errc{} || stop != digits.data() + digits.size() ||
            !(value >= at->least && value <= at->most)) {
            refuse(text, fmt::format("{} needs a number from {} to {}", at->name, at->least, at->most));
        }
        values[static_cast<std::size_t>(at - k.keys.begin())] = value;
    }
    return values;
}

} // namespace

workload::arrival workload::arrives(std::uint64_t, unsigned) const { return {}; }

std::unique_ptr<workload> make_workload(std::string_view text, std::uint64_t seed) {
    const auto colon = text.find(':');
    const std::string_view name = text.substr(0, colon);
    const std::string_view rest = colon == std::string_view::npos ? "" : text.substr(colon + 1);
    if (name == "graph") {
        return read_graph(std::string(rest));
    }
    const auto& all = all_known();
    const auto at = std::find_if(all.begin(), all.end(), [&](const known& k) { return name == k.name; });
    if (at == all.end()) {
        refuse(text, fmt::format("no such workload; known are {}", names_of_all()));
    }
    const std::vector<double> v = read_keys(text, *at, rest);
    const auto whole = [&v](std::size_t i) { return static_cast<std::uint64_t>(v[i]); };
    if (name == "loop") {
        return std::make_unique<flat>(whole(0), from_ns(v[1]), true, 1);
    }
    if (name == "ready") {
        return std::make_unique<flat>(whole(0), from_ns(v[1]), false, v[2]);
    }
    if (name == "tree") {
        return std::make_unique<fork_tree>(whole(0), from_ns(v[1]));
    }
    if (name == "arrivals") {
        return std::make_unique<arrivals>(whole(0), v[1], v[2], v[3] != 0, seed);
    }
    if (name == "geometric") {
        return std::make_unique<search_tree>(true, v[0], static_cast<unsigned>(v[1]), 0, 0, from_ns(v[2]),
                                             seed);
    }
    if (name == "binomial") {
        if (v[1] * v[2] >= 1) {
            refuse(text, "children x probability must be below 1, or the tree has no end");
        }
        return std::make_unique<search_tree>(false, v[0], 0, v[2], static_cast<unsigned>(v[1]), from_ns(v[3]),
                                             seed);
    }
    return std::make_unique<heavy_tailed>(whole(0), v[1], v[2], v[3], v[4] != 0, seed);
}

std::string workload_help() {
    std::string help;
    for (const known& k : all_known()) {
        help += fmt::format("  {}", k.name);
        char before = ':';
        for (const key& one : k.keys) {
            help += fmt::format("{}{}={}", before, one.name, one.otherwise);
            before = ',';
        }
        help += fmt::format("\n      {}\n", k.what);
    }
    return help + "  graph:FILE\n      a recorded graph, see study/README.md\n";
}

} // namespace study
