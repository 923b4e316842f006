#include "pool/pool_core.hpp"

#include <algorithm>
#include <cstdlib>
#include <new>
#include <system_error>

#include <pilfer/detail/worker/wait.hpp>
#include <pilfer/error.hpp>
#include <pilfer/timer.hpp>

#include "base/cpus.hpp"
#include "cancel/cancellation.hpp"
#include "context/overflow.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {
namespace {

/// Number of workers, one cache line each, that are examined to save a wake-up.
constexpr unsigned most_asked_alert = 8;

[[nodiscard]] const context* context_of_this_thread() noexcept {
    const worker* w = this_worker();
    const activation* a = w != nullptr ? w->current.load(rlx) : nullptr;
    return a != nullptr ? a->ctx : nullptr;
}

} // namespace

pool_core::pool_core(const options& checked, const paths& files, const options& asked, bool never_ends)
    : stacks(this, checked.stack_size, checked.max_contexts,
             places_of(checked).workers + places_of(checked).seats),
      m_never_ends(never_ends), m_options(checked), m_first_spare(places_of(checked).workers),
      m_size(m_first_spare + places_of(checked).seats), m_active(checked.workers),
      m_cpus(os::affinity_cpus()), m_oversubscribed(checked.workers > m_cpus), m_wanted(checked.workers),
      m_seating(machine::seat(checked.workers, m_first_spare, checked.pin)),
      m_places(checked.when_full == when_full::grow ? 0 : checked.queue_capacity),
      m_stall(std::uint64_t{checked.debug.stall_report} * 1'000'000),
      m_blocking(*this, checked.max_extra_workers) {
    m_options.pin = m_seating.how; // off if the system does not even report the mask
    if (files.trace != nullptr) {
        m_trace_file = std::make_unique<trace::file>(trace::of_trace, files.trace);
    }
    m_backend = make_backend(*this, {files.profile, files.graph, asked.workers});
    const worker_places places = places_of(checked);
    for (unsigned i = 0; i < m_size + places.temporary; ++i) {
        m_workers.push_back(std::make_unique<scheduler>(*this, i, places.pinned));
    }
    const unsigned words = (m_size + 63) / 64;
    m_seats = std::make_unique<pool_sleepers::seat[]>(m_size);
    m_map = std::make_unique<pool_sleepers::map_word[]>(words);
    m_retired = std::make_unique<pool_sleepers::map_word[]>(words);
    m_idle = std::make_unique<pool_sleepers>(m_seats.get(), m_map.get(), m_size, m_retired.get());
    if (m_options.debug.overflow_message) {
        overflow::install(&context_of_this_thread);
    }
    registry::prepare(*this, m_size);
    forks::prepare();
    make_governor(files.advice, asked.workers);
    start_threads();
    registry::add(*this);
    cancellation::add(*this);
    if (m_governor != nullptr && !m_governor->start()) {
        m_options.governor = governing::off; // the workers keep the pointer, but the governor no longer looks
        m_options.advice = nullptr;
        m_granted = UINT32_MAX;
    }
}

pool_core::~pool_core() {
    shutdown(shutdown_mode::drain);
    m_dump_thread.reset();
    cancellation::remove(*this);
    registry::remove(*this);
    san::acquire(this);
}

int pool_core::start_thread(unsigned i) noexcept {
    const auto entry = [](void* self) -> void* {
        static_cast<scheduler*>(self)->run();
        return nullptr;
    };
    return os::thread_start(m_workers[i]->thread, entry, m_workers[i].get());
}

void pool_core::start_threads() {
    const unsigned wanted = m_options.workers;
    for (unsigned i = wanted; i < m_first_spare; ++i) {
        m_idle->seat_empty(i, true);
    }
    unsigned made = 0;
    int error = 0;
    // One try per thread: an EAGAIN may be momentary, so a first failure does not predict the others.
    for (unsigned tries = 0; tries < wanted; ++tries) {
        const int refused = start_thread(made);
        if (refused == 0) {
            ++made;
        } else {
            error = refused;
        }
    }
    if (made == 0) {
        m_joined = true;
        throw std::system_error(error, std::generic_category(), "pilfer: no thread can be made");
    }
    // Nothing but give_up() may throw from here on: there are threads that use this object.
    // Fewer threads than wanted are no error: the pool has as many workers as threads could be made.
    m_options.workers = made;
    m_threads = made;
    m_wanted.store(m_follows_quota && made == wanted ? m_options.max_workers : made, rlx);
    m_granted = m_follows_quota ? made : UINT32_MAX;
    m_active.store(made, rlx);
    if (m_options.max_workers == wanted) {
        m_options.max_workers = made;
    }
    if (m_first_spare == wanted) {
        m_first_spare = made;
        m_size = made + places_of(m_options).seats;
        m_idle->shrink(m_size);
        m_seating.near.shrink(made);
    }
    for (unsigned i = made; i < m_first_spare; ++i) {
        m_idle->seat_empty(i, true);
    }
    for (unsigned i = m_first_spare; i < m_size; ++i) {
        at(i).guest.has_no_thread();
    }
    const unsigned spare = m_size - m_first_spare;
    m_free_slots.store(spare == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << spare) - 1, rel);
    m_backend->shrink(made);
    const std::exception_ptr refusal = wait_until_begun(made);
    if (refusal != nullptr) {
        m_stop.store(true, std::memory_order_release); // the threads that were made end at once
    }
    m_started.store(1, std::memory_order_release);
    os::futex_wake(&m_started, made);
    if (refusal != nullptr) {
        give_up(refusal);
    }
}

