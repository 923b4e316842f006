// Figures of a trace: the work of the workers, the waits of tasks, and why workers were idle meanwhile.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "trace.hpp"

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

} // namespace study
