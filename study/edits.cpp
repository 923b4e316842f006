#include "edits.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <unordered_map>
#include <utility>

namespace study {
namespace {

using kind = step::kind;

/// A step and its line.
struct action {
    step what;
    unsigned line = 0;
};

/// Calls f(task, action) for each step, the ends included, in the order of the tasks' numbers.
template <class F>
void each_action(const recorded_graph& g, F f) {
    for (std::uint64_t t = 0; t < g.awaitable(); ++t) {
        std::uint64_t place = 0;
        for (bool more = true; more;) {
            const unsigned line = g.line_at(t, place);
            const step s = g.next(t, place);
            f(t, action{s, line});
            more = s.what != kind::end;
        }
    }
}

/// A graph that is written task by task.
class writer {
public:
    explicit writer(const recorded_graph& g) : m_parts{{}, {}, g.parts(), {}, g.lines(), {}, {}} {
        for (unsigned lock = 0; lock < g.locks(); ++lock) {
            m_parts.lock_lines.push_back(g.line_of_lock(lock));
        }
    }
    void begin(unsigned part) {
        m_parts.begins.push_back(m_parts.steps.size());
        m_parts.part_of.push_back(part);
    }
    void add(const action& a) {
        m_parts.steps.push_back(a.what);
        m_parts.line_of.push_back(a.line);
    }
    [[nodiscard]] std::vector<unsigned>& lock_lines() noexcept { return m_parts.lock_lines; }
    [[nodiscard]] std::unique_ptr<recorded_graph> finish() { return make_graph(std::move(m_parts)); }

private:
    graph_parts m_parts;
};

/// A copy of a graph, each step of which `change` may change, or leave out if it returns false.
template <class F>
[[nodiscard]] std::unique_ptr<recorded_graph> copy(const recorded_graph& g, writer out, F change) {
    std::uint64_t present = UINT64_MAX;
    each_action(g, [&](std::uint64_t t, action a) {
        if (std::exchange(present, t) != t) {
            out.begin(g.part_of(t));
        }
        if (change(out, a.what)) {
            out.add(a);
        }
    });
    return out.finish();
}

} // namespace

std::vector<lock_figures> locks_of(const recorded_graph& g) {
    std::vector<lock_figures> all(g.locks());
    for (unsigned i = 0; i < all.size(); ++i) {
        all[i].lock = i;
    }
    std::vector<std::uint64_t> held;
    each_action(g, [&](std::uint64_t, const action& a) {
        const std::uint64_t lock = a.what.value;
        if (a.what.what == kind::lock) {
            ++all[lock].sections;
            held.push_back(lock);
        } else if (a.what.what == kind::unlock) {
            std::erase(held, lock);
        } else if (a.what.what == kind::compute) {
            for (const std::uint64_t h : held) {
                all[h].held += a.what.value;
            }
        }
    });
    std::erase_if(all, [](const lock_figures& l) { return l.sections == 0; });
    std::sort(all.begin(), all.end(), [](const lock_figures& a, const lock_figures& b) {
        return std::pair(b.held, a.lock) < std::pair(a.held, b.lock);
    });
    return all;
}

std::string lock_name(const recorded_graph& g, unsigned lock) {
    const unsigned line = g.line_of_lock(lock);
    return line == 0 ? fmt::format("lock {}", lock)
                     : fmt::format("lock {}, locked at {}", lock, g.line_names()[line]);
}

std::unique_ptr<recorded_graph> split_locks(const recorded_graph& g, const std::vector<unsigned>& which,
                                            unsigned parts) {
    struct split {
        std::vector<std::uint64_t> parts; // no more than there are critical sections
        std::uint64_t sections = 0;       // so far
        std::uint64_t now = 0;            // the part that the present task has
    };
    std::unordered_map<std::uint64_t, split> splits;
    for (const unsigned lock : which) {
        splits[lock].parts.push_back(lock);
    }
    return copy(g, writer(g), [&g, &splits, parts](writer& out, step& s) {
        const auto at = s.what == kind::lock || s.what == kind::unlock ? splits.find(s.value) : splits.end();
        if (at == splits.end()) {
            return true;
        }
        split& of = at->second;
        if (s.what == kind::lock) {
            const std::uint64_t part = of.sections++ % parts;
            if (part == of.parts.size()) {
                of.parts.push_back(out.lock_lines().size());
                out.lock_lines().push_back(g.line_of_lock(static_cast<unsigned>(at->first)));
            }
            of.now = of.parts[part];
        }
        s.value = of.now;
        return true;
    });
}

std::unique_ptr<recorded_graph> without_locks(const recorded_graph& g) {
    return copy(g, writer(g),
                [](writer&, const step& s) { return s.what != kind::lock && s.what != kind::unlock; });
}

// ---- another grain size -------------------------------------------------------------------------

namespace {

class coarsening {
public:
    coarsening(const recorded_graph& g, unsigned line, std::uint64_t k)
        : m_graph(g), m_line(line), m_most(k), m_actions(g.awaitable()), m_size(g.awaitable()),
          m_forked_at(g.awaitable()), m_parent(g.awaitable()), m_runs_in(g.awaitable()) {
        each_action(g, [this](std::uint64_t t, const action& a) {
            m_actions[t].push_back(a);
            if (is_fork(a)) {
                m_forked_at[a.what.value] = a.line;
                m_parent[a.what.value] = t;
            }
        });
        measure();
    }

