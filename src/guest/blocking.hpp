// Threads that run the functions of blocking(), which would block a worker.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include <pilfer/blocking.hpp>

#include "task/service.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {

class pool_core;

/// The helper threads of one pool. A job goes to the thread that began to rest last, or to a new thread.
/// There is no queue: if no helper is available, the worker itself blocks, which is better than a call that
/// waits.
class blocking_threads final : public service {
public:
    blocking_threads(pool_core& owner, unsigned most) noexcept;
    blocking_threads(const blocking_threads&) = delete;
    blocking_threads& operator=(const blocking_threads&) = delete;
    ~blocking_threads() = default;

    /// Hands the job to a helper thread. False: no helper is available.
    [[nodiscard]] bool take(blocking_job& job) noexcept override;
    /// Ends and joins all threads. Called after the last job.
    void join() noexcept;
    /// Number of jobs that have not ended.
    [[nodiscard]] unsigned busy() const noexcept { return m_busy.load(acq); }

private:
    enum state : std::uint32_t { resting, called, ended };
    struct helper {
        blocking_threads* home = nullptr;
        blocking_job* job = nullptr; // under the mutex, or between `called` and the next rest
        helper* below = nullptr;     // the helper that began to rest before this one; under the mutex
        bool alive = false;          // under the mutex
        std::uintptr_t thread = 0;
        std::atomic<std::uint32_t> word{resting};
    };

    static void* main(void* self);
    void run_jobs(helper& h) noexcept;
    [[nodiscard]] bool rest(helper& h) noexcept;
    [[nodiscard]] bool start(blocking_job& job) noexcept;

    const pool_core& m_pool;
    const unsigned m_most;
    std::atomic<unsigned> m_busy{0};
    std::mutex m_mutex;
    // Under the mutex:
    std::vector<std::unique_ptr<helper>> m_helpers; // ended helpers stay, to be joined and reused
    helper* m_resting = nullptr;
    bool m_over = false;
};

} // namespace detail
} // namespace v0
} // namespace pilfer
