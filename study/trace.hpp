// Traces of real runs, as PILFER_TRACE and write_trace() write them.
#pragma once

#include <cstdint>
#include <istream>
#include <string>
#include <vector>

#include "lines.hpp"

namespace study {

/// The state of a worker. In all other time it looks for work.
enum class doing : std::uint8_t {
    own,       ///< A task of its own deque.
    stolen,    ///< A task that it has stolen.
    submitted, ///< A task of the pool's queue.
    resumed,   ///< A task that has waited.
    on_top,    ///< A task on top of a waiting frame.
    cut,       ///< A slice whose begin was overwritten.
    asleep,
};
inline constexpr unsigned kinds_of_doing = 7;

/// Times are nanoseconds since the start of the pool.
struct slice {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    doing what = doing::own;
};

/// A task that waited. Its end is its resumption, so it includes the time until a worker was free.
struct recorded_wait {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    unsigned reason = 0;      ///< An index of recorded_trace::reasons.
    std::uint64_t object = 0; ///< Identifies the awaited object; 0: there is none.
    unsigned worker = 0;      ///< On which it suspended.
    unsigned place = 0;       ///< An index of recorded_trace::places.
    unsigned name = 0;        ///< Of the object: an index of recorded_trace::names.
};

struct recorded_trace {
    /// Slices of one worker, in the order of time, without overlap.
    std::vector<std::vector<slice>> workers;
    std::vector<recorded_wait> waits; ///< In the order of their begins.
    std::vector<std::string> reasons; ///< As in "waits for ...".
    std::vector<source_line>
        places; ///< Where tasks waited. The first one stands for those that are not known.
    std::vector<std::string> names{""}; ///< Of awaited objects. The first one stands for those without.
    std::uint64_t tasks = 0;            ///< Begins of tasks that the trace shows.
    std::uint64_t overwritten = 0;      ///< Events that the rings have lost.
    std::uint64_t duration = 0;         ///< Nanoseconds from the pool's start to the writing of the trace.
};

/// Throws std::runtime_error "NAME: what" if the text is no trace of pilfer, or is not complete.
[[nodiscard]] recorded_trace read_trace(std::istream& in, const std::string& name);

} // namespace study
