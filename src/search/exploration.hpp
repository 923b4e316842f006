// What a pool that explores asks for, and what it tells.
#pragma once

#if defined(PILFER_TEST)

#include <array>
#include <cstdint>
#include <exception>
#include <string>
#include <vector>

#include "search/chooser.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {

/// Why a schedule failed, in the order of how much the reason explains.
enum class verdict {
    passed,
    exception,
    requirement,
    ended, ///< The whole program, with an exit code or by a signal.
    outsider,
    deadlock,
    left_waiting,
    endless,
    blocked,
    misfit
};

/// Return addresses of a step of a task, innermost first. As many as are between a place in a user's code and
/// the step.
using step_frames = std::array<const void*, 16>;

/// One step of a schedule.
struct trace_step {
    std::uint32_t task;  ///< 0: no task, but the pool.
    std::string name;    ///< of the task; empty: it has none
    std::string what;    ///< With the object's name.
    std::uint32_t other; ///< Another task; 0: there is none.
    step_frames frames{};
    unsigned depth = 0;     ///< Of the frames.
    std::uint32_t hash = 0; ///< Of the steps so far.
};

/// The result of one schedule.
struct run_report {
    verdict how = verdict::passed;
    std::string message{};
    bool abandoned = false;             ///< Tasks wait for ever: the pool is not used again.
    bool holds_thread = false;          ///< A task has blocked its thread, which never goes on.
    std::uint32_t hash = 2'166'136'261; ///< Of the steps, if they were traced.
};

/// Says what to run, and hears what came of it. On the worker's own stack.
class exploration {
public:
    /// The plan of the next schedule; null: there is none.
    [[nodiscard]] virtual const plan* next() = 0;
    [[nodiscard]] virtual bool traces() const noexcept = 0;
    /// A trace is to have lines of the source.
    [[nodiscard]] virtual bool shows_lines() const noexcept = 0;
    virtual void call_body() = 0; ///< In a task.
    [[nodiscard]] virtual std::string name_of_body() const { return "body"; }
    virtual void ran(const std::vector<choice>& taken, const run_report& r,
                     const std::vector<trace_step>& trace) = 0;
    [[nodiscard]] virtual std::uint64_t most_steps() const noexcept = 0;
    /// For so many nanoseconds a task may block its thread, or compute without a step. 0: for ever.
    [[nodiscard]] virtual std::uint64_t most_time() const noexcept = 0;

    /// A choice was made, or a step, of a schedule that is traced: before ran(), which may not come.
    virtual void chose(const choice&) noexcept {}
    virtual void stepped(const trace_step&) noexcept {}
    /// A task without a waiter has thrown. False: the schedule has failed.
    [[nodiscard]] virtual bool handles(const std::exception_ptr&) { return false; }

protected:
    ~exploration() = default;
};

} // namespace detail
} // namespace v0
} // namespace pilfer

#endif
