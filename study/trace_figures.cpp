// Waits and idle workers of a trace, in one pass over everything that begins or ends.
#include "trace_figures.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <utility>

#include "curve.hpp"

namespace study {
namespace {

[[nodiscard]] bool is_lock(const std::string& reason) {
    return std::ranges::any_of(
        std::array{"a mutex", "a shared mutex", "a semaphore", "the condition of a monitor"},
        [&](const char* lock) { return reason.starts_with(lock); });
}

/// Something begins (`delta` 1) or ends (-1).
struct change {
    std::uint64_t when;
    enum kind : std::uint8_t { worker, lock, other } what;
    int delta;
    std::size_t which; // of the list of waits
};

/// The waits by line. Waiters that get a lock one after another held it meanwhile.
[[nodiscard]] std::vector<waits_at> waits_by_line(const recorded_trace& t) {
    std::vector<waits_at> all;
    std::map<std::tuple<source_line, unsigned, unsigned>, std::size_t>
        known; // several places may be on one line
    std::map<std::uint64_t, std::vector<std::pair<const recorded_wait*, std::size_t>>> locks;
    for (const recorded_wait& w : t.waits) {
        const bool lock = is_lock(t.reasons[w.reason]);
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

[[nodiscard]] std::uint64_t at_least_zero(std::int64_t n) {
    return static_cast<std::uint64_t>(std::max<std::int64_t>(n, 0));
}

/// Goes through all changes in the order of time, and adds up what was the case between two of them.
class sweep {
public:
    sweep(trace_figures& f, std::size_t workers)
        : m_f(f), m_workers(static_cast<std::int64_t>(workers)), m_busy_area(f.begin, f.end),
          m_lock_area(f.begin, f.end), m_wait_area(f.begin, f.end), m_now(f.waits.size()), m_since(f.begin) {}

    void take(const change& c) {
        if (c.when > m_since) {
            pass(c.when);
        }
        if (c.what == change::worker) {
            m_busy += c.delta;
            return;
        }
        (c.what == change::lock ? m_locks : m_others) += c.delta;
        m_now[c.which] += c.delta;
        std::uint64_t& at_once = m_f.waits[c.which].at_once;
        at_once = std::max(at_once, at_least_zero(m_now[c.which]));
        if (c.what == change::lock) {
            const auto at = std::find(m_open.begin(), m_open.end(), c.which);
            if (m_now[c.which] > 0 && at == m_open.end()) {
                m_open.push_back(c.which);
            } else if (m_now[c.which] <= 0 && at != m_open.end()) {
                m_open.erase(at);
            }
        }
    }
    void finish() {
        m_f.busy_curve = m_busy_area.finish();
        m_f.lock_curve = m_lock_area.finish();
        m_f.wait_curve = m_wait_area.finish();
    }

private:
    void pass(std::uint64_t when) {
        const std::uint64_t time = when - m_since;
        m_busy_area.add(m_since, when, static_cast<double>(m_busy));
        m_lock_area.add(m_since, when, static_cast<double>(m_locks));
        m_wait_area.add(m_since, when, static_cast<double>(m_others));
        // A worker lacks what a waiting task would give it.
        const std::uint64_t idle = at_least_zero(m_workers - m_busy);
        const std::uint64_t by_locks = std::min(idle, at_least_zero(m_locks));
        const lack rest = m_busy == 1              ? lack::serial
                          : m_busy > 1             ? lack::little
                          : m_others + m_locks > 0 ? lack::outside
                                                   : lack::none;
        m_f.idle[static_cast<unsigned>(lack::lock)] += by_locks * time;
        m_f.idle[static_cast<unsigned>(rest)] += (idle - by_locks) * time;
        if (by_locks > 0) {
            const auto each = static_cast<double>(time * by_locks);
            for (const std::size_t i : m_open) {
                m_f.waits[i].idle += static_cast<std::uint64_t>(each * static_cast<double>(m_now[i]) /
                                                                static_cast<double>(m_locks));
            }
        }
        m_since = when;
    }

    trace_figures& m_f;
    const std::int64_t m_workers;
    curve m_busy_area;
    curve m_lock_area;
    curve m_wait_area;
    std::int64_t m_busy = 0;
    std::int64_t m_locks = 0;
    std::int64_t m_others = 0;
    std::vector<std::int64_t> m_now; // for each of the waits: tasks that wait
    std::vector<std::size_t> m_open; // the objects of locks for which a task waits
    std::uint64_t m_since;
};

/// From the first slice of a task, or the first wait, to the last slice's end.
void find_ends(trace_figures& f, const recorded_trace& t) {
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
}

void add_workers(trace_figures& f, const recorded_trace& t, std::vector<change>& changes) {
    f.use.resize(t.workers.size());
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
}

/// Waits for children and branches are as many as there are objects, so only locks and objects with a name
/// are kept apart.
void add_waits(trace_figures& f, const recorded_trace& t, std::vector<change>& changes) {
    std::map<std::tuple<unsigned, std::uint64_t, unsigned>, std::size_t> known;
    for (const recorded_wait& w : t.waits) {
        const bool lock = is_lock(t.reasons[w.reason]);
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
}

} // namespace

trace_figures figures_of(const recorded_trace& t) {
    trace_figures f;
    f.lines = waits_by_line(t);
    find_ends(f, t);
    std::vector<change> changes;
    add_workers(f, t, changes);
    add_waits(f, t, changes);
    std::sort(changes.begin(), changes.end(), [](const change& a, const change& b) {
        return std::pair(a.when, a.delta) < std::pair(b.when, b.delta);
    });
    sweep all(f, t.workers.size());
    for (const change& c : changes) {
        all.take(c);
    }
    all.finish();
    std::sort(f.waits.begin(), f.waits.end(),
              [](const waits_of& a, const waits_of& b) { return a.total > b.total; });
    return f;
}

} // namespace study
