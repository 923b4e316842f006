// A pool under cv::parallel_for_, and so under the functions of OpenCV that run in parallel.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <memory>
#include <vector>

#include <opencv2/core/parallel/parallel_backend.hpp>

#include <pilfer/error.hpp>
#include <pilfer/pool.hpp>
#include <pilfer/scope.hpp>

namespace pilfer {
inline namespace v0 {
namespace adapters {

/// A pool as the parallel back-end of OpenCV. Refers to the pool, which must outlive its use.
///
/// A loop runs as one task for each thread that OpenCV asks for. These tasks take parts of the range in turn,
/// and the number of a task is OpenCV's thread number. A body that waits keeps it on whatever thread, and no
/// other body has it meanwhile. The caller returns on the thread on which it called, because OpenCV has
/// thread-locals.
class opencv_backend final : public cv::parallel::ParallelForAPI {
public:
    /// Makes the back-end of `p`, with as many threads as `p` has workers. Throws std::bad_alloc.
    explicit opencv_backend(pool& p)
        : m_pool(&p), m_where(p.settings().max_workers), m_threads(static_cast<int>(p.workers())) {}

    /// Calls body(first, end, data) for parts of [0, tasks). Nothing to do if `tasks` is not positive. One
    /// loop is parallel at a time, and others run in their caller, as OpenCV does itself. Throws usage_error
    /// if `body` is null, what pool::run() throws, and the first exception of `body`.
    void parallel_for(int tasks, FN_parallel_for_body_cb_t body, void* data) override {
        if (body == nullptr) {
            PILFER_THROW(usage_error("pilfer: a parallel loop of OpenCV without a body"));
        }
        if (tasks <= 0) {
            return;
        }
        // Acquires what the loop before has written to m_where.
        if (m_busy.exchange(true, std::memory_order_acquire)) {
            body(0, tasks, data);
            return;
        }
        const release_at_end busy{m_busy};
        m_pool->run([&] {
            const int lanes = std::min(tasks, m_threads.load(std::memory_order_relaxed));
            loop l{body, data, tasks, lanes};
            scope s(resume::own_thread);
            for (int i = 1; i < lanes; ++i) {
                s.fork([this, &l, i] { run_lane(l, i); });
            }
            run_lane(l, 0);
            s.sync();
        });
    }
    /// The number of the caller's part of the loop, from 0 to getNumThreads() - 1; 0 outside of a body.
    [[nodiscard]] int getThreadNum() const override {
        const detail::activation* task = detail::running_task();
        for (std::size_t i = 0; task != nullptr && i < m_where.size(); ++i) {
            if (m_where[i].load(std::memory_order_relaxed) == task->ctx) {
                return static_cast<int>(i);
            }
        }
        return 0;
    }
    /// How many bodies run at once.
    [[nodiscard]] int getNumThreads() const override { return m_threads.load(std::memory_order_relaxed); }
    /// Sets how many bodies run at once: at most options.max_workers, below 1 as many as there are workers
    /// now. Returns the number before. Not during a loop.
    int setNumThreads(int threads) override {
        const int wanted = threads < 1 ? static_cast<int>(m_pool->workers()) : threads;
        return m_threads.exchange(std::min(wanted, static_cast<int>(m_where.size())),
                                  std::memory_order_relaxed);
    }
    /// The name in OpenCV's reports.
    [[nodiscard]] const char* getName() const override { return "pilfer"; }

private:
    struct loop {
        FN_parallel_for_body_cb_t body;
        void* data;
        int tasks;
        int lanes;
        std::atomic<int> next{0};
    };
    struct release_at_end {
        std::atomic<bool>& busy;
        ~release_at_end() {
            busy.store(false, std::memory_order_release);
        } // for the exchange of the next loop
    };
    /// While a lane runs: the stack that it runs on. Two lanes share a stack only one after the other.
    struct on_this_stack {
        explicit on_this_stack(std::atomic<const detail::context*>& p) noexcept : place(p) {
            place.store(detail::running_task()->ctx,
                        std::memory_order_relaxed); // read by the bodies of this lane
        }
        ~on_this_stack() { place.store(nullptr, std::memory_order_relaxed); }
        std::atomic<const detail::context*>& place;
    };

    void run_lane(loop& l, int number) {
        const on_this_stack here(m_where[static_cast<std::size_t>(number)]);
        for (int first = l.next.load(std::memory_order_relaxed); first < l.tasks;) {
            // Large parts first: a lane takes an eighth of its share of the rest.
            const int end = first + std::max(1, (l.tasks - first) / (8 * l.lanes));
            if (l.next.compare_exchange_weak(first, end, std::memory_order_relaxed)) {
                l.body(first, end, l.data);
                first = l.next.load(std::memory_order_relaxed);
            }
        }
    }

    pool* m_pool;
    std::vector<std::atomic<const detail::context*>>
        m_where; // by the number of a lane; null: it does not run
    std::atomic<int> m_threads;
    std::atomic<bool> m_busy{false};
};

/// OpenCV's parallel loops run in `p` from now on, with as many threads as `p` has workers. Call it before
/// other threads use OpenCV, as cv::parallel::setParallelForBackend() itself asks.
inline void use_in_opencv(pool& p) {
    cv::parallel::setParallelForBackend(std::make_shared<opencv_backend>(p), false);
}

} // namespace adapters
} // namespace v0
} // namespace pilfer
