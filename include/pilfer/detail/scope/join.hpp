// How join runs its functions: all but the last are sparks in the frame of the call.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>

#include <pilfer/cancel.hpp>
#include <pilfer/detail/base/outcome.hpp>
#include <pilfer/detail/base/race.hpp>
#include <pilfer/detail/task/branch.hpp>
#include <pilfer/detail/task/runtime.hpp>
#include <pilfer/pool.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

/// True if a function of a join is held by value. A small closure without state of its own is copied: the
/// frame then needs it only once in memory. The original may stay in registers.
template <class G>
inline constexpr bool held_by_value = std::is_trivially_copyable_v<G> &&
                                      sizeof(std::conditional_t<std::is_object_v<G>, G, char>) <= 32 &&
                                      requires(const G& g) {
    g();
};

/// The type by which a function is passed to the cold half of a join.
template <class F>
using passed = std::conditional_t<held_by_value<F>, F, F&>;

/// The report of a join of two: the exceptions that the join swallows are reported to its thread.
struct lone_report {
    void suppressed(std::uint64_t others) const noexcept {
        detail::count_suppressed(others);
        detail::note_suppressed(others);
    }
    void fails() const noexcept {}
    /// Always false. If one function has failed before the other one begins, the join has another check
    /// for it.
    [[nodiscard]] static constexpr bool failed() noexcept { return false; }
    /// Null: there is no third branch to cancel, and the first function runs to its end.
    [[nodiscard]] static constexpr const void* join() noexcept { return nullptr; }
};
/// The report of all joins within one join of several functions or one loop. The outermost frame adds the
/// suppressed exceptions up and reports them.
class common_report {
public:
    explicit common_report(std::atomic<std::uint64_t>& sum) noexcept : m_sum(&sum) {}
    void suppressed(std::uint64_t others) const noexcept {
        detail::count_suppressed(others);
        m_sum->fetch_add(others, rlx); // read after all joins that add to it have ended
    }
    /// Notes that a function, or a part of the loop, has thrown. Parts that have not started never start,
    /// on any worker.
    void fails() const noexcept { m_sum->fetch_or(failure, rlx); }
    /// True if a function or a part has thrown. The caller then leaves by `stopped`, which counts as no
    /// error: see abandon().
    [[nodiscard]] bool failed() const noexcept { return (m_sum->load(rlx) & failure) != 0; }
    /// An address that all joins within share.
    [[nodiscard]] const void* join() const noexcept { return m_sum; }
    [[nodiscard]] static std::uint64_t sum(std::uint64_t word) noexcept { return word & ~failure; }

private:
    static constexpr std::uint64_t failure = std::uint64_t{1} << 63;
    std::atomic<std::uint64_t>* m_sum;
};
/// Calls f(common_report). If an exception comes out, notes how many others were suppressed.
template <class F>
PILFER_ALWAYS_INLINE std::invoke_result_t<F&, common_report> reporting(F&& f) {
    std::atomic<std::uint64_t> sum{0};
    PILFER_TRY { return f(common_report(sum)); }
    PILFER_CATCH_ALL {
        detail::note_suppressed(common_report::sum(sum.load(rlx)));
        PILFER_RETHROW;
    }
}

/// Runs the last function of a join: its exception is the only one.
template <class G, class Report>
PILFER_ALWAYS_INLINE result_t<G> run_last(G& g, Report report) {
    PILFER_TRY { return detail::invoke_regular(g); }
    PILFER_CATCH_ALL {
        report.suppressed(0);
        PILFER_RETHROW;
    }
}

/// A later function of a join, in the joining frame. No other thread touches that frame after complete().
template <class G, class Report>
class join_spark final : public spark {
public:
    using value = result_t<G>;

    join_spark(worker* w, G& g, Report report) noexcept
        : spark(&join_spark::run_stolen, w->current.load(rlx)->node.load(rlx)), m_function(hold(g)),
          m_report(report) {}

