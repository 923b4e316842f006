// Threads on which blocking() runs what would block a worker.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include <pilfer/blocking.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

class pool_core;

/// Of one pool. A job goes to a thread that rests, the one that has done so for the shortest time, or to a
/// new one; there is no queue, since a worker that blocks is better than a call that waits.
class blocking_threads {
public:
    blocking_threads(const pool_core& owner, unsigned most) noexcept : m_pool(owner), m_most(most) {}
    blocking_threads(const blocking_threads&) = delete;
    blocking_threads& operator=(const blocking_threads&) = delete;
    ~blocking_threads() = default;

    /// The calling thread is inside a job of that pool.
    [[nodiscard]] static bool is_helper_of(const pool_core& p) noexcept;
    /// The calling thread is inside a job of whatever pool.
    [[nodiscard]] static bool is_helper() noexcept;
    /// So is whoever has one, on its own thread.
    class helping {
    public:
        explicit helping(const pool_core& p) noexcept;
        helping(const helping&) = delete;
        helping& operator=(const helping&) = delete;
        ~helping();

    private:
        const pool_core* const m_before;
    };
    /// False: nobody takes it.
    [[nodiscard]] bool give(blocking_job& job) noexcept;
    /// When no job is left and none comes: ends and joins all threads.
    void join() noexcept;
    /// Jobs that have not ended.
    [[nodiscard]] unsigned busy() const noexcept { return m_busy.load(acq); }

private:
    enum state : std::uint32_t { resting, called, ended };
    struct helper {
        blocking_threads* home = nullptr;
        blocking_job* job = nullptr; // under the mutex, or between `called` and the next rest
        helper* below = nullptr;     // the one that rests for longer; under the mutex
        bool alive = false;          // under the mutex
        std::uintptr_t thread = 0;
        std::atomic<std::uint32_t> word{resting};
    };

    static void* main(void* self);
    void serve(helper& h) noexcept;
    [[nodiscard]] bool rest(helper& h) noexcept;
    [[nodiscard]] bool start(blocking_job& job) noexcept;

    const pool_core& m_pool;
    const unsigned m_most;
    std::atomic<unsigned> m_busy{0};
    std::mutex m_mutex;
    // Under the mutex:
    std::vector<std::unique_ptr<helper>> m_helpers; // those that have ended stay, to be joined and used again
    helper* m_resting = nullptr;
    bool m_over = false;
};

} // namespace detail
} // namespace v0
} // namespace pilfer
