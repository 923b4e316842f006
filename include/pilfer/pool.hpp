// A pool of workers.
#pragma once

#include <exception>
#include <iosfwd>
#include <memory>
#include <type_traits>
#include <utility>

#include <pilfer/attachment.hpp>
#include <pilfer/counters.hpp>
#include <pilfer/detail/fwd.hpp>
#include <pilfer/detail/worker/detached.hpp>
#include <pilfer/detail/worker/outcome.hpp>
#include <pilfer/detail/worker/root_task.hpp>
#include <pilfer/detail/worker/runtime.hpp>
#include <pilfer/detail/worker/task_options.hpp>
#include <pilfer/error.hpp>
#include <pilfer/options.hpp>
#include <pilfer/profile.hpp>
#include <pilfer/task_options.hpp>

namespace pilfer {
inline namespace v0 {

/// Workers with one deque each. All members may be called from any thread at any time unless said
/// otherwise.
class PILFER_API pool {
public:
    /// Starts the workers. Throws std::invalid_argument that names the option and its range,
    /// std::system_error if not a single thread can be made, std::bad_alloc also if there is no address
    /// space for one stack of options.stack_size (see `ulimit -v`), and std::system_error too if PILFER_TRACE
    /// names a file that cannot be written (std::invalid_argument if it names none). If only some threads can
    /// be made, the pool has fewer workers: see workers(). Cost: some 50 us per worker.
    explicit pool(const options& o = {});
    pool(const pool&) = delete;
    pool& operator=(const pool&) = delete;
    /// shutdown(drain). From a task of this very pool it prints why and terminates the program: the
    /// thread cannot join itself.
    ~pool();

    /// Runs f on a worker and returns what it returns, or rethrows. From a foreign thread the caller
    /// blocks; from a worker of another pool its context suspends; from a worker of this pool f is a plain
    /// call. Throws pool_closed, queue_full (options.when_full), broken_promise (shutdown(drop)),
    /// std::bad_alloc where there is no memory for one of these, and what f throws. Allocates nothing itself.
    template <class F>
    auto run(F&& f) -> detail::called_t<F> {
        using raw = detail::called_t<F>;
        detail::worker* w = detail::this_worker();
        if (w != nullptr && w->pool == m_core) {
            return static_cast<raw>(f());
        }
        return run_as_root<raw>(f, [](detail::pool_core& p, detail::submission* s) { detail::submit(p, s); });
    }
    /// The same with a priority or a name. Throws what run(f) throws, and std::invalid_argument.
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

    /// Runs f as a task; the result is fetched from the future, and nobody needs to. f is
    /// destroyed before the result is seen. Throws pool_closed, queue_full, std::bad_alloc. One allocation.
    template <class F>
    auto async(F&& f) -> future<std::invoke_result_t<std::decay_t<F>&>>;
    /// The same with options. Throws what async(f) throws, and std::invalid_argument.
    template <class F>
    auto async(const task_options& o, F&& f) -> future<std::invoke_result_t<std::decay_t<F>&>>;

    /// Runs f as a task that nobody waits for, but shutdown(drain). What f returns is lost, what it throws
    /// goes to options.on_error. Throws pool_closed, queue_full, std::bad_alloc. One allocation.
    template <class F>
    void submit(F&& f) {
        auto task = std::make_unique<detail::detached_function<std::decay_t<F>>>(std::forward<F>(f));
        task->start(*m_core);
        (void)task.release(); // NOLINT(bugprone-unused-return-value): it ends itself, and may have already
    }
    /// The same with options. Throws what submit(f) throws, and std::invalid_argument.
    template <class F>
    void submit(const task_options& o, F&& f) {
        detail::check(o);
        detail::with_name(o, std::forward<F>(f), [&](auto&& function) {
            using task_type = detail::detached_function<std::decay_t<decltype(function)>>;
            auto task = std::make_unique<task_type>(std::forward<decltype(function)>(function));
            task->start(*m_core, o);
            (void)
                task.release(); // NOLINT(bugprone-unused-return-value): it ends itself, and may have already
        });
    }

    // The same three for coroutines: task.hpp.
    /// Runs the coroutine `t` in this pool and returns its result, or rethrows. On a worker of this pool it
    /// begins on the caller's stack; the caller's context suspends while it has to wait for it. Throws what
    /// run(f) throws, and usage_error for a task that is empty. Allocates nothing.
    template <class T>
    T run(task<T> t);
    /// Starts the coroutine `t` in this pool; its result is fetched from the future. Throws pool_closed,
    /// queue_full, std::bad_alloc, usage_error. One allocation.
    template <class T>
    future<T> async(task<T> t);
    /// Starts the coroutine `t` in this pool; nobody waits for it but shutdown(drain), and what it throws
    /// goes to options.on_error. Throws pool_closed, queue_full, std::bad_alloc, usage_error. One allocation.
    template <class T>
    void submit(task<T> t);
    /// co_await pool.schedule(): the coroutine goes on as a task of this pool. Also a sender: scheduler.hpp.
    [[nodiscard]] schedule_sender schedule() noexcept;
    [[nodiscard]] pool_scheduler get_scheduler() noexcept;

    /// While the result lives the calling thread, which is none of a pool, works for this pool wherever it
    /// would block without a time limit, until its own wait ends: it runs submissions, and what it steals, as
    /// a worker does, on contexts. Its wait may last longer by the task that it is inside when the wait ends.
    /// Where options.attachable threads work here already, or the environment leaves no seats (see there), it
    /// blocks as ever. Throws usage_error if options.attachable is 0, from a task, and on a thread that is
    /// attached already; std::bad_alloc. Cost of a wait: that of taking a seat, some 100 ns.
    [[nodiscard]] attachment attach();
    /// The calling thread works for this pool until done() is true, as one that is attached does: for a main
    /// loop. done() is called on this thread between two tasks, before it sleeps, and when notify() has woken
    /// it; it may call anything that a thread outside may, but should neither wait nor take long. What it
    /// depends on changes before notify() is called, or in a task that this very thread runs. A shutdown of
    /// this pool by it throws usage_error. Returns early when the pool is shut down, and throws pool_forked
    /// in a child that done() has made by fork(). Throws what done() throws, and usage_error from a task, and
    /// where no seat is free (see options.attachable). Where the environment leaves no seats it runs no
    /// tasks, and only asks; so what tasks change should be told by notify().
    template <class Done>
    void run_until(Done&& done) {
        detail::asks_until<std::remove_reference_t<Done>> asks{done, nullptr};
        detail::run_until(*m_core, &detail::asks_until<std::remove_reference_t<Done>>::ask, &asks);
        if (asks.error) {
            std::rethrow_exception(asks.error);
        }
    }
    /// All that are in run_until() look again. Any thread, any task. Cost where nobody is: a fence, or a
    /// system call where the environment leaves no seats.
    void notify() noexcept;

    /// Workers that take work now: resize() and a governor change it.
    [[nodiscard]] unsigned workers() const noexcept;
    /// From now on `n` workers take work: threads are made for new ones, of up to options.max_workers. Those
    /// beyond n step aside as soon as they come back from what they run, at the latest some 64 announcements
    /// later: they leave what they have to the others, sleep until they are called back, and end with the
    /// pool. Contexts that were suspended on them go on elsewhere; with resume::own_thread they go on there,
    /// and nothing else does. Returns how many workers take work now: fewer than n where no more threads can
    /// be made, and where a governor or advice allows fewer. With backend::one_lock, and where the pool
    /// records, nothing changes. From any thread, also from a task of this pool. Throws std::invalid_argument
    /// for an n that is not from 1 to options.max_workers, and pool_closed. Cost: a lock; some 50 us for each
    /// thread that is made, a wake-up for each that is called back.
    unsigned resize(unsigned n);
    /// The options in force: automatic ones are filled in.
    [[nodiscard]] const options& settings() const noexcept;

    /// Sums over all workers. Cost: reads every worker's lines.
    [[nodiscard]] pilfer::v0::counters counters() const noexcept;
    /// Of worker `i`. Throws std::out_of_range.
    [[nodiscard]] pilfer::v0::counters counters(unsigned i) const;

    /// Work and span of all that has run so far; exact while no task runs. Throws usage_error unless the pool
    /// records (options.profile, PILFER_PROFILE). Cost: a lock.
    [[nodiscard]] work_span profile() const;

    /// Writes for people: each worker and what it does, the sizes of its deque, the queues, and each
    /// suspended context with what it waits for and, for the first 64 of them, the functions on its stack;
    /// cycles of waits are named. The text may change with every version. Also for a pool that was shut down.
    /// From a task too, where it takes some 16 KiB of stack. Contexts that are resumed or asked for
    /// meanwhile, in any pool, wait until the stacks are read. Throws std::bad_alloc, and what `out` throws.
    /// Cost: a membarrier; the symbol tables are read from their files and searched for each frame.
    void dump(std::ostream& out) const;
    /// The same to a file descriptor, by default standard error. An error of write() ends it silently.
    void dump(int file = 2) const;

    /// Ends the pool: from now on submissions throw pool_closed. drain runs everything that was
    /// accepted; drop drops the submissions and asyncs that have not started, counts them, and gives
    /// their waiters broken_promise; a task that runs may finish, with all its children. Children that
    /// reach this pool from threads that are none of its workers (see scope) are submissions too: a closed
    /// pool refuses them, drop drops them. Returns when all threads are joined. Idempotent, also from several
    /// threads at once. Throws usage_error from a worker of this pool, std::invalid_argument for a mode that
    /// is none.
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