    [[nodiscard]] task_word entry() noexcept {
        return reinterpret_cast<task_word>(static_cast<spark*>(this)) | kind_spark;
    }
    /// entry() after a call: the compiler does not keep it in a register meanwhile.
    [[nodiscard]] PILFER_ALWAYS_INLINE task_word entry_again() noexcept {
        return detail::address_again(*this) | kind_spark;
    }
    /// Called before the announcement: no cancellation counts for this function, as for one that a holder
    /// of a lock announces.
    void finishes_first() noexcept { this->set_parent(scope_node::as_holder(this->parent())); }
    /// Waits for a function that was stolen, or that is out of reach because this frame moved. Returns its
    /// result.
    template <std::uint64_t Functions>
    [[nodiscard]] PILFER_COLD value wait_and_take(Report report) {
        detail::wait_for(m_done, this);
        san::acquire(this);
        if (!m_begun) [[unlikely]] {
            if (report.failed() || detail::must_leave()) {
                detail::drop_and_leave(Functions);
            }
            return detail::run_last(function(), report); // see join_stopped()
        }
        if (m_outcome.failed()) {
            report.suppressed(0);
        } else if (detail::must_leave()) [[unlikely]] {
            m_outcome.discard();
            PILFER_THROW(stopped());
        }
        return m_outcome.take();
    }
    /// Ends this function, because the join throws for another reason. Reclaims the function unstarted, or
    /// waits for its end. `Functions`: how many functions of the user it stands for.
    ///
    /// `leaves`: the join throws `stopped` only. Then an error of this function is thrown here instead. A
    /// `stopped` of this function never counts.
    template <std::uint64_t Functions>
    PILFER_COLD void abandon(Report report, bool leaves) {
        report.fails();
        if (worker* now = detail::reclaim(this_worker(), entry())) {
            detail::count_dropped(now, Functions);
            report.suppressed(0);
            return;
        }
        if (!detail::stopped_here(this_worker())) { // what stops this frame stops the branch, too
            stolen_branch::give_up(*this, &join_spark::run_stolen, &join_spark::run_given_up);
        }
        detail::wait_for(m_done, this);
        san::acquire(this);
        if (!m_begun) {
            detail::count_dropped(this_worker(), Functions);
            report.suppressed(0);
            return;
        }
        const bool failed = m_outcome.failed() && !detail::says_stopped(m_outcome.error());
        report.suppressed(failed && !leaves ? 1 : 0);
        if (failed && leaves) {
            (void)m_outcome.take();
        }
        m_outcome.discard();
    }

    /// The copy if there is one: the caller then need not keep the original across the first function.
    [[nodiscard]] G& function() noexcept {
        if constexpr (by_value) {
            return m_function;
        } else {
            return *m_function;
        }
    }

private:
    static suspension* run_stolen(spark* self, worker*) noexcept {
        auto* s = static_cast<join_spark*>(self);
        {
            const stolen_branch here(*s, &join_spark::run_given_up, s->m_report.join());
            s->m_begun = here.begins() && !detail::stopped_here(this_worker()) && !s->m_report.failed();
            if (s->m_begun) [[likely]] {
                s->m_outcome.fill(s->function());
            }
        }
        if (const void* join = s->m_report.join(); join != nullptr && s->m_begun && s->m_outcome.failed())
            [[unlikely]] {
            s->m_report.fails(); // an iterator may have thrown, which is no part
            stolen_branch::fails(*s, join, s->m_outcome.error());
        }
        return ended(s);
    }
    /// Replaces run_stolen() after the joining frame has thrown.
    static suspension* run_given_up(spark* self, worker*) noexcept {
        auto* s = static_cast<join_spark*>(self);
        s->m_begun = false;
        return ended(s);
    }
    [[nodiscard]] static suspension* ended(join_spark* s) noexcept {
        worker* w = this_worker();
        san::release(s);
        const auto waiter = s->m_done.complete(); // the last access to the frame
        return waiter != 0 ? detail::release_waiter(waiter, w) : nullptr;
    }

    static constexpr bool by_value = held_by_value<G>;
    using held = std::conditional_t<by_value, G, G*>;

    [[nodiscard]] static PILFER_ALWAYS_INLINE held hold(G& g) noexcept {
        if constexpr (by_value) {
            return g;
        } else {
            return std::addressof(g);
        }
    }
    completion<std_atom> m_done;
    held m_function;
    outcome<value> m_outcome;
    bool m_begun; // set by run_stolen or run_given_up; false: the function did not begin
    [[no_unique_address]] Report m_report; // for run_stolen
};

/// Runs the first function of a join. If it throws, the other one is reclaimed or waited for.
template <std::uint64_t Functions, class F, class Spark, class Report>
PILFER_ALWAYS_INLINE result_t<F> run_first(F& f, Spark& other, Report report) {
    PILFER_TRY { return detail::invoke_regular(f); }
    PILFER_CATCH_ALL {
        reinterpret_cast<Spark*>(detail::address_again(other))
            ->template abandon<Functions>(report, detail::leaves_by_stopped());
        PILFER_RETHROW;
    }
}

template <class F, class G>
using both_results = std::tuple<result_t<F>, result_t<G>>;

/// The part of a join after the announcement.
template <std::uint64_t Functions, class F, class G, class Report>
PILFER_ALWAYS_INLINE both_results<F, G> join_announced(F& f, join_spark<G, Report>& spark, Report report) {
    result_t<F> first = detail::run_first<Functions>(f, spark, report);
    // f may have suspended and gone on elsewhere: the worker is read again.
    if (detail::reclaim(this_worker(), spark.entry_again()) != nullptr) [[likely]] {
        if (report.failed()) [[unlikely]] {
            detail::drop_and_leave(Functions);
        }
        return both_results<F, G>{std::forward<result_t<F>>(first),
                                  detail::run_last(spark.function(), report)};
    }
    return both_results<F, G>{std::forward<result_t<F>>(first),
                              reinterpret_cast<join_spark<G, Report>*>(detail::address_again(spark))
                                  ->template wait_and_take<Functions>(report)};
}

