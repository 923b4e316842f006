#include "runtime/whole_pool.hpp"

#include <cstdlib>
#include <utility>

#include <pilfer/detail/base/race.hpp>
#include <pilfer/detail/task/bound_frames.hpp>
#include <pilfer/error.hpp>
#include <pilfer/scope.hpp>

#include "backend/helping.hpp"
#include "backend/make.hpp"
#include "base/probe.hpp"
#include "context/overflow.hpp"
#include "observe/checks.hpp"
#include "platform/cpus.hpp"
#include "runtime/forked.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {
namespace {

[[nodiscard]] const context* context_of_this_thread() noexcept {
    const worker* w = this_worker();
    const activation* a = w != nullptr ? w->current.load(rlx) : nullptr;
    return a != nullptr ? a->ctx : nullptr;
}

/// Frames that are bound to a thread go on here until the next sync() of `s`, which then comes home. Not
/// instrumented: the stack of the owner continues on this thread, and ThreadSanitizer knows no edge from here
/// to what its frames write there later.
PILFER_NO_SANITIZE void mark_bound(const activation* owner, scope_node& s) noexcept {
    if (owner->ctx->bound != nullptr) {
        s.head().comes_home = true;
    }
}

[[nodiscard]] activation* take_rest_of(scope_node& s) noexcept {
    activation* const owner = scope_access::taken(*scope_access::of(&s));
    mark_bound(owner, s);
    return owner;
}

[[nodiscard]] std::uint64_t stall_interval(const options& o) noexcept {
    return std::uint64_t{o.debug.stall_report} * 1'000'000;
}

} // namespace

std::unique_ptr<pool_core> make_pool(const options& checked, const pool_core::paths& files,
                                     const options& asked, bool never_ends) {
#ifdef PILFER_RACE
    const race::unseen here; // the caller's accesses begin after its pool
#endif
    auto made = std::make_unique<whole_pool>(checked, files, asked, never_ends);
    made->answer_dump_signal();
    return made;
}

whole_pool::whole_pool(const options& checked, const paths& files, const options& asked, bool never_ends)
    : pool_core(checked,
                {places_of(checked),
                 [this, from = recording_files{files.profile, files.graph, asked.workers}](team& t) {
                     return make_backend(t, *this, from);
                 },
                 &worker_threads::main, &take_rest_of},
                never_ends),
      m_guests(*this), m_cancels(*this), m_helpers(*this, checked.max_extra_workers), m_alarms(*this),
      m_io(*this), m_stall(*this, stall_interval(checked)), m_blocked(*this, stall_interval(checked)),
      m_overdue(*this) {
    guests = &m_guests;
    helpers = &m_helpers;
    alarms = &m_alarms;
    io = &m_io;
    if (files.trace != nullptr) {
        m_trace_file = std::make_unique<trace::file>(trace::of_trace, files.trace);
    }
    if (settings().debug.overflow_message) {
        overflow::install(&context_of_this_thread);
    }
    registry::prepare(*this, size());
    prepare_for_fork();
    make_governor(files.advice, asked.workers);
    if (const std::exception_ptr refusal = threads.start()) {
        // The destructor will not run. No other thread knows this pool yet.
        life.close();
        stop_threads();
        std::rethrow_exception(refusal);
    }
    registry::add(*this);
    cancellation::add(m_cancels);
    start_governor();
    PILFER_PROBE2(pool_start, static_cast<pool_core*>(this), size());
}

whole_pool::~whole_pool() {
    whole_pool::shutdown(shutdown_mode::drain);
    m_dump_thread.reset();
    cancellation::remove(m_cancels);
    registry::remove(*this);
    san::acquire(static_cast<pool_core*>(this));
}

// ---- the governor -----------------------------------------------------------------------------

/// Called before the workers' threads are made, because they use the list of services. The governor's own
/// thread starts after them.
void whole_pool::make_governor(const char* advice_file, unsigned workers_asked) {
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

void whole_pool::start_governor() noexcept {
    if (m_governor != nullptr && !m_governor->start()) {
        m_options.governor = governing::off; // the workers keep the service, which no longer looks
        m_options.advice = nullptr;
        threads.grant_all();
    }
}

// ---- the end ----------------------------------------------------------------------------------

void whole_pool::shutdown(shutdown_mode mode) {
    check_here();
    if (here() != nullptr) {
        throw usage_error("pilfer: a pool cannot be shut down by one of its own tasks");
    }
    if (helping::is_for(*this)) {
        throw usage_error(
            "pilfer: a pool cannot be shut down inside its own blocking(), on_start, on_stop, advice or "
            "condition of run_until()");
    }
    if (mode == shutdown_mode::drop) {
        m_dropping.store(true, std::memory_order_relaxed);
        gate.close();
        m_alarms.drop_alarms(true); // another shutdown may wait for these alarms
        m_alarms.end_dropped();
    }
    end_once();
    // Without the mutex: this runs user code, which may call shutdown() again.
    m_alarms.end_dropped();
    m_io.end_swept();
    m_alarms.wait_for_cancellers();
}

void whole_pool::end_once() {
    const std::lock_guard lock(m_shutdown_mutex);
    if (m_joined) {
        return;
    }
    gate.close();
    gate.wait_until_quiet();
    PILFER_CHAOS_POINT(close);
    m_alarms.drop_alarms(false);
    stop_threads();
    PILFER_PROBE1(pool_stop, static_cast<pool_core*>(this));
    m_io.sweep();
    m_over.store(true, rel);
    m_joined = true;
    write_files();
    if constexpr (checked_build) {
        check_end(*this);
    }
}

void whole_pool::stop_threads() noexcept {
    if (m_governor != nullptr) {
        m_governor->stop();
    }
    threads.stop();
    m_helpers.join();
    wait_for_pins();
    timekeeper::forget(m_alarms);
    timekeeper::forget(m_blocked);
}

// ---- for reports ------------------------------------------------------------------------------

void whole_pool::write_files() noexcept {
    if (m_trace_file != nullptr) {
        m_trace_file->write([this](std::ostream& out) { write_trace(out); });
    }
    backend().write_files();
}

void whole_pool::answer_dump_signal() {
    if (m_options.debug.dump_signal == 0) {
        return;
    }
    const auto write = [](void* self) { write_dump(*static_cast<whole_pool*>(self)); };
    m_dump_thread = std::make_unique<os::signal_thread>(m_options.debug.dump_signal, write, this);
}

} // namespace detail
} // namespace v0
} // namespace pilfer