void pool_core::wait_for_start() noexcept {
    while (m_started.load(std::memory_order_acquire) == 0) {
        os::futex_wait(m_started, 0);
    }
}

// ---- notifying workers ------------------------------------------------------------------------

/// True if some worker searches. A searching worker looks once more before it runs a task (idle.S6), so the
/// submission saves a system call.
bool pool_core::somebody_is_alert() noexcept {
    const unsigned last = m_seen_alert.load(rlx);
    const unsigned who = m_idle->anyone_alert(last, most_asked_alert);
    if (who != pool_sleepers::nobody && who != last) {
        m_seen_alert.store(who, rlx);
    }
    return who != pool_sleepers::nobody;
}

bool pool_core::wake_somebody(bool spare) noexcept {
    std_atom::fence_sc(); // idle.S2 for those without a signal word of their own
    if (!m_idle->anyone_asleep()) {
        return false;
    }
    worker* w = this_worker();
    const bool own = w != nullptr && w->pool == this;
    if (spare && !own && somebody_is_alert()) {
        return true;
    }
    // A worker wakes a sleeper near itself. A thread outside is near no worker: it starts at the next index
    // in turn, or all such threads would wake the same worker.
    const unsigned from = own ? w->index : m_next.fetch_add(1, rlx) % active();
    const unsigned woken = m_idle->wake_one(from, from);
    if (woken == pool_sleepers::nobody) {
        return false;
    }
    if (own) {
        static_cast<scheduler*>(w)->woke(woken);
    }
    return true;
}

void pool_core::notify_any(bool spare) noexcept {
    const worker* w = this_worker();
    if (w != nullptr && w->pool == this && static_cast<const scheduler*>(w)->fires()) {
        return; // this worker takes one task itself, and then notifies others: scheduler::leave_alarms()
    }
    if (wake_somebody(spare)) {
        return;
    }
    // Any worker may be inside a task that announces nothing. So all get a yield request, and the first one
    // that sees it takes the task.
    for (unsigned i = 0; i < m_size; ++i) {
        auto& trip = at(i).deque.signal();
        if (!trip.has(signal_word<std_atom>::yield_request)) {
            trip.set(signal_word<std_atom>::yield_request);
        }
    }
}

/// Wakes worker `i`, the best place to resume a context. False: worker `i` is awake, or the caller will look
/// itself.
bool pool_core::wake_up(unsigned i) noexcept {
    worker* w = this_worker();
    const bool own = w != nullptr && w->pool == this;
    if (own && static_cast<const scheduler*>(w)->fires()) {
        return false;
    }
    std_atom::fence_sc(); // as in notify()
    if (!m_idle->wake(i, i)) {
        return false;
    }
    if (own) {
        static_cast<scheduler*>(w)->woke(i);
    }
    return true;
}

void pool_core::notify(unsigned i) noexcept {
    std_atom::fence_sc();
    if (!m_idle->wake(i, i) && !m_idle->unpark(i)) {
        at(i).deque.signal().set(signal_word<std_atom>::yield_request);
    } else if (worker* w = this_worker(); w != nullptr && w->pool == this) {
        static_cast<scheduler*>(w)->woke(i);
    }
}

void pool_core::requeue(suspension* s) noexcept {
    if (m_options.resume == resume::anywhere) {
        runnable.push(s);
        (void)wake_somebody();
    } else {
        at(s->home->index).inbox().push(s);
    }
}

void pool_core::send_elsewhere(suspension* s, unsigned not_here) noexcept {
    const unsigned n = active(); // retired workers have threads too, so any index is correct
    const unsigned others = not_here < n ? n - 1 : n;
    const unsigned k = others == 0 ? 0 : m_next.fetch_add(1, rlx) % others;
    send_to(s, others == 0 ? not_here : (not_here < n ? not_here + 1 + k : k) % n);
}

void pool_core::send_to(suspension* s, unsigned worker) noexcept {
    scheduler& there = at(worker);
    there.inbox().push(s);
    notify(worker); // pool.V2: fences
    if (!there.guest.is_there()) {
        there.guest.forward_inbox();
    }
}

// ---- the end ----------------------------------------------------------------------------------

