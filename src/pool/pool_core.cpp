#include "pool/pool_core.hpp"

#include <cstdlib>
#include <utility>

#include <pilfer/error.hpp>
#include <pilfer/scope.hpp>

#include "base/cpus.hpp"
#include "context/overflow.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {
namespace {

[[nodiscard]] const context* context_of_this_thread() noexcept {
    const worker* w = this_worker();
    const activation* a = w != nullptr ? w->current.load(rlx) : nullptr;
    return a != nullptr ? a->ctx : nullptr;
}

[[nodiscard]] activation* take_rest_of(scope_node& s) noexcept {
    return scope_access::taken(*scope_access::of(&s));
}

[[nodiscard]] std::uint64_t stall_interval(const options& o) noexcept {
    return std::uint64_t{o.debug.stall_report} * 1'000'000;
}

} // namespace

pool_core::pool_core(const options& checked, const paths& files, const options& asked, bool never_ends)
    : team(*this, checked,
           {places_of(checked),
            &make_backend,
            {files.profile, files.graph, asked.workers},
            &worker_threads::main,
            &take_rest_of}),
      threads(*this), gate(*this, checked), guests(*this), cancels(*this),
      helpers(*this, checked.max_extra_workers), alarms(*this), io(*this),
      stall(*this, stall_interval(checked)), blocked(*this, stall_interval(checked)), overdue(*this),
      m_never_ends(never_ends) {
    if (gate.places().bounded()) {
        set_bound(gate);
    }
    if (files.trace != nullptr) {
        m_trace_file = std::make_unique<trace::file>(trace::of_trace, files.trace);
    }
    if (settings().debug.overflow_message) {
        overflow::install(&context_of_this_thread);
    }
    registry::prepare(*this, size());
    forks::prepare();
    make_governor(files.advice, asked.workers);
    threads.start();
    registry::add(*this);
    cancellation::add(cancels);
    start_governor();
}

pool_core::~pool_core() {
    shutdown(shutdown_mode::drain);
    m_dump_thread.reset();
    cancellation::remove(cancels);
    registry::remove(*this);
    san::acquire(this);
}

void pool_core::has_threads(unsigned made) noexcept {
    team::has_threads(made);
    guests.open();
    backend().shrink(made);
}

void pool_core::give_up() noexcept {
    life.close();
    stop_threads();
    m_joined = true;
}

// ---- the governor -----------------------------------------------------------------------------

/// Called before the workers' threads are made, because they use the list of services. The governor's own
/// thread starts after them.
void pool_core::make_governor(const char* advice_file, unsigned workers_asked) {
    pool_governor::sources from;
    from.measures = settings().governor == governing::on;
    // PILFER_WORKERS is read once: getenv() must not run concurrently with the program's setenv().
    from.follows_quota =
        from.measures && workers_asked == 0 && !os::workers_from(std::getenv("PILFER_WORKERS"));
    from.advice = settings().advice;
    from.advice_file = advice_file != nullptr ? advice_file : "";
    if (!backend().can_resize() || !(from.measures || from.advice || !from.advice_file.empty())) {
        m_options.governor = governing::off;
        return;
    }
    if (from.follows_quota) {
        threads.follow_quota();
    }
    m_governor = std::make_unique<pool_governor>(*this, std::move(from));
    add(*m_governor);
}

void pool_core::start_governor() noexcept {
    if (m_governor != nullptr && !m_governor->start()) {
        m_options.governor = governing::off; // the workers keep the service, which no longer looks
        m_options.advice = nullptr;
        threads.grant_all();
    }
}

// ---- the end ----------------------------------------------------------------------------------

void pool_core::shutdown(shutdown_mode mode) {
    check_here();
    if (here() != nullptr) {
        throw usage_error("pilfer: a pool cannot be shut down by one of its own tasks");
    }
    if (blocking_threads::is_helper_of(*this)) {
        throw usage_error(
            "pilfer: a pool cannot be shut down inside its own blocking(), on_start, on_stop, advice or "
            "condition of run_until()");
    }
    if (mode == shutdown_mode::drop) {
        m_dropping.store(true, std::memory_order_relaxed);
        gate.close();
        alarms.drop_alarms(true); // another shutdown may wait for these alarms
        alarms.end_dropped();
    }
    end_once();
    // Without the mutex: this runs user code, which may call shutdown() again.
    alarms.end_dropped();
    io.end_swept();
    alarms.wait_for_cancellers();
}

void pool_core::end_once() {
    const std::lock_guard lock(m_shutdown_mutex);
    if (m_joined) {
        return;
    }
    gate.close();
    gate.wait_until_quiet();
    PILFER_CHAOS_POINT(close);
    alarms.drop_alarms(false);
    stop_threads();
    io.sweep();
    m_over.store(true, rel);
    m_joined = true;
    write_files();
    if constexpr (checked_build) {
        check_end(*this);
    }
}

void pool_core::stop_threads() noexcept {
    if (m_governor != nullptr) {
        m_governor->stop();
    }
    threads.stop();
    helpers.join();
    wait_for_pins();
    timekeeper::forget(alarms);
    timekeeper::forget(blocked);
}

// ---- for reports ------------------------------------------------------------------------------

void pool_core::answer_dump_signal() {
    if (m_options.debug.dump_signal == 0) {
        return;
    }
    const auto write = [](void* self) { write_dump(*static_cast<pool_core*>(self)); };
    m_dump_thread = std::make_unique<os::signal_thread>(m_options.debug.dump_signal, write, this);
}

} // namespace detail
} // namespace v0
} // namespace pilfer
