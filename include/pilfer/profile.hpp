// Work and span of what a recording pool ran, and what follows from them for more workers.
#pragma once

#include <algorithm>
#include <cstdint>

namespace pilfer {
inline namespace v0 {

/// What pool::profile() returns. The span is the longest chain of strands of which each has to wait for the
/// one before it; a strand is what a task does between two of: its begin and end, a fork, the end of a wait
/// for what was forked. Work and span are given in three units: nanoseconds, strands, and tasks (each counts
/// 1 where it begins). The latter two are exact: the same program gives the same numbers.
struct work_span {
    std::uint64_t work_ns = 0;
    std::uint64_t span_ns = 0;
    /// The span where each fork costs whoever takes the offered part a theft, and each wait that was not over
    /// when it began a resumption (theft_ns, resume_ns).
    std::uint64_t burdened_span_ns = 0;
    std::uint64_t strands = 0;
    std::uint64_t span_strands = 0;
    std::uint64_t tasks = 0;
    std::uint64_t span_tasks = 0;
    std::uint64_t theft_ns = 0;
    std::uint64_t resume_ns = 0;
    /// False: there was no memory for the records of some task; from then on nothing was counted.
    bool complete = true;

    /// How many workers the program can keep busy at most, on average; 1 where nothing was recorded.
    [[nodiscard]] double parallelism() const noexcept { return ratio(work_ns, span_ns); }
    [[nodiscard]] double burdened_parallelism() const noexcept { return ratio(work_ns, burdened_span_ns); }
    /// No schedule on `workers` is faster than this: the work law and the span law.
    [[nodiscard]] double most_speedup(unsigned workers) const noexcept {
        return std::min(static_cast<double>(workers), parallelism());
    }
    /// What a greedy schedule reaches at least if forks that move cost what the burden says: work over
    /// work / workers + burdened span. Source: Graham 1969, Brent 1974; with the burdened span as in
    /// Cilkview (He, Leiserson, Leiserson: The Cilkview Scalability Analyzer, SPAA 2010).
    [[nodiscard]] double least_speedup(unsigned workers) const noexcept {
        const auto work = static_cast<double>(work_ns);
        const double time = work / std::max(1U, workers) + static_cast<double>(burdened_span_ns);
        return time > 0 ? work / time : 1;
    }

private:
    [[nodiscard]] static double ratio(std::uint64_t work, std::uint64_t span) noexcept {
        return span != 0 ? static_cast<double>(work) / static_cast<double>(span) : 1;
    }
};

} // namespace v0
} // namespace pilfer