    [[nodiscard]] std::unique_ptr<recorded_graph> result() {
        // Which tasks stay, and what they do, by their old numbers.
        std::vector<std::vector<action>> bodies(m_actions.size());
        for (std::uint64_t t = 0; t < m_actions.size(); ++t) {
            m_runs_in[t] = t;
        }
        for (const std::uint64_t t : m_order) {
            if (m_runs_in[t] == t) { // parents come first
                bodies[t] = body_of(t, bodies);
            }
        }
        std::vector<std::uint64_t> number(m_actions.size());
        std::uint64_t next = 0;
        for (std::uint64_t t = 0; t < m_actions.size(); ++t) {
            if (m_runs_in[t] == t) {
                number[t] = next++;
            }
        }
        writer out(m_graph);
        for (std::uint64_t t = 0; t < m_actions.size(); ++t) {
            if (m_runs_in[t] != t) {
                continue;
            }
            out.begin(m_graph.part_of(t));
            write(out, t, bodies[t], number);
        }
        return out.finish();
    }

private:
    [[nodiscard]] static bool is_fork(const action& a) noexcept {
        return a.what.what == kind::fork || a.what.what == kind::spawn;
    }
    /// The number of tasks that a whole task stands for; 0: it is not whole. Children are measured first.
    void measure() {
        m_order.push_back(0);
        for (std::size_t i = 0; i < m_order.size(); ++i) {
            for (const action& a : m_actions[m_order[i]]) {
                if (is_fork(a)) {
                    m_order.push_back(a.what.value);
                }
            }
        }
        for (auto t = m_order.rbegin(); t != m_order.rend(); ++t) {
            m_size[*t] = size_of(*t);
        }
    }
    [[nodiscard]] std::uint64_t size_of(std::uint64_t t) const {
        if (t == 0 || m_forked_at[t] != m_line) {
            return 0;
        }
        std::uint64_t size = 1;
        std::uint64_t held = 0;
        for (const action& a : m_actions[t]) {
            held = held_after(held, a);
            if (is_fork(a)) {
                if (m_size[a.what.value] == 0 || held != 0) { // it could not run a child that wants the lock
                    return 0;
                }
                size += m_size[a.what.value];
            } else if (a.what.what == kind::await && m_parent[a.what.value] != t) {
                return 0;
            }
            if (size > m_most) {
                return 0;
            }
        }
        return size;
    }
    /// The number of locks that a task holds after `a`.
    [[nodiscard]] static std::uint64_t held_after(std::uint64_t held, const action& a) noexcept {
        return a.what.what == kind::lock ? held + 1 : a.what.what == kind::unlock ? held - 1 : held;
    }
    /// What whole task `t` does, with all tasks below it. They run in `home` from now on.
    void put_whole(std::vector<action>& out, std::uint64_t t, std::uint64_t home) {
        std::vector<std::pair<std::uint64_t, std::size_t>> open{{t, 0}}; // tasks, and their next actions
        while (!open.empty()) {
            auto& [task, next] = open.back();
            m_runs_in[task] = home;
            const action& a = m_actions[task][next++];
            if (is_fork(a)) {
                open.emplace_back(a.what.value, 0);
            } else if (a.what.what == kind::end) {
                open.pop_back();
            } else if (a.what.what != kind::await) {
                out.push_back(a);
            }
        }
    }
    /// Whole tasks that are forked in a row.
    struct row {
        std::vector<std::uint64_t> tasks;
        std::uint64_t size = 0;
        std::size_t at = 0;      // the last fork, in the new body
        bool under_lock = false; // it
    };
    /// The new body of a task that stays, with the old numbers of tasks. Makes the bodies of its merged
    /// children.
    [[nodiscard]] std::vector<action> body_of(std::uint64_t t, std::vector<std::vector<action>>& bodies) {
        if (m_size[t] != 0 || !bodies[t].empty()) { // whole, or of several
            if (bodies[t].empty()) {
                put_whole(bodies[t], t, t);
            }
            return std::move(bodies[t]);
        }
        std::vector<action> out;
        row open;
        const bool is_of_line = t != 0 && m_forked_at[t] == m_line;
        const auto close = [&](bool before_wait) {
            if (open.tasks.empty()) {
                return;
            }
            if (before_wait && is_of_line && !open.under_lock && open.size + 1 <= m_most) {
                std::vector<action> own;
                for (const std::uint64_t child : open.tasks) {
                    put_whole(own, child, t);
                }
                const auto fork = out.begin() + static_cast<std::ptrdiff_t>(open.at);
                out.insert(out.erase(fork), own.begin(), own.end());
            } else if (open.tasks.size() > 1) {
                const std::uint64_t home = open.tasks.front();
                for (const std::uint64_t child : open.tasks) {
                    put_whole(bodies[home], child, home);
                }
                out[open.at].what.value = home;
            }
            open = {};
        };
        std::uint64_t held = 0;
        for (const action& a : m_actions[t]) {
            held = held_after(held, a);
            if (a.what.what == kind::await) {
                close(true);
            }
            const bool is_whole = is_fork(a) && m_size[a.what.value] != 0;
            if (is_whole) {
                const std::uint64_t size = m_size[a.what.value];
                if (open.size + size > m_most) {
                    close(false);
                }
                if (!open.tasks.empty()) {
                    out.erase(out.begin() + static_cast<std::ptrdiff_t>(open.at));
                }
                open.tasks.push_back(a.what.value);
                open.size += size;
                open.at = out.size();
                open.under_lock = held != 0;
            }
            if (a.what.what == kind::end) {
                close(true);
                break;
            }
            out.push_back(a);
        }
        return out;
    }
    void write(writer& out, std::uint64_t t, const std::vector<action>& body,
               const std::vector<std::uint64_t>& number) const {
        const action* before = nullptr;
        for (const action& a : body) {
            action changed = a;
            if (is_fork(a)) {
                changed.what.value = number[a.what.value];
            } else if (a.what.what == kind::await) {
                const std::uint64_t home = m_runs_in[a.what.value];
                const bool again = before != nullptr && before->what.what == kind::await &&
                                   m_runs_in[before->what.value] == home;
                before = &a;
                if (home == t || again) {
                    continue;
                }
                changed.what.value = number[home];
            }
            before = &a;
            out.add(changed);
        }
        out.add({{kind::end}, 0});
    }

    const recorded_graph& m_graph;
    unsigned m_line;
    std::uint64_t m_most;
    std::vector<std::vector<action>> m_actions;
    std::vector<std::uint64_t> m_size;
    std::vector<unsigned> m_forked_at;
    std::vector<std::uint64_t> m_parent;
    std::vector<std::uint64_t> m_runs_in; // of each task: itself, or the task that it became a part of
    std::vector<std::uint64_t> m_order;   // parents first
};

} // namespace

std::unique_ptr<recorded_graph> with_grain(const recorded_graph& g, unsigned line, std::uint64_t k) {
    return coarsening(g, line, k).result();
}

} // namespace study