void pool_core::shutdown(shutdown_mode mode) {
    check_here();
    worker* w = this_worker();
    if (w != nullptr && w->pool == this) {
        throw usage_error("pilfer: a pool cannot be shut down by one of its own tasks");
    }
    if (blocking_threads::is_helper_of(*this)) {
        throw usage_error(
            "pilfer: a pool cannot be shut down inside its own blocking(), on_start, on_stop, advice or "
            "condition of run_until()");
    }
    if (mode == shutdown_mode::drop) {
        m_dropping.store(true, std::memory_order_relaxed);
        m_closing.close();
        refuse_waiting();
        drop_alarms(true); // another shutdown may wait for these alarms
        end_dropped();
    }
    end_once();
    // Without the mutex: this runs user code, which may call shutdown() again.
    end_dropped();
    end_swept();
    wait_for_cancellers();
}

void pool_core::end_once() {
    const std::lock_guard lock(m_shutdown_mutex);
    if (m_joined) {
        return;
    }
    m_closing.close();
    refuse_waiting();
    m_closing.wait_until_quiet(
        schedulers(), [this](unsigned i) -> auto& { return m_workers[i]->outstanding; });
    PILFER_CHAOS_POINT(close);
    drop_alarms(false);
    stop_threads();
    sweep_reactions();
    m_over.store(true, rel);
    m_joined = true;
    write_files();
    if constexpr (checked_build) {
        check_end();
    }
}

void pool_core::stop_threads() noexcept {
    if (m_governor != nullptr) {
        m_governor->stop();
    }
    unsigned threads = 0;
    {
        const std::lock_guard lock(m_resize_mutex);
        m_resized_no_more = true;
        threads = m_threads;
        m_stop.store(true, std::memory_order_release);
    }
    std_atom::fence_sc();
    if (lacks_guest_slots()) {
        notify_guests(); // the guests leave
    }
    m_backend->end_threads(threads);
}

void pool_core::wait_for_guests() const noexcept {
    for (unsigned round = 0; m_pins.load(acq) != 0; ++round) {
        std_atom::relax(round);
    }
}

// ---- for reports ------------------------------------------------------------------------------

void pool_core::answer_dump_signal() {
    if (m_options.debug.dump_signal == 0) {
        return;
    }
    const auto write = [](void* self) { write_dump(*static_cast<pool_core*>(self)); };
    m_dump_thread = std::make_unique<os::signal_thread>(m_options.debug.dump_signal, write, this);
}

std::uint64_t pool_core::suspended() const noexcept {
    std::uint64_t resumes = 0;
    for (unsigned i = 0; i < schedulers(); ++i) {
        resumes += m_workers[i]->count.resumes.get();
    }
    std::uint64_t suspends = 0;
    for (unsigned i = 0; i < schedulers(); ++i) {
        suspends += m_workers[i]->count.suspends.get();
    }
    // The worker that resumes a context counts it, so only the sums are meaningful.
    return suspends - resumes;
}

std::uint64_t pool_core::waiting_coroutines() const noexcept {
    std::uint64_t sum = 0;
    for (unsigned i = 0; i < schedulers(); ++i) {
        sum += m_workers[i]->waiting_coroutines.may_stall();
    }
    return sum;
}

std::uint64_t pool_core::progress() const noexcept {
    std::uint64_t sum = 0;
    for (unsigned i = 0; i < schedulers(); ++i) {
        const tally& t = m_workers[i]->count;
        sum += t.run_own.get() + t.run_submitted.get() + t.run_stolen.get() + t.run_resumed.get();
    }
    return sum;
}

bool pool_core::nobody_takes_what_is_ready() noexcept {
    bool ready = !submissions.empty() || !runnable.empty();
    for (unsigned i = 0; i < active(); ++i) {
        if (at(i).current.load(rlx) == nullptr) {
            return false;
        }
        const auto lie_there = at(i).deque.thief().look();
        ready = ready || lie_there.shared + lie_there.own > 0;
    }
    return ready;
}

bool pool_core::idle_now() noexcept {
    // A pool with a blocked thread is not idle: the thread may wait for something outside the pool.
    if (const auto f = m_backend->threads_now(); f && (f->blocked != 0 || f->ready != 0)) {
        return false;
    }
    for (unsigned i = 0; i < schedulers(); ++i) {
        if (at(i).current.load(rlx) != nullptr) {
            return false;
        }
    }
    return true;
}

// ---- counting ---------------------------------------------------------------------------------

counters pool_core::of(unsigned i) const noexcept {
    counters c;
    m_workers[i]->count.add_to(c);
    return c;
}

counters pool_core::sum() const noexcept {
    counters c;
    for (unsigned i = 0; i < schedulers(); ++i) {
        m_workers[i]->count.add_to(c);
    }
    c.scopes_shared += m_shared_outside.load(rlx);
    c.contexts_live = stacks.live();
    c.contexts_peak = stacks.peak();
    c.dropped += m_dropped_alarms.load(rlx);
    return c;
}

} // namespace detail
} // namespace v0
} // namespace pilfer
