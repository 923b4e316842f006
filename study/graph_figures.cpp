// The longest chain of a task graph, by a run with a worker for each task.
#include "graph_figures.hpp"

#include <algorithm>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "curve.hpp"

namespace study {
namespace {

constexpr std::uint32_t none = UINT32_MAX;

enum class way : std::uint8_t { same, stolen, resumed }; // how the chain came to a piece
struct piece {
    moment begin;
    moment time;
    std::uint32_t task;
    std::uint32_t before; // the piece of the longest chain to this one
    unsigned line;
    way came;
};

/// A run of a graph as if each task had a worker, and the runtime cost nothing.
class unlimited_run {
public:
    explicit unlimited_run(const workload& graph) : m_graph(graph), m_tasks(graph.awaitable()) {}

    [[nodiscard]] graph_figures figures() {
        m_f.tasks = m_tasks.size() - 1;
        for (m_ready = {0}; !m_ready.empty();) {
            const std::uint32_t i = m_ready.back();
            m_ready.pop_back();
            while (takes_step(i)) {
            }
        }
        if (m_ended != m_tasks.size()) {
            throw std::runtime_error("its tasks wait for each other: the graph has a cycle");
        }
        m_f.strands = m_pieces.size();
        curve area(0, m_f.span);
        for (const piece& p : m_pieces) {
            area.add(p.begin, p.begin + p.time, 1);
        }
        m_f.ready_curve = area.finish();
        find_chain();
        std::erase_if(m_f.lines, [](const line_figures& l) { return l.tasks + l.strands + l.waits == 0; });
        std::sort(m_f.lines.begin(), m_f.lines.end(), [](const line_figures& a, const line_figures& b) {
            return std::tuple(b.on_chain, b.work, a.line) < std::tuple(a.on_chain, a.work, b.line);
        });
        return std::move(m_f);
    }

private:
    struct task {
        std::uint64_t place = 0;
        unsigned forked_at = 0; // its line
        moment now = 0;
        way came = way::same;
        std::uint32_t last = none; // the piece with which the longest chain to `now` ends
        std::uint32_t waiter = none, next = none;
        bool ended = false;
    };

    [[nodiscard]] line_figures& at_line(unsigned line) {
        while (m_f.lines.size() <= line) {
            m_f.lines.push_back({static_cast<unsigned>(m_f.lines.size())});
        }
        return m_f.lines[line];
    }

