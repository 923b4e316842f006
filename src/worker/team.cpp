#include "worker/team.hpp"

#include <algorithm>
#include <utility>

#include "base/cpus.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {

team::team(pool_core& self, const options& checked, const plan& how)
    : stacks(&self, checked.stack_size, checked.max_contexts, how.places.workers + how.places.seats),
      m_options(checked), m_plan(how), m_first_spare(how.places.workers),
      m_size(m_first_spare + how.places.seats), m_active(checked.workers), m_cpus(os::affinity_cpus()),
      m_oversubscribed(checked.workers > m_cpus),
      m_seating(machine::seat(checked.workers, m_first_spare, checked.pin)) {
    m_options.pin = m_seating.how; // off if the system does not even report the mask
    m_backend = how.make(*this, self, how.files);
    make_workers(self);
    make_seats();
}

team::~team() = default;

void team::make_workers(pool_core& self) {
    for (unsigned i = 0; i < m_size + m_plan.places.temporary; ++i) {
        m_workers.push_back(std::make_unique<scheduler>(*this, self, i, m_plan.places.pinned));
    }
}

void team::make_seats() {
    const unsigned words = (m_size + 63) / 64;
    m_seats = std::make_unique<pool_sleepers::seat[]>(m_size);
    m_map = std::make_unique<pool_sleepers::map_word[]>(words);
    m_retired = std::make_unique<pool_sleepers::map_word[]>(words);
    m_idle = std::make_unique<pool_sleepers>(m_seats.get(), m_map.get(), m_size, m_retired.get());
}

void team::has_threads(unsigned made) noexcept {
    const unsigned wanted = m_options.workers;
    m_options.workers = made;
    (void)set_active(made);
    if (m_options.max_workers == wanted) {
        m_options.max_workers = made;
    }
    if (m_first_spare == wanted) {
        m_first_spare = made;
        m_size = made + m_plan.places.seats;
        m_idle->shrink(m_size);
        m_seating.near.shrink(made);
    }
    for (unsigned i = made; i < m_first_spare; ++i) {
        m_idle->seat_empty(i, true);
    }
}

void team::begin_warm() noexcept {
    m_warm.fetch_add(1, rlx);
    std_atom::fence_sc(); // idle.S2: a worker that is about to sleep sees the count, or is in the map
    for (unsigned i = 0; i < m_size; ++i) {
        m_idle->wake(i, i);
    }
}

/// No worker is notified: each one sees the count after its next search.
bool team::end_warm() noexcept {
    unsigned n = m_warm.load(rlx);
    while (n != 0) {
        if (m_warm.compare_exchange_weak(n, n - 1, rlx, rlx)) {
            return true;
        }
    }
    return false;
}

void team::queue_counted(submission* s, priority level) noexcept {
    san::release(static_cast<spark*>(s));
    if (m_bound != nullptr) {
        m_bound->take_anyway();
    }
    m_backend->queue(*s, level, origin::alarm);
}

void team::add(service& s) noexcept {
    service** at = &m_services;
    while (*at != nullptr) {
        at = &(*at)->m_next;
    }
    *at = &s;
}

instant team::first_due() const noexcept {
    instant first = never;
    each_service([&first](const service& s) { first = std::min(first, s.first_due()); });
    return first;
}

void team::wait_for_pins() const noexcept {
    for (unsigned round = 0; m_pins.load(acq) != 0; ++round) {
        std_atom::relax(round);
    }
}

void team::forget_threads() noexcept {
    for (unsigned i = 0; i < schedulers(); ++i) {
        at(i).deque.forget_threads();
    }
    records.forget_holder();
}

namespace figures {

counters of(const scheduler& w) noexcept {
    counters c;
    w.count.add_to(c);
    return c;
}

counters sum(const team& t) noexcept {
    counters c;
    for (unsigned i = 0; i < t.schedulers(); ++i) {
        t.at(i).count.add_to(c);
    }
    c.scopes_shared += t.outside.scopes_shared.load(rlx);
    c.contexts_live = t.stacks.live();
    c.contexts_peak = t.stacks.peak();
    c.dropped += t.outside.dropped.load(rlx);
    return c;
}

std::uint64_t suspended(const team& t) noexcept {
    std::uint64_t resumes = 0;
    for (unsigned i = 0; i < t.schedulers(); ++i) {
        resumes += t.at(i).count.resumes.get();
    }
    std::uint64_t suspends = 0;
    for (unsigned i = 0; i < t.schedulers(); ++i) {
        suspends += t.at(i).count.suspends.get();
    }
    // The worker that resumes a context counts it, so only the sums are meaningful.
    return suspends - resumes;
}

std::uint64_t waiting_coroutines(const team& t) noexcept {
    std::uint64_t sum = 0;
    for (unsigned i = 0; i < t.schedulers(); ++i) {
        sum += t.at(i).waiting_coroutines.may_stall();
    }
    return sum;
}

std::uint64_t progress(const team& t) noexcept {
    std::uint64_t sum = 0;
    for (unsigned i = 0; i < t.schedulers(); ++i) {
        const tally& c = t.at(i).count;
        sum += c.run_own.get() + c.run_submitted.get() + c.run_stolen.get() + c.run_resumed.get();
    }
    return sum;
}

} // namespace figures
} // namespace detail
} // namespace v0
} // namespace pilfer
