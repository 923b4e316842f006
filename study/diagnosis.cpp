// Sentences about traces and graphs: which cause is named, and by what limits.
#include "diagnosis.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "curve.hpp"
#include "edits.hpp"

namespace study {
namespace {

/// A cause is named if it takes this share of the workers' time.
constexpr double much = 0.25;
/// Shorter slices lose much of their time to the runtime.
constexpr double tiny_ns = 250;

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

/// " of f()", or " at x.cpp:12"
[[nodiscard]] std::string where(const recorded_graph& g, std::uint64_t task, unsigned line) {
    if (!g.lines()[line].file.empty()) {
        return " at " + cut(g.line_names()[line]);
    }
    return g.part_of(task) == 0 ? "" : " of " + cut(g.parts()[g.part_of(task)]);
}

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

std::string with_name(const std::string& reason, const std::string& name) {
    return name.empty() ? reason : reason + " \"" + name + '"';
}

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
