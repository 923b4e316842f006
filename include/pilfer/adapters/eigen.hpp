// A pool under Eigen::ThreadPoolDevice, for the Tensor module of Eigen 3.4. Included before any header of
// Eigen that has threads, in every file of the program that has them.
#pragma once

#if defined(EIGEN_CXX11_THREADPOOL_BARRIER_H)
#error "pilfer: include <pilfer/adapters/eigen.hpp> before the Tensor and ThreadPool headers of Eigen"
#endif

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <utility>

#include <pilfer/detail/coroutine/coroutine.hpp>
#include <pilfer/error.hpp>
#include <pilfer/event.hpp>
#include <pilfer/mutex.hpp>
#include <pilfer/pool.hpp>

/// The guard of Eigen's Barrier.h, which keeps that out: the Barrier below takes its place. Eigen's own
/// blocks its thread. An evaluation inside a task would block a worker, and a pool of one worker would wait
/// forever for functions that only this worker can run.
#define EIGEN_CXX11_THREADPOOL_BARRIER_H

#if !defined(EIGEN_USE_THREADS)
/// Gives Eigen's tensors the ThreadPoolDevice.
#define EIGEN_USE_THREADS
#endif

namespace Eigen {

/// Eigen's Barrier for tasks: a task that waits suspends, any other thread blocks.
class Barrier {
public:
    /// Makes a barrier for `count` calls of Notify().
    explicit Barrier(unsigned count) noexcept : m_left(count), m_done(count == 0) {}
    Barrier(const Barrier&) = delete;
    Barrier& operator=(const Barrier&) = delete;
    ~Barrier() = default;

    /// The last call lets the waiters go on.
    void Notify() {
        // Each call releases what its function wrote, and the last one acquires all of it for the waiters.
        if (m_left.fetch_sub(1, std::memory_order_acq_rel) == 1) {
            m_done.set();
        }
    }
    /// Returns after the last Notify(). A cancellation does not end this wait: functions of the evaluation
    /// refer to the waiting frame.
    void Wait() {
        pilfer::mutex shield; // a task that holds a lock is not cancelled
        const std::lock_guard hold(shield);
        m_done.wait();
    }

private:
    std::atomic<unsigned> m_left;
    pilfer::event m_done;
};

/// A Barrier for one call of Notify().
struct Notification : Barrier {
    /// Makes a barrier for one call.
    Notification() noexcept : Barrier(1) {}
};

} // namespace Eigen

#include <unsupported/Eigen/CXX11/ThreadPool>

#if !EIGEN_VERSION_AT_LEAST(3, 4, 0) || EIGEN_VERSION_AT_LEAST(3, 4, 90)
#error "pilfer: <pilfer/adapters/eigen.hpp> is for Eigen 3.4"
#endif

namespace pilfer {
inline namespace v0 {
namespace adapters {

/// A pool as the thread pool of an Eigen::ThreadPoolDevice. Refers to the pool, which must outlive it.
///
/// Expressions may be evaluated on any thread and in any task, also in a task of this pool: the task suspends
/// until the result is there. Evaluations that have begun end, also if the pool is shut down meanwhile.
class eigen_pool final : public Eigen::ThreadPoolInterface {
public:
    /// Makes the interface of `p`.
    explicit eigen_pool(pool& p) noexcept : m_pool(&p) {}

    /// Runs `f` as a task; an exception of `f` ends the program, as in Eigen's own pool. If the pool is
    /// closed, or without memory, `f` runs in this call. shutdown(drop) does not drop it: an evaluation would
    /// wait for it forever. Throws usage_error if `f` is empty. One allocation.
    void Schedule(std::function<void()> f) override {
        if (!f) {
            PILFER_THROW(usage_error("pilfer: Schedule() of an empty function"));
        }
        auto* const t = new (std::nothrow) task(f);
        if (t == nullptr) {
            task::call(f);
        } else if (!detail::start_in(m_pool->core(), t)) {
            (void)task::run_task(t);
        }
    }
    /// Schedule(f): which worker runs `f` depends on who is idle, not on the hint.
    void ScheduleWithHint(std::function<void()> f, int, int) override { Schedule(std::move(f)); }
    /// Does nothing, as Eigen allows: an evaluation would wait forever for a function that is not run.
    void Cancel() override {}
    /// One more than the largest number that CurrentThreadId() may return. It does not change if the pool is
    /// resized.
    [[nodiscard]] int NumThreads() const override {
        const options& o = m_pool->settings();
        const unsigned others = o.backend == backend::one_lock ? o.max_extra_workers : o.attachable;
        return static_cast<int>(o.max_workers + others);
    }
    /// The number of the worker of this pool that calls, -1 on any other thread. After a wait a task may be
    /// on another worker.
    [[nodiscard]] int CurrentThreadId() const override {
        const detail::worker* w = detail::this_worker();
        return w != nullptr && w->pool == &m_pool->core() ? static_cast<int>(w->index) : -1;
    }

private:
    /// Ends itself.
    struct task final : detail::submission {
        explicit task(std::function<void()>& f) noexcept : function(std::move(f)) { run = &run_in_pool; }
        static void call(const std::function<void()>& f) noexcept { f(); }
        static void run_task(task* t) noexcept {
            call(t->function);
            delete t;
        }
        static detail::suspension* run_in_pool(detail::spark* self, detail::worker*) noexcept {
            detail::note_suppressed(0); // of an earlier task on this thread
            run_task(static_cast<task*>(static_cast<detail::submission*>(self)));
            detail::end_outstanding(detail::this_worker()); // the function may have moved this frame
            return nullptr;
        }
        std::function<void()> function;
    };

    pool* m_pool;
};

} // namespace adapters
} // namespace v0
} // namespace pilfer
