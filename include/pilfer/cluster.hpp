// cluster: divide and conquer over several machines. Optional: link pilfer::cluster.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <ranges>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <pilfer/cluster/archive.hpp>
#include <pilfer/cluster/bound.hpp>
#include <pilfer/cluster/error.hpp>
#include <pilfer/detail/cluster/branch.hpp>
#include <pilfer/detail/cluster/journal.hpp>
#include <pilfer/detail/cluster/pieces.hpp>
#include <pilfer/detail/cluster/run.hpp>
#include <pilfer/detail/cluster/task.hpp>
#include <pilfer/options.hpp>
#include <pilfer/pool.hpp>

/// Makes a type a task that may run on any rank. It is written in the type's own namespace, after the type.
/// The type is a description of work: trivially copyable, or with `serialize(archive&, T&)` beside it, and
/// with a call operator that is const and depends on the description alone.
#define PILFER_CLUSTER_TASK(...)                                                                             \
    [[maybe_unused]] inline constexpr const char* pilfer_cluster_name(const __VA_ARGS__*) noexcept {         \
        return #__VA_ARGS__;                                                                                 \
    }                                                                                                        \
    static_assert(true)

namespace pilfer {
inline namespace v0 {
namespace cluster {

/// The work of one rank since its session began.
struct rank_stats {
    std::uint64_t messages = 0;  ///< Messages sent.
    std::uint64_t bytes = 0;     ///< Bytes sent.
    std::uint64_t asks = 0;      ///< Requests for work that it sent.
    std::uint64_t thefts = 0;    ///< Requests and lifelines that brought work.
    std::uint64_t tasks_in = 0;  ///< Descriptions that it took from other ranks.
    std::uint64_t tasks_out = 0; ///< Descriptions that other ranks took.
    std::uint64_t idle_ns = 0;   ///< Time without work, in nanoseconds.
};

/// Runs both tasks, and returns both results as a pair; void gives std::monostate. An idle rank may take the
/// second task; then the calling task is suspended until the result has come. Without other ranks it is
/// pilfer::join. Throws remote_error if a task throws, after both have ended. If the first task throws or the
/// caller is cancelled, the second one is dropped, or cancelled if a rank runs it. Source: lifelines
/// (Saraswat and others, "Lifeline-based global load balancing", PPoPP 2011).
template <class A, class B>
PILFER_ALWAYS_INLINE auto join(const A& a, const B& b) {
    return detail::fork_branches(
        detail::entry_of<B>(), [&] { return detail::call_task(a); }, [&] { return detail::call_task(b); },
        [&b](archive& out) { out.put(b); });
}

/// The sum of the results of the tasks f(x), for each x of the range. Idle ranks may take any of them. The
/// sum is taken in the shape of a fixed tree, so floating-point results have the same bits everywhere. `f`
/// only makes the description: it may be called several times, on any thread, and must not wait. An empty
/// range gives a value made by default. Throws as join().
template <std::ranges::random_access_range Range, class F>
requires std::ranges::sized_range<Range>
auto sum(Range&& range, F&& f) {
    using task = std::decay_t<decltype(f(*std::ranges::begin(range)))>;
    const auto n = static_cast<std::size_t>(std::ranges::size(range));
    return n == 0 ? detail::cluster_result<task>{} : detail::sum_tree(std::ranges::begin(range), n, f);
}

/// The program's part in a run over several ranks, and this rank's pool. The thread that made it makes every
/// call. All ranks make the same calls in the same order. A process makes one session. While a run goes on,
/// only its tasks call join() and sum().
class session {
public:
    /// Starts this rank.
    /// * PILFER_CLUSTER=gearman://host[:port][/name] in the environment, or gearmans:// for TLS, makes an
    ///   elastic run. This process is its coordinator, rank 0. With the argument --pilfer-worker it is one of
    ///   its workers, and waits for a coordinator.
    /// * Under mpirun or srun the constructor initialises MPI unless that is done. Then it compares the
    ///   program with those of the other ranks.
    /// * Otherwise there is one rank, and no MPI.
    /// `o` is for this rank's pool; workers = 0 shares the CPUs with other ranks that Open MPI or
    /// MPICH started on the machine. Throws usage_error for a second session, mismatch_error, queue_error,
    /// std::invalid_argument for a URL that is none, and what the pool throws.
    session(int argc, char** argv, const options& o = {});
    session(const session&) = delete;
    session& operator=(const session&) = delete;
    /// Waits for the destructors of all other ranks, without using the CPU.
    ~session();

    /// This rank's number, from 0.
    [[nodiscard]] int rank() const noexcept;
    /// How many ranks there are. In an elastic run: how many processes had come, as far as this one knows.
    [[nodiscard]] int size() const noexcept;
    /// This rank's pool.
    [[nodiscard]] pilfer::v0::pool& pool() noexcept;

    /// Runs the task; rank 0's description counts. Returns the result on every rank. Throws remote_error on
    /// every rank if the task throws, mismatch_error, queue_error, and usage_error from a task or another
    /// thread.
    template <class T>
    std::invoke_result_t<const T&> run(const T& task) {
        return run_root(detail::cluster_run(*m_core, detail::entry_of<T>()), task);
    }

    /// op(init, op over f(i) for all i from first to last), on every rank. All ranks have the same f and op,
    /// and only places in the range travel. op must be associative. The grouping depends on the number of
    /// elements alone, so floating-point results have the same bits for any number of ranks and workers.
    /// Throws as run().
    template <std::integral I, class T, class F, class Op>
    T map_reduce(I first, std::type_identity_t<I> last, T init, const F& f, const Op& op) {
        if (last <= first) {
            return init;
        }
        const auto place = [&](std::uint64_t i) -> T { return f(at(first, i)); };
        const auto n = static_cast<std::uint64_t>(last) - static_cast<std::uint64_t>(first);
        return op(std::move(init), map<T>(n, place, op));
    }
    /// map_reduce() that goes on after a job was killed. Rank 0 keeps the value of each part in the file
    /// `path`, and a later call takes it from there. There are at most 8,192 parts. The file stays when all
    /// of them are in it. The values are together at most 1 GiB. Throws remote_error for a file that cannot
    /// be read or written, or belongs to another call; a damaged end of the file is cut off.
    template <std::integral I, class T, class F, class Op>
    T map_reduce_journaled(const std::string& path, I first, std::type_identity_t<I> last, T init, const F& f,
                           const Op& op) {
        if (last <= first) {
            return init;
        }
        const auto place = [&](std::uint64_t i) -> T { return f(at(first, i)); };
        return op(std::move(init), map_journaled<T>(path, first, last, place, op));
    }
    /// The values of f(i) for all i from first to last, in this order, on every rank. Throws as run().
    template <std::integral I, class F>
    auto map_collect(I first, std::type_identity_t<I> last, const F& f) {
        using value = std::decay_t<decltype(f(first))>;
        static_assert(!std::is_same_v<value, bool>, "map_collect makes a vector: use char");
        using values = std::vector<value>;
        if (last <= first) {
            return values{};
        }
        const auto place = [&](std::uint64_t i) {
            values one;
            one.push_back(f(at(first, i)));
            return one;
        };
        const auto append = [](values a, values b) {
            a.insert(a.end(), std::make_move_iterator(b.begin()), std::make_move_iterator(b.end()));
            return a;
        };
        const auto n = static_cast<std::uint64_t>(last) - static_cast<std::uint64_t>(first);
        return map<values>(n, place, append);
    }

    /// Of each rank, as of the end of the last run. In an elastic run a process knows its own figures alone.
    [[nodiscard]] std::vector<rank_stats> stats() const;

private:
    friend struct detail::session_access;
    static constexpr std::uint64_t pieces = 8192; // of a range, at most
    template <class I>
    [[nodiscard]] static I at(I first, std::uint64_t i) {
        return static_cast<I>(static_cast<std::uint64_t>(first) + i); // i may be beyond the values of I
    }
    template <class T>
    std::invoke_result_t<const T&> run_root(const detail::cluster_run& here, const T& task) {
        using result = std::invoke_result_t<const T&>;
        if (!here.has_others()) {
            return static_cast<result>(pool().run([&] { return detail::call_task(task); }));
        }
        const std::vector<std::byte> bytes =
            here.run([&](archive& out) { out.put(detail::call_task(task)); });
        archive in(bytes);
        return static_cast<result>(in.take<detail::regular_t<result>>());
    }
    template <class T, class F, class Op>
    T map(std::uint64_t n, const F& f, const Op& op) {
        using piece = detail::map_piece<F, Op, T>;
        const detail::cluster_run here(*m_core, detail::entry_of<piece>());
        const typename piece::functions functions{f, op, n};
        const detail::set_while<const typename piece::functions> mine(piece::current,
                                                                      std::addressof(functions));
        return run_root(here, piece{0, n, (n + pieces - 1) / pieces});
    }
    template <class T, class I, class F, class Op>
    T map_journaled(const std::string& path, I first, I last, const F& f, const Op& op) {
        using piece = detail::journaled_piece<F, Op, T>;
        const auto begin = static_cast<std::uint64_t>(first);
        const std::uint64_t n = static_cast<std::uint64_t>(last) - begin;
        const detail::journal_facts facts{typeid(piece).name(), begin, n, (n + pieces - 1) / pieces};
        const detail::cluster_run here(*m_core, detail::entry_of<piece>());
        const typename piece::functions functions{f, op, n};
        detail::journal parts(rank() == 0, facts.parts());
        const detail::set_while<const typename piece::functions> mine(piece::current,
                                                                      std::addressof(functions));
        const detail::set_while<detail::journal> kept(detail::journal::current, &parts);
        return run_root(here, [&]() -> T {
            const auto saved = parts.open(path, facts, [](archive& in) { (void)in.take<T>(); });
            return piece::run(functions, parts, 0, n, facts.part_size, saved);
        });
    }

    std::unique_ptr<detail::session_core> m_core;
};

} // namespace cluster
} // namespace v0
} // namespace pilfer
