// The workers of one pool, and what they share.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include <pilfer/detail/base/park.hpp>
#include <pilfer/detail/deque/levels.hpp>
#include <pilfer/detail/idle/sleep.hpp>
#include <pilfer/detail/task/runtime.hpp>
#include <pilfer/options.hpp>

#include "base/forks.hpp"
#include "context/rounding.hpp"
#include "context/stack_pool.hpp"
#include "idle/closing.hpp"
#include "idle/leftovers.hpp"
#include "memory/block_pool.hpp"
#include "memory/record_pool.hpp"
#include "platform/os.hpp"
#include "platform/poll.hpp"
#include "task/backend.hpp"
#include "task/service.hpp"
#include "worker/scheduler.hpp"
#include "worker/waker.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {

/// The places that a pool has for workers.
struct worker_places {
    unsigned workers;   ///< at most; resize() may leave some without a thread
    unsigned seats;     ///< for attached threads
    unsigned temporary; ///< for threads that replace blocked ones
    bool pinned;        ///< each push and pop takes the slow path
};

/// The workers of one pool, the queues that all of them look at, and what they take memory from.
class team {
public:
    using pool_sleepers = sleepers<std_atom, futex_park, os::poller>;

    /// The parts that higher rooms choose.
    struct plan {
        worker_places places;
        std::function<std::unique_ptr<detail::backend>(team&)> make;
        void* (*thread_main)(void* scheduler); ///< the body of a thread
        /// Counts the theft of a continuation from the scope of that node. Returns the activation that goes
        /// on, whose executor the caller is from now on.
        activation* (*take_rest)(scope_node& s) noexcept;
    };

    team(const team&) = delete;
    team& operator=(const team&) = delete;

    // ---- what never changes
    [[nodiscard]] const options& settings() const noexcept { return m_options; }
    /// The rounding modes of the thread that made this pool. All workers use them.
    [[nodiscard]] const rounding& modes() const noexcept { return m_modes; }
    /// True if the calling process is a child of fork() and this pool belongs to a parent process.
    [[nodiscard]] bool is_forked_child() const noexcept { return m_process != forks::this_process(); }
    [[nodiscard]] detail::backend& backend() const noexcept { return *m_backend; }

    // ---- the workers
    /// Number of deques that thieves look at. Deques of present and possible workers come first, then those
    /// of guest slots.
    [[nodiscard]] unsigned size() const noexcept { return m_size; }
    /// Number of workers that take work. They have the lowest indices; the other workers are retired.
    [[nodiscard]] unsigned active() const noexcept { return m_active.load(rlx); }
    /// The index of the first guest slot.
    [[nodiscard]] unsigned first_spare() const noexcept { return m_first_spare; }
    /// Number of schedulers, including those without a thread. Some threads could not be made; those of a
    /// one-lock pool come and go.
    [[nodiscard]] unsigned schedulers() const noexcept { return static_cast<unsigned>(m_workers.size()); }
    [[nodiscard]] scheduler& at(unsigned i) const noexcept { return *m_workers[i]; }
    /// The worker of this team that runs the caller; null: another thread does.
    [[nodiscard]] scheduler* here() const noexcept {
        worker* const w = this_worker();
        return w != nullptr && &scheduler::of(w).crew() == this ? &scheduler::of(w) : nullptr;
    }
    /// The first `n` workers take work. Returns how many did before.
    unsigned set_active(unsigned n) noexcept {
        const unsigned before = m_active.exchange(n, rlx);
        m_oversubscribed.store(n > m_cpus, rlx);
        return before;
    }
    [[nodiscard]] bool is_retired(unsigned worker) const noexcept {
        return worker >= active() && worker < m_first_spare;
    }
    /// True for a worker that is retired or about to retire, and for a free guest slot.
    [[nodiscard]] bool has_left(unsigned worker) const noexcept {
        return is_retired(worker) || (worker >= m_first_spare && !at(worker).is_there());
    }
    [[nodiscard]] pool_sleepers& idle() const noexcept { return *m_idle; }
    [[nodiscard]] bool oversubscribed() const noexcept { return m_oversubscribed.load(rlx); }

    /// Starts the thread of worker `i`. Returns 0 or an errno.
    [[nodiscard]] int start_thread(unsigned i) noexcept {
        return os::thread_start(at(i).thread, m_plan.thread_main, &at(i));
    }

    [[nodiscard]] activation* take_rest(scope_node& s) const noexcept { return m_plan.take_rest(s); }

    // ---- the state of the pool
    /// The threads are to end: nothing is left to run.
    [[nodiscard]] bool stopping() const noexcept { return m_stop.load(acq); }
    void stop() noexcept { m_stop.store(true, rel); }
    /// shutdown(drop): tasks that have not begun never will.
    [[nodiscard]] bool dropping() const noexcept { return m_dropping.load(rlx); }
    /// True if idle workers keep searching. False if stacks have run out: an idle worker then gives its own
    /// stack away, and sleeps.
    [[nodiscard]] bool is_warm() const noexcept { return m_warm.load(rlx) != 0 && !stacks.exhausted(); }
    /// Number of blocking() jobs that run on threads of workers.
    [[nodiscard]] std::atomic<unsigned>& in_place() noexcept { return m_in_place; }

