// Figures of a recording: the workers' time and the longest chain. And the one sentence that says what holds
// the program back.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "costs.hpp"
#include "graph.hpp"
#include "simulator.hpp"
#include "trace.hpp"
#include "workload.hpp"

namespace study {

/// Why a worker had nothing to do.
enum class lack : std::uint8_t {
    lock,    ///< Tasks waited for a lock meanwhile.
    serial,  ///< One task ran alone.
    little,  ///< Several tasks ran, but fewer than there are workers.
    outside, ///< Nothing ran: tasks waited for a time, for input or output, or for a thread outside.
    none,    ///< Nothing ran and nothing waited: the pool had no task.
};
inline constexpr unsigned kinds_of_lack = 5;

/// The waits for one object, or for all objects if the reason has none.
struct waits_of {
    std::string reason;
    std::string name;         ///< Of the object; empty: none, or several.
    std::uint64_t object = 0; ///< 0: several, or none.
    bool lock = false;
    std::uint64_t waits = 0;
    std::uint64_t total = 0;   ///< Nanoseconds.
    std::uint64_t longest = 0; ///< Nanoseconds.
    std::uint64_t at_once = 0; ///< The most at one moment.
    std::uint64_t idle = 0;    ///< Nanoseconds of workers without a task meanwhile. Locks only.
};

/// The waits at one line for one reason and for objects of one name.
struct waits_at {
    unsigned place = 0; ///< An index of recorded_trace::places.
    std::string reason;
    std::string name; ///< Of the object; empty: none.
    bool lock = false;
    std::uint64_t waits = 0;
    std::uint64_t total = 0;   ///< Nanoseconds.
    std::uint64_t longest = 0; ///< Nanoseconds.
    /// Of a lock: how long tasks that got it here held it while others waited. Nanoseconds, by the moments at
    /// which waiters got it one after another. A task that got it without a wait is not known.
    std::uint64_t held = 0;
};

struct use_of_worker {
    std::uint64_t busy = 0, asleep = 0, searching = 0; ///< Nanoseconds.
    std::uint64_t slices = 0;
};

inline constexpr std::size_t bins = 600;

struct trace_figures {
    std::uint64_t begin = 0, end = 0; ///< Nanoseconds: from the first slice of a task to the last one's end.
    std::vector<use_of_worker> use;   ///< Between these two.
    std::array<std::uint64_t, kinds_of_lack> idle{}; ///< Nanoseconds of all workers together.
    std::uint64_t busy = 0;                          ///< Likewise.
    std::vector<waits_of> waits;                     ///< The longest total first.
    std::vector<waits_at> lines;                     ///< The longest total first.
    /// Averages of equal stretches of time.
    std::vector<double> busy_curve, lock_curve, wait_curve;
    std::uint64_t slices = 0;
};
[[nodiscard]] trace_figures figures_of(const recorded_trace& t);

/// A stretch of the longest chain.
struct link {
    std::uint64_t task = 0;
    moment begin = 0; ///< If there were a worker for each task.
    moment time = 0;
    unsigned line = 0; ///< An index of recorded_graph::lines().
};

/// What tasks do from a line on, to their next fork or wait. A task begins at the line that forks it.
struct line_figures {
    unsigned line = 0;       ///< An index of recorded_graph::lines().
    std::uint64_t tasks = 0; ///< Forked there.
    moment tasks_work = 0;   ///< What these compute, from any line on.
    std::uint64_t strands = 0;
    moment work = 0;
    moment on_chain = 0;
    std::uint64_t thefts = 0, resumptions = 0; ///< On the chain, if each fork on it were stolen.
    std::uint64_t waits = 0;
    moment waited = 0; ///< If there were a worker for each task.

    /// Its time on the chain with what thefts and resumptions cost.
    [[nodiscard]] moment burdened(const costs& price) const noexcept;
};

/// Printed beside simulated times.
[[nodiscard]] std::string left_out(const recorded_graph& g);

struct graph_figures {
    std::uint64_t tasks = 0; ///< Without task 0, which is the threads outside.
    std::uint64_t strands = 0;
    moment work = 0, span = 0;
    std::vector<link> chain; ///< In the order of time. Neighbours of one task and line are one link.
    std::vector<line_figures>
        lines; ///< The longest on the chain first; lines without a task or a wait are left out.
    std::vector<double> ready_curve; ///< Tasks that could run, averages of equal stretches of the span.
    [[nodiscard]] double parallelism() const noexcept {
        return span == 0 ? 1 : static_cast<double>(work) / static_cast<double>(span);
    }
};
/// Throws std::runtime_error if the graph waits for itself.
[[nodiscard]] graph_figures figures_of(const workload& graph);

/// A run of a graph in the simulator.
struct simulated_run {
    unsigned workers = 0;
    moment alone = 0; ///< The time of one worker, with the runtime's costs.
    moment time = 0;
    std::vector<std::vector<slice>> timeline;
    [[nodiscard]] double speedup() const noexcept {
        return time == 0 ? 1 : static_cast<double>(alone) / static_cast<double>(time);
    }
};
/// With the runtime's default policies.
[[nodiscard]] simulated_run simulate_run(const workload& graph, unsigned workers, const costs& price);

/// The cause that holds a program back.
enum class cause : std::uint8_t { nothing, lock, serial, tiny, little, outside };
struct diagnosis {
    cause what = cause::nothing;
    std::string sentence;
};
/// The line that forks the most tasks that compute for less than a theft takes; null: there is none.
[[nodiscard]] const line_figures* tiny_tasks(const graph_figures& f, const costs& price);
[[nodiscard]] diagnosis diagnose(const recorded_trace& t, const trace_figures& f);
[[nodiscard]] diagnosis diagnose(const recorded_graph& g, const graph_figures& f, const simulated_run& run,
                                 const costs& price);

/// All tasks that run one function.
struct part_figures {
    unsigned part = 0; ///< An index of recorded_graph::parts().
    std::uint64_t tasks = 0;
    moment work = 0;
    moment on_chain = 0; ///< Its time on the longest chain.
};
/// The most work first; parts without tasks are left out.
[[nodiscard]] std::vector<part_figures> parts_of(const recorded_graph& g, const graph_figures& f);

/// The makespan with the runtime's default policies if each part's strands took `factor[part]` of their time.
[[nodiscard]] moment predicted(const recorded_graph& g, unsigned workers, const costs& price,
                               const std::vector<double>& factor);

/// The makespan with the runtime's default policies.
[[nodiscard]] moment predicted(const recorded_graph& g, unsigned workers, const costs& price);

/// The same if the strands of each line took `factor[line]` of their time.
[[nodiscard]] moment predicted_by_line(const recorded_graph& g, unsigned workers, const costs& price,
                                       const std::vector<double>& factor);

/// "a mutex "accounts"", or the reason alone.
[[nodiscard]] std::string with_name(const std::string& reason, const std::string& name);

/// A time for people: three digits or more, with a unit.
[[nodiscard]] std::string time_text(double ns);

} // namespace study
