// What the workers of one pool share.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include <pilfer/counters.hpp>
#include <pilfer/detail/runtime.hpp>
#include <pilfer/detail/sleep.hpp>
#include <pilfer/options.hpp>

#include "base/os.hpp"
#include "context/stack_pool.hpp"
#include "worker/closing.hpp"
#include "worker/record_pool.hpp"
#include "worker/scheduler.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {

struct futex_park {
    static void wait(std::atomic<std::uint32_t>& word, std::uint32_t expected) noexcept {
        os::futex_wait(word, expected);
    }
    static void wake(std::atomic<std::uint32_t>& word) noexcept { os::futex_wake(&word, 1); }
};

class pool_core {
public:
    using pool_sleepers = sleepers<std_atom, futex_park>;

    explicit pool_core(const options& checked);
    ~pool_core();
    pool_core(const pool_core&) = delete;
    pool_core& operator=(const pool_core&) = delete;

    void shutdown(shutdown_mode mode);

    [[nodiscard]] unsigned size() const noexcept { return m_size; }
    [[nodiscard]] scheduler& at(unsigned i) noexcept { return *m_workers[i]; }
    [[nodiscard]] const options& settings() const noexcept { return m_options; }
    [[nodiscard]] counters sum() const noexcept;
    [[nodiscard]] counters of(unsigned i) const noexcept;

    /// A task from outside: counted, queued, announced. Throws pool_closed.
    void accept(submission* s);
    /// Something was put where any worker may take it: wakes a sleeper. If nobody sleeps, asks a busy
    /// worker to make way after its next 64 announcements.
    void notify_any() noexcept;
    /// The same for one worker's inbox.
    void notify(unsigned i) noexcept;
    /// Where a released context goes on that cannot do so on the calling worker.
    void enqueue(suspension* s) noexcept;
    /// The same for a context that makes way: nobody else is asked to.
    void requeue(suspension* s) noexcept;
    /// For resume::elsewhere: hands `s` to a worker other than `not_here`.
    void send_elsewhere(suspension* s, unsigned not_here) noexcept;

    [[nodiscard]] bool stopping() const noexcept { return m_stop.load(std::memory_order_acquire); }
    [[nodiscard]] bool dropping() const noexcept { return m_dropping.load(std::memory_order_relaxed); }
    /// A worker is about to sleep: a shutdown that waits for quiet looks again.
    void worker_is_idle() noexcept { m_closing.worker_is_idle(); }
    void wait_for_start() noexcept;

    submission_queue<std_atom> submissions;
    submission_queue<std_atom> runnable; // contexts that may go on anywhere
    stack_pool stacks;
    record_pool records;

    [[nodiscard]] pool_sleepers& idle() noexcept { return *m_idle; }
    [[nodiscard]] bool oversubscribed() const noexcept { return m_oversubscribed; }

private:
    void start_threads();
    void enqueue_here(suspension* s) noexcept;
    void stop_threads() noexcept;
    [[nodiscard]] bool wake_somebody() noexcept;

    options m_options;
    unsigned m_size;
    bool m_oversubscribed;
    std::vector<std::unique_ptr<scheduler>> m_workers;
    std::unique_ptr<pool_sleepers::seat[]> m_seats;
    std::unique_ptr<pool_sleepers::map_word[]> m_map;
    std::unique_ptr<pool_sleepers> m_idle;
    std::atomic<unsigned> m_next{0}; // round robin for foreign submitters

    closing<std_atom, futex_park> m_closing;
    std::atomic<unsigned> m_visitors{0}; // workers of other pools inside enqueue()
    std::atomic<bool> m_dropping{false};
    std::atomic<bool> m_stop{false};
    std::atomic<std::uint32_t> m_started{0};
    std::mutex m_shutdown_mutex;
    bool m_joined = false; // under m_shutdown_mutex
};

} // namespace detail
} // namespace v0
} // namespace pilfer