    /// False if the task has ended, or waits.
    [[nodiscard]] bool takes_step(std::uint32_t i) {
        task& t = m_tasks[i];
        const std::uint64_t place = t.place;
        const step s = m_graph.next(i, t.place);
        const unsigned line = m_graph.line_at(i, place);
        switch (s.what) {
        case step::kind::compute:
            compute(i, line, s.value);
            return true;
        case step::kind::fork:
        case step::kind::spawn: {
            task& child = m_tasks[s.value];
            child.forked_at = line;
            child.now = t.now;
            child.last = t.last;
            (s.what == step::kind::fork ? child : t).came = way::stolen; // what is offered to thieves
            ++at_line(line).tasks;
            m_ready.push_back(static_cast<std::uint32_t>(s.value));
            return true;
        }
        case step::kind::await:
            return has_awaited(i, place, line, m_tasks[s.value]);
        case step::kind::lock: // a chain is as long as it is if no other task wants a lock
        case step::kind::unlock:
            return true;
        default:
            end(t);
            return false;
        }
    }
    void compute(std::uint32_t i, unsigned line, moment time) {
        task& t = m_tasks[i];
        m_pieces.push_back({t.now, time, i, t.last, line, std::exchange(t.came, way::same)});
        at_line(line).work += time;
        at_line(t.forked_at).tasks_work += time;
        ++at_line(line).strands;
        t.last = static_cast<std::uint32_t>(m_pieces.size() - 1);
        t.now += time;
        m_f.work += time;
    }
    [[nodiscard]] bool has_awaited(std::uint32_t i, std::uint64_t place, unsigned line, task& awaited) {
        task& t = m_tasks[i];
        if (!awaited.ended) {
            t.place = place;
            t.next = std::exchange(awaited.waiter, i);
            return false;
        }
        std::uint64_t before = place - 1; // a sync waits for several tasks
        at_line(line).waits += place == 0 || m_graph.next(i, before).what != step::kind::await ? 1 : 0;
        if (awaited.now > t.now) {
            at_line(line).waited += awaited.now - t.now;
            t.now = awaited.now;
            t.last = awaited.last;
            t.came = way::resumed;
        }
        return true;
    }
    void end(task& t) {
        t.ended = true;
        ++m_ended;
        for (std::uint32_t w = std::exchange(t.waiter, none); w != none;
             w = std::exchange(m_tasks[w].next, none)) {
            m_ready.push_back(w);
        }
        if (t.last == none) {
            return;
        }
        const moment when = m_pieces[t.last].begin + m_pieces[t.last].time;
        if (m_last == none || when > m_f.span) {
            m_last = t.last;
            m_f.span = when;
        }
    }
    void find_chain() {
        std::vector<link>& chain = m_f.chain;
        for (std::uint32_t i = m_last; i != none; i = m_pieces[i].before) {
            const piece& p = m_pieces[i];
            line_figures& at = at_line(p.line);
            at.on_chain += p.time;
            at.thefts += p.came == way::stolen ? 1 : 0;
            at.resumptions += p.came == way::resumed ? 1 : 0;
            if (!chain.empty() && chain.back().task == p.task && chain.back().line == p.line) {
                chain.back().begin = p.begin;
                chain.back().time += p.time;
            } else {
                chain.push_back({p.task, p.begin, p.time, p.line});
            }
        }
        std::reverse(chain.begin(), chain.end());
    }

    const workload& m_graph;
    std::vector<task> m_tasks;
    std::vector<piece> m_pieces;
    std::vector<std::uint32_t> m_ready;
    std::uint64_t m_ended = 0;
    std::uint32_t m_last = none; // the piece that ends last
    graph_figures m_f;
};

} // namespace

graph_figures figures_of(const workload& graph) { return unlimited_run(graph).figures(); }

std::vector<part_figures> parts_of(const recorded_graph& g, const graph_figures& f) {
    std::vector<part_figures> all(g.parts().size());
    for (unsigned i = 0; i < all.size(); ++i) {
        all[i].part = i;
    }
    for (std::uint64_t t = 1; t < g.awaitable(); ++t) { // task 0 is the threads outside
        part_figures& p = all[g.part_of(t)];
        ++p.tasks;
        std::uint64_t place = 0;
        for (step s = g.next(t, place); s.what != step::kind::end; s = g.next(t, place)) {
            p.work += s.what == step::kind::compute ? s.value : 0;
        }
    }
    for (const link& l : f.chain) {
        all[g.part_of(l.task)].on_chain += l.time;
    }
    std::erase_if(all, [](const part_figures& p) { return p.tasks == 0; });
    std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
        return std::pair(b.work, a.part) < std::pair(a.work, b.part);
    });
    return all;
}

moment line_figures::burdened(const costs& price) const noexcept {
    return on_chain + from_ns(static_cast<double>(thefts * theft_ns(price) + resumptions * resume_ns(price)));
}

const line_figures* tiny_tasks(const graph_figures& f, const costs& price) {
    const line_figures* most = nullptr;
    for (const line_figures& l : f.lines) {
        const bool tiny =
            l.tasks > 100 && to_ns(l.tasks_work) < static_cast<double>(theft_ns(price) * l.tasks);
        if (tiny && (most == nullptr || l.tasks > most->tasks)) {
            most = &l;
        }
    }
    return most;
}

} // namespace study