    // ---- submissions
    /// A worker has taken a task out of `submissions`.
    void took_submission() noexcept {
        if (m_bound != nullptr) [[unlikely]] {
            m_bound->give_back();
        }
    }
    /// Queues a counted task that no task of the pool has submitted.
    void queue_counted(submission* s, priority level) noexcept;

    // ---- services
    /// Registers a service after all others, before the threads begin. It lives until the last one has ended.
    void add(service& s) noexcept;
    template <class F>
    void each_service(F f) const {
        for (service* s = m_services; s != nullptr; s = s->m_next) {
            f(*s);
        }
    }
    /// Set before the threads begin.
    [[nodiscard]] watcher& watch() const noexcept { return *m_watch; }
    void set_watch(watcher& w) noexcept { m_watch = &w; }
    /// Something may happen that only the watcher sees. From now on workers call watcher::serve().
    void will_expect() noexcept {
        if (!expects()) {
            m_expects.store(true, rlx);
        }
    }
    [[nodiscard]] bool expects() const noexcept { return m_expects.load(rlx); }
    /// The first time at which a service has something to do; never: there is none.
    [[nodiscard]] instant first_due() const noexcept;

    /// Keeps the pool alive while a thread that is no worker of it uses it. Without a pin, a submitted task
    /// might run and end, and the pool with it, while the submitter still looks for a sleeper to wake.
    class pin_guard {
    public:
        explicit pin_guard(team& t) noexcept : m_team(t.here() != nullptr ? nullptr : &t) {
            if (m_team != nullptr) {
                m_team->m_pins.fetch_add(1, rlx);
            }
        }
        pin_guard(const pin_guard&) = delete;
        pin_guard& operator=(const pin_guard&) = delete;
        ~pin_guard() {
            if (m_team != nullptr) {
                m_team->m_pins.fetch_sub(1, rel);
            }
        }

    private:
        team* m_team;
    };
    /// Returns when no pin_guard exists.
    void wait_for_pins() const noexcept;
    /// Only `made` workers got a thread.
    void has_threads(unsigned made) noexcept;

    /// A thread that takes a task from this queue calls took_submission().
    leveled_queue<std_atom> submissions;
    submission_queue<std_atom> runnable; // contexts that may resume on any worker
    /// Set if retired workers or former guests may have left tasks in their deques (idle.S9).
    leftovers<std_atom> left_tasks;
    const blocks_user uses_blocks; // first: it is destroyed after all members that give blocks back
    stack_pool stacks;
    record_pool records;
    block_pool blocks;
    // Written by each submission from outside: on lines of their own.
    alignas(line_bytes) closing<std_atom, futex_park> life; // what a shutdown waits for
    alignas(line_bytes) waker wakes{*this};
    /// Counts of threads that are no worker.
    struct outside_counts {
        std::atomic<std::uint64_t> scopes_shared{0};
        std::atomic<std::uint64_t> dropped{0};
    } outside;

protected:
    /// `self`: the pool of these workers. Throws what plan.make() throws.
    team(pool_core& self, const options& checked, const plan& how);
    ~team();
    /// The submission queue has a bound.
    void set_bound(queue_bound& b) noexcept { m_bound = &b; }

    alignas(line_bytes) options m_options; // from here on: words that hardly ever change
    std::atomic<bool> m_dropping{false};
    std::atomic<unsigned> m_warm{0}; // number of keep_warm objects

private:
    void make_workers(pool_core& self);
    void make_seats();

    queue_bound* m_bound = nullptr; // null: the queue has no bound
    const std::uint64_t m_process = forks::this_process();
    const rounding m_modes = rounding::now();
    const plan m_plan;
    unsigned m_first_spare; // workers have the indices below it, guest slots those from it on
    unsigned m_size;
    std::atomic<unsigned> m_active;
    const unsigned m_cpus;
    std::atomic<bool> m_oversubscribed;
    std::atomic<bool> m_stop{false};
    std::unique_ptr<detail::backend> m_backend;
    std::vector<std::unique_ptr<scheduler>> m_workers;
    std::unique_ptr<pool_sleepers::seat[]> m_seats;
    std::unique_ptr<pool_sleepers::map_word[]> m_map;
    std::unique_ptr<pool_sleepers::map_word[]> m_retired;
    std::unique_ptr<pool_sleepers> m_idle;
    service* m_services = nullptr;
    watcher* m_watch = nullptr;
    std::atomic<bool> m_expects{false};
    // Written by each call from outside: on a line of their own.
    alignas(line_bytes) std::atomic<unsigned> m_pins{0}; // threads that keep the pool alive: see pin_guard
    std::atomic<unsigned> m_in_place{0};
};

} // namespace detail
} // namespace v0
} // namespace pilfer
