// work_span: the parallelism of a recorded run, and bounds for more workers.
#pragma once

#include <algorithm>
#include <cstdint>

namespace pilfer {
inline namespace v0 {

/// The result of pool::profile(): work and span in nanoseconds, strands and tasks.
///
/// A strand is the part of a task between two of these points: its begin, a fork, the end of a wait for a
/// fork, its end. The span is the longest chain of strands that have to run one after another. Strands and
/// tasks are exact: a program gives the same numbers each time.
struct work_span {
    /// Time of all strands together.
    std::uint64_t work_ns = 0;
    /// Time of the longest chain of strands.
    std::uint64_t span_ns = 0;
    /// The span with a theft added for each fork, and a resumption for each wait (theft_ns, resume_ns).
    std::uint64_t burdened_span_ns = 0;
    /// All strands.
    std::uint64_t strands = 0;
    /// Strands of the longest chain.
    std::uint64_t span_strands = 0;
    /// All tasks.
    std::uint64_t tasks = 0;
    /// Tasks of the longest chain.
    std::uint64_t span_tasks = 0;
    /// The cost of a theft that the burdened span uses.
    std::uint64_t theft_ns = 0;
    /// The cost of a resumption that the burdened span uses.
    std::uint64_t resume_ns = 0;
    /// False if memory ran out: later tasks were not counted. Also false in a child of fork(), unless a task
    /// of the pool has forked while no other thread submitted or waited.
    bool complete = true;

    /// The average number of workers that the program can keep busy; 1 if nothing was recorded.
    [[nodiscard]] double parallelism() const noexcept { return ratio(work_ns, span_ns); }
    /// As parallelism(), with the burdened span.
    [[nodiscard]] double burdened_parallelism() const noexcept { return ratio(work_ns, burdened_span_ns); }
    /// The lower bound of the time on `workers`: the work law and the span law.
    [[nodiscard]] double most_speedup(unsigned workers) const noexcept {
        return std::min(static_cast<double>(workers), parallelism());
    }
    /// The speed-up that a greedy schedule reaches at least: work / (work / workers + span * (1 - 1 /
    /// workers)
    /// + burdened span - span); 1 for one worker, which steals nothing. Assumes that tasks wait for tasks
    /// alone, not for locks or input, and that they compute as fast beside each other as alone. Below 1:
    /// thefts cost more than the workers give. Source: Graham 1969, Brent 1974; He, Leiserson and Leiserson,
    /// SPAA 2010 (Cilkview).
    [[nodiscard]] double least_speedup(unsigned workers) const noexcept {
        if (workers <= 1) {
            return 1;
        }
        const auto work = static_cast<double>(work_ns);
        const auto span = static_cast<double>(span_ns);
        const double time = (work - span) / workers + std::max(span, static_cast<double>(burdened_span_ns));
        return time > 0 ? work / time : 1;
    }

private:
    [[nodiscard]] static double ratio(std::uint64_t work, std::uint64_t span) noexcept {
        return span != 0 ? static_cast<double>(work) / static_cast<double>(span) : 1;
    }
};

} // namespace v0
} // namespace pilfer
