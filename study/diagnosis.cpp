#include "diagnosis.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "balance/text.hpp"
#include "edits.hpp"

namespace study {
namespace {

/// A sum over time, in equal stretches.
class curve {
public:
    curve(std::uint64_t begin, std::uint64_t end)
        : m_begin(begin), m_width(static_cast<double>(std::max<std::uint64_t>(end - begin, 1)) / bins),
          m_area(bins) {}
    /// `height` from `from` to `to`.
    void add(std::uint64_t from, std::uint64_t to, double height) {
        if (to <= from || height == 0) {
            return;
        }
        const double a = static_cast<double>(from - m_begin) / m_width;
        const double b = static_cast<double>(to - m_begin) / m_width;
        constexpr double most = bins - 1;
        const auto first = static_cast<std::size_t>(std::min(a, most));
        const auto last = static_cast<std::size_t>(std::min(b, most));
        if (first == last) {
            m_area[first] += (b - a) * height;
            return;
        }
        m_area[first] += (static_cast<double>(first + 1) - a) * height;
        m_area[last] += (b - static_cast<double>(last)) * height;
        // The bins between are raised by differences, so that a long stretch costs no more than a short one.
        if (m_steps.empty()) {
            m_steps.resize(bins + 1);
        }
        m_steps[first + 1] += height;
        m_steps[last] -= height;
    }
    [[nodiscard]] std::vector<double> finish() {
        double level = 0;
        for (std::size_t i = 0; i < bins && !m_steps.empty(); ++i) {
            level += m_steps[i];
            m_area[i] += level;
        }
        for (double& x : m_area) {
            x = std::max(x, 0.0); // sums of differences may end below zero
        }
        return std::move(m_area);
    }

private:
    std::uint64_t m_begin;
    double m_width;
    std::vector<double> m_area;
    std::vector<double> m_steps;
};

/// The kind of object that a reason to wait names.
enum class nature : std::uint8_t { lock, outside, structure };
[[nodiscard]] nature nature_of(const std::string& reason) {
    for (const char* lock : {"a mutex", "a shared mutex", "a semaphore", "the condition of a monitor"}) {
        if (reason.starts_with(lock)) {
            return nature::lock;
        }
    }
    for (const char* outside : {"a time", "a descriptor", "the system"}) {
        if (reason.starts_with(outside)) {
            return nature::outside;
        }
    }
    return nature::structure;
}

/// Something begins (`delta` 1) or ends (-1).
struct change {
    std::uint64_t when;
    enum kind : std::uint8_t { worker, lock, other } what;
    int delta;
    std::size_t which; // of the list of waits
};

[[nodiscard]] double share(std::uint64_t part, std::uint64_t all) {
    return all == 0 ? 0 : static_cast<double>(part) / static_cast<double>(all);
}
[[nodiscard]] std::string percent(double x) { return fmt::format("{:.0f} %", x * 100); }

/// The average over a stretch of the graph's span.
[[nodiscard]] double ready_during(const graph_figures& f, const link& l) {
    const double bin = static_cast<double>(f.span) / bins;
    const auto first = std::min(static_cast<std::size_t>(static_cast<double>(l.begin) / bin), bins - 1);
    const auto last =
        std::clamp(static_cast<std::size_t>(static_cast<double>(l.begin + l.time) / bin), first + 1, bins);
    double sum = 0;
    for (std::size_t i = first; i < last; ++i) {
        sum += f.ready_curve[i];
    }
    return sum / static_cast<double>(last - first);
}
/// Names of templates may fill a page, and the sentence is one line.
[[nodiscard]] std::string cut(const std::string& name) {
    constexpr std::size_t most = 100;
    if (name.size() <= most) {
        return name;
    }
    std::size_t size = most;
    while ((static_cast<unsigned char>(name[size]) & 0xc0) == 0x80 && size > most - 4) {
        --size; // inside of a character
    }
    return name.substr(0, size) + "...";
}

} // namespace

namespace {

/// The waits by line. Waiters that get a lock one after another held it meanwhile.
[[nodiscard]] std::vector<waits_at> waits_by_line(const recorded_trace& t) {
    std::vector<waits_at> all;
    std::map<std::tuple<source_line, unsigned, unsigned>, std::size_t>
        known; // several places may be on one line
    std::map<std::uint64_t, std::vector<std::pair<const recorded_wait*, std::size_t>>> locks;
    for (const recorded_wait& w : t.waits) {
        const bool lock = nature_of(t.reasons[w.reason]) == nature::lock;
        const auto [at, is_new] = known.try_emplace({t.places[w.place], w.reason, w.name}, all.size());
        if (is_new) {
            all.push_back({w.place, t.reasons[w.reason], t.names[w.name], lock});
        }
        waits_at& here = all[at->second];
        ++here.waits;
        here.total += w.end - w.begin;
        here.longest = std::max(here.longest, w.end - w.begin);
        if (lock && w.object != 0) {
            locks[w.object].push_back({&w, at->second});
        }
    }
    for (auto& [object, turns] : locks) {
        std::sort(turns.begin(), turns.end(),
                  [](const auto& a, const auto& b) { return a.first->end < b.first->end; });
        for (std::size_t i = 0; i + 1 < turns.size(); ++i) {
            if (turns[i + 1].first->begin < turns[i].first->end) {
                all[turns[i].second].held += turns[i + 1].first->end - turns[i].first->end;
            }
        }
    }
    std::sort(all.begin(), all.end(), [](const waits_at& a, const waits_at& b) {
        return std::tie(b.total, a.place, a.name) < std::tie(a.total, b.place, b.name);
    });
    return all;
}

} // namespace

trace_figures figures_of(const recorded_trace& t) {
    trace_figures f;
    f.lines = waits_by_line(t);
    f.use.resize(t.workers.size());
    f.begin = UINT64_MAX;
    for (const auto& w : t.workers) {
        for (const slice& s : w) {
            if (s.what != doing::asleep) {
                f.begin = std::min(f.begin, s.begin);
                f.end = std::max(f.end, s.end);
            }
        }
    }
    for (const recorded_wait& w : t.waits) {
        f.begin = std::min(f.begin, w.begin);
    }
    f.begin = std::min(f.begin, f.end);
    std::vector<change> changes;
    for (std::size_t i = 0; i < t.workers.size(); ++i) {
        for (const slice& s : t.workers[i]) {
            const std::uint64_t a = std::clamp(s.begin, f.begin, f.end);
            const std::uint64_t b = std::clamp(s.end, f.begin, f.end);
            if (s.what == doing::asleep) {
                f.use[i].asleep += b - a;
            } else {
                f.use[i].busy += b - a;
                ++f.use[i].slices;
                changes.push_back({a, change::worker, 1, 0});
                changes.push_back({b, change::worker, -1, 0});
            }
        }
        f.use[i].searching = f.end - f.begin - f.use[i].busy - f.use[i].asleep;
        f.busy += f.use[i].busy;
        f.slices += f.use[i].slices;
    }
    // Waits for children and branches are as many as there are objects, so only locks and objects with a name
    // are kept apart.
    std::map<std::tuple<unsigned, std::uint64_t, unsigned>, std::size_t> known;
    for (const recorded_wait& w : t.waits) {
        const bool lock = nature_of(t.reasons[w.reason]) == nature::lock;
        const std::uint64_t object = lock || w.name != 0 ? w.object : 0;
        const auto [at, is_new] = known.try_emplace({w.reason, object, w.name}, f.waits.size());
        if (is_new) {
            f.waits.push_back({t.reasons[w.reason], t.names[w.name], object, lock});
        }
        waits_of& all = f.waits[at->second];
        ++all.waits;
        all.total += w.end - w.begin;
        all.longest = std::max(all.longest, w.end - w.begin);
        const change::kind kind = lock ? change::lock : change::other;
        changes.push_back({std::clamp(w.begin, f.begin, f.end), kind, 1, at->second});
        changes.push_back({std::clamp(w.end, f.begin, f.end), kind, -1, at->second});
    }
    std::sort(changes.begin(), changes.end(), [](const change& a, const change& b) {
        return std::pair(a.when, a.delta) < std::pair(b.when, b.delta);
    });
    curve busy_area(f.begin, f.end);
    curve lock_area(f.begin, f.end);
    curve wait_area(f.begin, f.end);
    std::int64_t busy = 0;
    std::int64_t locks = 0;
    std::int64_t others = 0;
    std::vector<std::int64_t> now(f.waits.size());
    std::vector<std::size_t> open; // the objects of locks for which a task waits
    std::uint64_t since = f.begin;
    for (const change& c : changes) {
        if (c.when > since) {
            const std::uint64_t time = c.when - since;
            const auto idle = static_cast<std::uint64_t>(
                std::max<std::int64_t>(static_cast<std::int64_t>(t.workers.size()) - busy, 0));
            busy_area.add(since, c.when, static_cast<double>(busy));
            lock_area.add(since, c.when, static_cast<double>(locks));
            wait_area.add(since, c.when, static_cast<double>(others));
            // A worker lacks what a waiting task would give it.
            const auto by_locks =
                std::min(idle, static_cast<std::uint64_t>(std::max<std::int64_t>(locks, 0)));
            f.idle[static_cast<unsigned>(lack::lock)] += by_locks * time;
            const lack rest = busy == 1            ? lack::serial
                              : busy > 1           ? lack::little
                              : others + locks > 0 ? lack::outside
                                                   : lack::none;
            f.idle[static_cast<unsigned>(rest)] += (idle - by_locks) * time;
            if (by_locks > 0) {
                for (const std::size_t i : open) {
                    f.waits[i].idle +=
                        static_cast<std::uint64_t>(static_cast<double>(time * by_locks) *
                                                   static_cast<double>(now[i]) / static_cast<double>(locks));
                }
            }
            since = c.when;
        }
        if (c.what == change::worker) {
            busy += c.delta;
            continue;
        }
        (c.what == change::lock ? locks : others) += c.delta;
        now[c.which] += c.delta;
        f.waits[c.which].at_once = std::max(
            f.waits[c.which].at_once, static_cast<std::uint64_t>(std::max<std::int64_t>(now[c.which], 0)));
        if (c.what == change::lock) {
            const auto at = std::find(open.begin(), open.end(), c.which);
            if (now[c.which] > 0 && at == open.end()) {
                open.push_back(c.which);
            } else if (now[c.which] <= 0 && at != open.end()) {
                open.erase(at);
            }
        }
    }
    f.busy_curve = busy_area.finish();
    f.lock_curve = lock_area.finish();
    f.wait_curve = wait_area.finish();
    std::sort(f.waits.begin(), f.waits.end(),
              [](const waits_of& a, const waits_of& b) { return a.total > b.total; });
    return f;
}

graph_figures figures_of(const workload& graph) {
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
    struct task {
        std::uint64_t place = 0;
        unsigned forked_at = 0; // its line
        moment now = 0;
        way came = way::same;
        std::uint32_t last = none; // the piece with which the longest chain to `now` ends
        std::uint32_t waiter = none, next = none;
        bool ended = false;
    };
    const std::uint64_t n = graph.awaitable();
    std::vector<task> tasks(n);
    std::vector<piece> pieces;
    std::vector<std::uint32_t> ready = {0};
    graph_figures f;
    f.tasks = n - 1;
    std::uint64_t ended = 0;
    std::uint32_t final = none;
    const auto at_line = [&f](unsigned line) -> line_figures& {
        while (f.lines.size() <= line) {
            f.lines.push_back({static_cast<unsigned>(f.lines.size())});
        }
        return f.lines[line];
    };
    while (!ready.empty()) {
        const std::uint32_t i = ready.back();
        ready.pop_back();
        task& t = tasks[i];
        for (bool on = true; on;) {
            const std::uint64_t place = t.place;
            const step s = graph.next(i, t.place);
            const unsigned line = graph.line_at(i, place);
            switch (s.what) {
            case step::kind::compute:
                pieces.push_back({t.now, s.value, i, t.last, line, std::exchange(t.came, way::same)});
                at_line(line).work += s.value;
                at_line(t.forked_at).tasks_work += s.value;
                ++at_line(line).strands;
                t.last = static_cast<std::uint32_t>(pieces.size() - 1);
                t.now += s.value;
                f.work += s.value;
                break;
            case step::kind::fork:
            case step::kind::spawn: {
                task& child = tasks[s.value];
                child.forked_at = line;
                child.now = t.now;
                child.last = t.last;
                (s.what == step::kind::fork ? child : t).came = way::stolen; // what is offered to thieves
                ++at_line(line).tasks;
                ready.push_back(static_cast<std::uint32_t>(s.value));
                break;
            }
            case step::kind::await: {
                task& awaited = tasks[s.value];
                if (!awaited.ended) {
                    t.place = place;
                    t.next = std::exchange(awaited.waiter, i);
                    on = false;
                    break;
                }
                {
                    std::uint64_t before = place - 1; // a sync waits for several tasks
                    at_line(line).waits +=
                        place == 0 || graph.next(i, before).what != step::kind::await ? 1 : 0;
                }
                if (awaited.now > t.now) {
                    at_line(line).waited += awaited.now - t.now;
                    t.now = awaited.now;
                    t.last = awaited.last;
                    t.came = way::resumed;
                }
                break;
            }
            case step::kind::lock: // a chain is as long as it is if no other task wants a lock
            case step::kind::unlock:
                break;
            default: {
                t.ended = true;
                ++ended;
                on = false;
                for (std::uint32_t w = std::exchange(t.waiter, none); w != none;
                     w = std::exchange(tasks[w].next, none)) {
                    ready.push_back(w);
                }
                if (t.last != none &&
                    (final == none || pieces[t.last].begin + pieces[t.last].time > f.span)) {
                    final = t.last;
                    f.span = pieces[final].begin + pieces[final].time;
                }
                break;
            }
            }
        }
    }
    if (ended != n) {
        throw std::runtime_error("its tasks wait for each other: the graph has a cycle");
    }
    f.strands = pieces.size();
    curve area(0, f.span);
    for (const piece& p : pieces) {
        area.add(p.begin, p.begin + p.time, 1);
    }
    f.ready_curve = area.finish();
    for (std::uint32_t p = final; p != none; p = pieces[p].before) {
        line_figures& at = at_line(pieces[p].line);
        at.on_chain += pieces[p].time;
        at.thefts += pieces[p].came == way::stolen ? 1 : 0;
        at.resumptions += pieces[p].came == way::resumed ? 1 : 0;
        if (!f.chain.empty() && f.chain.back().task == pieces[p].task &&
            f.chain.back().line == pieces[p].line) {
            f.chain.back().begin = pieces[p].begin;
            f.chain.back().time += pieces[p].time;
        } else {
            f.chain.push_back({pieces[p].task, pieces[p].begin, pieces[p].time, pieces[p].line});
        }
    }
    std::reverse(f.chain.begin(), f.chain.end());
    std::erase_if(f.lines, [](const line_figures& l) { return l.tasks + l.strands + l.waits == 0; });
    std::sort(f.lines.begin(), f.lines.end(), [](const line_figures& a, const line_figures& b) {
        return std::tuple(b.on_chain, b.work, a.line) < std::tuple(a.on_chain, a.work, b.line);
    });
    return f;
}

namespace {

class busy_slices final : public observer {
public:
    explicit busy_slices(unsigned workers) : slices(workers), m_since(workers, never) {}
    void busy(moment when, unsigned worker, bool now) override {
        if (now) {
            m_since[worker] = when;
        } else {
            close(worker, when);
        }
    }
    void holds(moment, unsigned, std::uint64_t) override {}
    void finish(moment when) {
        for (unsigned w = 0; w < m_since.size(); ++w) {
            close(w, when);
        }
    }
    std::vector<std::vector<slice>> slices;

private:
    void close(unsigned w, moment when) {
        const moment began = std::exchange(m_since[w], never);
        if (began == never || when / 1000 <= began / 1000) {
            return;
        }
        slices[w].push_back({began / 1000, when / 1000, doing::own});
    }
    std::vector<moment> m_since;
};

} // namespace

simulated_run simulate_run(const workload& graph, unsigned workers, const costs& price) {
    setup how;
    how.price = price;
    pilfer::balance::resolve(how.policy, nullptr);
    how.workers = 1;
    simulated_run r;
    r.workers = workers;
    r.alone = simulate(how, graph).makespan;
    how.workers = workers;
    busy_slices seen(workers);
    r.time = simulate(how, graph, &seen).makespan;
    seen.finish(r.time);
    r.timeline = std::move(seen.slices);
    return r;
}

std::string time_text(double ns) {
    constexpr std::pair<double, const char*> units[] = {{1e9, "s"}, {1e6, "ms"}, {1e3, "us"}};
    if (ns >= 999.5e9) {
        return fmt::format("{:.0f} s", ns / 1e9);
    }
    for (const auto& [size, name] : units) {
        if (ns >= 0.9995 * size) { // what rounds to 1000 of the smaller unit
            return fmt::format("{:.3g} {}", ns / size, name);
        }
    }
    return fmt::format("{:.3g} ns", ns);
}

namespace {

/// A cause is named if it takes this share of the workers' time.
constexpr double much = 0.25;
/// Shorter slices lose much of their time to the runtime.
constexpr double tiny_ns = 250;

} // namespace

diagnosis diagnose(const recorded_trace& t, const trace_figures& f) {
    const std::size_t n = t.workers.size();
    const std::uint64_t all = (f.end - f.begin) * n;
    if (f.slices == 0) {
        return {cause::outside, "The trace shows no task: the pool had no work."};
    }
    const auto idle = [&f](lack l) { return f.idle[static_cast<unsigned>(l)]; };
    std::uint64_t lost = 0;
    for (const std::uint64_t part : f.idle) {
        lost += part;
    }
    const double average = static_cast<double>(f.busy) / static_cast<double>(f.slices);
    if (share(lost, all) < much) {
        if (average < tiny_ns) {
            return {cause::tiny,
                    fmt::format(
                        "Tiny tasks hold it back: a worker ran {} on average before it took the next task.",
                        time_text(average))};
        }
        return {cause::nothing,
                fmt::format("Nothing holds it back: {} busy {} of the time.",
                            n == 1 ? "the only worker was" : fmt::format("{} workers were", n),
                            percent(share(f.busy, all)))};
    }
    const std::string without = fmt::format("workers were without a task {} of their time meanwhile", "{}");
    const auto most = static_cast<lack>(std::max_element(f.idle.begin(), f.idle.end()) - f.idle.begin());
    const std::string part = percent(share(idle(most), all));
    switch (most) {
    case lack::lock: {
        const auto worst =
            std::max_element(f.waits.begin(), f.waits.end(),
                             [](const waits_of& a, const waits_of& b) { return a.idle < b.idle; });
        const auto line = std::find_if(f.lines.begin(), f.lines.end(), [&](const waits_at& w) {
            return w.lock && w.reason == worst->reason && w.name == worst->name &&
                   !t.places[w.place].file.empty();
        });
        return {cause::lock, fmt::format("A lock holds it back: tasks waited {} for {}{}, up to "
                                         "{} at once, and workers were "
                                         "idle {} of their time meanwhile.",
                                         worst->waits == 1 ? "once" : fmt::format("{} times", worst->waits),
                                         worst->name.empty()
                                             ? fmt::format("{} (object {:x})", worst->reason, worst->object)
                                             : cut(with_name(worst->reason, worst->name)),
                                         line == f.lines.end()
                                             ? ""
                                             : ", most of them at " + cut(line_names(t.places)[line->place]),
                                         worst->at_once, part)};
    }
    case lack::serial:
        // A task that runs its children itself, because no thief came in time, has one slice.
        return {cause::serial,
                fmt::format("A serial part, or tasks too small to be stolen, hold it back: one "
                            "worker ran alone so long that the others were idle {} of the time "
                            "of all {}. A task graph (pilfer profile --graph) tells which.",
                            part, n)};
    case lack::little:
        return {cause::little, fmt::format("Too few tasks at once hold it back: some workers ran tasks while "
                                           "others were idle, {} of the "
                                           "time of all {}.",
                                           part, n)};
    case lack::outside:
        return {cause::outside,
                fmt::format("It waits for something outside of the pool: all tasks waited and workers were "
                            "idle {} of their time meanwhile.",
                            part)};
    case lack::none:
        break;
    }
    return {cause::outside, fmt::format("The pool had no task for long: workers were idle {} of their time "
                                        "because the program gave it none.",
                                        part)};
}

std::string with_name(const std::string& reason, const std::string& name) {
    return name.empty() ? reason : reason + " \"" + name + '"';
}

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

namespace {

class edited final : public workload {
public:
    edited(const recorded_graph& g, const std::vector<double>& factor, bool by_line)
        : m_graph(g), m_factor(factor), m_by_line(by_line) {}
    step next(std::uint64_t task, std::uint64_t& place) const override {
        const std::uint64_t here = place;
        step s = m_graph.next(task, place);
        if (s.what == step::kind::compute) {
            // A strand of no time at all would be no event.
            const double time = static_cast<double>(s.value) *
                                m_factor[m_by_line ? m_graph.line_at(task, here) : m_graph.part_of(task)];
            s.value = std::max<moment>(static_cast<moment>(time), 1);
        }
        return s;
    }
    void begin(unsigned workers, const std::function<void(unsigned, std::uint64_t)>& put) const override {
        m_graph.begin(workers, put);
    }
    [[nodiscard]] std::uint64_t awaitable() const override { return m_graph.awaitable(); }
    [[nodiscard]] moment work() const override { return m_graph.work(); }
    [[nodiscard]] unsigned locks() const override { return m_graph.locks(); }

private:
    const recorded_graph& m_graph;
    const std::vector<double>& m_factor;
    bool m_by_line;
};

[[nodiscard]] moment predicted_of(const edited& program, unsigned workers, const costs& price) {
    setup how;
    how.price = price;
    how.workers = workers;
    pilfer::balance::resolve(how.policy, nullptr);
    return simulate(how, program).makespan;
}

/// " of f()", or " at x.cpp:12"
[[nodiscard]] std::string where(const recorded_graph& g, std::uint64_t task, unsigned line) {
    if (!g.lines()[line].file.empty()) {
        return " at " + cut(g.line_names()[line]);
    }
    return g.part_of(task) == 0 ? "" : " of " + cut(g.parts()[g.part_of(task)]);
}

} // namespace

moment predicted(const recorded_graph& g, unsigned workers, const costs& price,
                 const std::vector<double>& factor) {
    return predicted_of(edited(g, factor, false), workers, price);
}

moment predicted(const recorded_graph& g, unsigned workers, const costs& price) {
    return predicted(g, workers, price, std::vector<double>(g.parts().size(), 1));
}

moment predicted_by_line(const recorded_graph& g, unsigned workers, const costs& price,
                         const std::vector<double>& factor) {
    return predicted_of(edited(g, factor, true), workers, price);
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

std::string left_out(const recorded_graph& g) {
    return g.locks() > 1 ? "Caches, memory and locks that are no pilfer::mutex are not simulated."
                         : "Locks, caches and memory are not simulated: a trace (PILFER_TRACE, pilfer view) "
                           "shows waits for locks.";
}

namespace {

/// The sentence, if the simulated program is much faster without its locks; else empty.
[[nodiscard]] std::string lock_that_holds_back(const recorded_graph& g, const graph_figures& f,
                                               const simulated_run& run, const costs& price) {
    const auto locks = locks_of(g);
    if (locks.empty()) {
        return "";
    }
    const moment without = predicted(*without_locks(g), run.workers, price);
    if (static_cast<double>(without) > (1 - much) * static_cast<double>(run.time)) {
        return "";
    }
    return fmt::format(
        "A lock holds it back: tasks compute {} of {} under {}, so {} workers are {:.1f} times as fast as "
        "one, and {:.1f} times without locks.",
        time_text(to_ns(locks[0].held)), time_text(to_ns(f.work)), cut(lock_name(g, locks[0].lock)),
        run.workers, run.speedup(),
        static_cast<double>(run.alone) / static_cast<double>(std::max<moment>(without, 1)));
}

} // namespace

diagnosis diagnose(const recorded_graph& g, const graph_figures& f, const simulated_run& run,
                   const costs& price) {
    if (f.work == 0) {
        return {cause::outside, f.tasks == 0 ? "The graph shows no task: the pool had no work."
                                             : "The graph shows no work: its tasks compute nothing."};
    }
    const double task_ns = f.tasks == 0 ? 0 : to_ns(f.work) / static_cast<double>(f.tasks);
    const auto theft = static_cast<double>(theft_ns(price));
    if (f.tasks > 100 && task_ns < theft) {
        const line_figures* const most = tiny_tasks(f, price);
        const bool known = most != nullptr && !g.lines()[most->line].file.empty();
        const std::string line = known ? " forked at " + cut(g.line_names()[most->line]) : "";
        const double line_ns = known ? to_ns(most->tasks_work) / static_cast<double>(most->tasks) : task_ns;
        return {cause::tiny,
                fmt::format("Tiny tasks hold it back: a task{} computes {} on average, a fork costs about {} "
                            "and a theft {}.",
                            line, time_text(line_ns), time_text(price.spawn), time_text(theft))};
    }
    const double speedup = run.speedup();
    const auto longest = std::max_element(f.chain.begin(), f.chain.end(),
                                          [](const link& a, const link& b) { return a.time < b.time; });
    if (speedup >= 0.75 * run.workers || longest == f.chain.end()) {
        return {cause::nothing,
                fmt::format("Nothing holds it back: {} workers are {:.1f} times as fast as one, simulated.",
                            run.workers, speedup)};
    }
    if (const std::string lock = lock_that_holds_back(g, f, run, price); !lock.empty()) {
        return {cause::lock, lock};
    }
    const std::string so = speedup < 1 ? fmt::format("so {} workers are no faster than one.", run.workers)
                                       : fmt::format("so {} workers are only {:.1f} times as fast as one.",
                                                     run.workers, speedup);
    const double alone = static_cast<double>(longest->time) / static_cast<double>(f.span);
    if (alone >= much && ready_during(f, *longest) < 1.5) {
        return {cause::serial,
                fmt::format(
                    "A serial part holds it back: task {}{} computes {} alone, {} of the longest chain, {}",
                    longest->task, where(g, longest->task, longest->line), time_text(to_ns(longest->time)),
                    percent(alone), so)};
    }
    return {cause::little, fmt::format("Too few tasks at once hold it back: {:.1f} could run on average, and "
                                       "the longest chain takes {} of {} of work{}, {}",
                                       f.parallelism(), time_text(to_ns(f.span)), time_text(to_ns(f.work)),
                                       f.lines.empty() || g.lines()[f.lines.front().line].file.empty()
                                           ? ""
                                           : ", most of it at " + cut(g.line_names()[f.lines.front().line]),
                                       so)};
}

} // namespace study