/// Handles an announced join of a stopped task. Throws `stopped` if the task has to leave. If the task
/// unwinds already, both functions run: a destructor that called join needs both results.
template <std::uint64_t Functions, class G, class Report>
PILFER_COLD void join_stopped(join_spark<G, Report>& spark, Report report) {
    if (detail::must_leave()) {
        detail::count_dropped(this_worker());
        spark.template abandon<Functions>(report, true);
        PILFER_THROW(stopped());
    }
}

/// The whole rest of a join whose announcement hit the signal word. If only the announcement were out of
/// line, f would live across a call on the fast path too. Each frame would save one more register.
template <std::uint64_t Functions, class F, class G, class Report>
PILFER_COLD both_results<F, G> join_signalled(worker* w, passed<F> f, join_spark<G, Report>& spark,
                                              Report report) {
    if (detail::unwinds(w)) [[unlikely]] {
        spark.finishes_first(); // a thief's part of a cleanup is not stopped either
    }
    if (detail::announce_signalled(w, spark.entry())) [[likely]] {
        if (detail::stopped_here(this_worker())) [[unlikely]] {
            detail::join_stopped<Functions>(spark, report);
        }
        return detail::join_announced<Functions, F, G>(f, spark, report);
    }
    // Both functions run here: no memory for the announcement is no error.
    if (detail::must_leave()) [[unlikely]] {
        detail::drop_and_leave(Functions + 1);
    }
    // Braces evaluate in order.
    return both_results<F, G>{detail::invoke_regular<F>(f), detail::run_last(spark.function(), report)};
}

template <std::uint64_t Functions, class F, class G, class Report>
PILFER_ALWAYS_INLINE both_results<F, G> join_unannounced(worker* w, F& f, G& g, Report report) {
    join_spark<G, Report> spark(w, g, report);
    if (detail::push_task(w, spark.entry())) [[unlikely]] {
        // Moved: a result that the cold call wrote in place would live in memory on the fast path too.
        auto results = detail::join_signalled<Functions, F, G>(w, f, spark, report);
        return both_results<F, G>(std::move(results));
    }
    return detail::join_announced<Functions>(f, spark, report);
}

/// Joins two functions. `Functions`: how many functions of the user g stands for.
template <std::uint64_t Functions = 1, class F, class G, class Report = lone_report>
PILFER_ALWAYS_INLINE both_results<F, G> join_two(worker* w, F& f, G& g, Report report = {}) {
#if defined(PILFER_RACE)
    struct both {
        race::block block;
        ~both() { race::join(block); }
    } here;
    const race::strand first = race::fork(here.block, race::how::first_of_join);
    const race::strand second = race::current();
    const race::library_if<race::moves_alone<result_t<F>, result_t<G>>> inside;
    auto run_f = [&]() PILFER_NOINLINE -> decltype(auto) {
        const race::running now(first, &here.block);
        return race::in_own_frame(f);
    };
    auto run_g = [&]() PILFER_NOINLINE -> decltype(auto) {
        const race::running now(second, &here.block);
        return race::in_own_frame(g);
    };
    return detail::join_unannounced<Functions>(w, run_f, run_g, report);
#else
    return detail::join_unannounced<Functions>(w, f, g, report);
#endif
}

template <class F, class G, class... H>
PILFER_ALWAYS_INLINE auto join_several(worker* w, common_report report, F& f, G& g, H&... h) {
    if constexpr (sizeof...(H) == 0) {
        return detail::join_two(w, f, g, report);
    } else {
        // The others are one spark; a thief that takes it announces them one by one again.
        auto others = [&, report] { return detail::join_several(this_worker(), report, g, h...); };
        auto results = detail::join_two<1 + sizeof...(H)>(w, f, others, report);
        using first = result_t<F>;
        return std::tuple_cat(std::tuple<first>(std::forward<first>(std::get<0>(results))),
                              std::get<1>(std::move(results)));
    }
}

template <class F, class G, class... H>
PILFER_ALWAYS_INLINE auto join_all(worker* w, F& f, G& g, H&... h) {
    if constexpr (sizeof...(H) == 0) {
        return detail::join_two(w, f, g);
    } else {
        return detail::reporting(
            [&](common_report report) { return detail::join_several(w, report, f, g, h...); });
    }
}

/// A temporary is kept by value if it can move, everything else by reference.
template <class F>
using kept =
    std::conditional_t<!std::is_reference_v<F> && std::is_move_constructible_v<F>, std::remove_cv_t<F>, F&&>;

template <class F, class G, class... H>
PILFER_COLD auto join_outside(F&& f, G&& g, H&&... h) {
    return pool::common().run([&] { return detail::join_all(this_worker(), f, g, h...); });
}

} // namespace detail
} // namespace v0
} // namespace pilfer
