// Figures of pools for monitors: Prometheus' text, and what `pilfer top` reads in another process.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <pilfer/counters.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

class pool_core;
class scheduler;

enum class worker_activity { absent, running, searching, asleep, retired };
inline constexpr unsigned worker_activities = 5;
[[nodiscard]] const char* name(worker_activity a) noexcept;

struct worker_figures {
    worker_activity now = worker_activity::absent;
    std::uint64_t thread = 0; ///< Its number in the system.
    std::uint64_t shared = 0; ///< Tasks in its deque that thieves can take.
    std::uint64_t own = 0;    ///< Tasks in its deque that they cannot.
    std::int64_t oldest = 0;  ///< The place of the oldest one.
    std::uint64_t coroutines = 0;
    counters count{};
};

struct pool_figures {
    std::uint64_t number = 0;
    std::string name;
    unsigned active = 0;
    bool one_lock = false;
    bool submissions = false; ///< One waits.
    /// The number of waiting ones and the bound, if the queue has one. Only a bounded queue counts.
    std::uint64_t submissions_queued = 0;
    std::uint64_t submissions_most = 0;
    bool runnable = false;  ///< A resumed context waits for a worker.
    bool exhausted = false; ///< A task waits for a stack.
    std::uint64_t dropped_outside = 0;
    std::uint64_t shared_outside = 0;
    std::uint64_t contexts_live = 0;
    std::uint64_t contexts_peak = 0;
    std::vector<worker_figures> workers{};

    [[nodiscard]] counters sum() const noexcept;
    /// Tasks that the scheduler has begun, or resumed.
    [[nodiscard]] std::uint64_t progress() const noexcept;
    [[nodiscard]] std::uint64_t suspended() const noexcept;
    [[nodiscard]] std::uint64_t ready() const noexcept;
    [[nodiscard]] unsigned workers_that(worker_activity a) const noexcept;
};

// These two follow no pointer, so that they also work on a copy of another process's object.
/// All but the number, the name and the workers.
[[nodiscard]] pool_figures figures_of_pool(const pool_core& p) noexcept;
/// `asleep`: it sleeps in the kernel.
[[nodiscard]] worker_figures figures_of_worker(const pool_core& p, const scheduler& w, bool asleep) noexcept;

/// The text of Prometheus' exposition format 0.0.4. Throws std::bad_alloc.
[[nodiscard]] std::string prometheus_text(const std::vector<pool_figures>& pools);

} // namespace detail
} // namespace v0
} // namespace pilfer
