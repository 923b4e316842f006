// task_options: priority, weight and name of a task.
#pragma once

#include <cstdint>
#include <string_view>

#include <pilfer/detail/base/platform.hpp>

namespace pilfer {
inline namespace v0 {

/// Which of the tasks that are queued in a pool begins first.
///
/// A worker that looks at the queue takes the oldest task of the highest level. Every 64th task is taken from
/// the lowest level, and another one from normal, so that no level starves.
/// Children are not ordered: they are in deques, which have no levels. A task that has begun goes on before a
/// task that has not. A running task makes way for tasks of its own level and above only.
enum class priority : std::uint8_t {
    high,      ///< before all others
    normal,    ///< after high
    low,       ///< after normal
    automatic, ///< that of the task that submits it; on a thread that is no worker: normal
};

/// Options of a task, which `run`, `async`, `submit`, `spawn` and `fork` take before the function:
///
///     pool.submit({.priority = pilfer::priority::low, .name = "write log"}, [&] { write(log); });
///     scope.fork({.weight = file.size}, [&] { hash(file); });
///
/// Wrong values throw std::invalid_argument before anything is started. Cost: a call of some nanoseconds for
/// the announcement of a task with a weight, a string beside the function of one with a name.
struct task_options {
    /// Of `run`, `async` and `submit`. A task with a level goes through the queue of the pool, also from one
    /// of its own workers. Children of a scope have none: `spawn` and `fork` refuse any but automatic.
    pilfer::v0::priority priority = pilfer::v0::priority::automatic;

    /// The weight of the task beside others, in a unit of the program's choice: bytes, expected microseconds.
    /// From 1 to most_weight. Of `spawn` it is the weight of the rest of the caller, which is what is
    /// offered. A thief's share, exposure::threshold and victim::longest go by the sums of weights instead of
    /// the number of tasks. A hint: it changes who runs a task, never which tasks run. A task in the queue of
    /// a pool has none.
    std::uint64_t weight = 1;

    /// For messages, pool::dump() and the report of stalls, as long as the task runs. Empty: none. At most
    /// 255 bytes without control characters; it is copied.
    std::string_view name{};

    /// A deque holds at most 2^31 tasks beside one that has a weight, so that no sum overflows.
    static constexpr std::uint64_t most_weight = std::uint64_t{1} << 32;
};

} // namespace v0
} // namespace pilfer
