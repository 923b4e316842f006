// A pool of workers.
#pragma once

#include <exception>
#include <iosfwd>
#include <memory>
#include <type_traits>
#include <utility>

#include <pilfer/attachment.hpp>
#include <pilfer/counters.hpp>
#include <pilfer/detail/base/outcome.hpp>
#include <pilfer/detail/fwd.hpp>
#include <pilfer/detail/pool/detached.hpp>
#include <pilfer/detail/pool/root_task.hpp>
#include <pilfer/detail/task/runtime.hpp>
#include <pilfer/detail/task/task_options.hpp>
#include <pilfer/error.hpp>
#include <pilfer/options.hpp>
#include <pilfer/profile.hpp>
#include <pilfer/task_options.hpp>

namespace pilfer {
inline namespace v0 {

/// The end of tasks that have not started at a shutdown.
enum class shutdown_mode {
    drain, ///< Everything that was accepted runs.
    drop,  ///< Accepted tasks that have not started are dropped and counted.
};

/// Workers with one deque each. All members may be called from any thread at any time unless said
/// otherwise.
class PILFER_API pool {
public:
    /// Starts the workers; fewer than asked for if not all threads can be made, see workers().
    /// Throws std::invalid_argument that names the option and its range. Throws std::system_error if no
    /// thread can be made, or if the file that PILFER_TRACE names cannot be written. Throws std::bad_alloc,
    /// also if there is no address space for one stack. Cost: some 50 us per worker.
    explicit pool(const options& o = {});
    pool(const pool&) = delete;
    pool& operator=(const pool&) = delete;
    /// shutdown(drain). From a task of this very pool it prints why and terminates the program: the
    /// thread cannot join itself.
    ~pool();

    /// Runs f on a worker and returns what it returns, or rethrows. A thread blocks meanwhile, a task of
    /// another pool suspends; on a worker of this pool f is a plain call. Throws pool_closed, queue_full,
    /// broken_promise (shutdown(drop)), std::bad_alloc, and what f throws.
    template <class F>
    auto run(F&& f) -> detail::called_t<F> {
        using raw = detail::called_t<F>;
        detail::worker* w = detail::this_worker();
        if (w != nullptr && w->pool == m_core) {
            return static_cast<raw>(f());
        }
        return run_as_root<raw>(f, [](detail::pool_core& p, detail::submission* s) { detail::submit(p, s); });
    }
    /// run(f) with a priority or a name. Throws what run(f) throws, and std::invalid_argument.
    template <class F>
    auto run(const task_options& o, F&& f) -> detail::called_t<F> {
        using raw = detail::called_t<F>;
        detail::check(o);
        return detail::with_name(o, f, [&](auto&& call) -> raw {
            detail::worker* w = detail::this_worker();
            if (w != nullptr && w->pool == m_core) {
                return static_cast<raw>(call());
            }
            return run_as_root<raw>(call, [&o](detail::pool_core& p, detail::submission* s) {
                detail::submit(p, s, o.priority);
            });
        });
    }

    /// Runs f as a task and returns a future of its result, which may be discarded. f is destroyed before the
    /// result is seen. Throws pool_closed, queue_full, std::bad_alloc. One allocation.
    template <class F>
    auto async(F&& f) -> future<std::invoke_result_t<std::decay_t<F>&>>;
    /// async(f) with options. Throws what async(f) throws, and std::invalid_argument.
    template <class F>
    auto async(const task_options& o, F&& f) -> future<std::invoke_result_t<std::decay_t<F>&>>;

    /// Runs f as a task without a waiter; shutdown(drain) waits for it. Its result is lost, its exception
    /// goes to options.on_error. Throws pool_closed, queue_full, std::bad_alloc. One allocation.
    template <class F>
    void submit(F&& f) {
        detail::refuse_coroutines<std::decay_t<F>>();
        auto task = std::make_unique<detail::detached_function<std::decay_t<F>>>(std::forward<F>(f));
        task->start(*m_core);
        (void)task.release(); // NOLINT(bugprone-unused-return-value): it ends itself, and may have already
    }
    /// submit(f) with options. Throws what submit(f) throws, and std::invalid_argument.
    template <class F>
    void submit(const task_options& o, F&& f) {
        detail::refuse_coroutines<std::decay_t<F>>();
        detail::check(o);
        detail::with_name(o, std::forward<F>(f), [&](auto&& function) {
            using task_type = detail::detached_function<std::decay_t<decltype(function)>>;
            auto task = std::make_unique<task_type>(std::forward<decltype(function)>(function));
            task->start(*m_core, o);
            (void)task.release(); // NOLINT(bugprone-unused-return-value): it ends itself
        });
    }

    /// Runs the coroutine `t` in this pool and returns its result, or rethrows. Throws what run(f) throws,
    /// and usage_error for a task that is empty.
    template <class T>
    T run(task<T> t);
    /// As async(f), for a coroutine. Throws usage_error, too.
    template <class T>
    future<T> async(task<T> t);
    /// As submit(f), for a coroutine. Throws usage_error, too.
    template <class T>
    void submit(task<T> t);
    /// co_await pool.schedule(): the coroutine goes on as a task of this pool. Also a sender: scheduler.hpp.
    [[nodiscard]] schedule_sender schedule() noexcept;
    /// A scheduler in the form of std::execution, which refers to this pool.
    [[nodiscard]] pool_scheduler get_scheduler() noexcept;

    /// While the result lives, the calling thread works for this pool when it would block without a time
    /// limit. Such a wait may last longer by the task that the thread is inside. Without a free seat
    /// (options.attachable) the thread blocks as usual. It keeps its signal mask: handlers may run on the
    /// stack of a task (options.stack_size). Throws usage_error if options.attachable is 0, from a task, and
    /// on a thread that is attached already.
    [[nodiscard]] attachment attach();
    /// The calling thread works for this pool until done() is true: for a main loop. As for attach(), it
    /// keeps its signal mask. The thread calls done() between two tasks, before it sleeps, and after
    /// notify(). done() should neither wait nor take long. Returns early if the pool is shut down. Without a
    /// seat the thread runs no tasks and only asks. Then each change that done() depends on should be
    /// followed by notify(). Throws what done() throws, usage_error from a task and without a free seat, and
    /// pool_forked.
    template <class Done>
    void run_until(Done&& done) {
        detail::asks_until<std::remove_reference_t<Done>> asks{done, nullptr};
        detail::run_until(*m_core, &detail::asks_until<std::remove_reference_t<Done>>::ask, &asks);
        if (asks.error) {
            std::rethrow_exception(asks.error);
        }
    }
    /// All that are in run_until() look again. Any thread, any task. Cost where nobody is: a fence, or a
    /// system call where the pool has no seats.
    void notify() noexcept;

    /// Workers that take work now: resize() and a governor change it.
    [[nodiscard]] unsigned workers() const noexcept;
    /// From now on `n` workers take work, from 1 to options.max_workers. Returns how many there are: fewer
    /// than n if no more threads can be made or a governor allows fewer. A worker beyond n leaves its tasks
    /// to the others and sleeps until it is called back. Nothing changes with backend::one_lock and where the
    /// pool records. From any thread, also from a task of this pool. Throws std::invalid_argument and
    /// pool_closed. Cost: a lock; some 50 us for each new thread.
    unsigned resize(unsigned n);
    /// The options in force: automatic ones are filled in.
    [[nodiscard]] const options& settings() const noexcept;

    /// Sums over all workers. Cost: reads every worker's lines.
    [[nodiscard]] pilfer::v0::counters counters() const noexcept;
    /// Of worker `i`. Throws std::out_of_range.
    [[nodiscard]] pilfer::v0::counters counters(unsigned i) const;

    /// Work and span of all that has run so far; exact while no task runs. Throws usage_error unless the pool
    /// records (options.debug.profile, PILFER_PROFILE). Cost: a lock.
    [[nodiscard]] work_span profile() const;

    /// Writes for people: each worker and what it does, the queues, and each suspended context with what it
    /// waits for and, for the first 64, its functions; cycles of waits are named. The text may change with
    /// every version. Takes some 16 KiB of stack. Throws std::bad_alloc, and what `out` throws. Cost:
    /// milliseconds.
    void dump(std::ostream& out) const;
    /// Writes the dump to a file descriptor, by default standard error. An error of write() ends it silently.
    void dump(int file = 2) const;

    /// Ends the pool, and returns when its threads have ended. From now on submissions throw pool_closed.
    /// drain runs everything that was accepted. drop drops and counts what has not started, and gives those
    /// who wait for it broken_promise; a task that runs finishes with its children. May be called again, also
    /// from several threads at once. Throws usage_error from a worker of this pool, std::invalid_argument.
    void shutdown(shutdown_mode mode = shutdown_mode::drain);

    /// The pool of everybody who made none, with default options; made at first use, never joined at exit.
    [[nodiscard]] static pool& common();

    /// The core, for the templates of this library.
    [[nodiscard]] detail::pool_core& core() const noexcept { return *m_core; }

private:
    template <class Raw, class F, class Submit>
    Raw run_as_root(F& f, Submit submits) {
        detail::root_task<F> task(f);
        if constexpr (std::is_void_v<Raw>) {
            (void)task.run_in(*m_core, submits);
        } else {
            return task.run_in(*m_core, submits);
        }
    }
    detail::pool_core* m_core;
};

} // namespace v0
} // namespace pilfer
