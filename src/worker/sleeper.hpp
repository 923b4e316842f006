// The sleep of a worker: src/idle/README.md.
#pragma once

#include <atomic>
#include <cstdint>

#include <pilfer/detail/task/worker.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

class scheduler;
class team;
struct rest_plan;

/// Puts one worker to sleep. Called on the thread's own stack, between two tasks.
class sleeper {
public:
    sleeper(scheduler& w, team& t) noexcept;

    void sleep() noexcept;
    /// Parks a worker that the pool does not want. Returns when the worker is wanted again, has a frame to
    /// resume, or has to end with the pool.
    void retire() noexcept;
    /// Parks a worker whose task waits beside nothing. Returns when the worker has a frame to resume.
    void wait_for_inbox() noexcept;

private:
    void make(rest_plan& plan) noexcept;
    /// Without token or alert. Returns after a call, or if `called()` is true.
    template <class Called>
    void park(Called called) noexcept;
    PILFER_NOINLINE void note_park() noexcept;
    PILFER_NOINLINE void note_unpark() noexcept;
    static void rest_on(std::atomic<std::uint32_t>& state, std::uint64_t ns) noexcept;

    scheduler& m_worker;
    team& m_team;
};

} // namespace detail
} // namespace v0
} // namespace pilfer
