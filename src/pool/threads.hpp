// The threads of a pool's workers: how they begin and end, and how many of them take work.
#pragma once

#include <atomic>
#include <climits>
#include <cstdint>
#include <exception>
#include <mutex>

#include "machine/plan.hpp"
#include "platform/os.hpp"

namespace pilfer {
inline namespace v0 {
struct options;
namespace detail {

class pool_core;
class scheduler;

/// Names the calling thread, which runs jobs of blocking().
void name_helper(const options& o) noexcept;

class worker_threads {
public:
    explicit worker_threads(pool_core& p);

    /// Makes the threads, and returns when all of them have called options.on_start. Returns what on_start
    /// has thrown: then the threads end. Throws std::system_error if there is no thread.
    [[nodiscard]] std::exception_ptr start();
    /// The end: no later resize() has an effect, and all threads end.
    void stop() noexcept;

    /// See pool::resize().
    unsigned resize(unsigned n);
    /// Called by the governor: limits the pool to `n` of the workers that resize() asked for. If no thread
    /// can be made, the pool keeps fewer workers.
    void grant(unsigned n) noexcept;
    /// From now on only resize() limits the pool.
    void grant_all() noexcept { m_granted = UINT_MAX; }
    /// Before start(): the limit follows the CPUs that the system grants.
    void follow_quota() noexcept { m_follows_quota = true; }
    /// Number of workers that resize() asked for.
    [[nodiscard]] unsigned wanted() const noexcept { return m_wanted.load(std::memory_order_relaxed); }
    /// How the workers are pinned; off if the system does not even report the mask.
    [[nodiscard]] pinning pinning_now() const noexcept { return m_seating.how; }
    /// The CPU of worker `i`, if the worker is pinned.
    [[nodiscard]] unsigned cpu_of(unsigned i) const noexcept { return m_seating.cpu[i]; }
    /// Number of threads made. For a pool that has ended.
    [[nodiscard]] unsigned made() const noexcept { return m_threads; }

    /// The body of the thread of a scheduler.
    static void* main(void* scheduler) noexcept;

private:
    void begin_thread(scheduler& w) const noexcept;
    [[nodiscard]] unsigned make_all();
    void let_go() noexcept;
    [[nodiscard]] bool has_begun(std::exception_ptr error) noexcept;
    [[nodiscard]] bool begins(unsigned worker) noexcept;
    void ends(unsigned worker) noexcept;
    [[nodiscard]] std::exception_ptr wait_until_begun() noexcept;
    void wait_for_start() noexcept;
    void follow_limits() noexcept;

    pool_core& m_pool;
    machine::seating m_seating;     // its groups are final when the loop of a worker begins
    std::atomic<unsigned> m_wanted; // by resize(), under the mutex
    std::mutex m_mutex;
    unsigned m_threads = 0;        // number of threads made; under the mutex after start()
    unsigned m_granted = UINT_MAX; // under the mutex: the limit set by grant()
    bool m_follows_quota = false;
    bool m_resized_no_more = false; // under the mutex: the threads are being ended
    std::atomic<std::uint32_t> m_started{0};
    std::atomic<std::uint32_t> m_begun{0}; // threads that have called options.on_start
    std::mutex m_begun_mutex;
    std::exception_ptr m_refusal; // the first exception that on_start threw; under that mutex
    const int m_nice = os::nice_of(0);
#if defined(PILFER_CHAOS)
    [[nodiscard]] static std::uint64_t next_number() noexcept {
        static std::atomic<std::uint64_t> pools{0};
        return pools.fetch_add(1, std::memory_order_relaxed) + 1;
    }
    const std::uint64_t m_number = next_number(); // counts the pools of the process from 1
#endif
};

} // namespace detail
} // namespace v0
} // namespace pilfer
